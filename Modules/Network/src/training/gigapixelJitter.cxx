/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelJitter.h"
#include "execute/gigapixelRandom.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gigapixel
{
namespace
{

using Matrix = std::array<std::array<double, 3>, 3>;

/** The stains' optical densities in red, green and blue, and the inverse. */
constexpr Matrix DensitiesOfStains{ { { { 0.65, 0.70, 0.29 } }, { { 0.07, 0.99, 0.11 } }, { { 0.27, 0.57, 0.78 } } } };
constexpr Matrix StainsOfDensities{ { { { 1.8779827368521356, -1.0076786862855642, -0.5561158181996246 } },
                                      { { -0.06590806222356334, 1.1347303724996625, -0.13552179862837116 } },
                                      { { -0.6019073634392891, -0.4804141884970579, 1.5735880719641926 } } } };

/** Densities in red, green and blue to those with other stains, for row vectors. */
Matrix
MakeStaining(const std::array<double, 3> & factors)
{
  Matrix staining{};
  for (int i = 0; i < 3; ++i)
  {
    for (int j = 0; j < 3; ++j)
    {
      for (int stain = 0; stain < 3; ++stain)
      {
        staining[i][j] += StainsOfDensities[i][stain] * factors[stain] * DensitiesOfStains[stain][j];
      }
    }
  }
  return staining;
}

/** Logarithms of 256 samples; black counts as 1e-6, as in scikit-image. */
std::array<double, 256>
MakeLogarithms()
{
  std::array<double, 256> logarithms{};
  for (int v = 0; v < 256; ++v)
  {
    logarithms[v] = std::log(std::max(v / 255.0, 1e-6));
  }
  return logarithms;
}

std::uint8_t
ToSample(double value)
{
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

} // namespace

Jitter
Jitter::Draw(double strength, std::uint64_t seed, std::uint64_t number, unsigned channels)
{
  Random     random(seed, Random::Purpose::Jitter, number);
  const auto draw = [&] { return strength * (2 * random.Uniform() - 1); };
  Jitter     jitter;
  for (double & factor : jitter.stains)
  {
    factor = 1 + draw();
  }
  for (unsigned c = 0; c < channels; ++c)
  {
    jitter.contrast.push_back(1 + draw());
    jitter.brightness.push_back(draw() / 2);
  }
  return jitter;
}

void
Jitter::Apply(std::uint8_t * samples, std::size_t pixels) const
{
  static const std::array<double, 256> logarithms = MakeLogarithms();
  const std::size_t                    channels = contrast.size();
  const Matrix                         staining = MakeStaining(stains);
  const auto light = [&](std::size_t c, double v) { return ToSample(contrast[c] * (v - 0.5) + 0.5 + brightness[c]); };
  if (channels != 3)
  {
    std::vector<std::uint8_t> table(256 * channels);
    for (std::size_t i = 0; i < table.size(); ++i)
    {
      table[i] = light(i / 256, static_cast<double>(i % 256) / 255);
    }
    for (std::size_t i = 0; i < pixels * channels; ++i)
    {
      samples[i] = table[256 * (i % channels) + samples[i]];
    }
    return;
  }
  std::uint8_t before[3] = {}, after[3] = {}; // glass goes on and on in one color
  bool         any = false;
  for (std::uint8_t * const end = samples + 3 * pixels; samples != end; samples += 3)
  {
    if (!any || std::memcmp(samples, before, 3) != 0)
    {
      std::memcpy(before, samples, 3);
      any = true;
      for (std::size_t c = 0; c < 3; ++c)
      {
        double logarithm = 0;
        for (std::size_t i = 0; i < 3; ++i)
        {
          logarithm += logarithms[before[i]] * staining[i][c];
        }
        after[c] = light(c, std::min(1.0, std::exp(logarithm)));
      }
    }
    std::memcpy(samples, after, 3);
  }
}

void
Jitter::Apply(float * samples, std::size_t pixels) const
{
  for (const float * const end = samples + pixels * contrast.size(); samples != end;)
  {
    for (std::size_t c = 0; c < contrast.size(); ++c, ++samples)
    {
      *samples = static_cast<float>(contrast[c] * *samples + brightness[c]);
    }
  }
}

void
JitteredPixelSource::Read(const Region & region, std::uint8_t * samples)
{
  m_Source.Read(region, samples);
  const auto pixels = static_cast<std::size_t>(region.width * region.height * region.depth);
  GetSampleType() == SampleType::Float ? m_Jitter.Apply(reinterpret_cast<float *>(samples), pixels)
                                       : m_Jitter.Apply(samples, pixels);
}

} // namespace gigapixel
