/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileDecoder.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <webp/decode.h>

namespace gigapixel
{

void
DecodeWebP(ByteSpan stream, const PixelSpan & out, StoredSize stored)
{
  int width = 0;
  int height = 0;
  if (WebPGetInfo(stream.data, stream.size, &width, &height) == 0)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its WebP stream is damaged"));
  }
  const auto storedWidth = static_cast<std::uint32_t>(width);
  const auto storedHeight = static_cast<std::uint32_t>(height);
  if (storedWidth < stored.width || storedHeight < stored.height || storedWidth > out.width + 64 ||
      storedHeight > out.height + 64)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its WebP stream is of another size than the tile"));
  }
  const auto decode = out.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (out.channels != 1 && storedWidth <= out.width && storedHeight <= out.height)
  {
    const std::size_t size = out.stride * (storedHeight - 1) + std::size_t{ storedWidth } * out.channels;
    if (decode(stream.data, stream.size, out.data, size, static_cast<int>(out.stride)) == nullptr)
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", "its WebP stream is damaged"));
    }
    return;
  }
  const unsigned                         channels = out.channels == 4 ? 4 : 3;
  const std::size_t                      stride = std::size_t{ storedWidth } * channels;
  const std::unique_ptr<unsigned char[]> pixels(new unsigned char[stride * storedHeight]);
  if (decode(stream.data, stream.size, pixels.get(), stride * storedHeight, static_cast<int>(stride)) == nullptr)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its WebP stream is damaged"));
  }
  for (std::uint32_t y = 0; y < std::min(out.height, storedHeight); ++y)
  {
    const unsigned char * from = pixels.get() + y * stride;
    unsigned char *       to = out.data + y * out.stride;
    const std::uint32_t   columns = std::min(out.width, storedWidth);
    if (out.channels != 1)
    {
      std::memcpy(to, from, std::size_t{ columns } * channels);
      continue;
    }
    for (std::uint32_t x = 0; x < columns; ++x, from += 3)
    {
      to[x] = LumaFromRGB(from[0], from[1], from[2]);
    }
  }
}

} // namespace gigapixel
