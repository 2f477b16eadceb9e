/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BatchLock_h
#define BatchLock_h

#include "GigapixelApplicationExport.h"

#include <nlohmann/json_fwd.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gigapixel::application
{

/** \class BatchLock
 * \brief The right of one process to work on something in a folder that several processes share, on one machine or on
 * several. It ends with the object, and also when the process is killed or its machine is gone.
 *
 * A file, NAME.1.lock, says who holds it. On the machine of the holder the system knows whether the holder lives
 * (flock). On others, and where a file system knows no flock, its file is touched every 20 seconds, and one that was
 * not for three minutes is dead: the next process makes NAME.2.lock, which only one of several can. Nobody removes a
 * lock of a process that lives. Whoever gets a lock has to look again whether the work was done meanwhile. */
class GigapixelApplication_EXPORT BatchLock
{
public:
  /** \param folder is there \param about what the holder works on, for other processes
   * \return null: another process holds it
   * \throw std::runtime_error no file can be made there */
  static std::unique_ptr<BatchLock> Take(const std::string &            folder,
                                         const std::string &            name,
                                         const nlohmann::ordered_json & about);

  /** What the living holders of a folder's locks have said: {"host", "pid", "about"}. */
  static std::vector<nlohmann::ordered_json> FindHolders(const std::string & folder);

  /** Removes the locks of the dead, by taking each. */
  static void RemoveDead(const std::string & folder);

  /** A file that shows what time it is where the folder lies. It stays, and goes with the folder. */
  static std::string GetClock(const std::string & folder);

  ~BatchLock();
  BatchLock(const BatchLock &) = delete;
  BatchLock & operator=(const BatchLock &) = delete;

private:
  BatchLock(std::vector<std::string> files, int descriptor);

  void Beat();

  const std::vector<std::string> m_Files; ///< those of dead holders, and at last its own
  const int                      m_Descriptor;
  std::mutex                     m_Mutex;
  std::condition_variable        m_Ended;
  bool                           m_HasEnded{ false };
  std::thread                    m_Heart;
};

} // namespace gigapixel::application

#endif
