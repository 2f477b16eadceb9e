/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPhysicalImage.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <vector>

namespace gigapixel
{
namespace
{

class GraySource : public PixelSource
{
public:
  explicit GraySource(std::shared_ptr<PixelSource> color)
    : m_Color(std::move(color))
  {}

  Size
  GetSize() const override
  {
    return m_Color->GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return 1;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    // Rows at a time, so that the color pixels of a large tile never stand in memory beside its gray ones.
    constexpr std::int64_t bandPixels = 1 << 18;
    const std::int64_t     bandRows = std::max<std::int64_t>(1, bandPixels / std::max<std::int64_t>(1, region.width));
    std::vector<std::uint8_t> color(static_cast<std::size_t>(std::min(bandRows, region.height) * region.width * 3));
    for (std::int64_t row = 0; row < region.height; row += bandRows)
    {
      const std::int64_t rows = std::min(bandRows, region.height - row);
      m_Color->Read(Region{ region.x, region.y + row, region.width, rows }, color.data());
      const std::uint8_t * rgb = color.data();
      std::uint8_t *       gray = samples + row * region.width;
      for (std::int64_t i = 0; i < rows * region.width; ++i)
      {
        const std::uint32_t luma = 19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] + 7471u * rgb[3 * i + 2];
        gray[i] = static_cast<std::uint8_t>((luma + 32768u) >> 16);
      }
    }
  }

  void
  ReadAhead(const Region & region) override
  {
    m_Color->ReadAhead(region);
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    return m_Color->ReadTissue(region, tissue);
  }

private:
  std::shared_ptr<PixelSource> m_Color;
};

} // namespace

std::shared_ptr<PixelSource>
AdaptChannels(std::shared_ptr<PixelSource> pixels, unsigned channels, const std::string & name)
{
  const unsigned given = pixels->GetNumberOfChannels();
  if (given == channels)
  {
    return pixels;
  }
  if (channels == 1 && given == 3 && pixels->GetSampleType() == SampleType::UInt8)
  {
    return std::make_shared<GraySource>(std::move(pixels));
  }
  throw Refusal(
    Diagnostic("E-MODEL-INPUT",
               "it has " + FormatCount(given, "channel") + " where " + std::to_string(channels) +
                 (channels == 1 ? " is" : " are") + " needed",
               "convert it, or take a network of as many channels, such as unet:channels=" + std::to_string(given))
      .OfFile(name)
      .OfValue(std::to_string(given)));
}

} // namespace gigapixel
