/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef GraphFixture_h
#define GraphFixture_h

#include "GraphReference.h"
#include "gigapixelLoss.h"
#include "gigapixelTurns.h"
#include "execute/gigapixelGraphPasses.h"
#include "execute/gigapixelKeptMaps.h"
#include "schedule/gigapixelSegment.h"

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
NumberPair(double y, double x)
{
  return std::vector<double>{ y, x };
}

using Attributes = std::map<std::string, AttributeValue>;

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
  return Append(
    graph,
    "conv2d",
    { input },
    { { "out_channels", channels }, { "kernel_size", Pair(kernel, kernel) }, { "padding", Pair(padding, padding) } });
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
  for (std::int64_t i = 0; i < size.width * size.height; ++i)
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
  const Box & core = program->core;
  const Box & window = program->window;
  const auto  toRegion = [](const Box & box) {
    return Region{ box[1].begin, box[0].begin, box[1].GetLength(), box[0].GetLength() };
  };
  data.tile.core = toRegion(core);
  data.tile.window = toRegion(window);
  data.tile.program = std::move(program);
  data.rows.first = image.pixels.data() + (window[0].begin * image.size.width + window[1].begin) * channels;
  data.rows.pitch = image.size.width * channels;
  data.classes.clear();
  for (std::int64_t y = core[0].begin; labeled && y < core[0].end; ++y)
  {
    const auto row = image.labels.begin() + y * image.size.width;
    data.classes.insert(data.classes.end(), row + core[1].begin, row + core[1].end);
  }
}

/** Row by row, each of at most this size. */
inline std::vector<Box>
MakeCores(Size image, std::int64_t height, std::int64_t width)
{
  std::vector<Box> cores;
  for (std::int64_t y = 0; y < image.height; y += height)
  {
    for (std::int64_t x = 0; x < image.width; x += width)
    {
      cores.push_back({ Interval{ y, std::min(y + height, image.height) }, { x, std::min(x + width, image.width) } });
    }
  }
  return cores;
}

/** The image in segments: loss and gradient. \param operations whose maps are kept
 * \param missing so many last rows of each map are left 0 */
inline GraphResult
ComputeInSegments(const NetworkDescription &   network,
                  const std::vector<double> &  parameters,
                  const LabeledImage &         image,
                  Precision                    precision,
                  const std::vector<int> &     operations,
                  std::int64_t                 height,
                  std::int64_t                 width,
                  std::int64_t                 missing = 0,
                  std::optional<std::uint64_t> maskSeed = {})
{
  Device device;
  device.precision = precision;
  const auto passes = MakeTorchGraphPasses(network, device);
  passes->SetParameters(parameters);
  passes->SetMaskSeed(maskSeed);
  const GraphGeometry    geometry(network.graph, { image.size.height, image.size.width });
  const std::vector<int> kept = FindKept(geometry, operations);
  KeptMaps               maps(geometry, kept, precision == Precision::Double ? 8 : 4, {});
  LossTerms              terms;
  terms.weights.assign(std::max(network.graph.GetOutputChannels(), 2), 1.0);
  FixedPointSum gradient(passes->GetNumberOfSums());
  LossSum       loss;
  const auto    goOver = [&](const Segment & segment, bool training, const auto & compute) {
    const Extent &         size = geometry.GetSize(segment.operation);
    const std::vector<Box> cores = MakeCores({ size[1], size[0] }, height, width);
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
    const Extent &            size = geometry.GetSize(segment.operation);
    const Box                 last{ Interval{ std::max<std::int64_t>(0, size[0] - missing), size[0] }, { 0, size[1] } };
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

/** The image in tiles. \param maskSeed of dropout */
inline GraphResult
ComputeInTiles(const NetworkDescription &   network,
               const std::vector<double> &  parameters,
               const LabeledImage &         image,
               Precision                    precision,
               std::int64_t                 height,
               std::int64_t                 width,
               std::optional<std::uint64_t> maskSeed = {})
{
  Device device;
  device.precision = precision;
  const auto passes = MakeTorchGraphPasses(network, device);
  passes->SetParameters(parameters);
  passes->SetMaskSeed(maskSeed);
  const GraphGeometry geometry(network.graph, { image.size.height, image.size.width });
  const int           outputs = network.graph.GetOutputChannels();
  LossTerms           terms;
  terms.weights.assign(std::max(outputs, 2), 1.0);
  FixedPointSum sums(passes->GetNumberOfSums());
  LossSum       loss;
  GraphResult   result;
  TileData      data;
  result.probabilities.resize(image.size.width * image.size.height * outputs);
  std::vector<float> probabilities;
  for (const Box & core : MakeCores(image.size, height, width))
  {
    SetTile(data, image, network.channels, std::make_shared<TileProgram>(TileProgram::Make(geometry, core, true)));
    passes->AddGradient(data, terms, 1, loss, sums);
    SetTile(data, image, network.channels, std::make_shared<TileProgram>(TileProgram::Make(geometry, core, false)));
    const Region & region = data.tile.core;
    probabilities.resize(region.width * region.height * outputs);
    passes->Predict(data, PixelValue::Probability, probabilities.data(), region.width * outputs);
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      std::copy_n(probabilities.begin() + y * region.width * outputs,
                  region.width * outputs,
                  result.probabilities.begin() + ((region.y + y) * image.size.width + region.x) * outputs);
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
