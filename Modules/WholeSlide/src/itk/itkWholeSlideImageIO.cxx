/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkWholeSlideImageIO.h"

#include "codecs/ColorTransform.h"
#include "openslide/OpenSlideProcess.h"
#include "openslide/OpenSlideSlide.h"
#include "slide/ResampledLevel.h"
#include "slide/Slide.h"
#include "slide/TileCache.h"
#include "formats/SlideFormat.h"

#include "gigapixelFreeMemory.h"
#include "gigapixelJoinNames.h"
#include "gigapixelOptionTable.h"

#include "itkGigapixelException.h"
#include "itkMultiThreaderBase.h"
#include "itkOutputWindow.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <sstream>

#include <unistd.h>

namespace itk
{
namespace
{

void
Warn(const gigapixel::Diagnostic & diagnostic)
{
  if (Object::GetGlobalWarningDisplay())
  {
    OutputWindowDisplayWarningText(("WARNING: " + gigapixel::Remember(diagnostic) + '\n').c_str());
  }
}

std::atomic<bool> globalDefaultStrict{ false };

/** The text alone: itkExceptionMacro would put class and address before it. */
[[noreturn]] void
Throw(const gigapixel::Diagnostic & diagnostic)
{
  throw GigapixelException(__FILE__, __LINE__, diagnostic, "itk::WholeSlideImageIO");
}

} // namespace

WholeSlideImageIO::WholeSlideImageIO()
{
  this->SetNumberOfDimensions(2);
  m_ComponentType = IOComponentEnum::UCHAR;
  m_PixelType = IOPixelEnum::RGB;
  m_NumberOfComponents = 3;
  for (const gigapixel::SlideFormat * const format : gigapixel::GetSlideFormats())
  {
    for (const char * const extension : format->extensions)
    {
      if (extension != nullptr)
      {
        this->AddSupportedReadExtension(extension);
      }
    }
  }
}

WholeSlideImageIO::~WholeSlideImageIO()
{
  try
  {
    this->ReportDamage();
  }
  catch (const std::exception &)
  {
    return; // no memory for a sentence: nobody could be told of that either
  }
}

void
WholeSlideImageIO::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_CONTENT_OPTION(type, Name, member, value, option)                                                    \
  os << indent << #Name << ": " << gigapixel::FormatOption(m_Content.member) << '\n';
#include "gigapixelSlideOptionList.h"
  os << indent << "Gray: " << (m_Gray ? "On" : "Off") << '\n';
  os << indent << "GrayFromRGB: " << (m_GrayFromRGB ? "On" : "Off") << '\n';
  os << indent << "ConvertToSRGB: " << (m_ConvertToSRGB ? "On" : "Off") << '\n';
  os << indent << "StoredValues: " << (m_StoredValues ? "On" : "Off") << '\n';
  os << indent << "UnscannedAsBackground: " << (m_UnscannedAsBackground ? "On" : "Off") << '\n';
  os << indent << "PickPixels: " << (m_PickPixels ? "On" : "Off") << '\n';
  os << indent << "Strict: " << (m_Strict ? "On" : "Off") << '\n';
  os << indent << "GiveWarnings: " << (m_GiveWarnings ? "On" : "Off") << '\n';
  os << indent << "AsPicture: " << (m_AsPicture ? "On" : "Off") << '\n';
  os << indent << "AssociatedImage: " << m_AssociatedImage << '\n';
  os << indent << "Level: " << m_Level << '\n';
  os << indent << "Decoder: " << (m_Slide ? m_Slide->GetDecoder() : "(none, no slide is open)") << '\n';
}

void
WholeSlideImageIO::SetGlobalDefaultStrict(bool strict)
{
  globalDefaultStrict = strict;
}

bool
WholeSlideImageIO::GetGlobalDefaultStrict()
{
  return globalDefaultStrict;
}

