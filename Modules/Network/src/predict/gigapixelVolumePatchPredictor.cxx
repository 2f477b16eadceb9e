/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePatchPredictor.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelExecutor.h"
#include "execute/gigapixelTilePasses.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelWorkers.h"
#include "graph/gigapixelParameterLayout.h"
#include "model/gigapixelModelFile.h"
#include "model/gigapixelValueRange.h"
#include "objective/gigapixelPixelwise.h"
#include "schedule/gigapixelVolumePatchGrid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** The nearest number of half precision (IEEE 754 binary16), halves to even ones. */
double
RoundToHalf(double value)
{
  constexpr int SignificantBits = 11, LeastExponent = -24;
  int           exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - SignificantBits, LeastExponent));
  return std::nearbyint(value / unit) * unit;
}

std::vector<double>
MakeBell(std::int64_t side)
{
  constexpr double    SigmaOfSide = 0.125;
  const double        sigma = SigmaOfSide * static_cast<double>(side);
  const std::int64_t  middle = side / 2;
  std::vector<double> along;
  for (std::int64_t i = 0; i < side; ++i)
  {
    const auto distance = static_cast<double>(i - middle);
    along.push_back(std::exp(-distance * distance / (2 * sigma * sigma)));
  }
  return along;
}

/** The greatest of them is 10, as nnU-Net has it, whose sums of half precision would lose what is smaller. */
std::vector<float>
MakeWeights(const VolumePatches & patches)
{
  constexpr double   Greatest = 10;
  const Size &       size = patches.size;
  std::vector<float> weights(static_cast<std::size_t>(size.width * size.height * size.depth), 1.0f);
  if (!patches.gaussian)
  {
    return weights;
  }
  const auto z = MakeBell(size.depth), y = MakeBell(size.height), x = MakeBell(size.width);
  auto       weight = weights.begin();
  float      least = static_cast<float>(Greatest);
  for (const double ofZ : z)
  {
    for (const double ofY : y)
    {
      for (const double ofX : x)
      {
        *weight = static_cast<float>(RoundToHalf(Greatest * ofZ * ofY * ofX));
        least = *weight > 0 ? std::min(least, *weight) : least;
        ++weight;
      }
    }
  }
  std::replace(weights.begin(), weights.end(), 0.0f, least);
  return weights;
}

/** Along which axes, z, y and x, a patch is mirrored. */
using Axes = std::array<bool, 3>;

/** Calls function(voxel, its mirror image) for all voxels, by their places in memory. */
template <typename TFunction>
void
ForEachMirrored(const Size & size, const Axes & axes, const TFunction & function)
{
  std::int64_t voxel = 0;
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    for (std::int64_t y = 0; y < size.height; ++y)
    {
      const std::int64_t row =
        ((axes[0] ? size.depth - 1 - z : z) * size.height + (axes[1] ? size.height - 1 - y : y)) * size.width;
      for (std::int64_t x = 0; x < size.width; ++x, ++voxel)
      {
        function(voxel, row + (axes[2] ? size.width - 1 - x : x));
      }
    }
  }
}

/** All but that along no axis, of few axes first. */
std::vector<Axes>
FindMirrors(const Axes & mirror)
{
  std::vector<Axes> found;
  for (const bool z : { false, true })
  {
    for (const bool y : { false, true })
    {
      for (const bool x : { false, true })
      {
        if ((z || y || x) && (mirror[0] || !z) && (mirror[1] || !y) && (mirror[2] || !x))
        {
          found.push_back({ z, y, x });
        }
      }
    }
  }
  return found;
}

} // namespace

struct VolumePatchPredictor::Implementation
{
  using Logits = std::vector<float>; ///< channels interleaved

  /** What one thread computes with. */
  struct Worker
  {
    TileData           data;
    std::vector<float> voxels; ///< of the patch, where it is mirrored as well
    Logits             mirrored;
  };

  /** Sums over patches for some slices: of each voxel the weighted logits, then the weights. */
  struct Slab
  {
    std::int64_t       begin{ 0 }; ///< the first slice that is in it
    std::vector<float> sums;
  };

  Implementation(const Model & model, const VolumePatches & asked, int threads, Device device)
    : network(model.network)
    , patches(asked)
    , channels(network.GetNumberOfOutputChannels())
    , mirrors(FindMirrors(asked.mirror))
    , tiles(Executor::Of(network).MakePasses(network, device))
    , patch(TileGrid(network, asked.size, WholeImage).GetTile(0))
    , weights(MakeWeights(asked))
    , workers(threads)
    , data(static_cast<std::size_t>(workers.GetNumberOfThreads()))
  {
    tiles->SetParameters(ToArray(model));
  }

