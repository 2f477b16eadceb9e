/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidTileCompressor.h"

#include "gigapixelDiagnostic.h"

#include <webp/encode.h>

namespace gigapixel
{
namespace
{
class WebPCompressor final : public PyramidTileCompressor
{
public:
  explicit WebPCompressor(const PyramidFormat & format)
    : m_Side(static_cast<int>(format.tileSize))
    , m_Quality(format.compressionLevel)
  {}

  void
  Compress(const std::uint8_t * tile, std::size_t rowBytes, std::vector<std::uint8_t> & compressed) override
  {
    const int                                                stride = static_cast<int>(rowBytes);
    std::uint8_t *                                           bytes = nullptr;
    const std::size_t                                        size = m_Quality == 100
                                                                      ? WebPEncodeLosslessRGB(tile, m_Side, m_Side, stride, &bytes)
                                                                      : WebPEncodeRGB(tile, m_Side, m_Side, stride, static_cast<float>(m_Quality), &bytes);
    const std::unique_ptr<std::uint8_t, decltype(&WebPFree)> owner(bytes, &WebPFree);
    if (size == 0)
    {
      throw Refusal(Diagnostic("E-INTERNAL", "a tile could not be compressed as WebP"));
    }
    compressed.assign(bytes, bytes + size);
  }

private:
  int m_Side;
  int m_Quality;
};
} // namespace

std::unique_ptr<PyramidTileCompressor>
NewWebPCompressor(const PyramidFormat & format)
{
  return std::make_unique<WebPCompressor>(format);
}

} // namespace gigapixel
