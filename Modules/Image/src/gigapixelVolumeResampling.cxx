/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumeResampling.h"

#include "gigapixelFloatReader.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gigapixel
{
namespace
{

/** In voxels before; new ones lie half a new voxel behind their beginning. */
double
GetPlace(std::int64_t voxel, std::int64_t from, std::int64_t to)
{
  return (static_cast<double>(voxel) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
}

/** Lengths along z, y and x. */
std::array<std::int64_t, 3>
GetLengths(const Size & size)
{
  return { size.depth, size.height, size.width };
}

/** The axis across which there is no interpolation, from the first of two spacings that is far from equal along all
 * axes. \return -1: there is none, or two axes are as coarse */
int
FindCoarseAxis(const std::array<double, 3> & first, const std::array<double, 3> & second)
{
  constexpr double Most = 3;
  for (const auto * spacing : { &first, &second })
  {
    const auto greatest = std::max_element(spacing->begin(), spacing->end());
    if (*greatest / *std::min_element(spacing->begin(), spacing->end()) > Most)
    {
      return std::count(spacing->begin(), spacing->end(), *greatest) > 1
               ? -1
               : static_cast<int>(greatest - spacing->begin());
    }
  }
  return -1;
}

/** Some values of a line, with their weights. */
struct Taps
{
  std::int64_t          first{ 0 };
  std::array<double, 4> weights{};
};

/** \class LineResampler
 * \brief One line of voxels at another number of them. */
class LineResampler
{
public:
  enum class Kind
  {
    Nearest,
    Linear,
    Cubic
  };

  LineResampler(Kind kind, std::int64_t from, std::int64_t to)
    : m_Kind(kind)
    , m_From(from)
    , m_Line(static_cast<std::size_t>(from + 2 * Margin))
  {
    for (std::int64_t voxel = 0; voxel < to; ++voxel)
    {
      m_Taps.push_back(this->FindTaps(GetPlace(voxel, from, to)));
    }
  }

  /** \param step from value to value of the line, of both */
  void
  operator()(const float * from, float * to, std::ptrdiff_t step)
  {
    const std::int64_t length = m_From + 2 * Margin;
    for (std::int64_t i = 0; i < length; ++i)
    {
      m_Line[static_cast<std::size_t>(i)] = from[std::clamp<std::int64_t>(i - Margin, 0, m_From - 1) * step];
    }
    if (m_Kind == Kind::Cubic)
    {
      FindCoefficients(m_Line);
    }
    for (const Taps & taps : m_Taps)
    {
      double sum = 0;
      for (std::size_t i = 0; i < taps.weights.size(); ++i)
      {
        sum += taps.weights[i] == 0 ? 0 : taps.weights[i] * m_Line[static_cast<std::size_t>(taps.first) + i];
      }
      *to = static_cast<float>(sum);
      to += step;
    }
  }

private:
  /** Of values that go on beyond the ends of a line, so that it does not matter what its coefficients begin with. */
  static constexpr std::int64_t Margin = 12;

  Taps
  FindTaps(double place) const
  {
    const double at = std::floor(m_Kind == Kind::Nearest ? place + 0.5 : place);
    const double t = place - at;
    Taps         taps;
    taps.first = static_cast<std::int64_t>(at) + Margin - (m_Kind == Kind::Cubic ? 1 : 0);
    switch (m_Kind)
    {
      case Kind::Nearest:
        taps.weights = { 1 };
        break;
      case Kind::Linear:
        taps.weights = { 1 - t, t };
        break;
      case Kind::Cubic:
        taps.weights = { (1 - t) * (1 - t) * (1 - t) / 6,
                         2.0 / 3 - t * t * (2 - t) / 2,
                         2.0 / 3 - (1 - t) * (1 - t) * (1 + t) / 2,
                         t * t * t / 6 };
        break;
    }
    return taps;
  }

  /** Values become the coefficients of the cubic B-splines that go through them: a recursive filter with one pole,
   * there and back (Unser, Aldroubi and Eden, IEEE Transactions on Signal Processing 41, 1993). */
  static void
  FindCoefficients(std::vector<double> & line)
  {
    const double pole = std::sqrt(3.0) - 2;
    const auto   length = line.size();
    line[0] = 6 * line[0] / (1 - pole); // of a line that goes on as it begins
    for (std::size_t i = 1; i < length; ++i)
    {
      line[i] = 6 * line[i] + pole * line[i - 1];
    }
    line[length - 1] *= -pole / (1 - pole);
    for (std::size_t i = length - 1; i-- > 0;)
    {
      line[i] = pole * (line[i + 1] - line[i]);
    }
  }

  Kind                m_Kind;
  std::int64_t        m_From;
  std::vector<Taps>   m_Taps; ///< of each new voxel
  std::vector<double> m_Line;
};

/** \param before, behind how many values lie before the axis, and between two neighbors along it */
std::vector<float>
ResampleAxis(const std::vector<float> & values,
             std::int64_t               before,
             std::int64_t               behind,
             std::int64_t               from,
             std::int64_t               to,
             LineResampler::Kind        kind)
{
  std::vector<float> resampled(static_cast<std::size_t>(before * to * behind));
  LineResampler      resample(kind, from, to);
  for (std::int64_t line = 0; line < before; ++line)
  {
    for (std::int64_t i = 0; i < behind; ++i)
    {
      resample(values.data() + line * from * behind + i, resampled.data() + line * to * behind + i, behind);
    }
  }
  return resampled;
}

struct Range
{
  float least{ std::numeric_limits<float>::max() };
  float most{ std::numeric_limits<float>::lowest() };
};

/** Of a channel: the ranges of its slices along an axis, or of all of it. */
std::vector<Range>
FindRanges(const std::vector<float> & values, const std::array<std::int64_t, 3> & lengths, int axis)
{
  std::vector<Range>          ranges(axis < 0 ? 1 : static_cast<std::size_t>(lengths[static_cast<std::size_t>(axis)]));
  std::array<std::int64_t, 3> place{};
  auto                        value = values.begin();
  for (place[0] = 0; place[0] < lengths[0]; ++place[0])
  {
    for (place[1] = 0; place[1] < lengths[1]; ++place[1])
    {
      for (place[2] = 0; place[2] < lengths[2]; ++place[2], ++value)
      {
        Range & range = ranges[axis < 0 ? 0 : static_cast<std::size_t>(place[static_cast<std::size_t>(axis)])];
        range = { std::min(range.least, *value), std::max(range.most, *value) };
      }
    }
  }
  return ranges;
}

void
Clip(std::vector<float> &                values,
     const std::array<std::int64_t, 3> & lengths,
     int                                 axis,
     const std::vector<Range> &          ranges)
{
  std::array<std::int64_t, 3> place{};
  auto                        value = values.begin();
  for (place[0] = 0; place[0] < lengths[0]; ++place[0])
  {
    for (place[1] = 0; place[1] < lengths[1]; ++place[1])
    {
      for (place[2] = 0; place[2] < lengths[2]; ++place[2], ++value)
      {
        const Range & range = ranges[axis < 0 ? 0 : static_cast<std::size_t>(place[static_cast<std::size_t>(axis)])];
        *value = std::clamp(*value, range.least, range.most);
      }
    }
  }
}

/** A channel's values at the other spacing. */
std::vector<float>
ResampleChannel(std::vector<float> values, const VolumeResampling & resampling)
{
  using Kind = LineResampler::Kind;
  auto       lengths = GetLengths(resampling.from);
  const auto wanted = GetLengths(resampling.to);
  const int  nearest = resampling.nearestAxis;
  const auto ranges = FindRanges(values, lengths, nearest);
  // Slices first, which are clipped by themselves.
  for (const bool isNearest : { false, true })
  {
    for (int axis = 0; axis < 3; ++axis)
    {
      const auto a = static_cast<std::size_t>(axis);
      if ((axis == nearest) != isNearest || lengths[a] == wanted[a])
      {
        continue;
      }
      const std::int64_t before = axis == 0 ? 1 : axis == 1 ? lengths[0] : lengths[0] * lengths[1];
      const std::int64_t behind = axis == 0 ? lengths[1] * lengths[2] : axis == 1 ? lengths[2] : 1;
      values = ResampleAxis(values, before, behind, lengths[a], wanted[a], isNearest ? Kind::Nearest : Kind::Cubic);
      lengths[a] = wanted[a];
    }
    if (!isNearest)
    {
      Clip(values, lengths, nearest, ranges);
    }
  }
  return values;
}

class FloatsInMemory : public PixelSource
{
public:
  /** \param channels a volume for each */
  FloatsInMemory(const Size & size, std::vector<std::vector<float>> channels)
    : m_Size(size)
    , m_Channels(std::move(channels))
  {}

  Size
  GetSize() const override
  {
    return m_Size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return static_cast<unsigned>(m_Channels.size());
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
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y)
      {
        const auto row = static_cast<std::size_t>((z * m_Size.height + y) * m_Size.width);
        for (std::int64_t x = region.x; x < region.x + region.width; ++x)
        {
          for (const std::vector<float> & channel : m_Channels)
          {
            *value++ = channel[row + static_cast<std::size_t>(x)];
          }
        }
      }
    }
  }

private:
  Size                            m_Size;
  std::vector<std::vector<float>> m_Channels;
};

} // namespace

