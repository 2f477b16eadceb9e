/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSegmentationOptions_h
#define gigapixelSegmentationOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** What becomes of a network's probabilities; see gigapixelSegmentationOptionList.h. */
struct GigapixelOptions_EXPORT SegmentationOptions
{
#define GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelSegmentationOptionList.h"
};

/** The entries of gigapixelSegmentationOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<OptionEntry<SegmentationOptions>> & GetOptionTable<SegmentationOptions>();

} // namespace gigapixel

#endif
