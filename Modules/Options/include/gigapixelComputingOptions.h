/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelComputingOptions_h
#define gigapixelComputingOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** Where and how a network is computed; see gigapixelComputingOptionList.h. */
struct GigapixelOptions_EXPORT ComputingOptions
{
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelComputingOptionList.h"
};

using ComputingOption = OptionEntry<ComputingOptions>; ///< an entry of the table

/** The entries of gigapixelComputingOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<ComputingOption> & GetOptionTable<ComputingOptions>();

} // namespace gigapixel

#endif
