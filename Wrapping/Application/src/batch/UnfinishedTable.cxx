/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "UnfinishedTable.h"

#include "NameText.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

std::string
GetFile(const std::string & table)
{
  const std::filesystem::path path(table);
  return (path.parent_path() / ("." + path.filename().string() + ".unfinished")).string();
}

bool
IsEntry(const Json & line)
{
  return line.is_object() && line.value("madeBy", Json()).is_string() && line.value("said", Json()).is_object();
}

/** Adds a line in one piece, as other ranks may do at this moment. \return false, with errno: it is not whole */
bool
AppendLine(const std::string & file, const std::string & line)
{
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
  {
    return false;
  }
  ::flock(descriptor, LOCK_EX);
  std::size_t done = 0;
  while (done < line.size())
  {
    const ssize_t written = ::write(descriptor, line.data() + done, line.size() - done);
    if (written <= 0)
    {
      const int error = errno;
      ::close(descriptor);
      errno = error;
      return false;
    }
    done += static_cast<std::size_t>(written);
  }
  return ::close(descriptor) == 0;
}
} // namespace

UnfinishedTable::UnfinishedTable(const std::string & table, bool keeps)
  : m_File(GetFile(table))
  , m_Keeps(keeps)
{
  this->ReadLines();
}

void
UnfinishedTable::ReadLines()
{
  std::ifstream file(m_File, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(m_Read));
  for (std::string text; std::getline(file, text) && !file.eof();)
  {
    const std::uint64_t place = m_Read;
    m_Read += text.size() + 1;
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_object() && line.value("map", Json()).is_string())
    {
      m_Maps.insert(FromNameText(line["map"]));
    }
    else if (IsEntry(line))
    {
      m_Places[FromNameText(line["madeBy"])] = place;
    }
  }
}

std::optional<Json>
UnfinishedTable::Find(const std::string & madeBy)
{
  if (const auto found = m_Own.find(madeBy); found != m_Own.end())
  {
    return found->second;
  }
  auto place = m_Places.find(madeBy);
  if (place == m_Places.end())
  {
    this->ReadLines();
    place = m_Places.find(madeBy);
  }
  if (place == m_Places.end())
  {
    return std::nullopt;
  }
  std::ifstream file(m_File, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place->second));
  std::string text;
  std::getline(file, text);
  const Json line = Json::parse(text, nullptr, false);
  return IsEntry(line) && FromNameText(line["madeBy"]) == madeBy ? std::optional<Json>(line["said"]) : std::nullopt;
}

void
UnfinishedTable::Announce(const std::string & map)
{
  if (m_Maps.insert(map).second)
  {
    Append({ { "map", ToNameText(map) } });
  }
}

void
UnfinishedTable::Add(const std::string & madeBy, const Json & said)
{
  m_HasAdded = true;
  if (!m_Keeps)
  {
    m_Own[madeBy] = said;
    return;
  }
  Append({ { "madeBy", ToNameText(madeBy) }, { "said", said } });
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
  // A line before may have been cut off.
  if (!AppendLine(m_File, '\n' + line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'))
  {
    Diagnostic refusal = Diagnostic::Of(std::system_error(errno, std::generic_category()));
    refusal.code = refusal.code == "E-DISK-FULL" ? refusal.code : "E-OUTPUT-WRITE";
    refusal.why = m_File + ", where what is said is kept until all are done, cannot be written: " + refusal.why;
    throw Refusal(refusal.OfFile(m_File));
  }
}

} // namespace gigapixel::application
