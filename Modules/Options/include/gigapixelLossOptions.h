/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLossOptions_h
#define gigapixelLossOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** What a training minimizes; see gigapixelLossOptionList.h. */
struct GigapixelOptions_EXPORT LossOptions
{
#define GIGAPIXEL_LOSS_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelLossOptionList.h"
};

/** The entries of gigapixelLossOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<OptionEntry<LossOptions>> & GetOptionTable<LossOptions>();

} // namespace gigapixel

#endif
