/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TissueShares.h"

#include "itkSlideTissueImageSource.h"
#include "itkWholeSlideImageIO.h"

#include "itkMetaDataObject.h"

#include <cmath>

namespace gigapixel::commandline
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

} // namespace gigapixel::commandline
