/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKeptNormalization.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFloatReader.h"
#include "gigapixelFormatCount.h"
#include "gigapixelNonZeroVoxels.h"
#include "gigapixelNormalizationFigures.h"

#include <algorithm>
#include <optional>

namespace gigapixel
{
namespace
{

using Voxels = Normalization::Voxels;

/** One for each channel. \throw std::invalid_argument they are of another number of channels */
Normalizations
OfEachChannel(const Normalizations & normalizations, unsigned channels)
{
  if (normalizations.size() > 1 && normalizations.size() != channels)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     "there are normalizations of " + FormatCount(normalizations.size(), "channel") +
                                       ", and the image has " + std::to_string(channels)));
  }
  return normalizations.size() > 1
           ? normalizations
           : Normalizations(channels, normalizations.empty() ? Normalization() : normalizations.front());
}

class NormalizedSource : public PixelSource
{
public:
  NormalizedSource(std::shared_ptr<PixelSource>         pixels,
                   Normalizations                       normalizations,
                   std::vector<Scale>                   scales,
                   std::shared_ptr<const NonZeroVoxels> there)
    : m_Pixels(std::move(pixels))
    , m_Normalizations(std::move(normalizations))
    , m_Scales(std::move(scales))
    , m_There(std::move(there))
  {}

  Size
  GetSize() const override
  {
    return m_Pixels->GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Pixels->GetNumberOfChannels();
  }

  SampleType
  GetSampleType() const override
  {
    return SampleType::Float;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    auto * value = reinterpret_cast<float *>(samples);
    FloatReader(*m_Pixels).Read(region, value);
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y)
      {
        for (std::int64_t x = region.x; x < region.x + region.width; ++x)
        {
          for (std::size_t c = 0; c < m_Scales.size(); ++c, ++value)
          {
            *value = this->Stays(c, *value, x, y, z) ? *value : m_Scales[c](*value);
          }
        }
      }
    }
  }

  void
  ReadAhead(const Region & region) override
  {
    m_Pixels->ReadAhead(region);
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    return m_Pixels->ReadTissue(region, tissue);
  }

private:
  bool
  Stays(std::size_t channel, float value, std::int64_t x, std::int64_t y, std::int64_t z) const
  {
    const Normalization & how = m_Normalizations[channel];
    return (how.voxels == Voxels::NonZero || how.voxels == Voxels::Filled) &&
           !Counts(how, value, m_There.get(), x, y, z);
  }

  const std::shared_ptr<PixelSource>         m_Pixels;
  const Normalizations                       m_Normalizations; ///< of each channel
  const std::vector<Scale>                   m_Scales;         ///< likewise
  const std::shared_ptr<const NonZeroVoxels> m_There;          ///< null where none of them needs it
};

} // namespace

struct KeptNormalization::Found
{
  std::vector<Scale> scales; ///< of the channels; empty: not yet
};

KeptNormalization::KeptNormalization(Normalizations normalizations)
  : m_Normalizations(std::move(normalizations))
  , m_Found(std::make_unique<Found>())
{
  std::for_each(m_Normalizations.begin(), m_Normalizations.end(), [](const Normalization & n) { n.Validate(); });
}

KeptNormalization::~KeptNormalization() = default;

bool
KeptNormalization::Find(const std::shared_ptr<PixelSource> & pixels, const std::function<bool(double)> & goesOn)
{
  m_Found->scales.clear();
  return this->Apply(pixels, goesOn) != nullptr;
}

std::vector<std::size_t>
KeptNormalization::GetFlatChannels() const
{
  std::vector<std::size_t> flat;
  for (std::size_t channel = 0; channel < m_Found->scales.size(); ++channel)
  {
    if (m_Found->scales[channel].isFlat)
    {
      flat.push_back(channel);
    }
  }
  return flat;
}

std::shared_ptr<PixelSource>
KeptNormalization::Apply(std::shared_ptr<PixelSource> pixels, const std::function<bool(double)> & goesOn)
{
  if (!ChangesValues(m_Normalizations))
  {
    return pixels;
  }
  const auto any = [this](auto is) { return std::any_of(m_Normalizations.begin(), m_Normalizations.end(), is); };
  std::vector<Scale> & scales = m_Found->scales;
  const bool           takesFigures = scales.empty() && any(TakesFigures);
  const bool           takesBox = takesFigures && any([](const Normalization & n) { return n.voxels == Voxels::Box; });
  const bool           takesMask = any([](const Normalization & n) { return n.voxels == Voxels::Filled; });
  const double         before = !takesBox && !takesMask ? 0 : takesFigures ? 1.0 / 3 : 1;
  std::shared_ptr<const NonZeroVoxels> there;
  if (takesBox || takesMask)
  {
    auto found = NonZeroVoxels::Find(*pixels, [&](double done) { return !goesOn || goesOn(before * done); });
    if (!found)
    {
      return nullptr;
    }
    there = std::make_shared<const NonZeroVoxels>(std::move(*found));
  }
  const auto ofEach = OfEachChannel(m_Normalizations, pixels->GetNumberOfChannels());
  if (scales.empty())
  {
    const auto goOn = [&](double done) { return !goesOn || goesOn(before + (1 - before) * done); };
    scales = takesFigures ? FindScales(*pixels, ofEach, there.get(), goOn) : MakeScales(*pixels, ofEach);
  }
  return scales.empty()
           ? nullptr
           : std::make_shared<NormalizedSource>(std::move(pixels), ofEach, scales, takesMask ? there : nullptr);
}

} // namespace gigapixel
