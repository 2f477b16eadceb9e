/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportLock.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace fs = std::filesystem;

namespace gigapixel::application
{

ReportLock::ReportLock(const std::string & file, const Session & session)
  : m_Folder(fs::absolute(file).parent_path() / ".gigapixel")
{
  const std::string name = fs::path(file).filename().string();
  while (!m_Lock)
  {
    ThrowIfInterrupted();
    std::error_code error;
    fs::create_directory(m_Folder, error);
    try
    {
      m_Lock = BatchLock::Take(m_Folder.string(), name, { { "report", file } });
    }
    catch (const std::exception &)
    {
      if (error || fs::is_directory(m_Folder, error))
      {
        throw;
      }
      continue; // another process has removed it as empty
    }
    if (!m_Lock)
    {
      if (!std::exchange(m_HasWaited, true))
      {
        session.Say("Waiting for another process, which writes the report " + file + '.');
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

ReportLock::~ReportLock()
{
  m_Lock.reset();
  std::error_code ignored;
  fs::remove(BatchLock::GetClock(m_Folder.string()), ignored);
  fs::remove(m_Folder, ignored); // which fails where something is in it
}

} // namespace gigapixel::application
