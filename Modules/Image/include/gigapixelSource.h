/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSource_h
#define gigapixelSource_h

#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** Width, height and depth in pixels of an image; the depth of a slide is 1. */
struct Size
{
  std::int64_t width{ 0 };  ///< pixels along x
  std::int64_t height{ 0 }; ///< pixels along y
  std::int64_t depth{ 1 };  ///< slices along z
};

/** Half-open box of pixels: [x, x + width) x [y, y + height) x [z, z + depth), in the coordinates of one image: of a
 * slide, which is one pixel deep, a rectangle. */
struct Region
{
  std::int64_t x{ 0 };      ///< first column
  std::int64_t y{ 0 };      ///< first row
  std::int64_t width{ 0 };  ///< number of columns
  std::int64_t height{ 0 }; ///< number of rows
  std::int64_t z{ 0 };      ///< first slice
  std::int64_t depth{ 1 };  ///< number of slices
};

/** The first sample of an image that lies in memory, and the steps from column to column and from row to row, either of
 * which may be negative. Where only a region is there, the address is where the first sample would lie. Without an
 * address: nothing is there. */
struct SamplesInMemory
{
  const std::uint8_t * first{ nullptr }; ///< address; null: not in memory
  std::ptrdiff_t       column{ 0 };      ///< bytes from column to column
  std::ptrdiff_t       row{ 0 };         ///< bytes from row to row
};

/** Rows of samples in memory, like those that PixelSource::Read() writes; without an address: nothing is there. */
struct RowsInMemory
{
  const std::uint8_t * first{ nullptr }; ///< address; null: not in memory
  std::ptrdiff_t       pitch{ 0 };       ///< bytes from row to row
  std::ptrdiff_t       slice{ 0 };       ///< bytes from slice to slice; a slide has one
};

/** What a sample is. */
enum class SampleType
{
  UInt8, ///< from 0, black, to 255, white
  Float, ///< in the order of the machine's bytes: its value is itself what 255ths are of bytes, and has no bounds
  UInt32 ///< in the order of the machine's bytes: labels, which no network reads
};

/** 1 or 4. */
inline std::int64_t
GetSampleBytes(SampleType type)
{
  return type == SampleType::UInt8 ? 1 : sizeof(float);
}

/** \class PixelSource
 * \brief Where the engine's pixels come from: any image that can give a rectangle of itself.
 *
 * Samples are unsigned char or float, or 32-bit labels (SampleType), row by row and slice by slice, channels
 * interleaved (1: gray, 3: RGB, or as many as the network's input). Read() is called from several threads at once. It
 * may throw; the engine then stops its work and passes the exception on. */
class PixelSource
{
public:
  virtual ~PixelSource() = default;

  virtual Size GetSize() const = 0; ///< in pixels

  virtual unsigned GetNumberOfChannels() const = 0; ///< 1: gray, 3: RGB, or as many as the network takes

  /** How samples are stored. Default: bytes. */
  virtual SampleType
  GetSampleType() const
  {
    return SampleType::UInt8;
  }

  /** Writes region.width * region.height * region.depth * channels samples, to an address that suits their type. The
   * region lies inside the image. */
  virtual void Read(const Region & region, std::uint8_t * samples) = 0;

  /** Says that the region will be read soon, so that storage which answers late can begin to bring it while others are
   * computed. Called as Read() is, from several threads, for regions inside the image; returns without waiting, and
   * failures are left to Read(). Default: nothing is done */
  virtual void
  ReadAhead(const Region &)
  {}

  /** The region's samples where the source itself has them, so that the CPU need not copy them. Called as Read() is,
   * and for the same regions; may throw as it does. What is returned may be read as long as the source lives and its
   * pixels stay. Default: nowhere. */
  virtual RowsInMemory
  FindRows(const Region &) const
  {
    return {};
  }

  /** Where a device may read the samples itself. Default: nowhere. */
  virtual SamplesInMemory
  GetInMemory() const
  {
    return {};
  }

  /** Which of the region's pixels are tissue, or whatever the image is about, where that is known: writes a byte for
   * each, 1 or 0. Called as Read() is. \return false, and nothing written: all of them are. Default: all */
  virtual bool
  ReadTissue(const Region &, std::uint8_t *) const
  {
    return false;
  }
};

/** \class LabelSource
 * \brief Where the engine's truth comes from: a class index for every pixel of the image that it belongs to.
 *
 * The size is that of the pixels, whatever the grid of the mask behind it: a mask at 1/8 answers in pixels of the
 * slide. Same rules as PixelSource. */
class LabelSource
{
public:
  /** Pixels of this class take no part in the loss (not annotated, not scanned). */
  static constexpr std::uint8_t Ignored = 255;

  virtual ~LabelSource() = default;

  virtual Size GetSize() const = 0; ///< in pixels of the image

  /** Writes region.width * region.height * region.depth classes: 0 .. classes - 1, or Ignored. Two classes: 0
   * background, 1 object. */
  virtual void Read(const Region & region, std::uint8_t * classes) = 0;

  /** Where a device may read the classes itself. Default: nowhere. */
  virtual SamplesInMemory
  GetInMemory() const
  {
    return {};
  }
};

} // namespace gigapixel

#endif