std::string
WholeSlideImageIO::GetOpenSlideVersion()
{
  std::string version = gigapixel::GetOpenSlideVersion();
  gigapixel::OpenSlideProcess::EndKept();
  return version;
}

std::string
WholeSlideImageIO::GetOpenSlideProblem()
{
  std::string sentence = gigapixel::GetOpenSlideProblem();
  gigapixel::OpenSlideProcess::EndKept();
  return sentence;
}

std::string
WholeSlideImageIO::GetOpenSlideReader()
{
  const std::string program = gigapixel::OpenSlideProcess::GetProgram();
  return access(program.c_str(), X_OK) == 0 ? program : std::string();
}

void
WholeSlideImageIO::SilenceOpenSlide()
{
  gigapixel::OpenSlideProcess::Silence();
}

void
WholeSlideImageIO::SetInterruptionOfOpenSlide(bool (*isRequested)())
{
  gigapixel::OpenSlideProcess::SetInterruption(isRequested);
}

const gigapixel::Slide &
WholeSlideImageIO::GetSlide() const
{
  if (!m_Slide)
  {
    Throw(gigapixel::Diagnostic(
      "E-OPTION-MISSING", "no slide is open", "set a file name and call ReadImageInformation() first"));
  }
  return *m_Slide;
}

std::vector<std::string>
WholeSlideImageIO::GetAssociatedImageNames() const
{
  std::vector<std::string> names;
  const auto &             planes = this->GetSlide().GetPlanes();
  for (size_t i = this->GetNumberOfLevels() + this->GetNumberOfReducedLevels(); i < planes.size(); ++i)
  {
    names.push_back(planes[i].name);
  }
  return names;
}

std::vector<WholeSlideImageIO::ImageEntry>
WholeSlideImageIO::GetImages() const
{
  std::vector<ImageEntry> entries;
  for (const gigapixel::SlideImage & image : this->GetSlide().GetImages())
  {
    entries.push_back(
      { image.number, image.name, { { image.width, image.height } }, image.kind, image.isRead, image.reason });
  }
  if (entries.empty())
  {
    const std::string levels = std::to_string(this->GetNumberOfLevels());
    entries.push_back(
      { 1, "", this->GetLevelSize(0), levels + (levels == "1" ? " level" : " levels"), true, "it is the only one" });
  }
  return entries;
}

std::vector<std::string>
WholeSlideImageIO::GetImageNames() const
{
  std::vector<std::string> names;
  for (const ImageEntry & entry : this->GetImages())
  {
    names.push_back(entry.name);
  }
  return names;
}

unsigned int
WholeSlideImageIO::GetMeasuredLevel() const
{
  return this->GetSlide().GetMeasuredLevel();
}

unsigned int
WholeSlideImageIO::GetNumberOfLevels() const
{
  return this->GetSlide().GetNumberOfLevels();
}

unsigned int
WholeSlideImageIO::GetNumberOfReducedLevels() const
{
  return this->GetSlide().GetNumberOfReducedLevels();
}

unsigned int
WholeSlideImageIO::GetLevel() const
{
  return m_Level;
}

std::array<double, 2>
WholeSlideImageIO::GetLevelZeroResolution() const
{
  const auto resolution = this->GetSlide().GetMicronsPerPixel();
  if (resolution[0] > 0.0 && resolution[1] > 0.0)
  {
    return resolution;
  }
  return { { m_Content.levelZeroMicronsPerPixel, m_Content.levelZeroMicronsPerPixel } };
}

double
WholeSlideImageIO::GetMicronsPerPixel() const
{
  const auto resolution = this->GetLevelZeroResolution();
  return m_AssociatedImage.empty() ? (resolution[0] + resolution[1]) / 2.0 * this->GetLevelDownsample(m_Level) : 0.0;
}

std::string
WholeSlideImageIO::GetVendor() const
{
  const auto & properties = this->GetSlide().GetProperties();
  const auto   vendor = properties.find("openslide.vendor");
  return vendor == properties.end() ? std::string() : vendor->second;
}

