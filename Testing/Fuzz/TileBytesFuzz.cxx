/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Tiles of byte codecs: deflate, Zstandard, LZW and PackBits, and the differencing behind them.
#include "FuzzTarget.h"
#include "codecs/TileDecoder.h"

using namespace gigapixel;

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  gigapixel_fuzz::Choices choices(data, size);
  std::size_t (*const decoders[])(ByteSpan, unsigned char *, std::size_t, std::size_t *) = {
    DecodeDeflate, DecodeZstandard, DecodeLZW, DecodePackBits
  };
  const auto                       decode = decoders[choices.Take(4)];
  const unsigned                   samples = 1 + choices.Take(4), sampleBytes = 1 + choices.Take(2);
  const std::uint32_t              width = 1 + choices.Take(256), height = 1 + choices.Take(256);
  const std::vector<unsigned char> bytes(choices.GetRest(), choices.GetRest() + choices.GetRestSize());
  std::vector<unsigned char>       pixels(std::size_t{ width } * height * samples * sampleBytes);
  gigapixel_fuzz::MayRefuse("", [&] {
    std::size_t used = 0;
    if (decode({ bytes.data(), bytes.size() }, pixels.data(), pixels.size(), &used) > pixels.size())
    {
      gigapixel_fuzz::Fail("more bytes than there is room for");
    }
    if (used > bytes.size())
    {
      gigapixel_fuzz::Fail("a stream that ends behind its bytes");
    }
    UndoHorizontalDifferencing(pixels.data(), width, height, samples, sampleBytes);
  });
  return 0;
}
