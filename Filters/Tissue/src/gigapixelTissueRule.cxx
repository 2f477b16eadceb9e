/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueRule.h"
#include "gigapixelInstructionSets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

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

template <bool BrownIsTissue>
inline unsigned char
IsStained(const TissueRule & rule, int red, int green, int blue)
{
  const int  dr = rule.glass[0] - red;
  const int  dg = rule.glass[1] - green;
  const int  db = rule.glass[2] - blue;
  const int  least = dr < db ? dr : db;
  const int  color = dg - least;
  const bool stained = (color >= rule.stain) & (12 * color >= dg) & (2 * dg >= rule.stain);
  const bool bluish = 4 * dr > 5 * dg;
  const bool yellowish = BrownIsTissue ? db > 2 * dg + 2 : (db > dg + 20) | (8 * (db - dg) > dg + 16);
  const bool redPen = (1400 * db > dg * (930 + dg)) & (3 * dr < dg) & (dg >= 100);
  return stained & !bluish & !yellowish & !redPen ? 255 : 0;
}

template <bool BrownIsTissue>
GIGAPIXEL_ALWAYS_INLINE void
ApplyStain3(const TissueRule &    given,
            const unsigned char * pixels,
            std::size_t           count,
            unsigned char * __restrict output)
{
  const TissueRule rule = given;
  for (std::size_t i = 0; i < count; ++i)
  {
    output[i] = IsStained<BrownIsTissue>(rule, pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]);
  }
}

GIGAPIXEL_INSTRUCTION_SETS void
ApplyPinkStain3(const TissueRule & rule, const unsigned char * pixels, std::size_t count, unsigned char * output)
{
  ApplyStain3<false>(rule, pixels, count, output);
}

GIGAPIXEL_INSTRUCTION_SETS void
ApplyBrownStain3(const TissueRule & rule, const unsigned char * pixels, std::size_t count, unsigned char * output)
{
  ApplyStain3<true>(rule, pixels, count, output);
}

GIGAPIXEL_INSTRUCTION_SETS void
ApplyStain1(const TissueRule & rule, const unsigned char * pixels, std::size_t count, unsigned char * __restrict output)
{
  const int darkest = rule.glass[0] - rule.shade;
  for (std::size_t i = 0; i < count; ++i)
  {
    output[i] = pixels[i] <= darkest ? 255 : 0;
  }
}

inline unsigned char
GetLargest(const unsigned char * pixel, unsigned channels)
{
  return channels == 1 ? pixel[0] : std::max(pixel[0], std::max(pixel[1], pixel[2]));
}

template <unsigned Channels>
void
CountPixelsOf(const unsigned char * pixels, std::size_t count, TissueHistogram & histogram)
{
  constexpr int darkestGlass = 180;
  constexpr int strongestCast = TissueHistogram::StrongestCast;
  std::uint64_t white = 0; // in a register, where the histogram's own would be stored with each pixel
  for (std::size_t i = 0; i < count; ++i, pixels += Channels)
  {
    const int low = Channels == 1 ? pixels[0] : std::min(pixels[0], std::min(pixels[1], pixels[2]));
    const int high = GetLargest(pixels, Channels);
    ++histogram.largest[high];
    white += low == 255 ? 1 : 0;
    if (high >= darkestGlass && high - low <= strongestCast && low < 255)
    {
      for (unsigned channel = 0; channel < 3; ++channel)
      {
        ++histogram.glass[channel][pixels[channel % Channels]];
      }
      if (Channels == 3)
      {
        ++histogram.redness[pixels[0] - pixels[1] + strongestCast];
        ++histogram.blueness[pixels[2 % Channels] - pixels[1] + strongestCast];
      }
    }
  }
  histogram.white += white;
}

/** How far 95 % of what begins with the commonest value lie from it. */
template <typename TIterator>
int
MeasureSpread(const TIterator & mode, const TIterator & end)
{
  const std::uint64_t all = std::accumulate(mode, end, std::uint64_t{ 0 });
  std::uint64_t       below = 0;
  auto                bin = mode;
  while (bin + 1 != end && 20 * (below += *bin) <= 19 * all)
  {
    ++bin;
  }
  return static_cast<int>(bin - mode);
}

