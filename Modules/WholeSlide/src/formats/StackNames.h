/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StackNames_h
#define StackNames_h

#include "TIFFDirectory.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** \name What stacks of other programs call their pages and channels, in UTF-8. Both are empty where nothing is said,
 * or what is said is damaged. @{ */

/** The labels of the pages of ImageJ (tag 50839), of which the first lines count. */
std::vector<std::string> FindImageJLabels(const TIFFPage & page);

/** The names of channels that tifffile writes as {"Channel": {"Name": ["DAPI", "CD3"]}}. */
std::vector<std::string> FindShapedNames(const TIFFPage & page);
/** @} */

} // namespace gigapixel

#endif
