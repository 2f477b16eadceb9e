/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelClassificationOptions_h
#define gigapixelClassificationOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** What is said of an image beside its label; see gigapixelClassificationOptionList.h. */
struct GigapixelOptions_EXPORT ClassificationOptions
{
#define GIGAPIXEL_CLASSIFICATION_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelClassificationOptionList.h"
};

/** The entries of gigapixelClassificationOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<OptionEntry<ClassificationOptions>> & GetOptionTable<ClassificationOptions>();

} // namespace gigapixel

#endif
