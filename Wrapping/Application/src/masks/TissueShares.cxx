/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TissueShares.h"

#include "gigapixelTissueNetwork.h"

#include "itkSlideTissueImageSource.h"
#include "itkWholeSlideImageIO.h"

#include "itkMetaDataObject.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

constexpr const char * PenKey = "gigapixel.pen-fraction";
constexpr const char * ArtifactKey = "gigapixel.artifact-fraction";
constexpr const char * OverlapKey = "gigapixel.expected-iou";

Json
Read(const itk::WholeSlideImageIO & mask, const char * key)
{
  std::string text;
  itk::ExposeMetaData(mask.GetMetaDataDictionary(), key, text);
  const Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json();
}

double
Get(const Json & shares, const char * key, double otherwise)
{
  const auto found = shares.find(key);
  return found != shares.end() && found->is_number() ? found->get<double>() : otherwise;
}
} // namespace

std::map<std::string, std::string>
DescribeTissueShares(const itk::SlideTissueImageSource & source)
{
  std::map<std::string, std::string> shares;
  for (const auto & [key, share] : { std::pair(PenKey, source.GetPenShare()),
                                     std::pair(ArtifactKey, source.GetArtifactShare()),
                                     std::pair(OverlapKey, source.GetExpectedOverlap()) })
  {
    if (!std::isnan(share))
    {
      shares[key] = Json(share).dump(); // which reads back as the same number
    }
  }
  return shares;
}

nlohmann::ordered_json
GetRecordedTissueShares(const itk::WholeSlideImageIO & mask)
{
  return { { "penFraction", Read(mask, PenKey) },
           { "artifactFraction", Read(mask, ArtifactKey) },
           { "expectedIou", Read(mask, OverlapKey) } };
}

std::vector<Doubt>
FindShareDoubts(const nlohmann::ordered_json & shares)
{
  // So it named 13 of 13 masks whose overlap was below 0.7, and 8 of 263 above 0.9
  // (Documentation/explanation/tissue.md).
  constexpr double   limit = 0.1;
  constexpr double   unknown = std::numeric_limits<double>::quiet_NaN();
  const double       chanceOfPoorMask = TissueNetwork::GetChanceOfPoorMask(Get(shares, "expectedIou", unknown));
  const double       tissue = Get(shares, "tissueFraction", unknown);
  const double       others = Get(shares, "penFraction", 0) + Get(shares, "artifactFraction", 0);
  std::vector<Doubt> doubts;
  if (chanceOfPoorMask > limit)
  {
    doubts.push_back({ "W-DOUBT-TISSUE-UNSURE", chanceOfPoorMask, limit });
  }
  if (others > tissue)
  {
    doubts.push_back({ "W-DOUBT-ARTIFACTS", others, tissue });
  }
  return doubts;
}

} // namespace gigapixel::application
