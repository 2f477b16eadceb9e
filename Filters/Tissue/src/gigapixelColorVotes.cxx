/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelColorVotes.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
constexpr auto Colors = static_cast<std::size_t>(ColorVotes::Levels) * ColorVotes::Levels * ColorVotes::Levels;

/** Nothing is less probable than half of what a byte tells. */
constexpr double Least = 0.5;

/** The share of the first of two probabilities when odds of the second are multiplied. */
double
GetShare(double first, double second, double factor)
{
  const double atLeast = std::max(first, Least);
  return atLeast / (atLeast + std::max(second, Least) * factor);
}

/** Sums of what lies up to two levels away on an axis, weighted 1 4 6 4 1: their steps lie so many colors apart. Beyond
 * the ends is nothing. */
void
BlurAxis(std::vector<std::array<double, 3>> & votes, std::size_t step)
{
  constexpr std::array<double, 5> weights{ { 1.0 / 16, 4.0 / 16, 6.0 / 16, 4.0 / 16, 1.0 / 16 } };
  const auto                      before = votes;
  for (std::size_t color = 0; color < Colors; ++color)
  {
    const std::size_t       level = color / step % ColorVotes::Levels;
    std::array<double, 3> & sums = votes[color];
    sums.fill(0.0);
    for (std::size_t k = 0; k < weights.size(); ++k)
    {
      if (level + k < 2 || level + k >= ColorVotes::Levels + 2)
      {
        continue;
      }
      const auto & other = before[color + k * step - 2 * step];
      for (std::size_t of = 0; of < sums.size(); ++of)
      {
        sums[of] += weights[k] * other[of];
      }
    }
  }
}
} // namespace

ColorVotes::ColorVotes()
  : m_Votes(Colors)
{}

std::uint16_t
ColorVotes::GetColor(const std::uint8_t * pixel)
{
  constexpr int width = 256 / Levels;
  return static_cast<std::uint16_t>((pixel[0] / width * Levels + pixel[1] / width) * Levels + pixel[2] / width);
}

std::uint8_t
ColorVotes::GetLevel(std::uint16_t color, unsigned channel)
{
  constexpr int width = 256 / Levels;
  const int     level = (channel == 0 ? color / (Levels * Levels) : channel == 1 ? color / Levels : color) % Levels;
  return static_cast<std::uint8_t>(level * width + width / 2);
}

void
ColorVotes::Add(const TissueVerdict & verdict)
{
  Votes & votes = m_Votes[verdict.color];
  votes[0] += verdict.tissue;
  votes[1] += verdict.foreign;
  votes[2] += verdict.GetGlass();
}

void
ColorVotes::Count()
{
  std::vector<std::array<double, 3>> blurred(Colors);
  std::array<double, 3>              all{};
  for (std::size_t color = 0; color < Colors; ++color)
  {
    for (std::size_t of = 0; of < all.size(); ++of)
    {
      blurred[color][of] = static_cast<double>(m_Votes[color][of]) / 255.0;
      all[of] += blurred[color][of];
    }
  }
  const double least = 0.001 * (all[0] + all[1] + all[2]);
  for (const std::size_t step : { std::size_t{ 1 }, std::size_t{ Levels }, std::size_t{ Levels } * Levels })
  {
    BlurAxis(blurred, step);
  }
  const auto getPrior = [&](double other) {
    return all[0] > other ? std::pow(std::max(all[0], least) / std::max(other, least), Prior) : 1.0;
  };
  const double foreignPrior = getPrior(all[1]);
  const double glassPrior = getPrior(all[2]);
  m_Factors.clear();
  for (const auto & [tissue, foreign, glass] : blurred)
  {
    m_Factors.push_back({ std::pow((foreign + 1) / (tissue + 1) * foreignPrior, AgainstForeign),
                          std::pow((glass + 1) / (tissue + 1) * glassPrior, AgainstGlass) });
  }
}

void
ColorVotes::Apply(TissueVerdict & verdict) const
{
  const double tissue = verdict.tissue;
  const double foreign = verdict.foreign;
  const double glass = verdict.GetGlass();
  if (verdict.tissue == 0 && verdict.foreign == 0)
  {
    return;
  }
  const Factors & factors = m_Factors[verdict.color];
  const double    both = tissue + foreign;
  const double    amongBoth = both * GetShare(tissue, foreign, factors.ofForeign);
  const double    stays = (amongBoth + glass) * GetShare(amongBoth, glass, factors.ofGlass);
  const double    others = both - amongBoth;
  verdict.tissue = static_cast<std::uint8_t>(stays + 0.5);
  verdict.foreign = static_cast<std::uint8_t>(std::min(others + 0.5, 255.0 - verdict.tissue));
}

} // namespace gigapixel
