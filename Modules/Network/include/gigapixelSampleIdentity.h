/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSampleIdentity_h
#define gigapixelSampleIdentity_h

namespace gigapixel
{

/** In Sample::identity, what stands before that of the tissue mask, at its end: a run that had one and is to go on
 * without is refused by that name. */
constexpr const char * TissueIdentity = " tissue: ";

} // namespace gigapixel

#endif
