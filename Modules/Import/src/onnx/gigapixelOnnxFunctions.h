/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOnnxFunctions_h
#define gigapixelOnnxFunctions_h

#include "gigapixelOnnxFile.h"

namespace gigapixel
{

/** A function that a file brings: FunctionProto. */
struct OnnxFunction
{
  std::vector<std::string>             inputs;
  std::vector<std::string>             outputs;
  std::vector<OnnxNode>                nodes;
  std::map<std::string, OnnxAttribute> attributes; ///< of calls that do not give them
};

/** Functions, found by the type of the nodes that call them, "domain.Name". */
using OnnxFunctions = std::map<std::string, OnnxFunction>;

/** Puts the nodes of functions in the place of calls. \throw std::invalid_argument there are too many */
void ExpandFunctions(const OnnxFunctions & functions, std::vector<OnnxNode> & nodes);

} // namespace gigapixel

#endif