VolumeResampling::VolumeResampling(const Size &                  size,
                                   const std::array<double, 3> & spacing,
                                   const std::array<double, 3> & wanted)
  : from(size)
{
  const auto                  lengths = GetLengths(size);
  std::array<std::int64_t, 3> there{};
  for (std::size_t axis = 0; axis < there.size(); ++axis)
  {
    const double number = spacing[axis] / wanted[axis] * static_cast<double>(lengths[axis]);
    there[axis] = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(number)));
  }
  to = { there[2], there[1], there[0] };
  nearestAxis = FindCoarseAxis(spacing, wanted);
  nearestAxisBack = FindCoarseAxis(wanted, spacing);
}

std::shared_ptr<PixelSource>
Resample(PixelSource & volume, const VolumeResampling & resampling, const std::function<bool(double)> & goesOn)
{
  const unsigned                  channels = volume.GetNumberOfChannels();
  std::vector<std::vector<float>> resampled;
  for (unsigned channel = 0; channel < channels; ++channel)
  {
    std::vector<float> values; // one channel at a time: each takes its size and twice the new one
    values.reserve(static_cast<std::size_t>(resampling.from.width * resampling.from.height * resampling.from.depth));
    const auto see = [&](const Region &, const std::vector<float> & samples) {
      for (std::size_t i = channel; i < samples.size(); i += channels)
      {
        values.push_back(samples[i]);
      }
    };
    const auto goOn = [&](double done) {
      return !goesOn || goesOn((static_cast<double>(channel) + 0.2 * done) / channels);
    };
    if (!GoOver(volume, see, goOn))
    {
      return nullptr;
    }
    resampled.push_back(ResampleChannel(std::move(values), resampling));
    if (goesOn && !goesOn((static_cast<double>(channel) + 1) / channels))
    {
      return nullptr;
    }
  }
  return std::make_shared<FloatsInMemory>(resampling.to, std::move(resampled));
}

