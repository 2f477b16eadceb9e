/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelFileSource.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelGridMatch.h"
#include "gigapixelWholeFile.h"
#include "itkGigapixelPNGMask.h"
#include "itkImageIOFactory.h"
#include "itkOutputWindow.h"
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
#  include "gigapixelSlideFiles.h"
#  include "gigapixelSlidePixels.h"
#  include "itkMetaDataObject.h"
#  include "itkPyramidTIFFImageIO.h"
#  include "itkWholeSlideImageIO.h"
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace itk
{

void
GigapixelWarn(const gigapixel::Diagnostic & warning)
{
  if (Object::GetGlobalWarningDisplay())
  {
    OutputWindowDisplayWarningText(("WARNING: " + gigapixel::Remember(warning) + '\n').c_str());
  }
}

namespace
{

/** JPEG changes values where they change from pixel to pixel. */
void
WarnOfLoss(const std::string & mask)
{
  GigapixelWarn(gigapixel::Diagnostic("W-MASK-LOSSY",
                                      "it is compressed as JPEG, which changes labels near their edges",
                                      "give a mask that is compressed without loss, such as PNG")
                  .OfFile(mask));
}

#ifdef GIGAPIXEL_HAS_WHOLESLIDE
/** A slide's level, of samples of 8 bit, or of others as floats. One reader serves all threads; each decodes what it
 * asks for. */
class SlideSource : public gigapixel::PixelSource
{
public:
  SlideSource(WholeSlideImageIO::Pointer slide, unsigned level)
    : m_Slide(std::move(slide))
    , m_Level(level)
    , m_Channels(m_Slide->GetNumberOfComponents())
    , m_Type(m_Slide->GetComponentType())
  {}

  gigapixel::Size
  GetSize() const override
  {
    const auto size = m_Slide->GetLevelSize(m_Level);
    return gigapixel::Size{ static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    return m_Type == IOComponentEnum::UCHAR ? gigapixel::SampleType::UInt8 : gigapixel::SampleType::Float;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    if (m_Type != IOComponentEnum::USHORT)
    {
      return this->ReadStored(region, samples);
    }
    // They lie in the second half of what they become, where none is overwritten before it is read.
    const std::int64_t   count = region.width * region.height * m_Channels;
    std::uint8_t * const stored = samples + count * static_cast<std::int64_t>(sizeof(std::uint16_t));
    this->ReadStored(region, stored);
    for (std::int64_t i = 0; i < count; ++i)
    {
      std::uint16_t value = 0;
      std::memcpy(&value, stored + i * static_cast<std::int64_t>(sizeof(value)), sizeof(value));
      reinterpret_cast<float *>(samples)[i] = value;
    }
  }

  void
  ReadAhead(const gigapixel::Region & region) override
  {
    m_Slide->ReadAhead(m_Level,
                       static_cast<SizeValueType>(region.x),
                       static_cast<SizeValueType>(region.y),
                       static_cast<SizeValueType>(region.width),
                       static_cast<SizeValueType>(region.height));
  }

private:
  void
  ReadStored(const gigapixel::Region & region, std::uint8_t * samples) const
  {
    try
    {
      m_Slide->ReadRegion(m_Level,
                          static_cast<SizeValueType>(region.x),
                          static_cast<SizeValueType>(region.y),
                          static_cast<SizeValueType>(region.width),
                          static_cast<SizeValueType>(region.height),
                          m_Channels,
                          samples);
    }
    catch (const ExceptionObject & error)
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic::Of(error));
    }
  }

  WholeSlideImageIO::Pointer m_Slide;
  unsigned                   m_Level;
  unsigned                   m_Channels;
  IOComponentEnum            m_Type;
};

std::string
FindMadeBy(const WholeSlideImageIO & pyramid)
{
  std::string description;
  ExposeMetaData(pyramid.GetMetaDataDictionary(), "tiff.ImageDescription", description);
  return PyramidTIFFImageIO::GetMadeByOfDescription(description);
}

/** What a pyramid of ours says to have been made of: its description ends with that. */
std::string
FindMadeOf(const WholeSlideImageIO & pyramid)
{
  const std::string madeBy = FindMadeBy(pyramid);
  // "bytes=123 hash=1f" at its end, and the same before that for each further file of the slide
  const auto skip = [&](std::size_t place, const char * digits) {
    const std::size_t end = std::min(madeBy.size(), madeBy.find_first_not_of(digits, place));
    return end > place ? end : std::string::npos;
  };
  const std::string bytes = "bytes=", hash = " hash=";
  const auto        isPair = [&](std::size_t pair, std::size_t end) {
    const std::size_t next = pair == std::string::npos ? pair : skip(pair + bytes.size(), "0123456789");
    return next != std::string::npos && madeBy.compare(next, hash.size(), hash) == 0 &&
           skip(next + hash.size(), "0123456789abcdef") == end;
  };
  std::size_t begin = madeBy.size();
  for (std::size_t pair = madeBy.rfind(bytes), end = begin; isPair(pair, end); pair = madeBy.rfind(bytes, end))
  {
    begin = pair;
    end = pair > 0 && madeBy[pair - 1] == ' ' ? pair - 1 : 0;
  }
  if (begin == madeBy.size())
  {
    return std::string();
  }
  // "image=2 " or "image=max:1 " before them, of an image that is not the main one: see IdentifySlide()
  const std::string image = "image=";
  const std::size_t named = madeBy.rfind(image, begin);
  const bool hasImage = named != std::string::npos && skip(named + image.size(), "0123456789:acfmosux") + 1 == begin;
  return madeBy.substr(hasImage ? named : begin);
}

/** Whether SlideSource reads the samples. */
bool
IsReadAsStored(const WholeSlideImageIO & slide)
{
  const auto type = slide.GetComponentType();
  return type == IOComponentEnum::UCHAR || type == IOComponentEnum::USHORT || type == IOComponentEnum::FLOAT;
}

/** The reader gives bytes of what has samples of more bits, scaled: of a mask these are its values no more. */
std::shared_ptr<gigapixel::PixelSource>
MakePixels(const WholeSlideImageIO::Pointer & slide, bool asStored, HighSamples high)
{
  if (asStored ? IsReadAsStored(*slide) : slide->GetComponentType() == IOComponentEnum::UCHAR)
  {
    return std::make_shared<SlideSource>(slide, slide->GetLevel());
  }
  const auto make = [slide]() -> ImageIOBase::Pointer {
    const auto io = WholeSlideImageIO::New();
    io->CopySettings(*slide);
    return io.GetPointer();
  };
  return GigapixelImageIOSource(make, slide->GetFileName(), high).pixels;
}

} // namespace

