/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNormalization.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFloatReader.h"
#include "gigapixelKeptNormalization.h"
#include "gigapixelNonZeroVoxels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <sstream>
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
  double divisor{ 1 };    ///< 0: values above the offset become 1, and others 0
  bool   isFlat{ false }; ///< nearly all values are the same, or there are none

  /** What is no number has the value 0, and so has what is infinite, unless it is clipped. */
  float
  operator()(float value) const
  {
    if (std::isnan(value) || (std::isinf(value) && std::isinf(least)))
    {
      return 0;
    }
    if (divisor == 0)
    {
      return value > offset ? 1 : 0;
    }
    return static_cast<float>((std::clamp(static_cast<double>(value), least, most) - offset) / divisor);
  }
};

Scale
MakeScaleOf(double low, double high)
{
  return { low, high, low, high - low, high <= low };
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
    scale.isFlat = deviation == 0;
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

/** \class Percentiles
 * \brief Two percentiles of the values of one channel, in three passes over them: counted by the first bits of their
 * numbers, and then by the next bits of those alone among which a percentile lies. Tables take 64 KiB. */
class Percentiles
{
public:
  static constexpr int Passes = 3;

  explicit Percentiles(const Normalization & how)
    : m_Percentages{ how.low, how.high }
    , m_Tables(1)
  {}

  void
  Count(float value)
  {
    const std::uint64_t number = std::uint64_t{ GetOrder(value) } << 1; // of three times as many bits as a pass has
    const std::uint64_t start = number >> (m_Shift + Bits);
    const auto          is = [start](const Table & table) { return table.start == start; };
    if (const auto table = std::find_if(m_Tables.begin(), m_Tables.end(), is); table != m_Tables.end())
    {
      ++table->counts[number >> m_Shift & (Places - 1)];
    }
  }

  void
  EndPass()
  {
    if (m_Count == 0)
    {
      this->FindRanks();
    }
    if (m_Count == 0)
    {
      return;
    }
    std::vector<Table> next;
    for (std::size_t i = 0; i < m_Ranks.size(); ++i)
    {
      const std::uint64_t start = this->Narrow(m_Ranks[i]);
      if (std::none_of(next.begin(), next.end(), [start](const Table & table) { return table.start == start; }))
      {
        next.emplace_back();
        next.back().start = start;
      }
    }
    m_Tables = std::move(next);
    m_Shift -= Bits;
  }

  /** Whether there was no value. */
  bool
  IsEmpty() const
  {
    return m_Count == 0;
  }

  /** \param which 0: the lower one, 1: the upper one */
  double
  Get(std::size_t which) const
  {
    const double below = GetFloat(static_cast<std::uint32_t>(m_Ranks[2 * which].start >> 1));
    const double above = GetFloat(static_cast<std::uint32_t>(m_Ranks[2 * which + 1].start >> 1));
    const double place = this->GetPlace(which);
    return below + (above - below) * (place - std::floor(place));
  }

private:
  static constexpr int         Bits = 11;
  static constexpr std::size_t Places = 1 << Bits;

  /** The values whose numbers have these first bits, by the next ones. */
  struct Table
  {
    std::uint64_t             start{ 0 };
    std::vector<std::int64_t> counts = std::vector<std::int64_t>(Places);
  };

  /** A value of those whose numbers have these first bits. */
  struct Rank
  {
    std::uint64_t start{ 0 };
    std::int64_t  before{ 0 }; ///< how many of them are smaller, or stand before it
  };

  /** Among all values in their order. */
  double
  GetPlace(std::size_t which) const
  {
    return static_cast<double>(m_Count - 1) * m_Percentages[which] / 100;
  }

  void
  FindRanks()
  {
    const auto & counts = m_Tables.front().counts;
    m_Count = std::accumulate(counts.begin(), counts.end(), std::int64_t{ 0 });
    for (std::size_t which = 0; which < m_Percentages.size(); ++which)
    {
      const double place = this->GetPlace(which);
      m_Ranks[2 * which].before = static_cast<std::int64_t>(std::floor(place));
      m_Ranks[2 * which + 1].before = static_cast<std::int64_t>(std::ceil(place));
    }
  }

  /** \return the first bits of its number, and the next ones */
  std::uint64_t
  Narrow(Rank & rank) const
  {
    const auto   is = [&rank](const Table & table) { return table.start == rank.start; };
    const auto & counts = std::find_if(m_Tables.begin(), m_Tables.end(), is)->counts;
    std::size_t  place = 0;
    while (counts[place] <= rank.before)
    {
      rank.before -= counts[place++];
    }
    return rank.start = rank.start << Bits | place;
  }

  std::array<double, 2> m_Percentages;
  std::array<Rank, 4>   m_Ranks{}; ///< below and above each percentage
  std::vector<Table>    m_Tables;
  std::int64_t          m_Count{ 0 };
  int                   m_Shift{ 2 * Bits };
};

using Kind = Normalization::Kind;
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

bool
TakesFigures(const Normalization & normalization)
{
  return normalization.kind == Kind::ZScore || normalization.kind == Kind::Percentiles;
}

/** Whether a voxel's value counts. */
bool
Counts(const Normalization & how,
       float                 value,
       const NonZeroVoxels * there,
       std::int64_t          x,
       std::int64_t          y,
       std::int64_t          z)
{
  switch (how.voxels)
  {
    case Voxels::NonZero:
      return value != 0;
    case Voxels::Box: {
      const Region & box = there->GetBox();
      return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height && z >= box.z &&
             z < box.z + box.depth;
    }
    case Voxels::Filled:
      return there->IsFilled(x, y, z);
    case Voxels::All:
      break;
  }
  return true;
}

/** \class Figures
 * \brief What the normalizations take of a volume. */
class Figures
{
public:
  /** \param normalizations of each channel \param there null where none of them needs it */
  Figures(PixelSource & pixels, const Normalizations & normalizations, const NonZeroVoxels * there)
    : m_Pixels(pixels)
    , m_Normalizations(normalizations)
    , m_There(there)
    , m_Moments(normalizations.size())
    , m_Percentiles(normalizations.size())
  {
    for (std::size_t c = 0; c < normalizations.size(); ++c)
    {
      if (normalizations[c].kind == Kind::Percentiles)
      {
        m_Percentiles[c].emplace(normalizations[c]);
        m_Passes = Percentiles::Passes;
      }
    }
  }

  /** \return none: it was stopped */
  std::vector<Scale>
  Find(const std::function<bool(double)> & goesOn)
  {
    for (int pass = 0; pass < m_Passes; ++pass)
    {
      const auto see = [this, pass](std::size_t c, float value) {
        if (m_Percentiles[c])
        {
          m_Percentiles[c]->Count(value);
        }
        else if (pass == 0)
        {
          m_Moments[c].See(value);
        }
      };
      if (!this->GoOverCounted(see, [&](double done) { return !goesOn || goesOn((pass + done) / m_Passes); }))
      {
        return {};
      }
      for (auto & percentiles : m_Percentiles)
      {
        if (percentiles)
        {
          percentiles->EndPass();
        }
      }
    }
    return this->MakeScales();
  }

  /** Of what was found, or where nothing has to be. */
  std::vector<Scale>
  MakeScales() const
  {
    std::vector<Scale> scales;
    scales.reserve(m_Normalizations.size());
    for (std::size_t c = 0; c < m_Normalizations.size(); ++c)
    {
      scales.push_back(this->MakeScale(c));
    }
    return scales;
  }

private:
  template <typename TSee>
  bool
  GoOverCounted(const TSee & see, const std::function<bool(double)> & goesOn)
  {
    const auto seePiece = [&](const Region & piece, const std::vector<float> & samples) {
      auto value = samples.begin();
      for (std::int64_t y = piece.y; y < piece.y + piece.height; ++y)
      {
        for (std::int64_t x = piece.x; x < piece.x + piece.width; ++x)
        {
          for (std::size_t c = 0; c < m_Normalizations.size(); ++c, ++value)
          {
            if (TakesFigures(m_Normalizations[c]) && std::isfinite(*value) &&
                Counts(m_Normalizations[c], *value, m_There, x, y, piece.z))
            {
              see(c, *value);
            }
          }
        }
      }
      std::for_each(m_Moments.begin(), m_Moments.end(), [](Moments & moments) { moments.EndPiece(); });
    };
    // Whole rows of a slide may be more than memory has, and its tiles would be decoded again for each of them.
    constexpr std::int64_t WidestRows = 2048, SideOfPieces = 512, LeastSide = 64, MostSamples = 8 << 20;
    const auto             most = static_cast<double>(MostSamples) / m_Pixels.GetNumberOfChannels();
    const auto             fitting = static_cast<std::int64_t>(std::sqrt(most)) / LeastSide * LeastSide;
    const auto             side = std::clamp(fitting, LeastSide, SideOfPieces);
    const bool             isWide = m_Pixels.GetSize().width > WidestRows || side < SideOfPieces;
    return GoOver(m_Pixels, seePiece, goesOn, isWide ? side : 0);
  }

  Scale
  MakeScale(std::size_t channel) const
  {
    const Normalization & how = m_Normalizations[channel];
    switch (how.kind)
    {
      case Kind::ZScore:
        return m_Moments[channel].MakeScale();
      case Kind::Percentiles: {
        const Percentiles & found = *m_Percentiles[channel];
        return found.IsEmpty() ? MakeScaleOf(0, 0) : MakeScaleOf(found.Get(0), found.Get(1));
      }
      case Kind::Window:
        return MakeScaleOf(how.low, how.high);
      case Kind::Clip:
        return { how.low, how.high };
      case Kind::None:
        break;
    }
    return {};
  }

  PixelSource &                           m_Pixels;
  const Normalizations &                  m_Normalizations;
  const NonZeroVoxels * const             m_There;
  std::vector<Moments>                    m_Moments;     ///< of the channels
  std::vector<std::optional<Percentiles>> m_Percentiles; ///< of those channels that are to have them
  int                                     m_Passes{ 1 };
};

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
  const bool hasLimits = kind == Kind::Percentiles || kind == Kind::Window || kind == Kind::Clip;
  const bool areFloats = std::isfinite(static_cast<float>(low)) && std::isfinite(static_cast<float>(high));
  if (hasLimits && !(areFloats && low < high))
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT",
                                     "the normalization \"" + std::string(this->GetName()) + "\" needs a \"low\" (" +
                                       ToText(low) + ") that is below \"high\" (" + ToText(high) + ")")
                            .OfValue(ToText(low)));
  }
  if (kind == Kind::Percentiles && (low < 0 || high > 100))
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-FORMAT",
                 "percentiles lie between 0 and 100, which " + ToText(low) + " to " + ToText(high) + " does not")
        .OfValue(ToText(low < 0 ? low : high)));
  }
  if (voxels != Voxels::All && !TakesFigures(*this))
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-FORMAT",
                 "the normalization \"" + std::string(this->GetName()) + "\" takes nothing of the voxels",
                 "leave out which ones count"));
  }
}

