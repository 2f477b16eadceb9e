/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMachinePace.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelRandom.h"
#include "gigapixelStreamedNetwork.h"

#include <algorithm>
#include <ctime>

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

double
GetPlannedSeconds(const NetworkDescription & network, Purpose purpose, Precision precision, std::int64_t side)
{
  return MemoryPlan::Make(network, { side, side }, purpose, 0, 1, side, precision).coreSeconds;
}

} // namespace

double
MeasureMachinePace(const NetworkDescription & network, Purpose purpose, Precision precision)
{
  if (network.graph.IsEmpty())
  {
    precision = Precision::Float; // the others are a GPU's
  }
  if (purpose == Purpose::Training && !network.graph.IsEmpty())
  {
    // Of the picture's tile, gradients of the weights would take a greater part than of larger tiles.
    return TimesOfTraining * MeasureMachinePace(network, Purpose::Inference, precision);
  }
  std::int64_t side = RoundUp(LeastSide, network.GetStride());
  while (2 * side <= GreatestSide && GetPlannedSeconds(network, purpose, precision, side) < EnoughSeconds)
  {
    side *= 2;
  }
  const int       classes = network.GetNumberOfClasses();
  StreamedNetwork streamed(network, side, 1, { -1, precision });
  streamed.SetParameters(MakeInitialWeights(network, 0, std::vector<double>(classes, 1.0 / classes)));
  NoisePixels               pixels(side, network.channels);
  NoLabels                  labels(side);
  std::vector<std::uint8_t> found(side * side);
  const auto                compute = [&] {
    const std::clock_t begin = std::clock();
    LossGradient       sum;
    purpose == Purpose::Training ? streamed.ComputeGradient(pixels, labels, sum)
                                                      : streamed.PredictLabels(pixels, { 0, 0, side, side }, 0.5, found.data());
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  compute(); // compiles what it needs, and gets its memory
  return compute() / GetPlannedSeconds(network, purpose, precision, side);
}

} // namespace gigapixel