/** On the side of lower values. */
int
MeasureSpreadDownwards(const std::array<std::uint64_t, TissueHistogram::Casts> & histogram)
{
  const auto mode = std::max_element(histogram.rbegin(), histogram.rend());
  return MeasureSpread(mode, histogram.rend());
}

TissueRule
MakeStainRule(TissueMethod method, const TissueHistogram & histogram)
{
  TissueRule rule;
  rule.method = method;
  std::uint64_t candidates = 0;
  for (const std::uint64_t count : histogram.glass[0])
  {
    candidates += count;
  }
  if (4 * histogram.white > histogram.pixels && 25 * candidates < histogram.pixels)
  {
    rule.glass = { { 255, 255, 255 } };
    return rule;
  }
  if (candidates == 0 || candidates < histogram.pixels / 1000)
  {
    return rule;
  }
  int spread = 0;
  for (std::size_t channel = 0; channel < 3; ++channel)
  {
    const auto & values = histogram.glass[channel];
    const auto   mode = std::max_element(values.begin(), values.end());
    rule.glass[channel] = static_cast<int>(mode - values.begin());
    spread = std::max(spread, MeasureSpread(mode, values.end()));
  }
  rule.shade = 6 + 2 * spread;
  const int colorSpread =
    std::max(MeasureSpreadDownwards(histogram.redness), MeasureSpreadDownwards(histogram.blueness));
  rule.stain = 3 + std::max(1, colorSpread);
  return rule;
}

/** Otsu's threshold after the square root, in 256 steps, given back on the scale of the values. */
int
OtsuOfRoots(const std::array<std::uint64_t, 256> & histogram)
{
  std::array<std::uint64_t, 256> roots{};
  const auto getRoot = [](int value) { return static_cast<int>(std::lround(std::sqrt(255.0 * value))); };
  for (int value = 0; value < 256; ++value)
  {
    roots[getRoot(value)] += histogram[value];
  }
  const int threshold = OtsuThreshold(roots);
  int       value = 0;
  while (value < 256 && getRoot(value) < threshold)
  {
    ++value;
  }
  return value;
}

} // namespace

TissueHistogram &
TissueHistogram::operator+=(const TissueHistogram & other)
{
  const auto add = [](auto & to, const auto & from) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
  };
  add(largest, other.largest);
  add(redness, other.redness);
  add(blueness, other.blueness);
  for (std::size_t channel = 0; channel < 3; ++channel)
  {
    add(glass[channel], other.glass[channel]);
  }
  white += other.white;
  pixels += other.pixels;
  return *this;
}

void
CountPixels(const unsigned char * pixels, std::size_t count, unsigned channels, TissueHistogram & histogram)
{
  (channels == 1 ? CountPixelsOf<1> : CountPixelsOf<3>)(pixels, count, histogram);
  histogram.pixels += count;
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
  if (method == TissueMethod::Stain || method == TissueMethod::BrownStain)
  {
    return MakeStainRule(method, histogram);
  }
  TissueRule rule;
  rule.method = method;
  if (method == TissueMethod::BrightOnDark)
  {
    rule.brightest = OtsuOfRoots(histogram.largest);
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
    case TissueMethod::Stain:
      (channels == 1 ? ApplyStain1 : ApplyPinkStain3)(rule, pixels, count, output);
      break;
    case TissueMethod::BrownStain:
      (channels == 1 ? ApplyStain1 : ApplyBrownStain3)(rule, pixels, count, output);
      break;
    case TissueMethod::BrightOnDark:
      for (std::size_t i = 0; i < count; ++i, pixels += channels)
      {
        output[i] = GetLargest(pixels, channels) >= rule.brightest ? 255 : 0;
      }
      break;
    case TissueMethod::Network: // no pixel tells alone
      std::fill_n(output, count, static_cast<unsigned char>(0));
      break;
  }
}

} // namespace gigapixel
