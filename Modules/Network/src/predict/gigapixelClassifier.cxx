/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelClassifier.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelLabeling.h"
#include "model/gigapixelModelFile.h"
#include "graph/gigapixelParameterLayout.h"
#include "execute/gigapixelActivationPass.h"
#include "execute/gigapixelFixedPointSum.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "objective/gigapixelLoss.h"
#include "schedule/gigapixelSegment.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel
{

struct Classifier::Implementation
{
  StreamedNetwork network;
};

Classifier::Classifier(const Model & model, int threads, Device device, std::int64_t tileSize)
{
  model.network.Validate();
  Labeling::OfImages().Require(model.network);
  CheckParameters(model);
  m_Implementation.reset(new Implementation{
    StreamedNetwork(model.network, tileSize == 0 ? model.tileSize : tileSize, GetNumberOfThreads(threads), device) });
  m_Implementation->network.SetParameters(ToArray(model));
}

Classifier::~Classifier() = default;

std::vector<std::string>
Classifier::GetClassNames(const NetworkDescription & network)
{
  if (!network.objective.names.empty())
  {
    return network.objective.names;
  }
  std::vector<std::string> names = network.classNames;
  while (static_cast<int>(names.size()) < network.GetNumberOfClasses())
  {
    names.push_back(std::to_string(names.size()));
  }
  return names;
}

namespace
{

std::vector<double>
GetProbabilities(const std::vector<float> & values, const Objective & objective)
{
  return objective.GetKind().predict(objective, { values.begin(), values.end() });
}

} // namespace

bool
Classifier::Classify(PixelSource &                       image,
                     std::vector<double> &               probabilities,
                     const std::function<bool(double)> & progress)
{
  StreamedNetwork &  network = m_Implementation->network;
  std::vector<float> values(network.GetNetwork().GetNumberOfOutputChannels());
  if (!network.PredictImage(image, GetPredictedValue(network.GetNetwork()), values.data(), progress))
  {
    return false;
  }
  probabilities = GetProbabilities(values, network.GetNetwork().objective);
  return true;
}

namespace
{

std::shared_ptr<const GraphGeometry>
MakeGeometry(const NetworkDescription & network, Size image)
{
  return std::make_shared<GraphGeometry>(network.graph, ToExtent(image, network.graph.GetNumberOfAxes()));
}

/** The segment of what is pooled last. \param tileSize in pixels of the image */
Segment
FindPooling(const GraphGeometry & geometry, std::int64_t tileSize)
{
  const auto segments = MakeSegments(geometry, MakeReducingSegments(geometry, tileSize));
  return segments[segments.size() - 2]; // the last one is behind it
}

} // namespace

std::int64_t
Classifier::CountFeatures(const NetworkDescription & network, Size image)
{
  const auto geometry = MakeGeometry(network, image);
  const int  map = geometry->GetInputs()[FindPooling(*geometry, network.GetStride()).operation].front();
  return GetNumberOfPixels(geometry->GetWhole(map));
}

std::int64_t
Classifier::GetExplanationBytes(const NetworkDescription & network, Size image)
{
  return FixedPointSum::BytesOfSum * network.GetNumberOfParameters() +
         2 * static_cast<std::int64_t>(sizeof(float)) * CountFeatures(network, image);
}

ActivationMap
Classifier::DescribeMap(const NetworkDescription & network, Size image)
{
  const auto geometry = MakeGeometry(network, image);
  return ActivationPass(geometry, FindPooling(*geometry, network.GetStride())).MakeMap();
}

std::int64_t
Classifier::GetFeatureBytes(const NetworkDescription & network, Size image, std::int64_t tileSize)
{
  const auto         geometry = MakeGeometry(network, image);
  const std::int64_t side = GetTileSide(tileSize, image, network.GetStride());
  const int          map = geometry->GetInputs()[FindPooling(*geometry, side).operation].front();
  std::int64_t       values = geometry->GetChannels(map);
  for (int axis = 0; axis < geometry->GetNumberOfAxes(); ++axis)
  {
    const auto ofTile =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(side) / geometry->GetSampling(map, axis).step));
    values *= std::min(geometry->GetSize(map)[axis], ofTile);
  }
  return values * static_cast<std::int64_t>(sizeof(float));
}

bool
Classifier::Explain(PixelSource &                       image,
                    int                                 label,
                    std::vector<double> &               probabilities,
                    ActivationMap &                     map,
                    const std::function<bool(double)> & progress)
{
  StreamedNetwork & network = m_Implementation->network;
  if (label < MostProbable || label >= static_cast<int>(GetClassNames(network.GetNetwork()).size()))
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE",
                 "the network \"" + network.GetNetwork().name + "\" has no class number " + std::to_string(label))
        .OfValue(std::to_string(label)));
  }
  std::vector<float> values(network.GetNetwork().GetNumberOfOutputChannels());
  if (!network.ExplainImage(image, label, values.data(), map, progress))
  {
    return false;
  }
  probabilities = GetProbabilities(values, network.GetNetwork().objective);
  return true;
}

bool
Classifier::ComputeFeatures(PixelSource &                       image,
                            const FeatureTaker &                take,
                            std::vector<float> &                pooled,
                            const std::function<bool(double)> & progress)
{
  return m_Implementation->network.ComputeFeatures(image, take, pooled, progress);
}

} // namespace gigapixel
