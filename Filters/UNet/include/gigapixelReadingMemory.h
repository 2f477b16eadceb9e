/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReadingMemory_h
#define gigapixelReadingMemory_h

#include "GigapixelUNetExport.h"
#include "gigapixelPhysicalImage.h"
#include "gigapixelSlideContent.h"

#include <cstdint>
#include <string>

namespace itk
{
class WholeSlideImageIO;
} // namespace itk

namespace gigapixel
{

/** What the way in which files are stored takes of memory, beside the decoded tiles that the reader may keep. Tiles of
 * 256 x 256, which most slides have, count as nothing. Large ones, and strips, which have the width of the image, are
 * decoded as a whole by each thread. Files that are read as a whole, such as PNG or a TIFF without tiles, stay in
 * memory until the end. */
class GigapixelUNet_EXPORT ReadingMemory
{
public:
  /** What a slide's reader decodes of its levels, where there is one. \param channels that are asked for */
  void AddTiles(const itk::WholeSlideImageIO & slide, int channels);

  /** What a slide's reader averages at a time where it is read at a resolution that no level has. */
  void AddResampling(const itk::WholeSlideImageIO & slide);
  void AddResampling(const PhysicalImage & slide);

  /** What is held of an image, beside what is held of others. */
  void AddHeld(const PhysicalImage & image);

  /** A slide, or a mask, as the engine's sources read it. \throw std::runtime_error it cannot be opened
   * \param asStored as GigapixelResolution has it */
  void AddFile(const std::string & file, int channels, const SlideContent & content, bool asStored);
  void AddFile(const std::string & file, int channels);

  /** \param budget 0: not known
   * \return of the image that is read ahead and the one that is computed, and of further readers as far as an eighth of
   * the budget: whatever the number of threads, on which tiles may not depend */
  std::int64_t GetBytes(std::int64_t budget) const;

  /** As many threads as there are readers counted for. */
  int LimitThreads(int threads, std::int64_t budget) const;

  /** Whether so many decoded tiles are wanted again that the reader keeps as many as it may: the sharpest pixels of
   * focal planes are found with tiles beside each tile, of each plane. */
  bool
  FillsCache() const
  {
    return m_FillsCache;
  }

  /** Of GetBytes(), what so few threads leave. */
  std::int64_t GetSpareBytes(int threads, std::int64_t budget) const;

private:
  std::int64_t GetFurtherReaders(std::int64_t budget) const;
  std::int64_t CountBytes(std::int64_t readers) const;

  bool         m_FillsCache{ false };
  std::int64_t m_Held{ 0 };
  std::int64_t m_Reading{ 0 };
  std::int64_t m_Decoding{ 0 }; ///< of a thread
  std::int64_t m_Tile{ 0 };     ///< decoded
  std::int64_t m_Tiles{ 0 };    ///< as large as that, which no two threads decode at once
};

} // namespace gigapixel

#endif
