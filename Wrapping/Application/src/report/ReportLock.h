/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportLock_h
#define ReportLock_h

#include "BatchLock.h"

#include "gigapixelSession.h"

#include <filesystem>
#include <memory>
#include <string>

namespace gigapixel::application
{

/** \class ReportLock
 * \brief The right to write a page, whose folder of pictures no two processes may change at a time. */
class ReportLock
{
public:
  /** Waits where another process writes the page. \throw std::runtime_error nothing can be written beside the page */
  ReportLock(const std::string & file, const Session & session);
  ~ReportLock();
  ReportLock(const ReportLock &) = delete;
  ReportLock & operator=(const ReportLock &) = delete;

  /** Whether another process has written the page meanwhile. */
  bool
  HasWaited() const
  {
    return m_HasWaited;
  }

private:
  std::filesystem::path      m_Folder;
  std::unique_ptr<BatchLock> m_Lock;
  bool                       m_HasWaited{ false };
};

} // namespace gigapixel::application

#endif
