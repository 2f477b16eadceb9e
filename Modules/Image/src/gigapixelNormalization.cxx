/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNormalization.h"

#include "gigapixelKeptNormalization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace gigapixel
{
namespace
{

/** What a value becomes: clipped, and then (value - offset) / divisor. */
struct Scale
{
  double least{ -HUGE_VAL };
  double most{ HUGE_VAL };
  double offset{ 0 };
  double divisor{ 1 };

  float
  operator()(float value) const
  {
    return static_cast<float>((std::clamp(static_cast<double>(value), least, most) - offset) / divisor);
  }
};

Scale
MakeScaleOf(double low, double high)
{
  return { low, high, low, high > low ? high - low : 1 };
}

/** Samples of a region as floats, whatever the source has. */
class FloatReader
{
public:
  explicit FloatReader(PixelSource & pixels)
    : m_Pixels(pixels)
    , m_IsFloat(pixels.GetSampleType() == SampleType::Float)
  {}

  void
  Read(const Region & region, float * samples)
  {
    if (m_IsFloat)
    {
      return m_Pixels.Read(region, reinterpret_cast<std::uint8_t *>(samples));
    }
    m_Bytes.resize(static_cast<std::size_t>(region.width * region.height * region.depth) *
                   m_Pixels.GetNumberOfChannels());
    m_Pixels.Read(region, m_Bytes.data());
    std::copy(m_Bytes.begin(), m_Bytes.end(), samples);
  }

private:
  PixelSource &             m_Pixels;
  const bool                m_IsFloat;
  std::vector<std::uint8_t> m_Bytes;
};

/** Goes over all values, piece by piece: see(channel, value), and end() behind each piece.
 * \return false: it was stopped */
template <typename TSee, typename TEnd>
bool
GoOver(PixelSource & pixels, const TSee & see, const TEnd & end, const std::function<bool(double)> & goesOn)
{
  constexpr std::int64_t Rows = 64; // of a slice at a time: a volume may be 1 voxel deep, and as large as a slide
  const Size             size = pixels.GetSize();
  const unsigned         channels = pixels.GetNumberOfChannels();
  FloatReader            reader(pixels);
  std::vector<float>     samples;
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    for (std::int64_t y = 0; y < size.height; y += Rows)
    {
      const Region piece{ 0, y, size.width, std::min(Rows, size.height - y), z, 1 };
      samples.resize(static_cast<std::size_t>(piece.width * piece.height) * channels);
      reader.Read(piece, samples.data());
      for (std::size_t i = 0; i < samples.size(); i += channels)
      {
        for (unsigned c = 0; c < channels; ++c)
        {
          see(c, samples[i + c]);
        }
      }
      end();
    }
    if (goesOn && !goesOn(static_cast<double>(z + 1) / static_cast<double>(size.depth)))
    {
      return false;
    }
  }
  return true;
}

/** Of one channel, in double. A piece's deviations are taken around the first value of it, and pieces are merged as
 * Chan, Golub and LeVeque (1982) do, so that a mean far above the deviation costs no digits. */
class Moments
{
public:
  void
  See(double value)
  {
    m_First = m_PieceCount == 0 ? value : m_First;
    const double difference = value - m_First;
    m_PieceSum += difference;
    m_PieceSquares += difference * difference;
    ++m_PieceCount;
  }

  void
  EndPiece()
  {
    if (m_PieceCount == 0)
    {
      return;
    }
    const double mean = m_First + m_PieceSum / m_PieceCount;
    const double squares = m_PieceSquares - m_PieceSum * m_PieceSum / m_PieceCount;
    const double count = m_Count + m_PieceCount;
    const double difference = mean - m_Mean;
    m_Squares += squares + difference * difference * m_Count * m_PieceCount / count;
    m_Mean += difference * m_PieceCount / count;
    m_Count = count;
    m_PieceCount = m_PieceSum = m_PieceSquares = 0;
  }

  Scale
  MakeScale() const
  {
    const double deviation = m_Count > 0 ? std::sqrt(std::max(0.0, m_Squares / m_Count)) : 0;
    Scale        scale;
    scale.offset = m_Mean;
    scale.divisor = deviation > 0 ? deviation : 1;
    return scale;
  }

private:
  double m_Count{ 0 };
  double m_Mean{ 0 };
  double m_Squares{ 0 };
  double m_First{ 0 };
  double m_PieceCount{ 0 };
  double m_PieceSum{ 0 };
  double m_PieceSquares{ 0 };
};

/** A number for each float, in their order. */
std::uint32_t
GetOrder(float value)
{
  std::uint32_t bits = 0;
  value = value == 0 ? 0.0f : value; // -0 is 0
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

float
GetFloat(std::uint32_t order)
{
  const std::uint32_t bits = (order & 0x80000000u) != 0 ? order & 0x7FFFFFFFu : ~order;
  float               value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/** Values of one channel by their ranks: counted by the upper half of their bits first, and by the lower half of those
 * alone among which a rank that is asked for lies. */
class Ranks
{
public:
  void
  Count(float value)
  {
    ++m_Upper[GetOrder(value) >> 16];
    ++m_Count;
  }

  void
  AskFor(double percentile)
  {
    const double rank = static_cast<double>(m_Count - 1) * percentile / 100;
    for (const double neighbor : { std::floor(rank), std::ceil(rank) })
    {
      const auto [upper, before] = Find(m_Upper, static_cast<std::int64_t>(neighbor));
      m_Lower.try_emplace(upper, Counts(Half));
    }
  }

  void
  CountAgain(float value)
  {
    const std::uint32_t order = GetOrder(value);
    const auto          found = m_Lower.find(order >> 16);
    if (found != m_Lower.end())
    {
      ++found->second[order & 0xFFFFu];
    }
  }

  double
  GetPercentile(double percentile) const
  {
    const double rank = static_cast<double>(m_Count - 1) * percentile / 100;
    const double below = GetValue(std::floor(rank)), above = GetValue(std::ceil(rank));
    return below + (above - below) * (rank - std::floor(rank));
  }

  bool
  IsEmpty() const
  {
    return m_Count == 0;
  }

private:
  using Counts = std::vector<std::int64_t>;

  /** The place that the rank falls to, and how many lie before it. */
  static std::pair<std::uint32_t, std::int64_t>
  Find(const Counts & counts, std::int64_t rank)
  {
    std::int64_t  before = 0;
    std::uint32_t place = 0;
    while (before + counts[place] <= rank)
    {
      before += counts[place++];
    }
    return { place, before };
  }

  double
  GetValue(double rank) const
  {
    const auto whole = static_cast<std::int64_t>(rank);
    const auto [upper, before] = Find(m_Upper, whole);
    return GetFloat(upper << 16 | Find(m_Lower.at(upper), whole - before).first);
  }

  static constexpr std::size_t    Half = 1 << 16;
  Counts                          m_Upper = Counts(Half);
  std::map<std::uint32_t, Counts> m_Lower;
  std::int64_t                    m_Count{ 0 };
};

/** \return none: it was stopped */
std::vector<Scale>
FindMoments(PixelSource & pixels, bool nonZero, const std::function<bool(double)> & goesOn)
{
  std::vector<Moments> moments(pixels.GetNumberOfChannels());
  const auto           see = [&](unsigned channel, float value) {
    if (!nonZero || value != 0)
    {
      moments[channel].See(value);
    }
  };
  const auto end = [&] { std::for_each(moments.begin(), moments.end(), [](Moments & m) { m.EndPiece(); }); };
  if (!GoOver(pixels, see, end, goesOn))
  {
    return {};
  }
  std::vector<Scale> scales;
  std::transform(
    moments.begin(), moments.end(), std::back_inserter(scales), [](const Moments & m) { return m.MakeScale(); });
  return scales;
}

std::vector<Scale>
FindPercentiles(PixelSource & pixels, const Normalization & normalization, const std::function<bool(double)> & goesOn)
{
  std::vector<Ranks> ranks(pixels.GetNumberOfChannels());
  const auto         goOver = [&](const auto & see, double from) {
    const auto seeOne = [&](unsigned channel, float value) {
      if (!normalization.nonZero || value != 0)
      {
        see(ranks[channel], value);
      }
    };
    return GoOver(
      pixels, seeOne, [] {}, [&](double done) { return !goesOn || goesOn(from + done / 2); });
  };
  if (!goOver([](Ranks & r, float value) { r.Count(value); }, 0))
  {
    return {};
  }
  for (Ranks & ofChannel : ranks)
  {
    if (!ofChannel.IsEmpty())
    {
      ofChannel.AskFor(normalization.low);
      ofChannel.AskFor(normalization.high);
    }
  }
  if (!goOver([](Ranks & r, float value) { r.CountAgain(value); }, 0.5))
  {
    return {};
  }
  std::vector<Scale> scales(ranks.size());
  std::transform(ranks.begin(), ranks.end(), scales.begin(), [&](const Ranks & ofChannel) {
    return ofChannel.IsEmpty()
             ? Scale()
             : MakeScaleOf(ofChannel.GetPercentile(normalization.low), ofChannel.GetPercentile(normalization.high));
  });
  return scales;
}

class NormalizedSource : public PixelSource
{
public:
  NormalizedSource(std::shared_ptr<PixelSource> pixels, std::vector<Scale> scales, bool keepsZero)
    : m_Pixels(std::move(pixels))
    , m_Scales(std::move(scales))
    , m_KeepsZero(keepsZero)
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
    auto * const      values = reinterpret_cast<float *>(samples);
    const std::size_t count = static_cast<std::size_t>(region.width * region.height * region.depth) * m_Scales.size();
    FloatReader(*m_Pixels).Read(region, values);
    for (std::size_t i = 0; i < count; i += m_Scales.size())
    {
      for (std::size_t c = 0; c < m_Scales.size(); ++c)
      {
        float & value = values[i + c];
        value = m_KeepsZero && value == 0 ? value : m_Scales[c](value);
      }
    }
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    return m_Pixels->ReadTissue(region, tissue);
  }

private:
  const std::shared_ptr<PixelSource> m_Pixels;
  const std::vector<Scale>           m_Scales; ///< of the channels
  const bool                         m_KeepsZero;
};

std::string
ToText(double number)
{
  std::ostringstream text;
  text << number;
  return text.str();
}

} // namespace

void
Normalization::Validate() const
{
  const bool hasLimits = kind == Kind::Percentiles || kind == Kind::Window;
  if (hasLimits && !(std::isfinite(low) && std::isfinite(high) && low < high))
  {
    throw std::invalid_argument("the normalization \"" + std::string(this->GetName()) + "\" needs a \"low\" (" +
                                ToText(low) + ") that is below \"high\" (" + ToText(high) + ")");
  }
  if (kind == Kind::Percentiles && (low < 0 || high > 100))
  {
    throw std::invalid_argument("percentiles lie between 0 and 100, which " + ToText(low) + " to " + ToText(high) +
                                " does not");
  }
  if (nonZero && kind != Kind::ZScore && kind != Kind::Percentiles)
  {
    throw std::invalid_argument("the normalization \"" + std::string(this->GetName()) +
                                "\" takes nothing of the voxels: leave out which ones count");
  }
}

const char *
Normalization::GetName() const
{
  static const char * const names[] = { "none", "z-score", "percentiles", "window" };
  return names[static_cast<int>(kind)];
}

std::string
Normalization::Describe() const
{
  const std::string of = nonZero ? " of the voxels that are not 0" : "";
  const std::string limits = ToText(low) + " to " + ToText(high);
  switch (kind)
  {
    case Kind::ZScore:
      return "z-score" + of;
    case Kind::Percentiles:
      return "percentiles " + limits + of + " become 0 to 1";
    case Kind::Window:
      return "values from " + limits + " become 0 to 1";
    case Kind::None:
      break;
  }
  return "values as they are";
}

struct KeptNormalization::Found
{
  std::vector<Scale> scales; ///< of the channels; empty: not yet
};

KeptNormalization::KeptNormalization(const Normalization & normalization)
  : m_Normalization(normalization)
  , m_Found(std::make_unique<Found>())
{
  normalization.Validate();
}

KeptNormalization::~KeptNormalization() = default;

std::shared_ptr<PixelSource>
KeptNormalization::Apply(std::shared_ptr<PixelSource> pixels, const std::function<bool(double)> & goesOn)
{
  using Kind = Normalization::Kind;
  if (m_Normalization.kind == Kind::None)
  {
    return pixels;
  }
  std::vector<Scale> & scales = m_Found->scales;
  if (scales.empty())
  {
    scales =
      m_Normalization.kind == Kind::ZScore ? FindMoments(*pixels, m_Normalization.nonZero, goesOn)
      : m_Normalization.kind == Kind::Percentiles
        ? FindPercentiles(*pixels, m_Normalization, goesOn)
        : std::vector<Scale>(pixels->GetNumberOfChannels(), MakeScaleOf(m_Normalization.low, m_Normalization.high));
  }
  return scales.empty() ? nullptr
                        : std::make_shared<NormalizedSource>(std::move(pixels), scales, m_Normalization.nonZero);
}

std::shared_ptr<PixelSource>
Normalize(std::shared_ptr<PixelSource>        pixels,
          const Normalization &               normalization,
          const std::function<bool(double)> & goesOn)
{
  return KeptNormalization(normalization).Apply(std::move(pixels), goesOn);
}

} // namespace gigapixel
