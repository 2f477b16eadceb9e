/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelOnnxWalk.h"
#include "gigapixelPrintable.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

constexpr std::int64_t MostChannels = 4096; ///< of an image
constexpr std::int64_t LargestImage = 65536;

OnnxImage
MakeImage(const OnnxValue & input)
{
  const std::string where = "its input \"" + GetPrintable(input.name) + "\" ";
  const std::size_t rank = input.shape.size();
  if (rank != 4 && rank != 5)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION",
                                     where + "has " + std::to_string(rank) +
                                       " axes; an image's are batch, channels, height and width, a volume's batch, "
                                       "channels, depth, height and width"));
  }
  // Of two numbers that may be channels the smaller one is: there are few of them.
  const std::int64_t second = input.shape[1], last = input.shape.back();
  const bool         isLast = last > 0 && (second < 0 || last < second);
  const std::int64_t channels = isLast ? last : second;
  if (channels < 1 || channels > MostChannels)
  {
    throw InvalidArgument(Diagnostic(
      "E-NETWORK-OPERATION", where + "does not say how many channels it has", "export it with a fixed number"));
  }
  Extent size(static_cast<int>(rank) - 2);
  for (int axis = 0; axis < size.GetNumberOfAxes(); ++axis)
  {
    size[axis] = std::max<std::int64_t>(0, input.shape[axis + (isLast ? 1 : 2)]);
  }
  if (*std::max_element(size.begin(), size.end()) > LargestImage)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", where + "has an impossible size"));
  }
  return { input.name, channels, isLast, size };
}

} // namespace

bool
OnnxImage::IsOfFixedSize() const
{
  return std::all_of(size.begin(), size.end(), [](std::int64_t side) { return side > 0; });
}

std::vector<OnnxImage>
GetOnnxImages(const OnnxFile & file)
{
  std::vector<OnnxImage> images;
  std::int64_t           channels = 0;
  for (const OnnxValue & input : file.inputs)
  {
    images.push_back(MakeImage(input));
    channels += images.back().channels;
    if (images.back().size.GetNumberOfAxes() != images.front().size.GetNumberOfAxes())
    {
      throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION",
                                       "its inputs are pictures and volumes; those of one image have the same axes"));
    }
    if (images.back().size != images.front().size)
    {
      throw InvalidArgument(
        Diagnostic("E-NETWORK-OPERATION", "its inputs are of different sizes; those of one image are not"));
    }
  }
  if (images.empty() || channels > MostChannels)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION",
                                     "its inputs have " + FormatCount(channels, "channel") + " in all, not from 1 to " +
                                       std::to_string(MostChannels)));
  }
  return images;
}

} // namespace gigapixel
