/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// GraphStep SIDE TILE FOLDER REPEATS PRECISION [DEVICE]
// Our part of compare_graphs.py, in one thread: gradient of the mean loss of the network graph.json over the bytes
// pixels.raw and labels.raw with the weights parameters.raw (doubles), to gradient.raw, and the probabilities to
// probabilities.raw (doubles); all in FOLDER. Of a network that labels images labels.raw is one byte.
#include "StepFiles.h"
#include "execute/gigapixelGraphPasses.h"
#include "objective/gigapixelLoss.h"
#include "gigapixelOneLabelSource.h"
#include "execute/gigapixelStreamedNetwork.h"

#include <algorithm>
#include <chrono>
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

/** What a step costs and yields. */
struct Measured
{
  std::int64_t        bytesBefore{ 0 }, peak{ 0 };
  double              cpuSeconds{ 1e30 }; ///< the least of all repeats
  double              wallSeconds{ 1e30 };
  std::vector<double> gradient, probabilities;
};

/** One tile after the other, without anything else of a training. */
Measured
StepOnPixels(const NetworkDescription &  network,
             const std::vector<double> & parameters,
             const Image &               image,
             std::int64_t                tile,
             int                         repeats,
             const Device &              device)
{
  const auto passes = MakeTorchGraphPasses(network, device);
  passes->SetParameters(parameters);
  const GraphGeometry geometry(network.graph, { image.side, image.side });
  Measured            measured;
  measured.bytesBefore = GetBytes("VmRSS");
  FixedPointSum sums(passes->GetNumberOfSums());
  LossTerms     terms;
  Workers       workers(1);
  terms.weights = { 1, 1 };
  for (int i = 0; i < repeats; ++i)
  {
    const double cpu = GetCPUSeconds();
    const auto   begin = std::chrono::steady_clock::now();
    LossSum      loss;
    sums.Clear();
    ForEachTile(geometry, image, tile, true, [&](TileData & data) { passes->AddGradient(data, terms, 1, loss, sums); });
    measured.gradient = passes->GetGradient(sums, workers);
    measured.cpuSeconds = std::min(measured.cpuSeconds, GetCPUSeconds() - cpu);
    measured.wallSeconds =
      std::min(measured.wallSeconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    for (double & value : measured.gradient)
    {
      value /= loss.weight;
    }
  }
  measured.peak = GetBytes("VmHWM");
  measured.probabilities = Predict(*passes, geometry, image, tile);
  return measured;
}

class MemoryPixels : public PixelSource
{
public:
  explicit MemoryPixels(const Image & image)
    : m_Image(image)
  {}

  Size
  GetSize() const override
  {
    return { m_Image.side, m_Image.side };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return static_cast<unsigned>(m_Image.channels);
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += region.width * m_Image.channels)
    {
      std::copy_n(m_Image.pixels.begin() + (y * m_Image.side + region.x) * m_Image.channels,
                  region.width * m_Image.channels,
                  samples);
    }
  }

private:
  const Image & m_Image;
};

/** As a training goes over an image, in the segments that its plan takes for the tile, in one thread. */
Measured
StepOnImage(const NetworkDescription &  network,
            const std::vector<double> & parameters,
            const Image &               image,
            std::int64_t                tile,
            int                         repeats,
            const Device &              device)
{
  PlannedRun run(network, { image.side, image.side }, Purpose::Training, device);
  run.threads = 1;
  run.tileSize = tile;
  const MemoryPlan plan = MemoryPlan::Make(run);
  StreamedNetwork  streamed(network, plan.tileSize, 1, device);
  streamed.SetSegments(plan.segments, "");
  streamed.SetParameters(parameters);
  MemoryPixels   pixels(image);
  OneLabelSource label(image.labels.front());
  Measured       measured;
  measured.bytesBefore = GetBytes("VmRSS");
  for (int i = 0; i < repeats; ++i)
  {
    const double cpu = GetCPUSeconds();
    const auto   begin = std::chrono::steady_clock::now();
    LossGradient sum;
    streamed.ComputeGradient(pixels, label, sum);
    measured.gradient = sum.gradient;
    measured.cpuSeconds = std::min(measured.cpuSeconds, GetCPUSeconds() - cpu);
    measured.wallSeconds =
      std::min(measured.wallSeconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    for (double & value : measured.gradient)
    {
      value /= sum.weight;
    }
  }
  measured.peak = GetBytes("VmHWM");
  std::vector<float> probabilities(static_cast<std::size_t>(network.GetNumberOfOutputChannels()));
  streamed.PredictImage(pixels, PixelValue::Probability, probabilities.data());
  measured.probabilities.assign(probabilities.begin(), probabilities.end());
  return measured;
}

void
Step(std::int64_t side, std::int64_t tile, const std::string & folder, int repeats, const Device & device)
{
  NetworkDescription      network;
  const std::vector<char> text = Read<char>(folder + "/graph.json");
  network.graph = NetworkGraph::FromJSON({ text.begin(), text.end() }, "output");
  network.channels = network.graph.GetInputChannels();
  network.invert = false;
  const Image image{
    side, network.channels, Read<std::uint8_t>(folder + "/pixels.raw"), Read<std::uint8_t>(folder + "/labels.raw")
  };
  const auto     parameters = Read<double>(folder + "/parameters.raw");
  const auto     step = network.LabelsImage() ? StepOnImage : StepOnPixels;
  const Measured measured = step(network, parameters, image, tile, repeats, device);
  PlannedRun     run(network, { side, side }, Purpose::Training, device);
  run.tileSize = tile;
  const MemoryPlan plan = MemoryPlan::Make(run);
  Write(folder + "/gradient.raw", measured.gradient);
  Write(folder + "/probabilities.raw", measured.probabilities);
  std::cout << "{\"cpu_seconds\": " << measured.cpuSeconds << ", \"peak_bytes\": " << measured.peak
            << ", \"bytes_before\": " << measured.bytesBefore << ", \"wall_seconds\": " << measured.wallSeconds
            << ", \"gpu_bytes\": " << device.GetPeakBytes().value_or(0)
            << ", \"gpu_planned\": " << (device.cuda < 0 ? 0 : plan.deviceBytes + plan.deviceWorkspaceBytes) << "}"
            << std::endl;
}

} // namespace

int
main(int argc, char ** argv)
try
{
  if (argc != 6 && argc != 7)
  {
    std::cerr << "GraphStep SIDE TILE FOLDER REPEATS PRECISION [DEVICE]\n";
    return 2;
  }
  Step(std::stoll(argv[1]),
       std::stoll(argv[2]),
       argv[3],
       std::stoi(argv[4]),
       Device::Find(argc == 7 ? argv[6] : "cpu", argv[5]));
  return 0;
}
catch (const std::exception & error)
{
  std::cerr << "GraphStep: " << error.what() << '\n';
  return 1;
}
