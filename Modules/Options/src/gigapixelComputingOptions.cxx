/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelComputingOptions.h"

namespace gigapixel
{

const std::vector<ComputingOption> &
GetComputingOptionTable()
{
  static const std::vector<ComputingOption> table{
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option) { option, #Name, &ComputingOptions::member },
#include "gigapixelComputingOptionList.h"
  };
  return table;
}

} // namespace gigapixel
