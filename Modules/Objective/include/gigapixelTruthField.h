/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTruthField_h
#define gigapixelTruthField_h

#include "GigapixelObjectiveExport.h"

#include <string>

namespace gigapixel
{

/** Whether a field of a table says that nothing is known: it is empty, or what pandas and R write there: NaN, NA,
 * \<NA\>.
 */
GigapixelObjective_EXPORT bool IsNotKnown(const std::string & field);

} // namespace gigapixel

#endif
