/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMachinePace.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelRandom.h"
#include "gigapixelStreamedNetwork.h"

#include <algorithm>
#include <ctime>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::int64_t LeastSide = 256, GreatestSide = 2048;
/** Backward passes take longer than their operations say, beside forward ones: 1.4 for a U-Net, 1.2 for ResNets. */
constexpr double TimesOfTraining = 1.25;
constexpr double EnoughSeconds = 0.3; ///< that the plan says of a picture, so that the clock's steps are small

/** Noise: no two tiles or rows are alike. */
class NoisePixels : public PixelSource
{
public:
  NoisePixels(std::int64_t side, unsigned channels)
    : m_Side(side)
    , m_Channels(channels)
  {}

  Size
  GetSize() const override
  {
    return { m_Side, m_Side };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    Random random(0, Random::Purpose::Order, 0);
    std::generate_n(
      samples, region.width * region.height * m_Channels, [&] { return static_cast<std::uint8_t>(random.Below(256)); });
  }

private:
  const std::int64_t m_Side;
  const unsigned     m_Channels;
};

class NoLabels : public LabelSource
{
public:
  explicit NoLabels(std::int64_t side)
    : m_Side(side)
  {}

  Size
  GetSize() const override
  {
    return { m_Side, m_Side };
  }

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    std::fill_n(classes, region.width * region.height, 0);
  }

private:
  const std::int64_t m_Side;
};

/** \class Picture
 * \brief A square of noise in one tile, and what a plan says of it. */
struct Picture
{
  Picture(const NetworkDescription & network, Purpose purpose, Precision precision, std::int64_t side)
    : run(network, { side, side }, purpose, { -1, precision })
  {
    run.budget = std::int64_t{ 1 } << 60;
    run.threads = 1;
    run.tileSize = side;
    plan = MemoryPlan::Make(run);
  }

  PlannedRun run;
  MemoryPlan plan;
};

/** One that takes long enough, if it fits the budget. */
Picture
ChoosePicture(const NetworkDescription & network, Purpose purpose, Precision precision, std::int64_t budget)
{
  const std::int64_t most = budget > 0 ? budget - budget / 8 : GetMachineBytes() / 2; // a plan is an estimate
  Picture            picture(network, purpose, precision, RoundUp(LeastSide, network.GetStride()));
  if (picture.plan.peakBytes > most)
  {
    throw std::runtime_error("even a small picture would take more than the memory limit");
  }
  while (picture.plan.coreSeconds < EnoughSeconds && 2 * picture.run.tileSize <= GreatestSide)
  {
    Picture larger(network, purpose, precision, 2 * picture.run.tileSize);
    if (larger.plan.peakBytes > most)
    {
      break;
    }
    picture = std::move(larger);
  }
  return picture;
}

/** Seconds for each one that is planned. */
double
MeasurePace(const Picture & picture)
{
  const NetworkDescription & network = picture.run.network;
  const std::int64_t         side = picture.run.tileSize;
  const int                  classes = network.GetNumberOfClasses();
  StreamedNetwork            streamed(network, side, 1, picture.run.device);
  streamed.SetParameters(MakeInitialWeights(network, 0, std::vector<double>(classes, 1.0 / classes)));
  NoisePixels               pixels(side, network.channels);
  NoLabels                  labels(side);
  std::vector<std::uint8_t> found(side * side);
  const auto                predict = [&] {
    std::vector<float> values(network.GetNumberOfOutputChannels());
    streamed.Clear(); // each time all of it
    network.LabelsImage() ? streamed.PredictImage(pixels, PixelValue::Logit, values.data())
                                         : streamed.PredictLabels(pixels, { 0, 0, side, side }, 0.5, found.data());
  };
  const auto compute = [&] {
    const std::clock_t begin = std::clock();
    LossGradient       sum;
    if (picture.run.purpose == Purpose::Training)
    {
      streamed.ComputeGradient(pixels, labels, sum);
    }
    else
    {
      predict();
    }
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  compute(); // compiles what it needs, and gets its memory
  return compute() / picture.plan.coreSeconds;
}

} // namespace

MachinePace
MachinePace::Measure(const NetworkDescription & network, Precision precision, std::int64_t budget)
{
  const bool      isChain = network.graph.IsEmpty();
  const Precision used = isChain ? Precision::Float : precision; // of a chain the others are a GPU's
  MachinePace     pace;
  pace.inference = MeasurePace(ChoosePicture(network, Purpose::Inference, used, budget));
  // Of a graph's picture, gradients of the weights would take a greater part than of larger tiles.
  pace.training =
    isChain ? MeasurePace(ChoosePicture(network, Purpose::Training, used, budget)) : TimesOfTraining * pace.inference;
  return pace;
}

} // namespace gigapixel
