/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// GraphStep SIDE TILE FOLDER REPEATS
// Our part of compare_graphs.py, in one thread: gradient of the mean loss of the network graph.json over the bytes
// pixels.raw and labels.raw with the weights parameters.raw (doubles), to gradient.raw (doubles); all in FOLDER.
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

/** The sums of all tiles, one after the other. */
void
AddGradient(const GraphPasses &   passes,
            const GraphGeometry & geometry,
            const Image &         image,
            std::int64_t          tile,
            LossSum &             loss,
            FixedPointSum &       sums)
{
  LossTerms terms;
  TileData  data;
  terms.weights = { 1, 1 };
  for (std::int64_t y = 0; y < image.side; y += tile)
  {
    for (std::int64_t x = 0; x < image.side; x += tile)
    {
      const Box    core{ Interval{ y, std::min(y + tile, image.side) }, { x, std::min(x + tile, image.side) } };
      const auto   program = std::make_shared<TileProgram>(TileProgram::Make(geometry, core, true));
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
      passes.AddGradient(data, terms, 1, loss, sums);
    }
  }
}

void
Step(std::int64_t side, std::int64_t tile, const std::string & folder, int repeats)
{
  NetworkDescription      network;
  const std::vector<char> text = Read<char>(folder + "/graph.json");
  network.graph = NetworkGraph::FromJSON({ text.begin(), text.end() }, "output");
  network.channels = network.graph.GetInputChannels();
  network.invert = false;
  const Image image{
    side, network.channels, Read<std::uint8_t>(folder + "/pixels.raw"), Read<std::uint8_t>(folder + "/labels.raw")
  };
  const auto passes = MakeTorchGraphPasses(network, {});
  passes->SetParameters(Read<double>(folder + "/parameters.raw"));
  const GraphGeometry geometry(network.graph, { side, side });
  const std::int64_t  before = GetBytes("VmRSS");
  FixedPointSum       sums(passes->GetNumberOfSums());
  double              leastCPU = 1e30;
  std::vector<double> gradient;
  for (int i = 0; i < repeats; ++i)
  {
    const double cpu = GetCPUSeconds();
    LossSum      loss;
    sums.Clear();
    AddGradient(*passes, geometry, image, tile, loss, sums);
    gradient = passes->GetGradient(sums);
    leastCPU = std::min(leastCPU, GetCPUSeconds() - cpu);
    for (double & value : gradient)
    {
      value /= loss.weight;
    }
  }
  Write(folder + "/gradient.raw", gradient);
  std::cout << "{\"cpu_seconds\": " << leastCPU << ", \"peak_bytes\": " << GetBytes("VmHWM")
            << ", \"bytes_before\": " << before << "}" << std::endl;
}

} // namespace

int
main(int argc, char ** argv)
try
{
  if (argc != 5)
  {
    std::cerr << "GraphStep SIDE TILE FOLDER REPEATS\n";
    return 2;
  }
  Step(std::stoll(argv[1]), std::stoll(argv[2]), argv[3], std::stoi(argv[4]));
  return 0;
}
catch (const std::exception & error)
{
  std::cerr << "GraphStep: " << error.what() << '\n';
  return 1;
}
