/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which pixels of an open slide are read: those of a level, or of a resolution.
#include "slide/ResampledLevel.h"
#include "slide/Slide.h"
#include "itkGigapixelException.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace itk
{
namespace
{

/** A level is fine enough for a resolution that is finer by so much: numbers are rounded. */
constexpr double Rounding = 0.001;

[[noreturn]] void
Throw(const gigapixel::Diagnostic & diagnostic)
{
  throw GigapixelException(__FILE__, __LINE__, diagnostic, "itk::WholeSlideImageIO");
}

std::string
ToText(double number)
{
  std::ostringstream text;
  text << number;
  return text.str();
}

void
RequirePositive(double value, const char * what)
{
  if (!(value > 0.0) || !std::isfinite(value))
  {
    Throw(gigapixel::Diagnostic("E-OPTION-VALUE", std::string(what) + " to be greater than 0").OfValue(ToText(value)));
  }
}

} // namespace

void
WholeSlideImageIO::Select(const Selection & selection)
{
  if (m_Selection != selection)
  {
    m_Selection = selection;
    this->Modified();
  }
}

void
WholeSlideImageIO::SetLevel(unsigned int level)
{
  this->Select({ SelectedBy::Level, static_cast<double>(level), 0.0 });
}

void
WholeSlideImageIO::SetDownsample(double downsample)
{
  RequirePositive(downsample, "a downsample has");
  this->Select({ SelectedBy::Downsample, downsample, 0.0 });
}

void
WholeSlideImageIO::SetMicronsPerPixel(double micronsPerPixel, double tolerance)
{
  RequirePositive(micronsPerPixel, "micrometers per pixel have");
  if (!(tolerance >= 0.0 && tolerance < 1.0))
  {
    Throw(
      gigapixel::Diagnostic("E-OPTION-VALUE", "a tolerance has to be from 0 to below 1").OfValue(ToText(tolerance)));
  }
  this->Select({ SelectedBy::MicronsPerPixel, micronsPerPixel, tolerance });
}

void
WholeSlideImageIO::CopySettings(const Self & other)
{
  this->SetFileName(other.GetFileName());
  this->Select(other.m_Selection);
  this->SetContent(other.m_Content);
  this->SetAsPicture(other.m_AsPicture);
  this->SetAssociatedImage(other.m_AssociatedImage);
  this->SetGray(other.m_Gray);
  this->SetGrayFromRGB(other.m_GrayFromRGB);
  this->SetConvertToSRGB(other.m_ConvertToSRGB);
  this->SetStoredValues(other.m_StoredValues);
  this->SetPickPixels(other.m_PickPixels);
  this->SetUnscannedAsBackground(other.m_UnscannedAsBackground);
  this->SetStrict(other.m_Strict);
  this->GiveWarningsOff(); // the other gives those of the file
}

void
WholeSlideImageIO::RefuseLevel(unsigned int level) const
{
  Throw(gigapixel::Diagnostic("E-SLIDE-LEVEL",
                              "it has no level " + std::to_string(level),
                              "ask for one of 0 to " + std::to_string(this->GetNumberOfLevels() - 1))
          .OfFile(m_FileName)
          .OfValue(std::to_string(level)));
}

const gigapixel::SlidePlane &
WholeSlideImageIO::GetLevelPlane(unsigned int level) const
{
  const unsigned int levels = this->GetNumberOfLevels() + this->GetNumberOfReducedLevels();
  if (level == levels && m_Resampled)
  {
    return m_Resampled->GetPlane();
  }
  if (level >= levels)
  {
    this->RefuseLevel(level);
  }
  return m_Slide->GetPlanes()[level];
}

bool
WholeSlideImageIO::IsResampled(unsigned int level) const
{
  return m_Resampled && &this->GetLevelPlane(level) == &m_Resampled->GetPlane();
}

bool
WholeSlideImageIO::IsResampled() const
{
  return m_Resampled != nullptr;
}

unsigned int
WholeSlideImageIO::GetSourceLevel() const
{
  return m_Resampled ? m_Resampled->GetSource() : m_Level;
}

WholeSlideImageIO::LevelSizeType
WholeSlideImageIO::GetLevelSize(unsigned int level) const
{
  const auto & plane = this->GetLevelPlane(level);
  return { { plane.width, plane.height } };
}

WholeSlideImageIO::LevelSizeType
WholeSlideImageIO::GetLevelTileSize(unsigned int level) const
{
  const auto & plane = this->GetLevelPlane(level);
  return { { plane.tileWidth, plane.tileHeight } };
}

SizeValueType
WholeSlideImageIO::GetDecodingBytes(unsigned int level) const
{
  return this->IsResampled(level) ? m_Resampled->GetReadingBytes() : m_Slide->GetDecodingBytes(level);
}

double
WholeSlideImageIO::GetLevelDownsample(unsigned int level) const
{
  return this->GetLevelPlane(level).downsample;
}

std::array<double, 2>
WholeSlideImageIO::GetLevelDownsamples(unsigned int level) const
{
  const double downsample = this->GetLevelDownsample(level);
  if (!this->IsResampled(level))
  {
    return { { downsample, downsample } };
  }
  const double source = this->GetLevelDownsample(m_Resampled->GetSource());
  return { { source * m_Resampled->GetFactors()[0], source * m_Resampled->GetFactors()[1] } };
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

/** The coarsest level whose downsample is no larger, among so many of them. */
unsigned int
WholeSlideImageIO::FindLevel(double downsample, unsigned int levels) const
{
  unsigned int found = 0;
  for (unsigned int level = 1; level < levels; ++level)
  {
    const double candidate = this->GetLevelDownsample(level);
    if (candidate <= downsample && candidate > this->GetLevelDownsample(found))
    {
      found = level;
    }
  }
  return found;
}

/** The rule of SetMicronsPerPixel(). */
void
WholeSlideImageIO::SelectResolution()
{
  const double wanted = m_Selection.value;
  const auto   resolution = this->GetLevelZeroResolution();
  const double mean = (resolution[0] + resolution[1]) / 2.0;
  const double coarser = std::max(resolution[0], resolution[1]);
  if (!(resolution[0] > 0.0 && resolution[1] > 0.0))
  {
    Throw(gigapixel::Diagnostic(
            "E-SLIDE-RESOLUTION",
            "its resolution is unknown, so it cannot be read by micrometers per pixel",
            "state it (--slide-mpp, SetLevelZeroMicronsPerPixel()), or choose a level (--level, SetLevel())")
            .OfFile(m_FileName));
  }
  if (m_Selection.tolerance > 0.0)
  {
    const unsigned int near = this->FindLevel(wanted / mean * (1.0 + m_Selection.tolerance),
                                              this->GetNumberOfLevels() + this->GetNumberOfReducedLevels());
    const auto         downsamples = this->GetLevelDownsamples(near);
    const auto         isNear = [&](std::size_t axis) {
      return std::abs(resolution[axis] * downsamples[axis] / wanted - 1.0) <= m_Selection.tolerance;
    };
    if (isNear(0) && isNear(1))
    {
      m_Level = near;
      return;
    }
  }
  if (coarser > wanted * (1.0 + ResolutionTolerance))
  {
    Throw(gigapixel::Diagnostic("E-SLIDE-RESOLUTION",
                                "its finest level has " + ToText(coarser) +
                                  " micrometers per pixel, which is coarser than " + ToText(wanted),
                                "ask for a coarser resolution")
            .OfFile(m_FileName)
            .OfValue(ToText(wanted)));
  }
  m_Level = this->FindLevel(wanted / coarser * (1.0 + Rounding), this->GetNumberOfLevels());
  const auto            size = this->GetLevelSize(m_Level);
  std::array<double, 2> factors{};
  bool                  isLevel = true;
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    factors[axis] = wanted / (resolution[axis] * this->GetLevelDownsample(m_Level));
    isLevel = isLevel && std::abs(factors[axis] - 1.0) * static_cast<double>(size[axis]) < 0.5;
  }
  if (!isLevel)
  {
    m_Resampled =
      std::make_shared<const gigapixel::ResampledLevel>(m_Slide, m_Level, factors, wanted / mean, m_PickPixels);
    m_Level = this->GetNumberOfLevels() + this->GetNumberOfReducedLevels();
  }
}

void
WholeSlideImageIO::SelectPixels()
{
  switch (m_Selection.by)
  {
    case SelectedBy::Level:
      m_Level = static_cast<unsigned int>(m_Selection.value);
      break;
    case SelectedBy::Downsample:
      m_Level = this->FindLevel(m_Selection.value * (1.0 + ResolutionTolerance),
                                this->GetNumberOfLevels() + this->GetNumberOfReducedLevels());
      break;
    case SelectedBy::MicronsPerPixel:
      this->SelectResolution();
      break;
  }
  this->GetLevelSize(m_Level);
  m_Plane = this->GetSourceLevel();
}

} // namespace itk
