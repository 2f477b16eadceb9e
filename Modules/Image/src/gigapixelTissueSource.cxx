/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueSource.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gigapixel
{
namespace
{

/** The rectangle around all pixels that are not 0, in the coordinates of the region; of width 0: there are none. */
Region
FindExtent(const Region & region, const std::vector<std::uint8_t> & marked)
{
  std::int64_t left = region.width;
  std::int64_t right = 0;
  std::int64_t top = region.height;
  std::int64_t bottom = 0;
  for (std::int64_t y = 0; y < region.height; ++y)
  {
    const std::uint8_t * const row = marked.data() + y * region.width;
    const std::uint8_t * const end = row + region.width;
    const std::int64_t         first = std::find(row, end, 1) - row;
    if (first == region.width)
    {
      continue;
    }
    const auto last =
      std::find(std::make_reverse_iterator(end), std::make_reverse_iterator(row), std::uint8_t{ 1 }).base() - row;
    left = std::min(left, first);
    right = std::max<std::int64_t>(right, last);
    top = std::min(top, y);
    bottom = y + 1;
  }
  return bottom == 0 ? Region{ region.x, region.y, 0, 0 }
                     : Region{ region.x + left, region.y + top, right - left, bottom - top };
}

class PaintedGlassSource : public PixelSource
{
public:
  PaintedGlassSource(std::shared_ptr<PixelSource> pixels, std::shared_ptr<const TissueMask> tissue, std::uint8_t glass)
    : m_Pixels(std::move(pixels))
    , m_Tissue(std::move(tissue))
    , m_Glass(glass)
  {}

  Size
  GetSize() const override
  {
    return m_Pixels->GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Pixels->GetNumberOfChannels();
  }

  SampleType
  GetSampleType() const override
  {
    return m_Pixels->GetSampleType();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const std::int64_t        bytes = this->GetNumberOfChannels() * GetSampleBytes(this->GetSampleType()); // of a pixel
    std::vector<std::uint8_t> tissue;
    const Region              needed = m_Tissue->Read(region, tissue);
    std::memset(samples, m_Glass, static_cast<std::size_t>(region.width * region.height * bytes));
    if (needed.width == 0)
    {
      return;
    }
    std::vector<std::uint8_t> read(static_cast<std::size_t>(needed.width * needed.height * bytes));
    m_Pixels->Read(needed, read.data());
    for (std::int64_t y = 0; y < needed.height; ++y)
    {
      const std::int64_t         first = (needed.y - region.y + y) * region.width + needed.x - region.x;
      const std::uint8_t * const from = read.data() + y * needed.width * bytes;
      for (std::int64_t x = 0; x < needed.width; ++x)
      {
        if (tissue[static_cast<std::size_t>(first + x)] != 0)
        {
          std::memcpy(samples + (first + x) * bytes, from + x * bytes, static_cast<std::size_t>(bytes));
        }
      }
    }
  }

  void
  ReadAhead(const Region & region) override
  {
    if (m_Tissue->HasTissue(region))
    {
      m_Pixels->ReadAhead(region);
    }
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    std::vector<std::uint8_t> read;
    m_Tissue->Read(region, read);
    std::copy(read.begin(), read.end(), tissue);
    return true;
  }

private:
  std::shared_ptr<PixelSource>      m_Pixels;
  std::shared_ptr<const TissueMask> m_Tissue;
  const std::uint8_t                m_Glass; ///< of each byte
};

class TissueLabelSource : public LabelSource
{
public:
  TissueLabelSource(std::shared_ptr<LabelSource> labels, std::shared_ptr<const TissueMask> tissue)
    : m_Labels(std::move(labels))
    , m_Tissue(std::move(tissue))
  {}

  Size
  GetSize() const override
  {
    return m_Labels->GetSize();
  }

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    std::vector<std::uint8_t> tissue;
    if (m_Tissue->Read(region, tissue).width == 0)
    {
      std::memset(classes, Ignored, tissue.size());
      return;
    }
    m_Labels->Read(region, classes);
    std::transform(tissue.begin(), tissue.end(), classes, classes, [](std::uint8_t isTissue, std::uint8_t label) {
      return isTissue != 0 ? label : Ignored;
    });
  }

private:
  std::shared_ptr<LabelSource>      m_Labels;
  std::shared_ptr<const TissueMask> m_Tissue;
};

} // namespace

TissueMask::TissueMask(PhysicalImage mask, const Grid & pixels, const std::string & pixelsName)
  : m_Labels(std::make_shared<MaskLabelSource>(std::move(mask), pixels, pixelsName, 2))
{}

Size
TissueMask::GetSize() const
{
  return m_Labels->GetSize();
}

bool
TissueMask::HasTissue(const Region & region) const
{
  const Size size = this->GetSize();
  return m_Labels->Contains(region.width > 0 ? region : Region{ 0, 0, size.width, size.height }, 1);
}

bool
TissueMask::IsFull() const
{
  const Size size = this->GetSize();
  return this->HasTissue() && !m_Labels->Contains({ 0, 0, size.width, size.height }, 0);
}

Region
TissueMask::Read(const Region & region, std::vector<std::uint8_t> & tissue) const
{
  tissue.resize(static_cast<std::size_t>(region.width * region.height));
  m_Labels->Read(region, tissue.data());
  std::replace(tissue.begin(), tissue.end(), LabelSource::Ignored, std::uint8_t{ 0 });
  return FindExtent(region, tissue);
}

std::shared_ptr<PixelSource>
PaintGlass(std::shared_ptr<PixelSource> pixels, std::shared_ptr<const TissueMask> tissue, std::uint8_t glass)
{
  return std::make_shared<PaintedGlassSource>(std::move(pixels), std::move(tissue), glass);
}

std::shared_ptr<LabelSource>
IgnoreGlass(std::shared_ptr<LabelSource> labels, std::shared_ptr<const TissueMask> tissue)
{
  return std::make_shared<TissueLabelSource>(std::move(labels), std::move(tissue));
}

} // namespace gigapixel
