/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPatchOptions_h
#define gigapixelPatchOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** How a network is applied patch by patch; see gigapixelPatchOptionList.h. */
struct GigapixelOptions_EXPORT PatchOptions
{
#define GIGAPIXEL_PATCH_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelPatchOptionList.h"
};

/** The entries of gigapixelPatchOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<OptionEntry<PatchOptions>> & GetOptionTable<PatchOptions>();

} // namespace gigapixel

#endif