std::shared_ptr<gigapixel::PixelSource>
GigapixelMeasuredSource(const SmartPointer<WholeSlideImageIO> & slide)
{
  return std::make_shared<SlideSource>(slide, slide->GetMeasuredLevel());
}

std::vector<std::string>
GigapixelChannelNames(const WholeSlideImageIO & slide)
{
  std::vector<std::string> names;
  for (const auto & channel : slide.GetChannelEntries())
  {
    names.push_back(channel.name);
  }
  return names;
}

namespace
{

/** Whether models find the channels by their names: not those of slides that are gray or RGB as they are. */
bool
HasNamedChannels(const WholeSlideImageIO & slide)
{
  return !slide.GetChannelChoice().empty() || slide.GetPixelType() == IOPixelEnum::VECTOR;
}

/** Pages of the same size may be masks of anything. */
void
RefuseSeveralMasks(const WholeSlideImageIO & mask)
{
  const auto images = mask.GetImages();
  const auto size = mask.GetLevelSize(0);
  const auto alike =
    std::count_if(images.begin(), images.end(), [&size](const auto & image) { return image.size == size; });
  if (alike > 1)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic(
        "E-MASK-FORMAT",
        "it has " + gigapixel::FormatCount(alike, "image") + " of the same size, where a mask has one",
        "write the one that is wanted to a file of its own, of values up to 65535 with convert --image 2")
        .OfFile(mask.GetFileName())
        .OfValue(std::to_string(alike)));
  }
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
  slide->SetContent(resolution.content);
  slide->SetLevel(resolution.level);
  if (resolution.micronsPerPixel > 0)
  {
    slide->SetMicronsPerPixel(resolution.micronsPerPixel, resolution.tolerance);
  }
  slide->SetGray(channels == 1);
  slide->SetUnscannedAsBackground(resolution.emptyAsBackground);
  if (high != HighSamples::Refused)
  {
    slide->GiveWarningsOff(); // a refusal comes first
  }
  slide->ReadImageInformation();
  if (high != HighSamples::Refused)
  {
    RefuseSeveralMasks(*slide);
    slide->GiveWarningsOn();
    slide->ReadImageInformation();
    const bool warnsItself = gigapixel::IsReadAsLabels(fileName);
    if (!warnsItself && slide->GetDecoder().find("(JPEG)") != std::string::npos)
    {
      WarnOfLoss(fileName);
    }
  }

  if (resolution.asStored && !IsReadAsStored(*slide))
  {
    gigapixel::RequireChannels(*slide, slide->GetNumberOfComponents(), true); // refuses the type
  }
  gigapixel::PhysicalImage result;
  result.name = fileName;
  result.pixels = MakePixels(slide, resolution.asStored, high);
  result.measured = resolution.asStored && IsReadAsStored(*slide) ? GigapixelMeasuredSource(slide) : nullptr;
  result.grid = gigapixel::Grid::Of(*slide);
  result.content = bytes == gigapixel::HashedBytes::Samples ? gigapixel::IdentifySlide(*slide)
                                                            : gigapixel::IdentifyFile(fileName, bytes);
  // A converted mask tells what mask it was, and not of which slide.
  const bool isConverted = FindMadeBy(*slide).rfind("convert ", 0) == 0;
  result.madeOf = isConverted ? std::string() : FindMadeOf(*slide);
  result.channels = HasNamedChannels(*slide) ? GigapixelChannelNames(*slide) : std::vector<std::string>();
  result.downsamples = slide->GetLevelDownsamples(slide->GetLevel());
  result.decodingBytes =
    slide->IsResampled() ? static_cast<std::int64_t>(slide->GetDecodingBytes(slide->GetLevel())) : std::int64_t{ 0 };
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
  const bool          isMask = high != HighSamples::Refused;
  std::ifstream       stream(fileName, std::ios::binary);
  std::array<char, 3> start{};
  if (isMask && stream.read(start.data(), start.size()) && start == std::array<char, 3>{ '\xff', '\xd8', '\xff' })
  {
    WarnOfLoss(fileName);
  }
  const auto make = [fileName, isMask]() -> ImageIOBase::Pointer {
    if (const auto mask = isMask ? MakePNGMaskIO(fileName) : nullptr)
    {
      return mask;
    }
    const auto io = ImageIOFactory::CreateImageIO(fileName.c_str(), IOFileModeEnum::ReadMode);
    if (io)
    {
      io->SetFileName(fileName);
      io->SetExpandRGBPalette(!isMask); // the labels are the palette's indices
    }
    return io;
  };
  return GigapixelImageIOSource(make, fileName, high);
}