std::string
WholeSlideImageIO::GetDecoder() const
{
  return this->GetSlide().GetDecoder();
}

SizeValueType
WholeSlideImageIO::GetNumberOfDamagedTiles() const
{
  return this->GetSlide().GetNumberOfDamagedTiles();
}

void
WholeSlideImageIO::ReportDamage() const
{
  if (m_Strict || !m_Slide)
  {
    return; // those who are strict get the first one as an error instead
  }
  for (const gigapixel::Diagnostic & warning : m_Slide->TakeDamageWarnings())
  {
    Warn(warning);
  }
}

void
WholeSlideImageIO::ReadRegion(unsigned int    level,
                              SizeValueType   x,
                              SizeValueType   y,
                              SizeValueType   width,
                              SizeValueType   height,
                              unsigned int    channels,
                              unsigned char * out) const
{
  const gigapixel::Rectangle rectangle{ x, y, width, height };
  const bool                 isMade = this->IsResampled(level);
  try
  {
    isMade ? m_Resampled->ReadRegion(rectangle, this->GetRendering(channels), out, 1)
           : m_Slide->ReadRegion(level, rectangle, this->GetRendering(channels), out, 1);
  }
  catch (const std::runtime_error & error)
  {
    Throw(gigapixel::Diagnostic::Of(error));
  }
}

void
WholeSlideImageIO::ReadAhead(unsigned int  level,
                             SizeValueType x,
                             SizeValueType y,
                             SizeValueType width,
                             SizeValueType height) const
{
  const bool isMade = this->IsResampled(level);
  try
  {
    isMade ? m_Resampled->ReadAhead({ x, y, width, height }) : m_Slide->ReadAhead(level, { x, y, width, height });
  }
  catch (const std::runtime_error & error)
  {
    Throw(gigapixel::Diagnostic::Of(error));
  }
}

std::vector<gigapixel::Diagnostic>
WholeSlideImageIO::FindUndecodableTiles(unsigned int level, SizeValueType y, SizeValueType height) const
{
  if (this->IsResampled(level))
  {
    this->RefuseLevel(level); // it has no tiles
  }
  try
  {
    return m_Slide->FindUndecodableTiles(
      level, y, height, this->GetRendering(m_NumberOfComponents), MultiThreaderBase::GetGlobalDefaultNumberOfThreads());
  }
  catch (const std::runtime_error & error)
  {
    Throw(gigapixel::Diagnostic::Of(error));
  }
}

bool
WholeSlideImageIO::ReadScanned(unsigned int    level,
                               SizeValueType   x,
                               SizeValueType   y,
                               SizeValueType   width,
                               SizeValueType   height,
                               unsigned char * scanned) const
{
  const bool isMade = this->IsResampled(level);
  try
  {
    return isMade ? m_Resampled->ReadScanned({ x, y, width, height }, scanned)
                  : m_Slide->ReadScanned(level, { x, y, width, height }, scanned);
  }
  catch (const std::runtime_error & error)
  {
    Throw(gigapixel::Diagnostic::Of(error));
  }
}

void
WholeSlideImageIO::SetTileCacheLimit(size_t bytes)
{
  gigapixel::TileCache::GetInstance().SetLimit(bytes);
}

size_t
WholeSlideImageIO::GetTileCacheLimit()
{
  return gigapixel::TileCache::GetInstance().GetLimit();
}

WholeSlideImageIO::TileCacheStatistics
WholeSlideImageIO::GetTileCacheStatistics()
{
  const auto statistics = gigapixel::TileCache::GetInstance().GetStatistics();
  return { statistics.bytes, statistics.tiles,  statistics.hits,
           statistics.waits, statistics.misses, statistics.evictions };
}

bool
WholeSlideImageIO::CanReadFile(const char * fileName)
{
  return fileName != nullptr && gigapixel::Slide::IsClaimed(fileName);
}

