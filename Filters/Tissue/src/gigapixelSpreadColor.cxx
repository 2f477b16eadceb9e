/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSpreadColor.h"
#include "gigapixelInstructionSets.h"

#include <algorithm>
#include <array>
#include <vector>

namespace gigapixel
{
namespace
{

/** How much darker than glass the pixels of a row are, and the extremes of those beside each. */
struct DarknessRow
{
  explicit DarknessRow(std::size_t width)
    : darkness(width + 2 * SpreadReach)
    , darkest(width)
    , lightest(width)
    , lightestBeside(width)
  {}

  /** With SpreadReach pixels more on either side: the image's last ones again. */
  std::vector<unsigned char> darkness;
  /** Of 5 pixels. */
  std::vector<unsigned char> darkest;
  std::vector<unsigned char> lightest;
  /** Of 3 pixels. */
  std::vector<unsigned char> lightestBeside;
};

GIGAPIXEL_INSTRUCTION_SETS void
MeasureDarkness(const TissueRule &    rule,
                const unsigned char * pixels,
                std::size_t           count,
                unsigned char * __restrict darkness)
{
  const int glass = 77 * rule.glass[0] + 150 * rule.glass[1] + 29 * rule.glass[2] + 128;
  for (std::size_t i = 0; i < count; ++i)
  {
    const int gray = 77 * pixels[3 * i] + 150 * pixels[3 * i + 1] + 29 * pixels[3 * i + 2];
    darkness[i] = static_cast<unsigned char>(std::max(0, glass - gray) >> 8);
  }
}

GIGAPIXEL_INSTRUCTION_SETS void
FindExtremes(const unsigned char * __restrict beside,
             std::size_t count,
             unsigned char * __restrict darkest,
             unsigned char * __restrict lightest,
             unsigned char * __restrict lightestBeside)
{
  const auto larger = [](unsigned char a, unsigned char b) { return a > b ? a : b; };
  const auto smaller = [](unsigned char a, unsigned char b) { return a < b ? a : b; };
  for (std::size_t i = 0; i < count; ++i)
  {
    const unsigned char * p = beside + i;
    darkest[i] = larger(larger(larger(p[0], p[1]), larger(p[3], p[4])), p[2]);
    lightestBeside[i] = smaller(smaller(p[1], p[3]), p[2]);
    lightest[i] = smaller(smaller(p[0], p[4]), lightestBeside[i]);
  }
}

using DarknessRows = std::array<const DarknessRow *, 5>; // the row itself is the third

GIGAPIXEL_INSTRUCTION_SETS void
ClearBesideGlass(const DarknessRows & rows, std::size_t first, std::size_t count, unsigned char * __restrict mask)
{
  constexpr int                        darkestGlass = 3;
  constexpr int                        palestStain = 32;
  constexpr int                        share = 5;
  const unsigned char *                darkness = rows[2]->darkness.data() + SpreadReach + first;
  std::array<const unsigned char *, 5> dark{};
  for (std::size_t k = 0; k < 5; ++k)
  {
    dark[k] = rows[k]->darkest.data() + first;
  }
  const unsigned char * above = rows[1]->lightestBeside.data() + first;
  const unsigned char * here = rows[2]->lightestBeside.data() + first;
  const unsigned char * below = rows[3]->lightestBeside.data() + first;
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto larger = [](unsigned char a, unsigned char b) { return a > b ? a : b; };
    const int  darkest = larger(larger(larger(dark[0][i], dark[1][i]), larger(dark[2][i], dark[3][i])), dark[4][i]);
    const bool besideGlass = (above[i] <= darkestGlass) | (here[i] <= darkestGlass) | (below[i] <= darkestGlass);
    const bool isSpread = besideGlass & (darkest >= palestStain) & (share * darkness[i] < darkest);
    mask[i] = isSpread ? 0 : mask[i];
  }
}

GIGAPIXEL_INSTRUCTION_SETS void
ClearHaze(const DarknessRows & rows, std::size_t first, std::size_t count, unsigned char * __restrict mask)
{
  constexpr int                        darkestHaze = 40;
  constexpr int                        largestDifference = 8;
  const unsigned char *                darkness = rows[2]->darkness.data() + SpreadReach + first;
  std::array<const unsigned char *, 5> dark{};
  std::array<const unsigned char *, 5> light{};
  for (std::size_t k = 0; k < 5; ++k)
  {
    dark[k] = rows[k]->darkest.data() + first;
    light[k] = rows[k]->lightest.data() + first;
  }
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto larger = [](unsigned char a, unsigned char b) { return a > b ? a : b; };
    const auto smaller = [](unsigned char a, unsigned char b) { return a < b ? a : b; };
    const int  darkest = larger(larger(larger(dark[0][i], dark[1][i]), larger(dark[2][i], dark[3][i])), dark[4][i]);
    const int  lightest =
      smaller(smaller(smaller(light[0][i], light[1][i]), smaller(light[2][i], light[3][i])), light[4][i]);
    const bool isHaze = (darkness[i] <= darkestHaze) & (darkest - lightest <= largestDifference);
    mask[i] = isHaze ? 0 : mask[i];
  }
}

} // namespace

void
ClearSpreadColor(const TissueRule &  rule,
                 const PixelBlock &  block,
                 const PixelWindow & wanted,
                 unsigned char *     mask,
                 std::size_t         maskStride)
{
  // Rows come in order, so the five that a pixel sees are kept in turn.
  std::vector<DarknessRow> rows(5, DarknessRow(block.width));
  const auto               measure = [&](std::size_t y) {
    DarknessRow &   row = rows[y % 5];
    unsigned char * darkness = row.darkness.data() + SpreadReach;
    MeasureDarkness(rule, block.pixels + y * block.stride, block.width, darkness);
    std::fill_n(row.darkness.begin(), SpreadReach, darkness[0]);
    std::fill_n(darkness + block.width, SpreadReach, darkness[block.width - 1]);
    FindExtremes(row.darkness.data(), block.width, row.darkest.data(), row.lightest.data(), row.lightestBeside.data());
  };
  std::size_t next = wanted.y - std::min(wanted.y, SpreadReach);
  for (std::size_t j = 0; j < wanted.height; ++j)
  {
    const std::size_t y = wanted.y + j;
    for (; next < block.height && next <= y + SpreadReach; ++next)
    {
      measure(next);
    }
    DarknessRows seen{};
    for (std::size_t k = 0; k < 5; ++k)
    {
      const std::size_t nearest = std::min(std::max(y + k, SpreadReach) - SpreadReach, block.height - 1);
      seen[k] = &rows[nearest % 5];
    }
    ClearBesideGlass(seen, wanted.x, wanted.width, mask + j * maskStride);
    ClearHaze(seen, wanted.x, wanted.width, mask + j * maskStride);
  }
}

} // namespace gigapixel
