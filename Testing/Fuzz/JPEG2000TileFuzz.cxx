/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Tiles of JPEG 2000: codestreams and JP2 files.
#include "FuzzTarget.h"
#include "codecs/TileDecoder.h"

using namespace gigapixel;

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  gigapixel_fuzz::Choices          choices(data, size);
  const auto                       model = static_cast<ColorModel>(choices.Take(3));
  const unsigned                   channels = choices.Take(2) == 0 ? 1 : 3;
  unsigned                         reduction = 1 << choices.Take(4);
  const std::uint32_t              width = 1 + choices.Take(256), height = 1 + choices.Take(256);
  const std::vector<unsigned char> bytes(choices.GetRest(), choices.GetRest() + choices.GetRestSize());
  const ByteSpan                   stream{ bytes.data(), bytes.size() };
  gigapixel_fuzz::MayRefuse("", [&] {
    reduction = std::min(reduction, GetLargestJPEG2000Reduction(stream));
    const std::uint32_t        across = (width + reduction - 1) / reduction;
    const std::uint32_t        down = (height + reduction - 1) / reduction;
    std::vector<unsigned char> pixels(std::size_t{ across } * down * channels);
    DecodeJPEG2000(stream,
                   model,
                   { pixels.data(), std::size_t{ across } * channels, across, down, channels },
                   { width, height, reduction });
  });
  return 0;
}
