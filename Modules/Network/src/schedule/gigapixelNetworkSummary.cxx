/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkSummary.h"
#include "graph/gigapixelExecutors.h"
#include "graph/gigapixelNetworkGeometry.h"
#include "gigapixelSegment.h"
#include "gigapixelTileGrid.h"
#include "gigapixelTileProgram.h"
#include "gigapixelImageKind.h"

namespace gigapixel
{
namespace
{

/** A square or a cube. */
Extent
MakeCube(const NetworkGraph & graph, std::int64_t side)
{
  return Extent(graph.GetNumberOfAxes(), side);
}

double
GetMultiplyAdds(const TileProgram & program, const NetworkGraph & graph)
{
  return program.GetOperations(graph) / 2 / static_cast<double>(GetNumberOfPixels(program.core));
}

/** Of an image that is large beside what is cut off at its borders, in one piece. */
double
CountOfGraph(const NetworkGraph & graph)
{
  const std::int64_t  side = ImageKind::Of(graph.GetNumberOfAxes()).sides.tile * GetStride(graph);
  const GraphGeometry geometry(graph, MakeCube(graph, side));
  const Box           all(graph.GetNumberOfAxes(), { 0, side });
  return GetMultiplyAdds(TileProgram::Make(geometry, all, false), graph);
}

double
CountOfLayers(const std::vector<Layer> & layers)
{
  const std::vector<MapScale> scales = GetMapScales(layers);
  double                      all = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
  {
    // Each pixel of the smaller map meets the whole kernel: that of the output, or of a transposed convolution's input.
    const Layer & layer = layers[i];
    const double  scale = static_cast<double>(scales[i].numerator) / static_cast<double>(scales[i].denominator);
    const double  side = layer.kind == Layer::Kind::Convolution ? scale : scale / layer.stride;
    all += static_cast<double>(layer.kernel) * layer.kernel * layer.inputChannels * layer.outputChannels * side * side;
  }
  return all;
}

/** The greatest tile of all segments, and the work of all. */
NetworkSummary::Tile
DescribeTileOfSegments(const NetworkGraph & graph, std::int64_t side, double multiplyAdds)
{
  constexpr std::int64_t TilesAlong = 3;
  const std::int64_t     all = TilesAlong * side;
  const auto             geometry = std::make_shared<GraphGeometry>(graph, MakeCube(graph, all));
  NetworkSummary::Tile   summary{ side, 0, 0, 0 };
  for (const Segment & segment : MakeSegments(*geometry, MakeReducingSegments(*geometry, side)))
  {
    const TileGrid     grid(geometry, segment, false), trained(geometry, segment, true);
    const std::int64_t slice = grid.GetNumberOfSlices() / 2, row = grid.GetNumberOfRows() / 2;
    const std::int64_t middle =
      (slice * grid.GetNumberOfRows() + row) * grid.GetNumberOfColumns() + grid.GetNumberOfColumns() / 2;
    const Tile   inference = grid.GetTile(middle), training = trained.GetTile(middle);
    const double tiles = static_cast<double>(GetNumberOfPixels(geometry->GetTiled(segment.operation))) /
                         static_cast<double>(GetNumberOfPixels(inference.program->core));
    const double products = inference.program->GetOperations(graph) / 2 * tiles;
    summary.trainingBytes = std::max(summary.trainingBytes, training.program->GetPeakBytes(graph, true, sizeof(float)));
    summary.inferenceBytes =
      std::max(summary.inferenceBytes, inference.program->GetPeakBytes(graph, false, sizeof(float)));
    summary.workFactor += products / (multiplyAdds * static_cast<double>(GetNumberOfPixels(geometry->GetWhole(0))));
  }
  return summary;
}

NetworkSummary::Tile
DescribeTile(const NetworkGraph & graph, std::int64_t side, double multiplyAdds)
{
  if (graph.SeesWholeImage())
  {
    return DescribeTileOfSegments(graph, side, multiplyAdds);
  }
  const std::int64_t  stride = GetStride(graph);
  const std::int64_t  begin = (GetHalo(graph) / stride + 1) * stride;
  const GraphGeometry geometry(graph, MakeCube(graph, 2 * begin + (side / stride + 1) * stride));
  const Box           core(graph.GetNumberOfAxes(), { begin, begin + side });
  const TileProgram   training = TileProgram::Make(geometry, core, true);
  const TileProgram   inference = TileProgram::Make(geometry, core, false);
  return { side,
           training.GetPeakBytes(graph, true, sizeof(float)),
           inference.GetPeakBytes(graph, false, sizeof(float)),
           GetMultiplyAdds(inference, graph) / multiplyAdds };
}

} // namespace

NetworkSummary
NetworkSummary::Make(const NetworkDescription & network)
{
  NetworkSummary summary;
  summary.trainedParameters = network.GetNumberOfTrainedParameters();
  summary.keptParameters = network.GetNumberOfParameters() - summary.trainedParameters;
  Executor::Of(network).Summarize(network, summary);
  return summary;
}

/** MemoryPlan knows what its tiles take. */
void
FusedExecutor::Summarize(const NetworkDescription & network, NetworkSummary & summary) const
{
  summary.multiplyAdds = CountOfLayers(network.layers);
}

void
TorchExecutor::Summarize(const NetworkDescription & network, NetworkSummary & summary) const
{
  summary.multiplyAdds = CountOfGraph(network.graph);
  for (const std::int64_t side : network.GetImageKind().sides.described)
  {
    summary.tiles.push_back(DescribeTile(network.graph, side, summary.multiplyAdds));
  }
}

} // namespace gigapixel