void
WholeSlideImageIO::ReadImageInformation()
{
  this->ReportDamage(); // of the slide before
  try
  {
    const auto reading = m_StoredValues ? gigapixel::TIFFReading::Labels : gigapixel::TIFFReading::Colors;
    const auto choice = m_AssociatedImage.empty()
                          ? gigapixel::ChannelChoice{ m_Content.channels, m_Content.window, m_AsPicture }
                          : gigapixel::ChannelChoice();
    const auto progress = [this](double share) {
      this->UpdateProgress(static_cast<float>(share));
      if (this->GetAbortGenerateData())
      {
        throw ProcessAborted(__FILE__, __LINE__);
      }
    };
    this->AbortGenerateDataOff();
    m_Slide = gigapixel::Slide::Open(m_FileName, { m_Content.image, m_Content.plane }, reading, choice, progress);
  }
  catch (const ProcessAborted &)
  {
    m_Slide = nullptr;
    throw;
  }
  catch (const std::runtime_error & error)
  {
    m_Slide = nullptr;
    Throw(gigapixel::Diagnostic::Of(error));
  }
  if (m_Strict && !m_Slide->GetMissingParts().empty())
  {
    gigapixel::Diagnostic missing = m_Slide->GetMissingParts().front();
    missing.code = "E-DICOM-PARTS";
    missing.remedy += ", or read what is there (without --strict, StrictOff())";
    m_Slide = nullptr;
    Throw(missing);
  }
  m_Level = 0;
  m_Resampled = nullptr;
  if (m_AssociatedImage.empty())
  {
    this->SelectPixels();
  }
  else
  {
    const auto names = this->GetAssociatedImageNames();
    const auto found = std::find(names.begin(), names.end(), m_AssociatedImage);
    if (found == names.end())
    {
      Throw(gigapixel::Diagnostic("E-SLIDE-IMAGE",
                                  "it has no associated image '" + m_AssociatedImage + '\'' +
                                    (names.empty() ? " and no others" : ""),
                                  names.empty() ? "" : "choose one of these: " + gigapixel::JoinNames(names))
              .OfFile(m_FileName)
              .OfValue(m_AssociatedImage));
    }
    m_Plane =
      this->GetNumberOfLevels() + this->GetNumberOfReducedLevels() + static_cast<unsigned int>(found - names.begin());
  }
  this->PrepareColors();
  this->SetGeometry();
  this->FillDictionary();
  this->WarnOfFile();
}

/** Gives the warnings about the file once, however often this object reads what it says. */
void
WholeSlideImageIO::WarnOfFile()
{
  const bool isKnown = m_Warned.lock() == m_Slide;
  m_Warned = m_GiveWarnings ? m_Slide : m_Warned.lock();
  for (const gigapixel::Diagnostic & warning : m_Slide->GetWarnings())
  {
    const bool isSolved = warning.code == "W-SLIDE-RESOLUTION" && m_Content.levelZeroMicronsPerPixel > 0.0;
    if (m_GiveWarnings && !isKnown && !isSolved)
    {
      Warn(warning);
    }
  }
}

void
WholeSlideImageIO::PrepareColors()
{
  const auto & plane = m_Slide->GetPlanes()[m_Plane];
  m_Colors = nullptr;
  if (!m_ConvertToSRGB || !m_AssociatedImage.empty() || m_Slide->GetColorProfile().empty() || !plane.IsPicture() ||
      plane.channels != 3)
  {
    return;
  }
  try
  {
    m_Colors = std::make_shared<const gigapixel::ColorTransform>(m_Slide->GetColorProfile());
  }
  catch (const std::runtime_error & error)
  {
    gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(error);
    diagnostic.code = "E-SLIDE-PROFILE";
    diagnostic.remedy = "read it without conversion to sRGB";
    Throw(diagnostic.OfFile(m_FileName));
  }
}