  /** Around the volume lies what the network sees as 0. */
  void
  Read(PixelSource & volume, const Region & place, TileData & tile) const
  {
    const Region       real = Intersect(place, GetWhole(volume.GetSize()));
    const std::int64_t values = network.channels;
    const std::int64_t pitch = place.width * values * static_cast<std::int64_t>(sizeof(float));
    tile.tile = patch;
    tile.sampleType = SampleType::Float;
    tile.pixels.resize(static_cast<std::size_t>(pitch * place.height * place.depth));
    tile.rows = { tile.pixels.data(), pitch, pitch * place.height };
    if (real.width == place.width && real.height == place.height && real.depth == place.depth)
    {
      return volume.Read(real, tile.pixels.data());
    }
    auto * const all = reinterpret_cast<float *>(tile.pixels.data());
    for (std::int64_t i = 0; i < place.width * place.height * place.depth * values; ++i)
    {
      all[i] = network.mean.empty() ? 0.0f : static_cast<float>(network.mean[static_cast<std::size_t>(i % values)]);
    }
    std::vector<float> inside(static_cast<std::size_t>(real.width * real.height * real.depth * values));
    volume.Read(real, reinterpret_cast<std::uint8_t *>(inside.data()));
    auto row = inside.cbegin();
    for (std::int64_t z = real.z - place.z; z < real.z - place.z + real.depth; ++z)
    {
      for (std::int64_t y = real.y - place.y; y < real.y - place.y + real.height; ++y, row += real.width * values)
      {
        std::copy_n(row, real.width * values, all + ((z * place.height + y) * place.width + real.x - place.x) * values);
      }
    }
  }

  /** The mean of those of the patch and of its mirror images, mirrored back. */
  void
  ComputeLogits(Worker & worker, Logits & logits) const
  {
    const Size &         size = patches.size;
    const std::ptrdiff_t pitch = size.width * channels;
    logits.resize(weights.size() * static_cast<std::size_t>(channels));
    tiles->Predict(worker.data, PixelValue::Logit, logits.data(), pitch);
    if (mirrors.empty())
    {
      return;
    }
    const int    values = network.channels;
    auto * const seen = reinterpret_cast<float *>(worker.data.pixels.data());
    worker.voxels.assign(seen, seen + weights.size() * static_cast<std::size_t>(values));
    worker.mirrored.resize(logits.size());
    for (const Axes & axes : mirrors)
    {
      ForEachMirrored(size, axes, [&](std::int64_t to, std::int64_t from) {
        std::copy_n(worker.voxels.begin() + from * values, values, seen + to * values);
      });
      tiles->Predict(worker.data, PixelValue::Logit, worker.mirrored.data(), pitch);
      ForEachMirrored(size, axes, [&](std::int64_t to, std::int64_t from) {
        for (int c = 0; c < channels; ++c)
        {
          logits[static_cast<std::size_t>(to * channels + c)] +=
            worker.mirrored[static_cast<std::size_t>(from * channels + c)];
        }
      });
    }
    const auto views = static_cast<float>(patches.GetNumberOfViews());
    std::transform(logits.begin(), logits.end(), logits.begin(), [views](float sum) { return sum / views; });
  }

  void
  Add(const Region & place, const Logits & logits, const Size & volume, Slab & slab) const
  {
    const Region part = Intersect(place, GetWhole(volume));
    for (std::int64_t z = part.z; z < part.z + part.depth; ++z)
    {
      for (std::int64_t y = part.y; y < part.y + part.height; ++y)
      {
        const std::int64_t from = ((z - place.z) * place.height + y - place.y) * place.width + part.x - place.x;
        const std::int64_t to = ((z - slab.begin) * volume.height + y) * volume.width + part.x;
        const float *      weight = weights.data() + from;
        const float *      logit = logits.data() + from * channels;
        float *            sum = slab.sums.data() + to * (channels + 1);
        for (std::int64_t x = 0; x < part.width; ++x, ++weight)
        {
          for (int c = 0; c < channels; ++c)
          {
            *sum++ += *weight * *logit++;
          }
          *sum++ += *weight;
        }
      }
    }
  }

