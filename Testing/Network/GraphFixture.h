/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef GraphFixture_h
#define GraphFixture_h

#include "GraphReference.h"
#include "objective/gigapixelLoss.h"
#include "gigapixelTurns.h"
#include "execute/gigapixelGraphPasses.h"
#include "maps/gigapixelKeptMaps.h"
#include "schedule/gigapixelSegment.h"
#include "schedule/gigapixelTileGrid.h"

#include <gtest/gtest.h>

#include <random>

namespace gigapixel
{
namespace test
{

inline AttributeValue
Pair(std::int64_t y, std::int64_t x)
{
  return std::vector<std::int64_t>{ y, x };
}

inline AttributeValue
Triple(std::int64_t z, std::int64_t y, std::int64_t x)
{
  return std::vector<std::int64_t>{ z, y, x };
}

inline AttributeValue
NumberPair(double y, double x)
{
  return std::vector<double>{ y, x };
}

using Attributes = std::map<std::string, AttributeValue>;

/** Whether a graph, of which the input is there, is one of volumes. */
inline bool
IsOfVolumes(const NetworkGraph & graph)
{
  const auto & attributes = graph.operations.front().attributes;
  const auto   axes = attributes.find("axes");
  return axes != attributes.end() && axes->second == AttributeValue(std::int64_t{ 3 });
}

/** The mode of interpolation that is none of the nearest pixel. */
inline std::string
GetLinearMode(const NetworkGraph & graph)
{
  return IsOfVolumes(graph) ? "trilinear" : "bilinear";
}

/** Builds a graph operation by operation. */
inline std::string
Append(NetworkGraph &                   graph,
       const std::string &              type,
       const std::vector<std::string> & inputs,
       const Attributes &               attributes = {})
{
  Operation operation;
  operation.name = type + std::to_string(graph.operations.size());
  operation.type = type;
  operation.inputs = inputs;
  operation.attributes = attributes;
  graph.operations.push_back(operation);
  graph.output = operation.name;
  return operation.name;
}

inline std::string
AppendConvolution(NetworkGraph &      graph,
                  const std::string & input,
                  std::int64_t        channels,
                  std::int64_t        kernel,
                  std::int64_t        padding)
{
  return Append(graph,
                IsOfVolumes(graph) ? "conv3d" : "conv2d",
                { input },
                { { "out_channels", channels }, { "kernel_size", kernel }, { "padding", padding } });
}

/** A network that is this graph, validated. */
inline NetworkDescription
MakeNetwork(const NetworkGraph & graph)
{
  NetworkDescription network;
  network.name = "test";
  network.graph = graph;
  network.graph.Validate();
  network.channels = network.graph.GetInputChannels();
  network.invert = false;
  for (int c = 0; c < network.channels; ++c)
  {
    network.mean.push_back(0.4 + 0.1 * c);
    network.deviation.push_back(0.25 + 0.05 * c);
  }
  network.loss = network.graph.GetOutputChannels() == 1 ? NetworkDescription::Loss::BinaryCrossEntropy
                                                        : NetworkDescription::Loss::SoftmaxCrossEntropy;
  return network;
}

/** Random numbers: weights so that maps keep their magnitude, variances above 0. */
inline std::vector<double>
MakeParameters(const NetworkGraph & graph, unsigned seed)
{
  std::mt19937                     engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double>              values;
  for (const ParameterDescription & parameter : graph.GetParameters())
  {
    const bool   matrix = parameter.shape.size() > 1;
    const double inputs = matrix ? static_cast<double>(parameter.GetNumberOfValues() / parameter.shape[0]) : 1.0;
    const bool   variance = parameter.name.find("running_var") != std::string::npos;
    for (std::int64_t i = 0; i < parameter.GetNumberOfValues(); ++i)
    {
      const double value = normal(engine);
      // As float has them, so that float and double compute with the same weights.
      values.push_back(static_cast<float>(variance ? 0.5 + value * value
                                          : matrix ? value / std::sqrt(inputs)
                                                   : 0.3 + 0.5 * value));
    }
  }
  return values;
}

inline LabeledImage
MakeImage(Size size, int channels, int classes, unsigned seed)
{
  std::mt19937 engine(seed);
  LabeledImage image{ size, {}, {} };
  for (std::int64_t i = 0; i < size.width * size.height * size.depth; ++i)
  {
    for (int c = 0; c < channels; ++c)
    {
      image.pixels.push_back(static_cast<std::uint8_t>(engine() % 256));
    }
    const auto label = static_cast<std::uint8_t>(engine() % (classes + 1));
    image.labels.push_back(label == classes ? LabelSource::Ignored : label);
  }
  return image;
}

/** Fills in what the tile of this core is computed from. \param labeled whether the core is one of the output */
inline void
SetTile(TileData &                         data,
        const LabeledImage &               image,
        int                                channels,
        std::shared_ptr<const TileProgram> program,
        bool                               labeled = true)
{
  const Region core = ToRegion(program->core), window = ToRegion(program->window);
  const auto   getPlace = [&image](std::int64_t z, std::int64_t y, std::int64_t x) {
    return (z * image.size.height + y) * image.size.width + x;
  };
  data.tile.core = core;
  data.tile.window = window;
  data.tile.program = std::move(program);
  data.rows.first = image.pixels.data() + getPlace(window.z, window.y, window.x) * channels;
  data.rows.pitch = image.size.width * channels;
  data.rows.slice = image.size.height * data.rows.pitch;
  data.classes.clear();
  for (std::int64_t z = core.z; labeled && z < core.z + core.depth; ++z)
  {
    for (std::int64_t y = core.y; y < core.y + core.height; ++y)
    {
      const auto row = image.labels.begin() + getPlace(z, y, core.x);
      data.classes.insert(data.classes.end(), row, row + core.width);
    }
  }
}

/** Row by row, and slice by slice, each of at most this size. */
inline std::vector<Box>
MakeCores(const Extent & image, const Extent & tile)
{
  std::vector<Box> cores{ Box(image.GetNumberOfAxes()) };
  for (int axis = 0; axis < image.GetNumberOfAxes(); ++axis)
  {
    std::vector<Box> more;
    for (Box core : cores)
    {
      for (std::int64_t begin = 0; begin < image[axis]; begin += tile[axis])
      {
        core[axis] = { begin, std::min(begin + tile[axis], image[axis]) };
        more.push_back(core);
      }
    }
    cores = more;
  }
  return cores;
}

inline std::vector<Box>
MakeCores(Size image, std::int64_t height, std::int64_t width)
{
  return MakeCores(Extent{ image.height, image.width }, Extent{ height, width });
}

/** The image in segments: loss and gradient. \param operations whose maps are kept
 * \param missing so many last rows, or slices, of each map are left 0 */
inline GraphResult
ComputeInSegments(const NetworkDescription &   network,
                  const std::vector<double> &  parameters,
                  const LabeledImage &         image,
                  Precision                    precision,
                  const std::vector<int> &     operations,
                  const Extent &               tile,
                  std::int64_t                 missing = 0,
                  std::optional<std::uint64_t> maskSeed = {})
{
  Device device;
  device.precision = precision;
  const auto passes = MakeTorchGraphPasses(network, device);
  passes->SetParameters(parameters);
  passes->SetMaskSeed(maskSeed);
  const GraphGeometry    geometry(network.graph, ToExtent(image.size, network.graph.GetNumberOfAxes()));
  const std::vector<int> kept = FindKept(geometry, operations);
  KeptMaps               maps(geometry,
                MakeSegments(geometry, kept, std::vector<std::int64_t>(kept.size() + 1)),
                precision == Precision::Double ? 8 : 4,
                {});
  LossTerms              terms;
  terms.weights.assign(std::max(network.graph.GetOutputChannels(), 2), 1.0);
  FixedPointSum gradient(passes->GetNumberOfSums());
  LossSum       loss;
  const auto    goOver = [&](const Segment & segment, bool training, const auto & compute) {
    const std::vector<Box> cores = MakeCores(geometry.GetSize(segment.operation), tile);
    Turns                  turns;
    TileData               data;
    data.kept = &maps;
    data.turns = training ? &turns : nullptr;
    for (const Box & core : cores)
    {
      SetTile(
        data,
        image,
        network.channels,
        std::make_shared<TileProgram>(TileProgram::Make(geometry, segment.operation, segment.kept, core, training)),
        segment.operation == geometry.GetOutput());
      compute(data);
      ++data.turn;
    }
  };
  std::vector<Segment> segments =
    MakeSegments(geometry, kept, std::vector<std::int64_t>(kept.size() + 1, 1)); // tiles are as given
  const Segment last = segments.back();
  segments.pop_back();
  for (const Segment & segment : segments)
  {
    goOver(segment, false, [&](TileData & data) { passes->WriteMap(data); });
    Box last = geometry.GetWhole(segment.operation);
    last[0].begin = std::max<std::int64_t>(0, last[0].end - missing);
    const std::vector<double> zeros(GetNumberOfPixels(last) * network.graph.GetChannels()[segment.operation]);
    maps.GetMap(segment.operation).Write(last, zeros.data());
  }
  goOver(last, true, [&](TileData & data) { passes->AddGradient(data, terms, 1, loss, gradient); });
  for (; !segments.empty(); segments.pop_back())
  {
    goOver(segments.back(), true, [&](TileData & data) { passes->AddGradientBehindMap(data, 1, gradient); });
    maps.Drop(segments.back().operation);
  }
  GraphResult result;
  result.loss = loss.loss;
  Workers workers(1);
  result.gradient = passes->GetGradient(gradient, workers);
  return result;
}

/** The image in tiles. \param maskSeed of dropout \param cuda number of the GPU; -1: the CPU */
inline GraphResult
ComputeInTiles(const NetworkDescription &   network,
               const std::vector<double> &  parameters,
               const LabeledImage &         image,
               Precision                    precision,
               const Extent &               tile,
               std::optional<std::uint64_t> maskSeed = {},
               int                          cuda = -1)
{
  Device device;
  device.cuda = cuda;
  device.precision = precision;
  const auto passes = MakeTorchGraphPasses(network, device);
  passes->SetParameters(parameters);
  passes->SetMaskSeed(maskSeed);
  const Extent        size = ToExtent(image.size, network.graph.GetNumberOfAxes());
  const GraphGeometry geometry(network.graph, size);
  const int           outputs = network.graph.GetOutputChannels();
  LossTerms           terms;
  terms.weights.assign(std::max(outputs, 2), 1.0);
  FixedPointSum sums(passes->GetNumberOfSums());
  LossSum       loss;
  GraphResult   result;
  TileData      data;
  result.probabilities.resize(image.size.width * image.size.height * image.size.depth * outputs);
  std::vector<float> probabilities;
  for (const Box & core : MakeCores(size, tile))
  {
    SetTile(data, image, network.channels, std::make_shared<TileProgram>(TileProgram::Make(geometry, core, true)));
    passes->AddGradient(data, terms, 1, loss, sums);
    SetTile(data, image, network.channels, std::make_shared<TileProgram>(TileProgram::Make(geometry, core, false)));
    const Region &     region = data.tile.core;
    const std::int64_t pitch = region.width * outputs;
    probabilities.resize(GetNumberOfPixels(core) * outputs);
    passes->Predict(data, PixelValue::Probability, probabilities.data(), pitch);
    for (std::int64_t row = 0; row < region.height * region.depth; ++row)
    {
      const std::int64_t z = region.z + row / region.height, y = region.y + row % region.height;
      std::copy_n(probabilities.begin() + row * pitch,
                  pitch,
                  result.probabilities.begin() + ((z * image.size.height + y) * image.size.width + region.x) * outputs);
    }
  }
  result.loss = loss.loss;
  Workers workers(1);
  result.gradient = passes->GetGradient(sums, workers);
  return result;
}

struct Difference
{
  double      loss{ 0 };
  double      probability{ 0 };
  double      gradient{ 0 }; ///< the greatest of any array: norm of the difference, relative to the reference's norm
  std::string array;         ///< whose it is
};

/** \param least arrays whose gradient is less than this part of the whole one count by that: what cancels is nothing
 * but rounding */
inline Difference
Compare(const NetworkGraph & graph, const GraphResult & result, const GraphResult & reference, double least = 1e-4)
{
  Difference difference;
  difference.loss = std::abs(result.loss - reference.loss) / std::abs(reference.loss);
  for (std::size_t i = 0; i < result.probabilities.size(); ++i)
  {
    difference.probability =
      std::max(difference.probability, std::abs(result.probabilities[i] - reference.probabilities[i]));
  }
  double all = 0;
  for (const double value : reference.gradient)
  {
    all += value * value;
  }
  std::size_t place = 0;
  for (const ParameterDescription & parameter : graph.GetParameters())
  {
    double wrong = 0, norm = 0;
    for (std::int64_t i = 0; i < parameter.GetNumberOfValues(); ++i, ++place)
    {
      wrong += std::pow(result.gradient[place] - reference.gradient[place], 2);
      norm += std::pow(reference.gradient[place], 2);
    }
    const double relative = std::sqrt(wrong / std::max(norm, least * least * all + 1e-300));
    if (!(relative <= difference.gradient))
    {
      difference.gradient = relative;
      difference.array = parameter.name;
    }
  }
  return difference;
}

/** \param tolerance double's error: some sums are taken in another order */
inline void
ExpectReference(const NetworkDescription & network,
                const LossGradient &       sum,
                const GraphResult &        reference,
                double                     tolerance = 1e-12)
{
  GraphResult result;
  result.loss = sum.loss;
  result.gradient = sum.gradient;
  const Difference difference = Compare(network.graph, result, reference);
  EXPECT_LE(difference.loss, tolerance);
  EXPECT_LE(difference.gradient, tolerance) << difference.array;
}

} // namespace test
} // namespace gigapixel

#endif
