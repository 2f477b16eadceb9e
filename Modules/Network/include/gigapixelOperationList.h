/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOperationList_h
#define gigapixelOperationList_h

#include "GigapixelNetworkExport.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** An attribute of an operation, as a network's file has it. */
struct OperationAttribute
{
  std::string              name;         ///< PyTorch's
  std::string              defaultValue; ///< in JSON; empty: there is none
  std::vector<std::string> words;        ///< those that it may have, beside numbers; empty: none
  bool                     required;     ///< whether each operation of the type has to give it
};

/** What a network's file may have for an operation. */
struct OperationDescription
{
  std::string                     type;           ///< PyTorch's name: "conv2d"
  std::string                     typeOfVolumes;  ///< its name in networks for volumes; empty: it is for images only
  std::string                     summary;        ///< a clause; empty: the name says all
  bool                            seesWholeImage; ///< whether each value depends on all pixels of a map
  std::vector<OperationAttribute> attributes;     ///< in the order of the reference
};

/** All operations: first those that see a part of a map, then those that see all of it. */
GigapixelNetwork_EXPORT std::vector<OperationDescription> DescribeOperations();

} // namespace gigapixel

#endif
