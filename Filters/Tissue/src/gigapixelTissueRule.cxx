/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueRule.h"
#include "gigapixelInstructionSets.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

/** The published rule; see TissueMethod::MeanBelow. */
inline unsigned char
IsBelowMean(unsigned red, unsigned green, unsigned blue)
{
  const bool light = red + green + blue > 690;
  const bool black = 19595 * red + 38470 * green + 7471 * blue < 32768;
  return light || black ? 0 : 255;
}

GIGAPIXEL_INSTRUCTION_SETS void
ApplyMeanBelow3(const unsigned char * pixels, std::size_t count, unsigned char * output)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    output[i] = IsBelowMean(pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]);
  }
}

GIGAPIXEL_INSTRUCTION_SETS void
ApplyMeanBelow1(const unsigned char * pixels, std::size_t count, unsigned char * output)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    output[i] = static_cast<unsigned char>(pixels[i] - 1) < 230 ? 255 : 0;
  }
}

} // namespace

TissueHistogram &
TissueHistogram::operator+=(const TissueHistogram & other)
{
  for (std::size_t i = 0; i < 256; ++i)
  {
    largest[i] += other.largest[i];
    smallest[i] += other.smallest[i];
    chroma[i] += other.chroma[i];
  }
  return *this;
}

void
CountPixels(const unsigned char * pixels, std::size_t count, unsigned channels, TissueHistogram & histogram)
{
  for (std::size_t i = 0; i < count; ++i, pixels += channels)
  {
    const auto [low, high] = std::minmax_element(pixels, pixels + channels);
    ++histogram.largest[*high];
    ++histogram.smallest[*low];
    ++histogram.chroma[*high - *low];
  }
}

int
OtsuThreshold(const std::array<std::uint64_t, 256> & histogram)
{
  double total = 0.0;
  double moment = 0.0;
  for (int value = 0; value < 256; ++value)
  {
    total += static_cast<double>(histogram[value]);
    moment += static_cast<double>(histogram[value]) * value;
  }
  double below = 0.0;
  double momentBelow = 0.0;
  double best = 0.0;
  int    threshold = 256;
  for (int value = 1; value < 256; ++value)
  {
    below += static_cast<double>(histogram[value - 1]);
    momentBelow += static_cast<double>(histogram[value - 1]) * (value - 1);
    if (below == 0.0 || below == total)
    {
      continue;
    }
    const double distance = momentBelow / below - (moment - momentBelow) / (total - below);
    const double between = below * (total - below) * distance * distance;
    if (between > best)
    {
      best = between;
      threshold = value;
    }
  }
  return threshold;
}

TissueRule
MakeTissueRule(TissueMethod method, const TissueHistogram & histogram)
{
  TissueRule rule;
  rule.method = method;
  if (method == TissueMethod::DensityOrSaturation)
  {
    rule.darkest = OtsuThreshold(histogram.smallest) - 1;
    rule.chroma = OtsuThreshold(histogram.chroma);
  }
  else if (method == TissueMethod::BrightOnDark)
  {
    rule.brightest = OtsuThreshold(histogram.largest);
  }
  return rule;
}

void
ApplyTissueRule(const TissueRule &    rule,
                const unsigned char * pixels,
                std::size_t           count,
                unsigned              channels,
                unsigned char *       output)
{
  switch (rule.method)
  {
    case TissueMethod::MeanBelow:
      (channels == 1 ? ApplyMeanBelow1 : ApplyMeanBelow3)(pixels, count, output);
      break;
    case TissueMethod::DensityOrSaturation:
      for (std::size_t i = 0; i < count; ++i, pixels += channels)
      {
        const auto [low, high] = std::minmax_element(pixels, pixels + channels);
        output[i] = *low <= rule.darkest || *high - *low >= rule.chroma ? 255 : 0;
      }
      break;
    case TissueMethod::BrightOnDark:
      for (std::size_t i = 0; i < count; ++i, pixels += channels)
      {
        output[i] = *std::max_element(pixels, pixels + channels) >= rule.brightest ? 255 : 0;
      }
      break;
  }
}

} // namespace gigapixel
