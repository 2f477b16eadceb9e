/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNormalization.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelKeptNormalization.h"
#include "gigapixelNormalizationFigures.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace gigapixel
{
namespace
{

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
  return std::any_of(normalizations.begin(), normalizations.end(), [](const Normalization & n) {
    return n.kind != Normalization::Kind::None;
  });
}

} // namespace gigapixel
