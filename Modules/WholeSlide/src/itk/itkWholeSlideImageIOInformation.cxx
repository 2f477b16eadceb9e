/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What the reader says of an open slide: geometry and dictionary.
#include "slide/SlideImageChoice.h"
#include "gigapixelJoinNames.h"
#include "itkWholeSlideImageIO.h"

#include "itkMetaDataObject.h"
#include "itksys/Base64.h"

#include <vector>

namespace itk
{
namespace
{

std::string
EncodeBase64(const std::string & bytes)
{
  std::vector<unsigned char> text(bytes.size() / 3 * 4 + 8);
  const size_t               length =
    itksysBase64_Encode(reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size(), text.data(), 0);
  return { text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length) };
}

std::vector<WholeSlideImageIO::ChannelEntry>
MakeEntries(const std::vector<gigapixel::SlideChannel> & channels)
{
  std::vector<WholeSlideImageIO::ChannelEntry> entries;
  for (const gigapixel::SlideChannel & channel : channels)
  {
    const std::string color = channel.color ? gigapixel::FormatHexColor(*channel.color) : "";
    entries.push_back({ channel.name, color, channel.excitation, channel.emission });
  }
  return entries;
}

} // namespace

std::string
WholeSlideImageIO::GetChannelChoice() const
{
  return this->GetSlide().GetChannelChoice();
}

std::string
WholeSlideImageIO::DescribeChannelChoice() const
{
  return this->GetSlide().DescribeChannelChoice();
}

std::vector<WholeSlideImageIO::ChannelEntry>
WholeSlideImageIO::GetChannelEntries() const
{
  return MakeEntries(this->GetSlide().GetChannels());
}

std::vector<WholeSlideImageIO::ChannelEntry>
WholeSlideImageIO::GetAddedChannels() const
{
  return MakeEntries(this->GetSlide().GetAddedChannels());
}

void
WholeSlideImageIO::SetGeometry()
{
  const bool   isLevel = m_AssociatedImage.empty();
  const auto & plane = isLevel ? this->GetLevelPlane(m_Level) : m_Slide->GetPlanes()[m_Plane];
  const auto   downsamples = isLevel ? this->GetLevelDownsamples(m_Level) : std::array<double, 2>{ { 1.0, 1.0 } };
  const auto   resolution = this->GetLevelZeroResolution();
  const bool   known = isLevel && resolution[0] > 0.0 && resolution[1] > 0.0;
  this->SetNumberOfDimensions(2);
  this->SetDimensions(0, plane.width);
  this->SetDimensions(1, plane.height);
  for (unsigned int i = 0; i < 2; ++i)
  {
    const double base = known ? resolution[i] / 1000.0 : 1.0; // mm
    // Of unknown resolution, each level has spacing 1 times its downsample: levels still cover the same rectangle.
    this->SetSpacing(i, base * downsamples[i]);
    this->SetOrigin(i, (known ? m_Slide->GetOrigin()[i] : 0.0) + (downsamples[i] - 1.0) / 2.0 * base);
    std::vector<double> direction(2, 0.0);
    direction[i] = 1.0;
    this->SetDirection(i, direction);
  }
  constexpr IOComponentEnum types[] = { IOComponentEnum::UCHAR, IOComponentEnum::USHORT,    IOComponentEnum::FLOAT,
                                        IOComponentEnum::CHAR,  IOComponentEnum::SHORT,     IOComponentEnum::UINT,
                                        IOComponentEnum::INT,   IOComponentEnum::ULONGLONG, IOComponentEnum::LONGLONG,
                                        IOComponentEnum::DOUBLE };
  m_ComponentType = types[static_cast<unsigned>(plane.sample)];
  m_NumberOfComponents = m_Gray && plane.IsPicture() ? 1 : plane.channels;
  m_PixelType = m_NumberOfComponents == 1 ? IOPixelEnum::SCALAR
                : plane.IsPicture()       ? IOPixelEnum::RGB
                                          : IOPixelEnum::VECTOR;
}

void
WholeSlideImageIO::FillDictionary()
{
  MetaDataDictionary & dictionary = this->GetMetaDataDictionary();
  dictionary = MetaDataDictionary();
  for (const auto & property : m_Slide->GetProperties())
  {
    EncapsulateMetaData<std::string>(dictionary, property.first, property.second);
  }
  if (const std::string plane = gigapixel::DescribeFocalPlane(m_Slide->GetImages()); !plane.empty())
  {
    EncapsulateMetaData<std::string>(dictionary, "gigapixel.focal-plane", plane);
  }
  if (m_AssociatedImage.empty() && m_PixelType != IOPixelEnum::RGB && m_Slide->DescribesChannels())
  {
    for (const auto & property : gigapixel::DescribeChannels(m_Slide->GetChannels()))
    {
      EncapsulateMetaData<std::string>(dictionary, property.first, property.second);
    }
  }
  EncapsulateMetaData<std::string>(dictionary, "gigapixel.decoder", m_Slide->GetDecoder());
  EncapsulateMetaData<std::string>(
    dictionary, "gigapixel.associated-images", gigapixel::JoinNames(this->GetAssociatedImageNames(), "\n"));
  if (m_Colors)
  {
    EncapsulateMetaData<std::string>(dictionary, "gigapixel.colors", "sRGB");
  }
  else if (!m_Slide->GetColorProfile().empty())
  {
    EncapsulateMetaData<std::string>(dictionary, "ICCProfile", EncodeBase64(m_Slide->GetColorProfile()));
  }
}

} // namespace itk