/** Whether an image has the resolution that is asked for, if any is. */
bool
HasResolution(const gigapixel::PhysicalImage & image, const GigapixelResolution & resolution)
{
  constexpr double rounding = 0.001;
  const double     ratio = image.grid.GetMicronsPerPixel() / resolution.micronsPerPixel;
  return resolution.micronsPerPixel <= 0 || std::abs(ratio - 1) <= std::max(rounding, resolution.tolerance);
}

[[noreturn]] void
RefuseResolution(const gigapixel::PhysicalImage & image, double wanted)
{
  const double       given = image.grid.GetMicronsPerPixel();
  std::ostringstream why;
  given > 0 ? why << "it has " << given << " micrometers per pixel, not " << wanted << ", and it is no slide"
            : why << "its resolution is unknown, where " << wanted << " micrometers per pixel are asked for";
  throw gigapixel::Refusal(
    gigapixel::Diagnostic(
      "E-SLIDE-RESOLUTION", why.str(), given > 0 ? "save it as a TIFF, which is resampled" : "state it (--slide-mpp)")
      .OfFile(image.name)
      .OfValue(std::to_string(wanted)));
}

/** What is no slide has one level. */
void
RefuseLevel(const std::string & fileName, unsigned level)
{
  throw gigapixel::Refusal(gigapixel::Diagnostic("E-SLIDE-LEVEL",
                                                 "it has no level " + std::to_string(level) + ", since it is no slide",
                                                 "read it at level 0")
                             .OfFile(fileName)
                             .OfValue(std::to_string(level)));
}

/** Before it is opened: a pipe would wait for a writer for ever. */
void
RequireFile(const std::string & fileName)
{
  std::error_code error;
  if (std::filesystem::exists(fileName, error) && !std::filesystem::is_regular_file(fileName, error))
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-FILE-KIND", "it is not a file", "name an image's file").OfFile(fileName));
  }
  gigapixel::RequireReadable(fileName);
}

/** \param bytes of a slide that tell it from others; of other files all do
 * \param givesWarnings off where another reader of the slide gives them */
