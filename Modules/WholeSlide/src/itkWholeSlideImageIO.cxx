/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkWholeSlideImageIO.h"

#include "ColorTransform.h"
#include "OpenSlideProcess.h"
#include "OpenSlideSlide.h"
#include "Slide.h"
#include "TileCache.h"
#include "formats/SlideFormat.h"
#include "gigapixelFreeMemory.h"
#include "gigapixelJoinNames.h"

#include "itkMultiThreaderBase.h"
#include "itkOutputWindow.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>
#include <sstream>

#include <unistd.h>

namespace itk
{
namespace
{

/** Says a sentence once in this process. */
void
WarnOnce(const std::string & warning)
{
  static std::mutex              mutex;
  static std::set<std::string> & said = *new std::set<std::string>;
  bool                           isNew = false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    isNew = said.insert(warning).second;
  }
  if (isNew && Object::GetGlobalWarningDisplay())
  {
    OutputWindowDisplayWarningText(("WARNING: " + warning + '\n').c_str());
  }
}

/** Says what the user should know of a file, however often it is opened. */
void
WarnOfFile(const gigapixel::Slide & slide, bool resolutionIsStated)
{
  for (const std::string & warning : slide.GetWarnings())
  {
    const bool isAboutResolution = warning.find("micrometers per pixel") != std::string::npos;
    if (!(isAboutResolution && resolutionIsStated))
    {
      WarnOnce(warning);
    }
  }
}

std::atomic<bool> globalDefaultStrict{ false };

/** The sentence alone: itkExceptionMacro would put class and address before it. */
[[noreturn]] void
Throw(const std::string & sentence)
{
  throw ExceptionObject(__FILE__, __LINE__, sentence, "itk::WholeSlideImageIO");
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
  os << indent << "LevelZeroMicronsPerPixel: " << m_LevelZeroMicronsPerPixel << '\n';
  os << indent << "Gray: " << (m_Gray ? "On" : "Off") << '\n';
  os << indent << "GrayFromRGB: " << (m_GrayFromRGB ? "On" : "Off") << '\n';
  os << indent << "ConvertToSRGB: " << (m_ConvertToSRGB ? "On" : "Off") << '\n';
  os << indent << "Strict: " << (m_Strict ? "On" : "Off") << '\n';
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

void
WholeSlideImageIO::SetLevel(unsigned int level)
{
  if (m_Selection != Selection::Level || m_SelectionValue != level)
  {
    m_Selection = Selection::Level;
    m_SelectionValue = level;
    this->Modified();
  }
}

void
WholeSlideImageIO::SetDownsample(double downsample)
{
  if (!(downsample > 0.0))
  {
    itkExceptionMacro("a downsample is greater than 0, which " << downsample << " is not");
  }
  m_Selection = Selection::Downsample;
  m_SelectionValue = downsample;
  this->Modified();
}

void
WholeSlideImageIO::SetMicronsPerPixel(double micronsPerPixel)
{
  if (!(micronsPerPixel > 0.0))
  {
    itkExceptionMacro("micrometers per pixel are greater than 0, which " << micronsPerPixel << " is not");
  }
  m_Selection = Selection::MicronsPerPixel;
  m_SelectionValue = micronsPerPixel;
  this->Modified();
}

const gigapixel::Slide &
WholeSlideImageIO::GetSlide() const
{
  if (!m_Slide)
  {
    itkExceptionMacro("no slide is open: set a file name and call ReadImageInformation() first");
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

WholeSlideImageIO::LevelSizeType
WholeSlideImageIO::GetLevelSize(unsigned int level) const
{
  if (level >= this->GetNumberOfLevels() + this->GetNumberOfReducedLevels())
  {
    Throw(m_FileName + ": it has no level " + std::to_string(level) + "; ask for one of 0 to " +
          std::to_string(this->GetNumberOfLevels() - 1) + '.');
  }
  const auto & plane = m_Slide->GetPlanes()[level];
  return { { plane.width, plane.height } };
}

WholeSlideImageIO::LevelSizeType
WholeSlideImageIO::GetLevelTileSize(unsigned int level) const
{
  this->GetLevelSize(level); // which refuses a level that there is not
  const auto & plane = m_Slide->GetPlanes()[level];
  return { { plane.tileWidth, plane.tileHeight } };
}

SizeValueType
WholeSlideImageIO::GetDecodingBytes(unsigned int level) const
{
  this->GetLevelSize(level);
  return m_Slide->GetDecodingBytes(level);
}

double
WholeSlideImageIO::GetLevelDownsample(unsigned int level) const
{
  this->GetLevelSize(level);
  return m_Slide->GetPlanes()[level].downsample;
}

unsigned int
WholeSlideImageIO::GetLevelForBlocks(SizeValueType downsample) const
{
  const auto    divideRoundingUp = [](SizeValueType size, SizeValueType side) { return (size + side - 1) / side; };
  const auto    base = this->GetLevelSize(0);
  const auto    levels = this->GetNumberOfLevels() + this->GetNumberOfReducedLevels();
  unsigned int  chosen = 0;
  SizeValueType smallest = downsample;
  for (unsigned int level = 1; level < levels; ++level)
  {
    const double factor = static_cast<double>(downsample) / this->GetLevelDownsample(level);
    const auto   side = static_cast<SizeValueType>(std::llround(factor));
    const auto   size = this->GetLevelSize(level);
    if (side >= 1 && side < smallest && std::abs(factor - static_cast<double>(side)) < 1e-6 &&
        divideRoundingUp(size[0], side) == divideRoundingUp(base[0], downsample) &&
        divideRoundingUp(size[1], side) == divideRoundingUp(base[1], downsample))
    {
      chosen = level;
      smallest = side;
    }
  }
  return chosen;
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
  return { { m_LevelZeroMicronsPerPixel, m_LevelZeroMicronsPerPixel } };
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
  for (const std::string & warning : m_Slide->TakeDamageWarnings())
  {
    WarnOnce(warning);
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
  this->GetLevelSize(level);
  try
  {
    m_Slide->ReadRegion(level, { x, y, width, height }, this->GetRendering(channels), out, 1);
  }
  catch (const std::runtime_error & error)
  {
    Throw(error.what());
  }
}

void
WholeSlideImageIO::ReadAhead(unsigned int  level,
                             SizeValueType x,
                             SizeValueType y,
                             SizeValueType width,
                             SizeValueType height) const
{
  this->GetLevelSize(level);
  try
  {
    m_Slide->ReadAhead(level, { x, y, width, height });
  }
  catch (const std::runtime_error & error)
  {
    Throw(error.what());
  }
}

std::vector<std::string>
WholeSlideImageIO::FindUndecodableTiles(unsigned int level, SizeValueType y, SizeValueType height) const
{
  this->GetLevelSize(level);
  try
  {
    return m_Slide->FindUndecodableTiles(
      level, y, height, this->GetRendering(m_NumberOfComponents), MultiThreaderBase::GetGlobalDefaultNumberOfThreads());
  }
  catch (const std::runtime_error & error)
  {
    Throw(error.what());
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
  this->GetLevelSize(level);
  try
  {
    return m_Slide->ReadScanned(level, { x, y, width, height }, scanned);
  }
  catch (const std::runtime_error & error)
  {
    Throw(error.what());
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

unsigned int
WholeSlideImageIO::SelectLevel() const
{
  if (m_Selection == Selection::Level)
  {
    const auto level = static_cast<unsigned int>(m_SelectionValue);
    this->GetLevelSize(level);
    return level;
  }
  double downsample = m_SelectionValue;
  if (m_Selection == Selection::MicronsPerPixel)
  {
    const auto   resolution = this->GetLevelZeroResolution();
    const double base = (resolution[0] + resolution[1]) / 2.0;
    if (!(base > 0.0))
    {
      Throw(m_FileName + ": its resolution is unknown, so no level can be chosen by micrometers per pixel; state it " +
            "(--slide-mpp, SetLevelZeroMicronsPerPixel()), or choose by number (--level, SetLevel()).");
    }
    downsample = m_SelectionValue / base;
  }
  unsigned int selected = 0;
  for (unsigned int level = 1; level < this->GetNumberOfLevels() + this->GetNumberOfReducedLevels(); ++level)
  {
    const double candidate = this->GetLevelDownsample(level);
    if (candidate <= downsample * (1.0 + ResolutionTolerance) && candidate > this->GetLevelDownsample(selected))
    {
      selected = level;
    }
  }
  return selected;
}

void
WholeSlideImageIO::ReadImageInformation()
{
  this->ReportDamage(); // of the slide before
  try
  {
    m_Slide = gigapixel::Slide::Open(m_FileName);
  }
  catch (const std::runtime_error & error)
  {
    m_Slide = nullptr;
    Throw(error.what());
  }
  if (m_Strict && !m_Slide->GetMissingParts().empty())
  {
    const std::string sentence = m_Slide->GetMissingParts().front();
    m_Slide = nullptr;
    Throw(sentence);
  }
  m_Level = 0;
  if (m_AssociatedImage.empty())
  {
    m_Level = this->SelectLevel();
    m_Plane = m_Level;
  }
  else
  {
    const auto names = this->GetAssociatedImageNames();
    const auto found = std::find(names.begin(), names.end(), m_AssociatedImage);
    if (found == names.end())
    {
      Throw(m_FileName + ": it has no associated image '" + m_AssociatedImage +
            "'; it has: " + (names.empty() ? "none" : gigapixel::JoinNames(names)) + '.');
    }
    m_Plane =
      this->GetNumberOfLevels() + this->GetNumberOfReducedLevels() + static_cast<unsigned int>(found - names.begin());
  }
  this->PrepareColors();
  this->SetGeometry();
  this->FillDictionary();
  WarnOfFile(*m_Slide, m_LevelZeroMicronsPerPixel > 0.0);
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
    Throw(m_FileName + ": " + error.what() + "; read it without conversion to sRGB.");
  }
}

gigapixel::Rendering
WholeSlideImageIO::GetRendering(unsigned int channels) const
{
  gigapixel::Rendering rendering(channels);
  rendering.grayFromRGB = m_GrayFromRGB;
  rendering.toSRGB = m_Colors.get();
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
    std::ostringstream sentence;
    sentence << m_FileName << ": " << region.GetSize(0) << " x " << region.GetSize(1) << " pixels at once need "
             << std::ceil(needed / giga * 10.0) / 10.0 << " GiB, and the machine has "
             << std::floor(static_cast<double>(free) / giga * 10.0) / 10.0
             << " GiB free; read a coarser level (SetLevel, SetDownsample, SetMicronsPerPixel), a smaller region "
                "(itk::ExtractImageFilter), or stream (itk::StreamingImageFilter).";
    Throw(sentence.str());
  }
}

void
WholeSlideImageIO::Read(void * buffer)
{
  const gigapixel::Slide & slide = this->GetSlide();
  const auto &             plane = slide.GetPlanes()[m_Plane];
  gigapixel::Rectangle     rectangle{ 0, 0, plane.width, plane.height };
  if (m_IORegion.GetImageDimension() >= 2 && m_IORegion.GetNumberOfPixels() > 0)
  {
    if (m_IORegion.GetIndex(0) < 0 || m_IORegion.GetIndex(1) < 0)
    {
      Throw(m_FileName + ": the region asked for starts left of or above the image; ask for one inside.");
    }
    rectangle = { static_cast<std::uint64_t>(m_IORegion.GetIndex(0)),
                  static_cast<std::uint64_t>(m_IORegion.GetIndex(1)),
                  m_IORegion.GetSize(0),
                  m_IORegion.GetSize(1) };
  }
  try
  {
    slide.ReadRegion(m_Plane,
                     rectangle,
                     this->GetRendering(m_NumberOfComponents),
                     static_cast<unsigned char *>(buffer),
                     MultiThreaderBase::GetGlobalDefaultNumberOfThreads());
    this->ReportDamage();
  }
  catch (const std::runtime_error & error)
  {
    Throw(error.what());
  }
}

void
WholeSlideImageIO::Write(const void *)
{
  itkExceptionMacro("slides are read, not written, by this class; write pyramids with itk::PyramidTIFFImageIO");
}

} // namespace itk
