/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelImageNorms.h"

#include "gigapixelDiagnostic.h"
#include "graph/gigapixelGraphGeometry.h"
#include "graph/gigapixelOperationSchema.h"

#include <set>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace
{

/** It would be its own mean, and nothing of it left. */
void
RefuseOnePixel(NetworkGraph graph, const Operation & norm)
{
  graph.output = norm.name; // whose map is as large as what it is of
  if (IsOnePixelOfReductions(graph))
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-APPLIES",
                 "its batch norm \"" + norm.name +
                   "\" is of one pixel, behind the pooling of all: there are no statistics of the image")
        .OfValue(norm.name));
  }
}

} // namespace

Model
TakeNormsOfImage(Model model)
{
  NetworkGraph graph = model.network.graph;
  bool         hasNorms = false;
  std::string  ofImage;
  for (Operation & operation : graph.operations)
  {
    if (OperationSchema::Find(operation.type)->Is(Role::FrozenNorm))
    {
      RefuseOnePixel(model.network.graph, operation);
      hasNorms = true;
      operation.type = "instance_norm"; // whose attributes have the same names
      operation.parameters.erase("running_mean");
      operation.parameters.erase("running_var");
    }
    else if (OperationSchema::Find(operation.type)->Is(Role::WholeImageNorm))
    {
      ofImage = operation.name;
    }
  }
  if (!hasNorms && !ofImage.empty())
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-APPLIES",
                 "its norms take the statistics of the image as they are (\"" + ofImage + "\"), and it has no others",
                 "leave out what asks for norms of the image")
        .OfValue(ofImage));
  }
  if (!hasNorms)
  {
    throw InvalidArgument(Diagnostic("E-OPTION-APPLIES",
                                     "it has no batch norms that could take the statistics of the image",
                                     "export it with its norms, which exporters merge into convolutions otherwise"));
  }
  graph.Validate();
  if (const std::string problem = GetRunProblem(graph); !problem.empty())
  {
    throw InvalidArgument(Diagnostic("E-OPTION-APPLIES", problem));
  }
  model.network.graph = std::move(graph);
  model.network = NetworkDescription::FromJSON(model.network.ToJSON());
  std::set<std::string> names;
  for (const ParameterDescription & parameter : model.network.GetParameters())
  {
    names.insert(parameter.name);
  }
  for (auto parameter = model.parameters.begin(); parameter != model.parameters.end();)
  {
    parameter = names.count(parameter->first) > 0 ? std::next(parameter) : model.parameters.erase(parameter);
  }
  return model;
}

} // namespace gigapixel
