/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "UnfinishedTable.h"

#include "gigapixelDiagnostic.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace gigapixel::commandline
{
namespace
{

std::string
GetFile(const std::string & table)
{
  const std::filesystem::path path(table);
  return (path.parent_path() / ("." + path.filename().string() + ".unfinished")).string();
}

} // namespace

UnfinishedTable::UnfinishedTable(const std::string & table, bool keeps)
  : m_File(GetFile(table))
  , m_Keeps(keeps)
{
  std::ifstream file(m_File);
  for (std::string text; std::getline(file, text);)
  {
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_object() && line.value("map", Json()).is_string())
    {
      m_Maps.insert(line["map"].get<std::string>());
    }
    else if (line.is_object() && line.value("madeBy", Json()).is_string() && line.value("said", Json()).is_object())
    {
      m_Said[line["madeBy"].get<std::string>()] = line["said"];
    }
  }
}

const UnfinishedTable::Json *
UnfinishedTable::Find(const std::string & madeBy) const
{
  const auto found = m_Said.find(madeBy);
  return found == m_Said.end() ? nullptr : &found->second;
}

void
UnfinishedTable::Announce(const std::string & map)
{
  if (m_Maps.insert(map).second)
  {
    Append({ { "map", map } });
  }
}

void
UnfinishedTable::Add(const std::string & madeBy, const Json & said)
{
  m_Said[madeBy] = said;
  Append({ { "madeBy", madeBy }, { "said", said } });
}

void
UnfinishedTable::Remove() const
{
  if (!m_Keeps) // it is of another run
  {
    return;
  }
  std::error_code ignored; // there may be none
  std::filesystem::remove(m_File, ignored);
}

void
UnfinishedTable::Append(const Json & line) const
{
  if (!m_Keeps)
  {
    return;
  }
  std::ofstream file(m_File, std::ios::app);
  // A line before may have been cut off.
  file << '\n' << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  if (!file)
  {
    Diagnostic refusal = Diagnostic::Of(std::system_error(errno, std::generic_category()));
    refusal.code = refusal.code == "E-DISK-FULL" ? refusal.code : "E-OUTPUT-WRITE";
    refusal.why = m_File + ", where what is said is kept until all are done, cannot be written: " + refusal.why;
    throw Refusal(refusal.OfFile(m_File));
  }
}

} // namespace gigapixel::commandline
