/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TissueShares_h
#define TissueShares_h

#include "Doubt.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <vector>

namespace itk
{
class SlideTissueImageSource;
class WholeSlideImageIO;
} // namespace itk

namespace gigapixel::application
{

/** What only the making of a tissue mask tells: the shares of its pixels that are pen and artifacts, which a mask
 * without classes does not show, and the expected overlap with the truth. A mask keeps them as properties, so that a
 * batch that goes on reports the same of masks that were there. \param source after Update() */
std::map<std::string, std::string> DescribeTissueShares(const itk::SlideTissueImageSource & source);

/** {"penFraction", "artifactFraction", "expectedIou"}, which are null where the mask does not keep them. */
nlohmann::ordered_json GetRecordedTissueShares(const itk::WholeSlideImageIO & mask);

/** The doubts that these shares give beside those of FindTissueDoubt(): W-DOUBT-TISSUE-UNSURE, whose value is the
 * chance of a poor mask, and W-DOUBT-ARTIFACTS, whose limit is the share of tissue. \param shares with "tissueFraction"
 */
std::vector<Doubt> FindShareDoubts(const nlohmann::ordered_json & shares);

} // namespace gigapixel::application

#endif
