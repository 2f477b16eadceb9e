/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPhysicalImage_h
#define gigapixelPhysicalImage_h

#include "gigapixelGrid.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** Marks the pixels of a region that were scanned: 255, and 0 where there is only the slide's background. Returns true,
 * with nothing written, when all of them were. Called from several threads at once. */
using ScannedFunction = std::function<bool(const Region & region, std::uint8_t * scanned)>;

/** \class PhysicalImage
 * \brief Pixels that can be read by region, and their place on the glass: what every sample is made of, whether it
 * comes from an ITK pipeline, an ImageIO or somewhere else. */
struct PhysicalImage
{
  std::string                  name;     ///< for messages: a file, or a word like "image 2"
  std::shared_ptr<PixelSource> pixels;   ///< reads regions of it
  std::shared_ptr<PixelSource> measured; ///< its level that statistics are found in; null: that is `pixels`
  Grid                         grid;     ///< size, spacing and origin
  ScannedFunction              scanned;  ///< empty: all of it was
  std::string                  content;  ///< what tells the file from others, whatever its name; empty: not known
  std::string                  madeOf;   ///< `content` of the slide that it was made of, as it says; empty: not known
  std::uint8_t                 objectValue{ 0 };  ///< that the only segment of a segmentation has; 0: it is not known
  std::int64_t                 heldBytes{ 0 };    ///< of pixels that are read as a whole, and kept from then on
  std::int64_t                 readingBytes{ 0 }; ///< and beside them while they are read
  std::array<double, 2>        downsamples{ { 1, 1 } }; ///< level-0 pixels in one, x and y; regions are given in them
  std::int64_t decodingBytes{ 0 };   ///< that each reading thread takes where pixels are averaged to a resolution
  std::vector<std::string> channels; ///< names of those that were chosen, or shown with a window; none: as they came
};

/** The source itself where it has the channels that are wanted, or its gray values where one channel is wanted of
 * three: Rec. 601 luma, 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601, what JPEG calls Y), rounded, in 16-bit fixed point
 * as libjpeg and our slide reader compute it. \throw std::runtime_error names the image for every other combination. */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> AdaptChannels(std::shared_ptr<PixelSource> pixels,
                                                                 unsigned                     channels,
                                                                 const std::string &          name);

} // namespace gigapixel

#endif
