/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFrozenParameters.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelNearestNames.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** An array's own name, and those of the modules that it is in: "a.0.weight", "a.0", "a". */
std::vector<std::string>
GetPrefixes(const std::string & name)
{
  std::vector<std::string> prefixes{ name };
  for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0; dot = name.rfind('.', dot - 1))
  {
    prefixes.push_back(name.substr(0, dot));
  }
  return prefixes;
}

[[noreturn]] void
RefuseUnknown(const std::string & name, const NetworkDescription & network, const std::set<std::string> & known)
{
  std::string near;
  for (const std::string & each : FindNearestNames(name, { known.begin(), known.end() }, 3))
  {
    near += (near.empty() ? "\"" : ", \"") + each + '"';
  }
  throw InvalidArgument(Diagnostic("E-OPTION-VALUE",
                                   "the network \"" + network.name + "\" has no array and no module \"" +
                                     GetPrintable(name) + "\" to freeze; the nearest are " + near)
                          .OfValue(name));
}

} // namespace

std::set<std::string>
FindFrozen(const NetworkDescription & network, const std::vector<std::string> & names)
{
  const auto            parameters = network.GetParameters();
  std::set<std::string> known, frozen;
  for (const ParameterDescription & parameter : parameters)
  {
    for (const std::string & prefix : GetPrefixes(parameter.name))
    {
      known.insert(prefix);
      if (std::find(names.begin(), names.end(), prefix) != names.end())
      {
        frozen.insert(parameter.name);
      }
    }
  }
  for (const std::string & name : names)
  {
    if (known.count(name) == 0)
    {
      RefuseUnknown(name, network, known);
    }
  }
  if (std::none_of(parameters.begin(), parameters.end(), [](const auto & each) { return each.trained; }) &&
      network.graph.frozen.empty())
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-APPLIES",
                 "the network \"" + network.name + "\" cannot be trained: all of its weights are its constants",
                 "take those that are to be trained out of the list \"constants\", or import it with parameters that "
                 "are trained"));
  }
  if (std::none_of(parameters.begin(), parameters.end(), [&](const ParameterDescription & parameter) {
        return parameter.trained && frozen.count(parameter.name) == 0;
      }))
  {
    throw InvalidArgument(Diagnostic("E-OPTION-VALUE",
                                     "everything in the network \"" + network.name + "\" that is trained is frozen",
                                     "leave something to train"));
  }
  return frozen;
}

} // namespace gigapixel
