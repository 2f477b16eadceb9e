/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelCache_h
#define gigapixelPixelCache_h

#include "GigapixelNetworkExport.h"
#include "gigapixelSource.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace gigapixel
{

/** \class PixelCache
 * \brief Decoded pixels in a folder, so that a slide is decoded once and read over epochs and runs.
 *
 * A file for each image holds its pixels as they are, in blocks of 512 x 512, each with a checksum; blocks of one color
 * take no space. No block counts that has not been checked by this process, so crashes, torn writes and other processes
 * that fill the same file at the same time do no harm. Files are read, not mapped: they are none of the process'
 * resident memory.
 *
 * When a new image would exceed the limit, the files that were used longest ago go, but none that is in use by any
 * process; an image that does not fit then is decoded each time. So it is when the disk is full, or when a file cannot
 * be used, and with what a slide has left once one of its tiles turns out to be damaged. Files count with what they
 * will have when they are complete. Other files of the folder do not count, and stay as they are. */
class GigapixelNetwork_EXPORT PixelCache
{
public:
  /** Called with one sentence, from any thread, when something is not kept. */
  using Warning = std::function<void(const std::string &)>;

  /** \param folder made where it does not exist; for its owner alone, as are the files: slides are patients' data
   * \param limit bytes of all its files; 0: half of what is free on its disk and what its files take
   * \throw std::runtime_error when the folder cannot be made or written */
  PixelCache(const std::string & folder, std::int64_t limit, Warning warning);

  /** The same pixels, kept; or the image itself, if it cannot be kept.
   * \param identity says what the pixels are: equal texts have to mean equal pixels
   * \param isDamaged whether any damaged tile was met so far; nothing is kept from then on, so that whoever reads the
   * pixels later meets it, too. Called from several threads at once; empty: never */
  std::shared_ptr<PixelSource> Keep(std::shared_ptr<PixelSource>  image,
                                    const std::string &           identity,
                                    const std::function<bool()> & isDamaged = {});

private:
  bool MakeRoom(const std::string & file, std::int64_t bytes) const;

  const std::string                                 m_Folder;
  const std::int64_t                                m_Limit;
  const Warning                                     m_Warning;
  std::map<std::string, std::weak_ptr<PixelSource>> m_Kept; ///< by file name
};

} // namespace gigapixel

#endif