gigapixel::PhysicalImage
OpenFile(const std::string &         fileName,
         const GigapixelResolution & resolution,
         unsigned                    channels,
         gigapixel::HashedBytes      bytes,
         HighSamples                 high,
         bool                        givesWarnings = true)
{
  RequireFile(fileName);
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
  const auto slide = WholeSlideImageIO::New();
  const bool isTIFFMask = high != HighSamples::Refused && gigapixel::IsReadAsLabels(fileName);
  slide->SetStoredValues(isTIFFMask);
  slide->SetGiveWarnings(givesWarnings);
  const auto openSlide = [&] {
    try
    {
      return OpenSlideFile(slide, fileName, resolution, channels, bytes, high);
    }
    catch (const ExceptionObject & error)
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic::Of(error));
    }
  };
  const bool isStoredTIFF = resolution.asStored && gigapixel::IsReadAsLabels(fileName);
  if (isTIFFMask || isStoredTIFF || resolution.content.IsChosen() || slide->CanReadFile(fileName.c_str()))
  {
    return openSlide();
  }
#endif
  (void)channels;
  (void)bytes;
  (void)givesWarnings;
  gigapixel::PhysicalImage image;
  try
  {
    image = OpenOtherFile(fileName, high);
  }
  catch (const gigapixel::Refusal & refusal)
  {
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
    // This reader chooses one image of a TIFF that has several, and says so.
    if (refusal.GetDiagnostic().code == "E-FILE-KIND" && gigapixel::IsReadAsLabels(fileName))
    {
      return openSlide();
    }
#endif
    throw;
  }
  image.content = gigapixel::IdentifyFile(fileName, gigapixel::HashedBytes::All);
  if (const double stated = resolution.content.levelZeroMicronsPerPixel; stated > 0 && !image.grid.IsSpacingKnown())
  {
    image.grid.spacing.fill(stated / 1000);
  }
  if (!HasResolution(image, resolution))
  {
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
    if (gigapixel::IsReadAsLabels(fileName)) // a TIFF that is read as a slide by those who ask for it
    {
      return openSlide();
    }
#endif
    RefuseResolution(image, resolution.micronsPerPixel);
  }
  if (resolution.level != 0 && resolution.micronsPerPixel <= 0)
  {
    RefuseLevel(fileName, resolution.level);
  }
  return image;
}

/** What a slide says of itself and of the one that it was made of. Its pixels may be of any kind: nobody reads them. */
gigapixel::PhysicalImage
IdentifyImage(const std::string & fileName, const gigapixel::SlideContent & content)
{
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
  const auto slide = WholeSlideImageIO::New();
  slide->SetFileName(fileName);
  slide->SetContent(content.OfImage());
  slide->GiveWarningsOff(); // whoever reads the slide gives them
  try
  {
    slide->ReadImageInformation();
    gigapixel::PhysicalImage identity;
    identity.content = gigapixel::IdentifySlide(*slide);
    identity.madeOf = FindMadeOf(*slide);
    return identity;
  }
  catch (const ExceptionObject &)
  {
    // It is no slide, or cannot be read, which is said below.
  }
#endif
  GigapixelResolution resolution;
  resolution.content = content.OfImage();
  return OpenFile(fileName, resolution, 0, gigapixel::HashedBytes::Samples, HighSamples::Refused, false);
}

/** Whether a mask that says what it was made of is of that slide, or of the one that it was converted from. */
bool
IsMadeOf(const gigapixel::PhysicalImage & mask, const std::string & slide, const gigapixel::SlideContent & content)
{
  const gigapixel::PhysicalImage made = IdentifyImage(slide, content);
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
  if (gigapixel::AreOfOneImage(slide, mask.madeOf, made.content))
  {
    return true;
  }
#endif
  return mask.madeOf == made.content || mask.madeOf == made.madeOf;
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
GigapixelTissueSource(const std::string & fileName, const std::string & slide, const gigapixel::SlideContent & content)
{
  gigapixel::PhysicalImage mask = GigapixelMaskSource(fileName);
  if (!mask.madeOf.empty() && !IsMadeOf(mask, slide, content))
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-MASK-GRID",
                                                   "the tissue mask was made of another slide than " + slide,
                                                   "give the one of this slide")
                               .OfFile(fileName));
  }
  return mask;
}

void
GigapixelWarnOfFullTissue(const gigapixel::TissueMask & tissue, const std::string & fileName, const std::string & slide)
{
  if (tissue.IsFull())
  {
    GigapixelWarn(
      gigapixel::Diagnostic("W-DOUBT-MASK-FULL",
                            "the tissue mask " + fileName + " has no glass: it leaves nothing of " + slide + " out",
                            "check that the mask belongs to this image, and its values")
        .OfFile(fileName)
        .OfValue("1"));
  }
}

} // namespace itk
