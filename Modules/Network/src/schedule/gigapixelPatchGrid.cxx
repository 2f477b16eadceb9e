/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPatchGrid.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"
#include "gigapixelRequireAxes.h"
#include "gigapixelTileGrid.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel
{

void
Patches::Validate(const NetworkDescription & network) const
{
  RequireAxes(network, 2);
  const std::int64_t stride = network.GetStride(); // at most 4096, see NetworkDescription::Validate()
  if (side < stride || side > GreatestSide || side % stride != 0)
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE",
                 "patches of " + std::to_string(side) + " pixels are no multiple of the stride " +
                   std::to_string(stride) + " of the network \"" + network.name + "\" up to " +
                   std::to_string(GreatestSide),
                 "take " + std::to_string(std::clamp(RoundUp(side, stride), stride, GreatestSide / stride * stride)))
        .OfValue(std::to_string(side)));
  }
  if (!(overlap >= 0 && overlap <= GreatestOverlap))
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "neighboring patches share 0 to 0.95 of a side, not " + FormatShortest(overlap))
        .OfValue(FormatShortest(overlap)));
  }
}

std::int64_t
Patches::GetStep() const
{
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(side) * (1 - overlap)));
}

std::int64_t
Patches::GetTileSize() const
{
  constexpr std::int64_t WantedSide = 2048; // that of networks over the whole image
  const std::int64_t     step = GetStep();
  return step * std::max<std::int64_t>(1, WantedSide / step);
}

std::string
Patches::Describe() const
{
  return "patches of " + std::to_string(side) + " px, overlap " + FormatShortest(overlap) + ", " +
         (blending == Blending::Gaussian ? "gaussian" : "constant") + (mirror ? ", mirrored" : "");
}

PatchAxis::PatchAxis(const Patches & patches, std::int64_t length)
  : m_Side(patches.side)
  , m_Step(patches.GetStep())
  , m_Length(length)
  , m_Number(length <= m_Side ? 1 : (length - m_Side + m_Step - 1) / m_Step + 1)
{}

std::int64_t
PatchAxis::GetBegin(std::int64_t patch) const
{
  return m_Length < m_Side ? -((m_Side - m_Length) / 2) : std::min(patch * m_Step, m_Length - m_Side);
}

std::int64_t
PatchAxis::GetFirstWith(std::int64_t pixel) const
{
  return pixel < m_Side ? 0 : std::min((pixel - m_Side) / m_Step + 1, m_Number - 1);
}

std::int64_t
PatchAxis::GetFirstFrom(std::int64_t pixel) const
{
  // The last patch may begin before its multiple of the step.
  return GetBegin(m_Number - 1) < pixel
           ? m_Number
           : std::min((std::max<std::int64_t>(0, pixel) + m_Step - 1) / m_Step, m_Number - 1);
}

Region
PatchGrid::GetInputRegion(const Region & region, std::int64_t firstRow, const Patches & patches, Size image) const
{
  const std::int64_t x = columns.GetBegin(columns.GetFirstWith(region.x));
  const std::int64_t y = rows.GetBegin(firstRow);
  const std::int64_t right = columns.GetBegin(columns.GetFirstFrom(region.x + region.width) - 1) + patches.side;
  const std::int64_t bottom = rows.GetBegin(rows.GetFirstFrom(region.y + region.height) - 1) + patches.side;
  return Intersect({ x, y, right - x, bottom - y }, { 0, 0, image.width, image.height });
}

} // namespace gigapixel
