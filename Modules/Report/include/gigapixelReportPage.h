/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReportPage_h
#define gigapixelReportPage_h

#include "GigapixelReportExport.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace gigapixel
{

/** \class ReportPage
 * \brief A page of HTML with data and pictures, which opens from a disk and asks for nothing from a network.
 *
 * Everything is in the page while it has at most MostBytes. Above that the photographs lie in a folder beside it, which
 * has the page's name without .html and with "-files". Pictures of labels stay in the page: browsers let no script read
 * those of other files. The page appears when it is complete. Pictures are named by their contents, so that those of a
 * page that is replaced stay as they are until the new page is there, and go then. Without Commit(), nothing new is
 * left. One page of a name may be written at a time. */
class GigapixelReport_EXPORT ReportPage
{
public:
  static constexpr std::uint64_t MostBytes = 40'000'000; ///< of pictures in the page; more are files beside it

  /** \param mayReplace whether a page, and pictures in its folder, may be replaced
   * \throw std::runtime_error the file cannot be written, or its folder holds something else than pictures of reports
   */
  ReportPage(const std::string & file, bool mayReplace);
  ~ReportPage();
  ReportPage(const ReportPage &) = delete;
  ReportPage & operator=(const ReportPage &) = delete;

  /** \param picture as EncodePhotograph() returns it \return the name that the data call it by */
  std::string AddPhotograph(const std::string & picture);

  /** \param picture as EncodeLabels() returns it \return the name that the data call it by */
  std::string AddLabels(const std::string & picture);

  /** \param json the data that the page's script shows, an object. Any text in it may be what a user wrote.
   * \throw std::runtime_error the page, or a picture, cannot be written */
  void Commit(const std::string & title, const std::string & json);

  /** The folder of the pictures; empty: they are in the page. */
  const std::string &
  GetUsedFolder() const
  {
    return m_UsedFolder;
  }

private:
  struct Picture
  {
    std::string name;
    std::string bytes;
    bool        isPhotograph;
  };

  std::string Add(const std::string & picture, bool isPhotograph);
  void        RequireFreeFolder() const;
  void        MoveToFolder();
  void        WriteToFolder(const std::string & name, const std::string & picture);
  void        RemoveOldPictures() const;
  std::string MakePage(const std::string & title, const std::string & json) const;

  std::string                        m_File;
  bool                               m_MayReplace;
  std::string                        m_Folder;
  std::string                        m_UsedFolder;
  std::uint64_t                      m_Bytes{ 0 }; // of pictures, as the page has them
  std::set<std::string>              m_Names;      // of all pictures
  std::set<std::string>              m_Files;      // in the folder
  std::vector<std::filesystem::path> m_Written;    // pictures that were not there before, until the page is
  std::vector<Picture>               m_Pictures;   // in the page
};

} // namespace gigapixel

#endif
