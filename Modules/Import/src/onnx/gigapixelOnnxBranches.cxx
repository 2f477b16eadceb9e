/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// If, whose condition is known at each size of the image: https://onnx.ai/onnx/operators/onnx__If.html
#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxOperators.h"

#include <algorithm>

namespace gigapixel
{

/** Values of the branch get names that no other value has, so that both branches, and those of other nodes, may use the
 * same names. */
std::map<std::string, std::string>
OnnxWalk::NameValues(const OnnxNode & node, const OnnxBranch & branch) const
{
  std::map<std::string, std::string> names{ { "", "" } };
  for (std::size_t i = 0; i < node.branches->read.size(); ++i)
  {
    names[node.branches->read[i]] = node.inputs[i + 1];
  }
  const auto give = [&](const std::string & value) {
    std::string name = value.empty() ? value : node.outputs.front() + '.' + value;
    while (m_Readers.count(name) > 0 || m_Values.count(name) > 0 || m_File.arrays.count(name) > 0)
    {
      name += '_';
    }
    names[value] = name;
  };
  for (const auto & item : branch.arrays)
  {
    give(item.first);
  }
  for (const OnnxNode & each : branch.nodes)
  {
    std::for_each(each.outputs.begin(), each.outputs.end(), give);
  }
  return names;
}

void
OnnxWalk::FollowBranch(const OnnxNode & node)
{
  const OnnxConstantPointer condition = this->GetConstant(node, 0);
  if (condition->GetCount() != 1)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "its condition is not one truth value"));
  }
  const OnnxBranch & branch = condition->Get(0) != 0 ? node.branches->onTrue : node.branches->onFalse;
  if (branch.outputs.size() != node.outputs.size())
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "its branch has not as many outputs as it has itself"));
  }
  const std::map<std::string, std::string> names = NameValues(node, branch);
  std::vector<const OnnxNode *>            nodes;
  const auto                               append = [&](const OnnxNode & each) {
    m_OfBranches.push_back(each);
    nodes.push_back(&m_OfBranches.back());
    for (const std::string & input : each.inputs)
    {
      ++m_Readers[input];
    }
  };
  const auto rename = [&names](std::string & value) { value = names.at(value); };
  for (OnnxNode each : branch.nodes)
  {
    for (const auto & item : each.attributes)
    {
      if (!item.second.reference.empty())
      {
        throw MissingOperation("whose branch reads attributes of a function");
      }
    }
    std::for_each(each.inputs.begin(), each.inputs.end(), rename);
    std::for_each(each.outputs.begin(), each.outputs.end(), rename);
    append(each);
  }
  for (const auto & [name, tensor] : branch.arrays)
  {
    const auto array = std::make_shared<OnnxConstant>(tensor.Read());
    m_Values[names.at(name)] = { {}, {}, array->shape, array, names.at(name) };
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
  {
    append({ {}, "Identity", { names.at(branch.outputs[i]) }, { node.outputs[i] }, {} });
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) // the other branch reads nothing
  {
    --m_Readers[node.inputs[i]];
  }
  m_Followed.insert(&node);
  for (const OnnxNode * each : nodes)
  {
    if (!each->outputs.empty() && !each->outputs.front().empty())
    {
      this->Visit(*each);
    }
  }
}

namespace
{

void
ImportIf(OnnxWalk & walk, const OnnxNode & node)
{
  walk.FollowBranch(node);
}

} // namespace

std::vector<OnnxOperator>
GetOnnxBranches()
{
  return { { "If", &ImportIf } };
}

} // namespace gigapixel
