/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelFileSource.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelGridMatch.h"
#include "gigapixelWholeFile.h"
#include "itkImageIOFactory.h"
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
#  include "gigapixelSlideFiles.h"
#  include "itkMetaDataObject.h"
#  include "itkPyramidTIFFImageIO.h"
#  include "itkWholeSlideImageIO.h"
#endif

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace itk
{
namespace
{

#ifdef GIGAPIXEL_HAS_WHOLESLIDE
/** A slide's level. One reader serves all threads; each decodes what it asks for. */
class SlideSource : public gigapixel::PixelSource
{
public:
  SlideSource(WholeSlideImageIO::Pointer slide, unsigned channels)
    : m_Slide(std::move(slide))
    , m_Channels(channels)
  {}

  gigapixel::Size
  GetSize() const override
  {
    const auto size = m_Slide->GetLevelSize(m_Slide->GetLevel());
    return gigapixel::Size{ static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    try
    {
      m_Slide->ReadRegion(m_Slide->GetLevel(),
                          static_cast<SizeValueType>(region.x),
                          static_cast<SizeValueType>(region.y),
                          static_cast<SizeValueType>(region.width),
                          static_cast<SizeValueType>(region.height),
                          m_Channels,
                          samples);
    }
    catch (const ExceptionObject & error)
    {
      throw std::runtime_error(error.GetDescription());
    }
  }

  void
  ReadAhead(const gigapixel::Region & region) override
  {
    m_Slide->ReadAhead(m_Slide->GetLevel(),
                       static_cast<SizeValueType>(region.x),
                       static_cast<SizeValueType>(region.y),
                       static_cast<SizeValueType>(region.width),
                       static_cast<SizeValueType>(region.height));
  }

private:
  WholeSlideImageIO::Pointer m_Slide;
  unsigned                   m_Channels;
};

/** What a pyramid of ours says to have been made of: its description ends with that. */
std::string
FindMadeOf(const WholeSlideImageIO & pyramid)
{
  std::string description;
  ExposeMetaData(pyramid.GetMetaDataDictionary(), "tiff.ImageDescription", description);
  const std::string madeBy = PyramidTIFFImageIO::GetMadeByOfDescription(description);
  // "bytes=123 hash=1f" at its end
  const auto skip = [&](std::size_t place, const char * digits) {
    const std::size_t end = std::min(madeBy.size(), madeBy.find_first_not_of(digits, place));
    return end > place ? end : std::string::npos;
  };
  const std::string bytes = "bytes=", hash = " hash=";
  const std::size_t begin = madeBy.rfind(bytes);
  const std::size_t next = begin == std::string::npos ? begin : skip(begin + bytes.size(), "0123456789");
  const bool        hasHash = next != std::string::npos && madeBy.compare(next, hash.size(), hash) == 0;
  const bool        isWhole = hasHash && skip(next + hash.size(), "0123456789abcdef") == madeBy.size();
  return isWhole ? madeBy.substr(begin) : std::string();
}

/** The reader gives bytes of what has samples of more bits, scaled: of a mask these are its values no more. */
std::shared_ptr<gigapixel::PixelSource>
MakePixels(const WholeSlideImageIO::Pointer & slide, HighSamples high)
{
  if (slide->GetComponentType() == IOComponentEnum::UCHAR)
  {
    return std::make_shared<SlideSource>(slide, slide->GetNumberOfComponents());
  }
  const auto make = [name = std::string(slide->GetFileName()), level = slide->GetLevel()]() -> ImageIOBase::Pointer {
    const auto io = WholeSlideImageIO::New();
    io->SetFileName(name);
    io->SetLevel(level);
    return io.GetPointer();
  };
  return GigapixelImageIOSource(make, slide->GetFileName(), high).pixels;
}

gigapixel::PhysicalImage
OpenSlideFile(const WholeSlideImageIO::Pointer & slide,
              const std::string &                fileName,
              const GigapixelResolution &        resolution,
              unsigned                           channels,
              gigapixel::HashedBytes             bytes,
              HighSamples                        high)
{
  slide->SetFileName(fileName);
  slide->SetLevelZeroMicronsPerPixel(resolution.levelZeroMicronsPerPixel);
  slide->SetLevel(resolution.level);
  if (resolution.micronsPerPixel > 0)
  {
    slide->SetMicronsPerPixel(resolution.micronsPerPixel);
  }
  slide->SetGray(channels == 1);
  slide->ReadImageInformation();

  gigapixel::PhysicalImage result;
  result.name = fileName;
  result.pixels = MakePixels(slide, high);
  result.grid = gigapixel::Grid::Of(*slide);
  result.content = bytes == gigapixel::HashedBytes::Samples ? gigapixel::IdentifySlide(fileName)
                                                            : gigapixel::IdentifyFile(fileName, bytes);
  result.madeOf = FindMadeOf(*slide);
  result.downsample = slide->GetLevelDownsample(slide->GetLevel());
  result.scanned = [slide](const gigapixel::Region & region, std::uint8_t * scanned) {
    return slide->ReadScanned(slide->GetLevel(),
                              static_cast<SizeValueType>(region.x),
                              static_cast<SizeValueType>(region.y),
                              static_cast<SizeValueType>(region.width),
                              static_cast<SizeValueType>(region.height),
                              scanned);
  };
  return result;
}
#endif

/** What the readers of slides do not claim. */
gigapixel::PhysicalImage
OpenOtherFile(const std::string & fileName, HighSamples high)
{
  gigapixel::RequireWholeFile(fileName);
  const auto make = [fileName]() -> ImageIOBase::Pointer {
    const auto io = ImageIOFactory::CreateImageIO(fileName.c_str(), IOFileModeEnum::ReadMode);
    if (io)
    {
      io->SetFileName(fileName);
    }
    return io;
  };
  return GigapixelImageIOSource(make, fileName, high);
}

/** \param bytes of a slide that tell it from others; of other files all do */
gigapixel::PhysicalImage
OpenFile(const std::string &         fileName,
         const GigapixelResolution & resolution,
         unsigned                    channels,
         gigapixel::HashedBytes      bytes,
         HighSamples                 high)
{
  // Before it is opened: a pipe would wait for a writer for ever.
  std::error_code error;
  if (std::filesystem::exists(fileName, error) && !std::filesystem::is_regular_file(fileName, error))
  {
    throw std::runtime_error(fileName + ": it is not a file; name an image's file");
  }
  gigapixel::RequireReadable(fileName);
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
  const auto slide = WholeSlideImageIO::New();
  if (slide->CanReadFile(fileName.c_str()))
  {
    try
    {
      return OpenSlideFile(slide, fileName, resolution, channels, bytes, high);
    }
    catch (const ExceptionObject & error)
    {
      throw std::runtime_error(error.GetDescription());
    }
  }
#endif
  (void)channels;
  (void)bytes;
  gigapixel::PhysicalImage image = OpenOtherFile(fileName, high);
  image.content = gigapixel::IdentifyFile(fileName, gigapixel::HashedBytes::All);
  if (resolution.levelZeroMicronsPerPixel > 0 && !image.grid.IsSpacingKnown())
  {
    image.grid.spacing.fill(resolution.levelZeroMicronsPerPixel / 1000);
  }
  if (resolution.level != 0 && resolution.micronsPerPixel <= 0)
  {
    throw std::runtime_error(fileName + ": it has no level " + std::to_string(resolution.level) +
                             ", since it is no slide: read it at level 0");
  }
  return image;
}

} // namespace

gigapixel::PhysicalImage
GigapixelFileSource(const std::string & fileName, const GigapixelResolution & resolution, unsigned channels)
{
  return OpenFile(fileName, resolution, channels, gigapixel::HashedBytes::Samples, HighSamples::Refused);
}

gigapixel::PhysicalImage
GigapixelOpenWithoutSlides(const std::string & fileName)
{
  gigapixel::RequireReadable(fileName);
  return OpenOtherFile(fileName, HighSamples::Refused);
}

gigapixel::PhysicalImage
GigapixelMaskSource(const std::string & fileName, HighSamples high)
{
  gigapixel::PhysicalImage mask = OpenFile(fileName, {}, 0, gigapixel::HashedBytes::All, high);
  gigapixel::RequireMask(mask);
  return mask;
}

gigapixel::PhysicalImage
GigapixelTissueSource(const std::string & fileName, const std::string & slide)
{
  gigapixel::PhysicalImage       mask = GigapixelMaskSource(fileName);
  const gigapixel::PhysicalImage image = mask.madeOf.empty() ? gigapixel::PhysicalImage() : GigapixelFileSource(slide);
  if (mask.madeOf != image.content && mask.madeOf != image.madeOf && !mask.madeOf.empty())
  {
    throw std::runtime_error("the tissue mask " + fileName + " was made of another slide than " + slide +
                             ": give the one of this slide");
  }
  return mask;
}

} // namespace itk
