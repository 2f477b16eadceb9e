/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

/** \param roles Role::Bits */
OperationSchema
MakeEntry(const char * type, Keeps (*getKeeps)(const Operation &), unsigned roles)
{
  OperationSchema entry(type);
  entry.getKeeps = getKeeps;
  entry.mayOverwrite = true;
  entry.roles = roles;
  return entry;
}

OperationSchema
MakeLeakyReLU()
{
  OperationSchema entry = MakeEntry("leaky_relu", &KeepInput, Role::Rectifier);
  entry.attributes = { Number("negative_slope", 0.01) };
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeActivations()
{
  return { MakeEntry("relu", &KeepOutput, Role::Rectifier | Role::NoLogits),
           MakeLeakyReLU(),
           MakeEntry("sigmoid", &KeepOutput, Role::NoLogits) };
}

} // namespace schema
} // namespace gigapixel
