/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef WorkFolder_h
#define WorkFolder_h

#include <functional>
#include <string>

namespace gigapixel::slicer
{

/** \class Janitor
 * \brief Cleans up when this process is gone, however it ended: Slicer cancels a module by SIGKILL.
 *
 * A small process of its own that waits for the end of a pipe which only this process holds open. Make it before any
 * thread is started. */
class Janitor
{
public:
  /** \param sweep what to do when this process has ended, or this object; must be harmless when nothing is left to do
   */
  explicit Janitor(const std::function<void()> & sweep);
  ~Janitor();

  Janitor(const Janitor &) = delete;
  Janitor & operator=(const Janitor &) = delete;

private:
  int m_Pipe{ -1 };
};

/** \class WorkFolder
 * \brief A hidden folder beside an output, in which the output comes to be; nothing is left of it afterwards. */
class WorkFolder
{
public:
  /** \throw Refusal the folder of the output is not there or cannot be written to */
  explicit WorkFolder(const std::string & output);
  ~WorkFolder();

  WorkFolder(const WorkFolder &) = delete;
  WorkFolder & operator=(const WorkFolder &) = delete;

  /** Where the output is made. \param ending of its name, ".tif" */
  std::string GetPath(const std::string & ending) const;

  const std::string &
  GetOutput() const
  {
    return m_Output;
  }

  /** Gives what was made at GetPath() the output's name, in place of what stood there. */
  void Publish(const std::string & ending) const;

private:
  std::string m_Output;
  std::string m_Folder;
  Janitor     m_Janitor;
};

} // namespace gigapixel::slicer

#endif
