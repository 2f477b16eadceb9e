/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Tiles of WebP.
#include "FuzzTarget.h"
#include "codecs/TileDecoder.h"

using namespace gigapixel;

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  gigapixel_fuzz::Choices          choices(data, size);
  constexpr unsigned               kinds[] = { 1, 3, 4 };
  const unsigned                   channels = kinds[choices.Take(3)];
  const std::uint32_t              width = 1 + choices.Take(256), height = 1 + choices.Take(256);
  const std::vector<unsigned char> bytes(choices.GetRest(), choices.GetRest() + choices.GetRestSize());
  std::vector<unsigned char>       pixels(std::size_t{ width } * height * channels);
  gigapixel_fuzz::MayRefuse("", [&] {
    DecodeWebP({ bytes.data(), bytes.size() },
               { pixels.data(), std::size_t{ width } * channels, width, height, channels },
               { width, height });
  });
  return 0;
}