  /** Slices before this one are complete: they are given, and make room for later ones. */
  void
  Finish(std::int64_t end, const Size & volume, Slab & slab, const Take & take) const
  {
    const std::int64_t number = std::min(end, volume.depth) - slab.begin;
    if (number <= 0)
    {
      return;
    }
    const std::int64_t voxels = volume.width * volume.height, values = voxels * (channels + 1);
    Logits             logits(static_cast<std::size_t>(voxels * channels));
    for (std::int64_t slice = 0; slice < number; ++slice)
    {
      const float * sum = slab.sums.data() + slice * values;
      for (auto z = logits.begin(); z != logits.end(); z += channels, sum += channels + 1)
      {
        std::transform(sum, sum + channels, z, [weight = sum[channels]](float value) { return value / weight; });
      }
      take(slab.begin + slice, logits);
    }
    const auto rest = std::copy(slab.sums.begin() + number * values, slab.sums.end(), slab.sums.begin());
    std::fill(rest, slab.sums.end(), 0.0f);
    slab.begin += number;
  }

  NetworkDescription          network;
  VolumePatches               patches;
  int                         channels; ///< of the output
  std::vector<Axes>           mirrors;
  std::unique_ptr<TilePasses> tiles;
  Tile                        patch;   ///< a volume of one tile
  std::vector<float>          weights; ///< of a patch's voxels
  Workers                     workers;
  std::vector<Worker>         data; ///< of each worker
};

VolumePatchPredictor::VolumePatchPredictor(const Model &         model,
                                           const VolumePatches & patches,
                                           int                   threads,
                                           Device                device)
{
  model.network.Validate();
  patches.Validate(model.network);
  CheckParameters(model);
  m_Implementation = std::make_unique<Implementation>(model, patches, GetNumberOfThreads(threads), device);
}

VolumePatchPredictor::~VolumePatchPredictor() = default;

bool
VolumePatchPredictor::PredictLogits(PixelSource & volume, const Take & take, const Progress & progress)
{
  Implementation & self = *m_Implementation;
  self.network.CheckChannels(volume);
  if (volume.GetSampleType() != SampleType::Float)
  {
    throw InvalidArgument(
      Diagnostic("E-MODEL-INPUT", "the voxels of patches are floats, and those of this source are bytes"));
  }
  const Size            size = volume.GetSize();
  const VolumePatchGrid grid(self.patches, size);
  const std::int64_t    number = grid.GetNumber(), depth = std::min(size.depth, self.patches.size.depth);
  Implementation::Slab  slab;
  slab.sums.resize(static_cast<std::size_t>(depth * size.height * size.width * (self.channels + 1)));
  std::vector<Implementation::Logits> results(static_cast<std::size_t>(self.workers.GetNumberOfPlaces()));
  const auto                          getResult = [&results](std::int64_t index) -> Implementation::Logits & {
    return results[static_cast<std::size_t>(index) % results.size()];
  };
  const bool finished = self.workers.Run(
    number,
    [&](int worker, std::int64_t index) {
      Implementation::Worker & own = self.data[static_cast<std::size_t>(worker)];
      self.Read(volume, grid.GetPatch(index), own.data);
      self.ComputeLogits(own, getResult(index));
    },
    [&](std::int64_t index) {
      const Region place = grid.GetPatch(index);
      self.Finish(place.z, size, slab, take);
      self.Add(place, getResult(index), size, slab);
      getResult(index) = Implementation::Logits();
      return !progress || progress(static_cast<double>(index + 1) / static_cast<double>(number));
    });
  if (finished)
  {
    self.Finish(size.depth, size, slab, take);
  }
  return finished;
}

bool
VolumePatchPredictor::PredictLabels(PixelSource &    volume,
                                    double           threshold,
                                    std::uint8_t *   labels,
                                    const Progress & progress)
{
  const Size size = volume.GetSize();
  const auto take = [&](std::int64_t z, const std::vector<float> & logits) {
    this->GetLabels(logits, threshold, labels + z * size.width * size.height);
  };
  return this->PredictLogits(volume, take, progress);
}

void
VolumePatchPredictor::GetLabels(const std::vector<float> & logits, double threshold, std::uint8_t * labels) const
{
  const int  channels = m_Implementation->channels;
  const auto least = static_cast<float>(std::log(threshold / (1 - threshold)));
  for (auto z = logits.begin(); z != logits.end(); z += channels)
  {
    const LogitsOfPixel<const float> ofVoxel(&*z, 1, channels);
    *labels++ = static_cast<std::uint8_t>(channels == 1 ? ofVoxel[0] >= least : ofVoxel.GetLabel());
  }
}

} // namespace gigapixel