gigapixel::Rendering
WholeSlideImageIO::GetRendering(unsigned int channels) const
{
  gigapixel::Rendering rendering(channels);
  rendering.grayFromRGB = m_GrayFromRGB;
  rendering.toSRGB = m_Colors.get();
  rendering.unscannedAsBackground = m_UnscannedAsBackground;
  rendering.strict = m_Strict;
  return rendering;
}

ImageIORegion
WholeSlideImageIO::GenerateStreamableReadRegionFromRequestedRegion(const ImageIORegion & requested) const
{
  ImageIORegion region(2);
  for (unsigned int i = 0; i < 2; ++i)
  {
    const bool asked = m_UseStreamedReading && i < requested.GetImageDimension();
    region.SetIndex(i, asked ? requested.GetIndex(i) : 0);
    region.SetSize(i, asked ? requested.GetSize(i) : m_Dimensions[i]);
  }
  this->RefuseBeyondFreeMemory(region);
  return region;
}

void
WholeSlideImageIO::RefuseBeyondFreeMemory(const ImageIORegion & region) const
{
  const std::uint64_t free = gigapixel::GetFreeMemory();
  const double        needed = static_cast<double>(region.GetSize(0)) * static_cast<double>(region.GetSize(1)) *
                        m_NumberOfComponents * this->GetComponentSize();
  if (free > 0 && needed > static_cast<double>(free))
  {
    constexpr double   giga = 1024.0 * 1024.0 * 1024.0;
    std::ostringstream why;
    why << region.GetSize(0) << " x " << region.GetSize(1) << " pixels at once need "
        << std::ceil(needed / giga * 10.0) / 10.0 << " GiB, and the machine has "
        << std::floor(static_cast<double>(free) / giga * 10.0) / 10.0 << " GiB free";
    Throw(gigapixel::Diagnostic("E-MEMORY",
                                why.str(),
                                "read a coarser level (SetLevel, SetDownsample, SetMicronsPerPixel), a smaller region "
                                "(itk::ExtractImageFilter), or stream (itk::StreamingImageFilter)")
            .OfFile(m_FileName));
  }
}

void
WholeSlideImageIO::Read(void * buffer)
{
  const gigapixel::Slide & slide = this->GetSlide();
  gigapixel::Rectangle     rectangle{ 0, 0, m_Dimensions[0], m_Dimensions[1] };
  if (m_IORegion.GetImageDimension() >= 2 && m_IORegion.GetNumberOfPixels() > 0)
  {
    if (m_IORegion.GetIndex(0) < 0 || m_IORegion.GetIndex(1) < 0)
    {
      Throw(gigapixel::Diagnostic(
              "E-REGION", "the region starts left of the image or above it", "choose a region inside it")
              .OfFile(m_FileName));
    }
    rectangle = { static_cast<std::uint64_t>(m_IORegion.GetIndex(0)),
                  static_cast<std::uint64_t>(m_IORegion.GetIndex(1)),
                  m_IORegion.GetSize(0),
                  m_IORegion.GetSize(1) };
  }
  try
  {
    const auto   rendering = this->GetRendering(m_NumberOfComponents);
    const auto   threads = MultiThreaderBase::GetGlobalDefaultNumberOfThreads();
    auto * const out = static_cast<unsigned char *>(buffer);
    m_Resampled ? m_Resampled->ReadRegion(rectangle, rendering, out, threads)
                : slide.ReadRegion(m_Plane, rectangle, rendering, out, threads);
    this->ReportDamage();
  }
  catch (const std::runtime_error & error)
  {
    Throw(gigapixel::Diagnostic::Of(error));
  }
}

void
WholeSlideImageIO::Write(const void *)
{
  Throw(gigapixel::Diagnostic("E-OUTPUT-WRITE",
                              "this class reads slides and does not write them",
                              "write pyramids with itk::PyramidTIFFImageIO"));
}

} // namespace itk
