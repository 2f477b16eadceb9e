/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

// Each value of these depends on all pixels of a map.

OperationSchema
MakeEntry(const char * type)
{
  OperationSchema entry(type);
  entry.getRequired = &RequireAll;
  return entry;
}

Parameters
GetScaleAndShift(const Operation & operation, const Channels & channels)
{
  return operation.GetFlag("affine")
           ? Parameters{ { "weight", { channels.front() }, true, 1 }, { "bias", { channels.front() }, true } }
           : Parameters{};
}

std::string
CheckGroups(const Operation & operation, const Channels & channels)
{
  return channels.front() % operation.GetInteger("num_groups") == 0
           ? ""
           : "its " + std::to_string(channels.front()) + " channels are no multiple of its groups";
}

OperationSchema
MakeInstanceNorm()
{
  OperationSchema entry = MakeEntry("instance_norm");
  entry.attributes = { Epsilon(), Flag("affine", false) };
  entry.getParameters = &GetScaleAndShift;
  return entry;
}

OperationSchema
MakeGroupNorm()
{
  OperationSchema entry = MakeEntry("group_norm");
  entry.attributes = { NeededInteger("num_groups", 1), Epsilon(), Flag("affine", true) };
  entry.check = &CheckGroups;
  entry.getParameters = &GetScaleAndShift;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeGlobalNorms()
{
  return { MakeInstanceNorm(), MakeGroupNorm() };
}

} // namespace schema
} // namespace gigapixel