const char *
Normalization::GetName() const
{
  static const char * const names[] = { "none", "z-score", "percentiles", "window", "clip" };
  return names[static_cast<int>(kind)];
}

const char *
Normalization::GetVoxelsName() const
{
  static const char * const names[] = { "all", "non-zero", "non-zero-box", "non-zero-filled" };
  return names[static_cast<int>(voxels)];
}

std::string
Normalization::Describe() const
{
  static const char * const which[] = { "",
                                        " of the voxels that are not 0",
                                        " of the box around the voxels that are not 0",
                                        " of the voxels that are not 0 and what they enclose" };
  const std::string         of = which[static_cast<int>(voxels)];
  const std::string         limits = ToText(low) + " to " + ToText(high);
  switch (kind)
  {
    case Kind::ZScore:
      return "z-score" + of;
    case Kind::Percentiles:
      return "percentiles " + limits + of + " become 0 to 1";
    case Kind::Window:
      return "values from " + limits + " become 0 to 1";
    case Kind::Clip:
      return "values are clipped to " + limits;
    case Kind::None:
      break;
  }
  return "values as they are";
}

std::string
Describe(const Normalizations & normalizations)
{
  const auto differs = [&](const Normalization & other) { return !(other == normalizations.front()); };
  if (normalizations.empty() || std::none_of(normalizations.begin(), normalizations.end(), differs))
  {
    return (normalizations.empty() ? Normalization() : normalizations.front()).Describe();
  }
  std::string text;
  for (std::size_t c = 0; c < normalizations.size(); ++c)
  {
    text += (c > 0 ? "; channel " : "channel ") + std::to_string(c + 1) + ": " + normalizations[c].Describe();
  }
  return text;
}

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
    scales =
      takesFigures ? Figures(*pixels, ofEach, there.get()).Find(goOn) : Figures(*pixels, ofEach, nullptr).MakeScales();
  }
  return scales.empty()
           ? nullptr
           : std::make_shared<NormalizedSource>(std::move(pixels), ofEach, scales, takesMask ? there : nullptr);
}

std::shared_ptr<PixelSource>
Normalize(std::shared_ptr<PixelSource>        pixels,
          const Normalizations &              normalizations,
          const std::function<bool(double)> & goesOn)
{
  return KeptNormalization(normalizations).Apply(std::move(pixels), goesOn);
}

bool
ChangesValues(const Normalizations & normalizations)
{
  return std::any_of(
    normalizations.begin(), normalizations.end(), [](const Normalization & n) { return n.kind != Kind::None; });
}

} // namespace gigapixel