SliceResampler::SliceResampler(const VolumeResampling & resampling, int channels, Take take)
  : m_Resampling(resampling)
  , m_Channels(channels)
  , m_Take(std::move(take))
{}

void
SliceResampler::Add(std::int64_t z, const std::vector<float> & slice)
{
  using Kind = LineResampler::Kind;
  const Size & volume = m_Resampling.from;
  const Size & there = m_Resampling.to;
  const auto getKind = [this](int axis) { return axis == m_Resampling.nearestAxisBack ? Kind::Nearest : Kind::Linear; };
  m_Before = std::move(m_Last);
  m_Last = there.width == volume.width
             ? slice
             : ResampleAxis(slice, there.height, m_Channels, there.width, volume.width, getKind(2));
  if (there.height != volume.height)
  {
    m_Last = ResampleAxis(m_Last, 1, volume.width * m_Channels, there.height, volume.height, getKind(1));
  }
  for (; m_Next < volume.depth; ++m_Next)
  {
    const double place =
      std::clamp(GetPlace(m_Next, there.depth, volume.depth), 0.0, static_cast<double>(there.depth - 1));
    const auto   first = static_cast<std::int64_t>(std::floor(getKind(0) == Kind::Nearest ? place + 0.5 : place));
    const double share = getKind(0) == Kind::Nearest ? 0 : place - static_cast<double>(first);
    if (first + (share > 0 ? 1 : 0) > z)
    {
      return; // it waits for the next one
    }
    m_Between = first == z ? m_Last : m_Before;
    for (std::size_t i = 0; share > 0 && i < m_Between.size(); ++i)
    {
      m_Between[i] =
        static_cast<float>((1 - share) * static_cast<double>(m_Before[i]) + share * static_cast<double>(m_Last[i]));
    }
    m_Take(m_Next, m_Between);
  }
}

} // namespace gigapixel
