/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideSlide_h
#define OpenSlideSlide_h

#include "slide/DamagedTiles.h"
#include "slide/FileStamp.h"
#include "OpenSlideProcess.h"
#include "slide/Slide.h"
#include "tiff/TIFFLayout.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace gigapixel
{

/** The vendor whose slide OpenSlide takes the file for, empty for none; nothing where OpenSlide gives no answer: it is
 * not installed, or the file ends it. */
std::optional<std::string> DetectOpenSlideVendor(const std::string & path);

/** All properties that OpenSlide has of a file; none where it does not open it, or is not installed. */
std::map<std::string, std::string> ReadOpenSlideProperties(const std::string & path);

/** Empty where it is not installed. */
std::string GetOpenSlideVersion();

/** A sentence: why OpenSlide cannot be asked, and what to do; empty where it can. */
std::string GetOpenSlideProblem();

/** Throws SlideError where OpenSlide cannot be asked, with why, and what to do. \param what the file is, before "and",
 * e.g. "only OpenSlide opens it" */
void CheckOpenSlide(const std::string & path, const std::string & what);

/** A slide read through OpenSlide, which runs in a process of its own.
 *
 * OpenSlide resamples levels above the first, with pixels that depend on the region asked for. So it is asked for the
 * tiles of a fixed grid only, from which regions are cut: the same pixels for every region and division. */
class OpenSlideSlide : public Slide
{
public:
  /** Throws std::runtime_error, in a few words, where OpenSlide does not open the file; SlideError without OpenSlide.
   * \param layout of a TIFF, which tells what tiles are not stored; may be null */
  explicit OpenSlideSlide(const std::string & path, const TIFFLayout * layout = nullptr);
  ~OpenSlideSlide() override;

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeTile(unsigned                           plane,
                         std::uint64_t                      tile,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const override;

private:
  using Process = OpenSlideProcess::Use;

  void                     AddLevel(std::int64_t width, std::int64_t height);
  void                     FindMissingTiles(const TIFFLayout & layout);
  void                     AddAssociated(const std::string & name, std::int64_t width, std::int64_t height);
  void                     Describe(const OpenSlideMessage & description);
  bool                     IsSameFile() const;
  Process                  StartProcess() const;
  Process                  GetProcess() const;
  void                     ReplaceProcess(const OpenSlideProcess * ended, const Process & by) const;
  OpenSlideMessage         MakeRequest(unsigned plane, const Rectangle & region) const;
  OpenSlideProcess::Answer AskForPixels(unsigned plane, std::uint64_t tile, const Rectangle & region) const;

  const FileStamp m_Stamp;

  std::map<unsigned, TIFFPage::Pieces> m_Pieces; // of levels that leave out tiles

  mutable std::shared_ptr<OpenSlideProcess> m_Process; // null where it has ended
  mutable std::mutex                        m_ProcessMutex;
  mutable std::mutex                        m_StartMutex; // a process waits for others to be ended as it is started

  /** Tiles that end the process are not tried again. */
  mutable DamagedTiles m_FatalTiles;
  mutable std::mutex   m_SuspectMutex;
};

} // namespace gigapixel

#endif
