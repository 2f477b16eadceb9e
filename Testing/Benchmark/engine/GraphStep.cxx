/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// GraphStep SIDE TILE FOLDER REPEATS PRECISION
// Our part of compare_graphs.py, in one thread: gradient of the mean loss of the network graph.json over the bytes
// pixels.raw and labels.raw with the weights parameters.raw (doubles), to gradient.raw, and the probabilities to
// probabilities.raw (doubles); all in FOLDER.
#include "StepFiles.h"
#include "execute/gigapixelGraphPasses.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>

using namespace gigapixel;
using namespace gigapixel_benchmark;

namespace
{

struct Image
{
  std::int64_t              side;
  int                       channels;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
};

Region
ToRegion(const Box & box)
{
  return { box[1].begin, box[0].begin, box[1].GetLength(), box[0].GetLength() };
}

/** Calls compute(data) for all tiles, one after the other. */
template <typename F>
void
ForEachTile(const GraphGeometry & geometry, const Image & image, std::int64_t tile, bool training, const F & compute)
{
  TileData data;
  for (std::int64_t y = 0; y < image.side; y += tile)
  {
    for (std::int64_t x = 0; x < image.side; x += tile)
    {
      const Box    core{ Interval{ y, std::min(y + tile, image.side) }, { x, std::min(x + tile, image.side) } };
      const auto   program = std::make_shared<TileProgram>(TileProgram::Make(geometry, core, training));
      const Region window = ToRegion(program->window);
      data.tile = { ToRegion(core), window, program };
      data.rows.first = image.pixels.data() + (window.y * image.side + window.x) * image.channels;
      data.rows.pitch = image.side * image.channels;
      data.classes.clear();
      for (std::int64_t row = core[0].begin; row < core[0].end; ++row)
      {
        const auto labels = image.labels.begin() + row * image.side;
        data.classes.insert(data.classes.end(), labels + core[1].begin, labels + core[1].end);
      }
      compute(data);
    }
  }
}

/** Row by row. */
std::vector<double>
Predict(const GraphPasses & passes, const GraphGeometry & geometry, const Image & image, std::int64_t tile)
{
  std::vector<float> probabilities(image.side * image.side);
  ForEachTile(geometry, image, tile, false, [&](TileData & data) {
    const Region & core = data.tile.core;
    passes.Predict(data, PixelValue::Probability, probabilities.data() + core.y * image.side + core.x, image.side);
  });
  return { probabilities.begin(), probabilities.end() };
}

void
Step(std::int64_t side, std::int64_t tile, const std::string & folder, int repeats, Precision precision)
{
  NetworkDescription      network;
  const std::vector<char> text = Read<char>(folder + "/graph.json");
  network.graph = NetworkGraph::FromJSON({ text.begin(), text.end() }, "output");
  network.channels = network.graph.GetInputChannels();
  network.invert = false;
  const Image image{
    side, network.channels, Read<std::uint8_t>(folder + "/pixels.raw"), Read<std::uint8_t>(folder + "/labels.raw")
  };
  const auto passes = MakeTorchGraphPasses(network, { -1, precision });
  passes->SetParameters(Read<double>(folder + "/parameters.raw"));
  const GraphGeometry geometry(network.graph, { side, side });
  const std::int64_t  before = GetBytes("VmRSS");
  FixedPointSum       sums(passes->GetNumberOfSums());
  double              leastCPU = 1e30;
  std::vector<double> gradient;
  LossTerms           terms;
  terms.weights = { 1, 1 };
  for (int i = 0; i < repeats; ++i)
  {
    const double cpu = GetCPUSeconds();
    LossSum      loss;
    sums.Clear();
    ForEachTile(geometry, image, tile, true, [&](TileData & data) { passes->AddGradient(data, terms, 1, loss, sums); });
    gradient = passes->GetGradient(sums);
    leastCPU = std::min(leastCPU, GetCPUSeconds() - cpu);
    for (double & value : gradient)
    {
      value /= loss.weight;
    }
  }
  Write(folder + "/gradient.raw", gradient);
  const std::int64_t peak = GetBytes("VmHWM");
  Write(folder + "/probabilities.raw", Predict(*passes, geometry, image, tile));
  std::cout << "{\"cpu_seconds\": " << leastCPU << ", \"peak_bytes\": " << peak << ", \"bytes_before\": " << before
            << "}" << std::endl;
}

} // namespace

int
main(int argc, char ** argv)
try
{
  if (argc != 6)
  {
    std::cerr << "GraphStep SIDE TILE FOLDER REPEATS PRECISION\n";
    return 2;
  }
  Step(std::stoll(argv[1]), std::stoll(argv[2]), argv[3], std::stoi(argv[4]), FindPrecision(argv[5]));
  return 0;
}
catch (const std::exception & error)
{
  std::cerr << "GraphStep: " << error.what() << '\n';
  return 1;
}
