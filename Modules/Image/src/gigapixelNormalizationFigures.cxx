/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNormalizationFigures.h"

#include "gigapixelFloatReader.h"
#include "gigapixelNonZeroVoxels.h"
#include "gigapixelPercentiles.h"

#include <algorithm>
#include <optional>

namespace gigapixel
{

using Kind = Normalization::Kind;
using Voxels = Normalization::Voxels;

bool
TakesFigures(const Normalization & normalization)
{
  return normalization.kind == Kind::ZScore || normalization.kind == Kind::Percentiles;
}

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

namespace
{

Scale
MakeScaleOf(double low, double high)
{
  return { low, high, low, high - low, high <= low };
}

/** Mean and deviation of one channel, in double. A piece's deviations are taken around the first value of it, and
 * pieces are merged as Chan, Golub and LeVeque (1982) do, so that a mean far above the deviation costs no digits. */
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
        m_Percentiles[c].emplace(normalizations[c].low, normalizations[c].high);
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

  /** Scales by the figures that were found, if any are needed. */
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

} // namespace

std::vector<Scale>
FindScales(PixelSource &                       pixels,
           const Normalizations &              normalizations,
           const NonZeroVoxels *               there,
           const std::function<bool(double)> & goesOn)
{
  return Figures(pixels, normalizations, there).Find(goesOn);
}

std::vector<Scale>
MakeScales(PixelSource & pixels, const Normalizations & normalizations)
{
  return Figures(pixels, normalizations, nullptr).MakeScales();
}

} // namespace gigapixel
