/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMachinePace.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelPredictor.h"
#include "gigapixelRandom.h"
#include "schedule/gigapixelTileGrid.h"

#include <algorithm>
#include <ctime>

namespace gigapixel
{
namespace
{

constexpr std::int64_t LeastSide = 256, GreatestSide = 2048;
constexpr double       EnoughSeconds = 0.4; ///< that the plan says of a picture, so that the clock's steps are small

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

double
GetPlannedSeconds(const NetworkDescription & network, std::int64_t side)
{
  return MemoryPlan::Make(network, { side, side }, Purpose::Inference, 0, 1, side).coreSeconds;
}

} // namespace

double
MeasureMachinePace(const NetworkDescription & network)
{
  const std::int64_t stride = network.GetStride();
  std::int64_t       side = RoundUp(LeastSide, stride);
  while (2 * side <= GreatestSide && GetPlannedSeconds(network, side) < EnoughSeconds)
  {
    side *= 2;
  }
  const int                 classes = network.GetNumberOfClasses();
  const std::vector<double> shares(classes, 1.0 / classes);
  Predictor   predictor({ network, ToParameters(network, MakeInitialWeights(network, 0, shares)), 0, side }, 1);
  NoisePixels pixels(side, network.channels);
  std::vector<std::uint8_t> labels(side * side);
  const auto                predict = [&] {
    const std::clock_t begin = std::clock();
    predictor.PredictLabels(pixels, { 0, 0, side, side }, 0.5, labels.data());
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  predict(); // compiles what it needs, and gets its memory
  return std::min(predict(), predict()) / GetPlannedSeconds(network, side);
}

} // namespace gigapixel
