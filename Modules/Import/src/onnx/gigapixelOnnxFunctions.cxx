/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Functions of a file: https://onnx.ai/onnx/repo-docs/IR.html#functions
#include "gigapixelOnnxFunctions.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

constexpr int         MostLevels = 16;     ///< of functions that call functions
constexpr std::size_t MostNodes = 1000000; ///< that they come to

/** \class Expansion
 * \brief One call after the other in the order of the nodes. */
class Expansion
{
public:
  Expansion(const OnnxFunctions & functions, std::vector<OnnxNode> & nodes)
    : m_Functions(functions)
    , m_Nodes(nodes)
  {}

  void
  Append(const OnnxNode & node, int level)
  {
    const auto found = m_Functions.find(node.type);
    if (found == m_Functions.end())
    {
      Push(node);
      return;
    }
    if (level == MostLevels)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                       "its function \"" + GetPrintable(node.type).substr(0, 200) +
                                         "\" calls functions on more than " + std::to_string(MostLevels) + " levels"));
    }
    Call(node, found->second, level);
  }

private:
  void
  Push(const OnnxNode & node)
  {
    if (m_Nodes.size() >= MostNodes)
    {
      throw InvalidArgument(
        Diagnostic("E-ONNX-FORMAT", "its functions come to more than " + std::to_string(MostNodes) + " nodes"));
    }
    m_Nodes.push_back(node);
  }

  /** Values of the function that are none of its inputs and outputs get names that no other call has. */
  void
  Call(const OnnxNode & call, const OnnxFunction & function, int level)
  {
    std::map<std::string, std::string> names{ { "", "" } };
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
    {
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : std::string();
    }
    for (std::size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i)
    {
      if (!call.outputs[i].empty())
      {
        names[function.outputs[i]] = call.outputs[i];
      }
    }
    const std::string label = (call.name.empty() ? call.type : call.name) + '.' + std::to_string(m_Calls++) + '.';
    const auto        rename = [&](std::string & value) { value = names.emplace(value, label + value).first->second; };
    for (OnnxNode node : function.nodes)
    {
      std::for_each(node.inputs.begin(), node.inputs.end(), rename);
      std::for_each(node.outputs.begin(), node.outputs.end(), rename);
      node.name = label + (node.name.empty() ? node.type : node.name);
      for (auto attribute = node.attributes.begin(); attribute != node.attributes.end();)
      {
        attribute = GiveAttribute(call, function, node, attribute);
      }
      Append(node, level + 1);
    }
  }

  /** An attribute may be one of the call's. \return the next one */
  static std::map<std::string, OnnxAttribute>::iterator
  GiveAttribute(const OnnxNode &                               call,
                const OnnxFunction &                           function,
                OnnxNode &                                     node,
                std::map<std::string, OnnxAttribute>::iterator attribute)
  {
    const std::string reference = attribute->second.reference;
    if (reference.empty())
    {
      return ++attribute;
    }
    const auto given = call.attributes.find(reference), byDefault = function.attributes.find(reference);
    if (given == call.attributes.end() && byDefault == function.attributes.end())
    {
      return node.attributes.erase(attribute);
    }
    attribute->second = given != call.attributes.end() ? given->second : byDefault->second;
    return ++attribute;
  }

  const OnnxFunctions &   m_Functions;
  std::vector<OnnxNode> & m_Nodes;
  std::size_t             m_Calls{ 0 };
};

} // namespace

void
ExpandFunctions(const OnnxFunctions & functions, std::vector<OnnxNode> & nodes)
{
  if (functions.empty())
  {
    return;
  }
  std::vector<OnnxNode> expanded;
  Expansion             expansion(functions, expanded);
  for (const OnnxNode & node : nodes)
  {
    expansion.Append(node, 0);
  }
  nodes = std::move(expanded);
}

} // namespace gigapixel
