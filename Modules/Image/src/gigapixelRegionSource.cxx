/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRegionSource.h"

#include "gigapixelDiagnostic.h"

#include <string>

namespace gigapixel
{
namespace
{

void
CheckInside(const Region & region, Size image)
{
  const bool inside = region.width > 0 && region.height > 0 && region.depth > 0 && region.x >= 0 && region.y >= 0 &&
                      region.z >= 0 && region.x <= image.width - region.width &&
                      region.y <= image.height - region.height && region.z <= image.depth - region.depth;
  if (!inside)
  {
    const std::string given = std::to_string(region.x) + "," + std::to_string(region.y) + "," +
                              std::to_string(region.width) + "," + std::to_string(region.height);
    throw Refusal(Diagnostic("E-REGION",
                             "the region " + given + " (x,y,width,height) is empty or not inside the image of " +
                               std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels")
                    .OfValue(given));
  }
}

Region
Shifted(const Region & region, const Region & part)
{
  return Region{ region.x + part.x, region.y + part.y, region.width, region.height, region.z + part.z, region.depth };
}

class RegionPixelSource : public PixelSource
{
public:
  RegionPixelSource(std::shared_ptr<PixelSource> image, const Region & part)
    : m_Image(std::move(image))
    , m_Part(part)
  {}

  Size
  GetSize() const override
  {
    return Size{ m_Part.width, m_Part.height, m_Part.depth };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Image->GetNumberOfChannels();
  }

  SampleType
  GetSampleType() const override
  {
    return m_Image->GetSampleType();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    m_Image->Read(Shifted(region, m_Part), samples);
  }

  void
  ReadAhead(const Region & region) override
  {
    m_Image->ReadAhead(Shifted(region, m_Part));
  }

  RowsInMemory
  FindRows(const Region & region) const override
  {
    return m_Image->FindRows(Shifted(region, m_Part));
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    return m_Image->ReadTissue(Shifted(region, m_Part), tissue);
  }

private:
  std::shared_ptr<PixelSource> m_Image;
  Region                       m_Part;
};

class RegionLabelSource : public LabelSource
{
public:
  RegionLabelSource(std::shared_ptr<LabelSource> labels, const Region & part)
    : m_Labels(std::move(labels))
    , m_Part(part)
  {}

  Size
  GetSize() const override
  {
    return Size{ m_Part.width, m_Part.height, m_Part.depth };
  }

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    m_Labels->Read(Shifted(region, m_Part), classes);
  }

private:
  std::shared_ptr<LabelSource> m_Labels;
  Region                       m_Part;
};

} // namespace

std::shared_ptr<PixelSource>
MakeRegionSource(std::shared_ptr<PixelSource> image, const Region & region)
{
  CheckInside(region, image->GetSize());
  return std::make_shared<RegionPixelSource>(std::move(image), region);
}

std::shared_ptr<LabelSource>
MakeRegionSource(std::shared_ptr<LabelSource> labels, const Region & region)
{
  CheckInside(region, labels->GetSize());
  return std::make_shared<RegionLabelSource>(std::move(labels), region);
}

} // namespace gigapixel
