/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMachinePace.h"
#include "gigapixelDiagnostic.h"
#include "model/gigapixelInitialWeights.h"
#include "gigapixelProcessMemory.h"
#include "execute/gigapixelRandom.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "graph/gigapixelExecutors.h"
#include "graph/gigapixelGraphGeometry.h"
#include "graph/gigapixelLabelings.h"
#include "gigapixelImageKind.h"

#include <algorithm>
#include <ctime>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Backward passes take longer than their operations say, beside forward ones: 1.4 for a U-Net, 1.2 for ResNets. */
constexpr double TimesOfTraining = 1.25;
constexpr double EnoughSeconds = 0.3; ///< that the plan says of a picture, so that the clock's steps are small

/** Noise: no two tiles or rows are alike. */
class NoisePixels : public PixelSource
{
public:
  NoisePixels(const Size & size, unsigned channels)
    : m_Size(size)
    , m_Channels(channels)
  {}

  Size
  GetSize() const override
  {
    return m_Size;
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
    std::generate_n(samples, region.width * region.height * region.depth * m_Channels, [&] {
      return static_cast<std::uint8_t>(random.Below(256));
    });
  }

private:
  const Size     m_Size;
  const unsigned m_Channels;
};

class NoLabels : public LabelSource
{
public:
  explicit NoLabels(const Size & size)
    : m_Size(size)
  {}

  Size
  GetSize() const override
  {
    return m_Size;
  }

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    std::fill_n(classes, region.width * region.height * region.depth, 0);
  }

private:
  const Size m_Size;
};

/** \class Picture
 * \brief A square or cube of noise in one tile, and what a plan says of it. */
struct Picture
{
  Picture(const NetworkDescription & network, Purpose purpose, Precision precision, std::int64_t side)
    : run(network, ToSize(Extent(network.graph.GetNumberOfAxes(), side)), purpose, { -1, precision })
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
  const UsualSides & sides = network.GetImageKind().sides;
  const std::int64_t least = RoundUp(sides.leastMeasured, network.GetStride());
  Picture            picture(network, purpose, precision, least);
  if (picture.plan.peakBytes > most)
  {
    throw Refusal(Diagnostic("E-MEMORY-BUDGET", "even a small picture would take more than the memory limit"));
  }
  while (picture.plan.coreSeconds < EnoughSeconds && 2 * picture.run.tileSize <= sides.greatestMeasured)
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
MeasurePicture(const Picture & picture)
{
  const NetworkDescription & network = picture.run.network;
  const Size                 size = picture.run.image;
  const int                  classes = network.GetNumberOfClasses();
  const Labeling &           labeling = Labeling::Of(network.graph);
  StreamedNetwork            streamed(network, picture.run.tileSize, 1, picture.run.device);
  streamed.SetParameters(MakeInitialWeights(network, 0, std::vector<double>(classes, 1.0 / classes)));
  const auto    noise = std::make_shared<NoisePixels>(size, network.channels);
  const auto    shown = Normalize(noise, network.normalization);
  PixelSource & pixels = *shown;
  NoLabels      labels(labeling.GetSize(size));
  const auto    compute = [&] {
    const std::clock_t begin = std::clock();
    LossGradient       sum;
    if (picture.run.purpose == Purpose::Training)
    {
      streamed.ComputeGradient(pixels, labels, sum);
    }
    else
    {
      streamed.Clear(); // each time all of it
      labeling.Predict(streamed, pixels);
    }
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  compute(); // compiles what it needs, and gets its memory
  return compute() / picture.plan.coreSeconds;
}

} // namespace

void
PixelLabeling::Predict(StreamedNetwork & streamed, PixelSource & pixels) const
{
  const Region              all = GetWhole(pixels.GetSize());
  std::vector<std::uint8_t> labels(all.width * all.height * all.depth);
  streamed.PredictLabels(pixels, all, 0.5, labels.data());
}

void
ImageLabeling::Predict(StreamedNetwork & streamed, PixelSource & pixels) const
{
  std::vector<float> values(streamed.GetNetwork().GetNumberOfOutputChannels());
  streamed.PredictImage(pixels, PixelValue::Logit, values.data());
}

MachinePace
MachinePace::Measure(const NetworkDescription & network, Precision precision, std::int64_t budget)
{
  return Executor::Of(network).MeasurePace(network, precision, budget);
}

/** Other precisions are a GPU's. */
MachinePace
FusedExecutor::MeasurePace(const NetworkDescription & network, Precision, std::int64_t budget) const
{
  MachinePace pace;
  pace.inference = MeasurePicture(ChoosePicture(network, Purpose::Inference, Precision::Float, budget));
  pace.training = MeasurePicture(ChoosePicture(network, Purpose::Training, Precision::Float, budget));
  return pace;
}

/** In a small picture, gradients of the weights would take a greater part than in larger tiles. */
MachinePace
TorchExecutor::MeasurePace(const NetworkDescription & network, Precision precision, std::int64_t budget) const
{
  MachinePace pace;
  pace.inference = MeasurePicture(ChoosePicture(network, Purpose::Inference, precision, budget));
  pace.training = TimesOfTraining * pace.inference;
  return pace;
}

} // namespace gigapixel
