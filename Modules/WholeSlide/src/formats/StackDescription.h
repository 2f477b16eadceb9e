/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StackDescription_h
#define StackDescription_h

#include "tiff/TIFFDirectory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** The labels of the pages of ImageJ (tag 50839), of which the first lines count, in UTF-8. Empty where nothing is
 * said, or what is said is damaged. */
std::vector<std::string> FindImageJLabels(const TIFFPage & page);

/** What tifffile writes as {"shape": [4, 3, 300, 400], "axes": "CZYX", "Channel": {"Name": ["DAPI", "CD3"]}}. */
struct ShapedStack
{
  std::vector<std::uint64_t> shape; // empty where the page says none; 0 where it says no number
  std::string                axes;
  bool                       isTruncated{ false }; // one page is described, and the pixels of all follow each other
  std::vector<std::string>   channelNames;
};

ShapedStack ReadShapedStack(const TIFFPage & page);

} // namespace gigapixel

#endif
