/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MeasureTable.h"

#include "gigapixelTableReader.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace gigapixel::application
{
namespace
{
/** The shortest text that is this number again; nothing where there is none. */
std::string
Format(double value)
{
  return std::isnan(value) ? std::string() : nlohmann::json(value).dump();
}

std::string
Format(std::uint64_t value)
{
  return std::to_string(value);
}
} // namespace

std::string
MeasureTable::GetHeader(const std::vector<std::string> & channels)
{
  std::string header = channels.empty() ? "mask" : "mask,slide";
  header += ",label,class,component,area_px,area_mm2,perimeter_px,perimeter_mm,centroid_x,centroid_y,centroid_x_mm,"
            "centroid_y_mm,x,y,width,height,holes";
  header += channels.empty() ? "" : ",slide_pixels";
  for (const std::string & channel : channels)
  {
    header += ',' + ToField(channel + "_mean") + ',' + ToField(channel + "_deviation");
    for (const int percent : ValueSummary::Percents)
    {
      header += ',' + ToField(channel + "_p" + std::to_string(percent));
    }
  }
  return header + '\n';
}

void
MeasureTable::AddRow(const std::string &      label,
                     const std::string &      className,
                     std::size_t              component,
                     const ComponentFigures & figures,
                     std::size_t              channels)
{
  const bool isThere = figures.area > 0;
  const bool isSizeKnown = m_Spacing[0] > 0;
  const auto add = [this](const std::string & text) { m_Rows += ',' + text; };
  const auto addIf = [&add](bool isKnown, auto value) { add(isKnown ? Format(value) : std::string()); };
  m_Rows += ToField(m_Mask);
  if (channels > 0)
  {
    add(ToField(m_Slide));
  }
  add(label);
  add(ToField(className));
  add(std::to_string(component));
  add(Format(figures.area));
  addIf(isSizeKnown, static_cast<double>(figures.area) * m_Spacing[0] * m_Spacing[1]);
  add(Format(figures.GetPerimeter()));
  addIf(isSizeKnown, figures.GetPerimeter(m_Spacing[0], m_Spacing[1]));
  const auto [x, y] = figures.GetCentroid();
  addIf(isThere, x);
  addIf(isThere, y);
  addIf(isThere && isSizeKnown, (x + 0.5) * m_Spacing[0]);
  addIf(isThere && isSizeKnown, (y + 0.5) * m_Spacing[1]);
  addIf(isThere, std::uint64_t{ figures.left });
  addIf(isThere, std::uint64_t{ figures.top });
  add(Format(std::uint64_t{ isThere ? figures.right - figures.left : 0 }));
  add(Format(std::uint64_t{ isThere ? figures.bottom - figures.top : 0 }));
  add(Format(figures.holes));
  const bool hasValues = !figures.values.empty();
  if (channels > 0)
  {
    add(Format(hasValues ? figures.values.front().count : 0));
  }
  for (std::size_t channel = 0; channel < channels; ++channel)
  {
    const ValueSummary summary = hasValues ? figures.values[channel] : ValueCounts(256).Summarize();
    add(Format(summary.mean));
    add(Format(summary.deviation));
    for (const double percentile : summary.percentiles)
    {
      add(Format(percentile));
    }
  }
  m_Rows += '\n';
}

} // namespace gigapixel::application
