/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Tiles of JPEG: a stream, with or without tables before it.
#include "FuzzTarget.h"
#include "codecs/TileDecoder.h"

using namespace gigapixel;

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  gigapixel_fuzz::Choices choices(data, size);
  const auto              model = static_cast<ColorModel>(choices.Take(4));
  const unsigned          channels = choices.Take(2) == 0 ? 1 : 3;
  const unsigned          reduction = 1 << choices.Take(4);
  const std::uint32_t     width = 1 + choices.Take(256), height = 1 + choices.Take(256);
  const std::size_t       tableBytes = std::min<std::size_t>(choices.Take(256) * 4, choices.GetRestSize());
  // In memory of its own, so that a byte too far is seen.
  const std::string          tables(choices.GetRest(), choices.GetRest() + tableBytes);
  const std::string          stream(choices.GetRest() + tableBytes, choices.GetRest() + choices.GetRestSize());
  const std::uint32_t        across = (width + reduction - 1) / reduction, down = (height + reduction - 1) / reduction;
  std::vector<unsigned char> pixels(std::size_t{ across } * down * channels);
  const auto                 toSpan = [](const std::string & bytes) {
    return ByteSpan{ reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size() };
  };
  gigapixel_fuzz::MayRefuse("", [&] {
    DecodeJPEG(toSpan(stream),
               toSpan(tables),
               model,
               { pixels.data(), std::size_t{ across } * channels, across, down, channels },
               { width, height, reduction });
  });
  return 0;
}
