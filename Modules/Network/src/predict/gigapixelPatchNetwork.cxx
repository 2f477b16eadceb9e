/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPatchNetwork.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelExecutor.h"
#include "gigapixelMemoryPlan.h"
#include "objective/gigapixelLoss.h"
#include "objective/gigapixelPixelwise.h"
#include "maps/gigapixelEqualTiles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** The background of a slide. */
constexpr std::uint8_t White = 255;

std::vector<float>
MakeWeights(const Patches & patches)
{
  constexpr float    SigmaOfSide = 0.125f, LeastWeight = 1e-3f;
  const auto         side = static_cast<std::size_t>(patches.side);
  std::vector<float> weights(side * side, 1.0f);
  if (patches.blending == Patches::Blending::Constant)
  {
    return weights;
  }
  std::vector<float> along(side);
  const float        sigma = SigmaOfSide * static_cast<float>(side);
  for (std::size_t i = 0; i < side; ++i)
  {
    const float distance = static_cast<float>(i) - static_cast<float>(side - 1) / 2;
    along[i] = std::exp(-distance * distance / (2 * sigma * sigma));
  }
  // The corners' would be lost in the sums.
  const float least = std::max(along.front() * along.front(), LeastWeight);
  for (std::size_t i = 0; i < weights.size(); ++i)
  {
    weights[i] = std::max(along[i / side] * along[i % side], least);
  }
  return weights;
}

/** Mirrors a square left to right. \param values of each pixel */
template <typename T>
void
MirrorColumns(std::vector<T> & square, std::int64_t side, std::int64_t values)
{
  for (std::int64_t y = 0; y < side; ++y)
  {
    const auto row = square.begin() + y * side * values;
    for (std::int64_t left = 0, right = side - 1; left < right; ++left, --right)
    {
      std::swap_ranges(row + left * values, row + (left + 1) * values, row + right * values);
    }
  }
}

/** Top to bottom. */
template <typename T>
void
MirrorRows(std::vector<T> & square, std::int64_t side, std::int64_t values)
{
  const std::int64_t row = side * values;
  for (std::int64_t top = 0, bottom = side - 1; top < bottom; ++top, --bottom)
  {
    std::swap_ranges(square.begin() + top * row, square.begin() + (top + 1) * row, square.begin() + bottom * row);
  }
}

} // namespace

PatchNetwork::PatchNetwork(const NetworkDescription & network,
                           const Patches &            patches,
                           int                        patchesInFlight,
                           Device                     device)
  : m_Network(network)
  , m_Patches(patches)
  , m_Tiles(Executor::Of(m_Network).MakePasses(m_Network, device))
  , m_Patch(TileGrid(m_Network, { patches.side, patches.side }, WholeImage).GetTile(0))
  , m_Weights(MakeWeights(patches))
  , m_Workers(patchesInFlight)
  , m_Data(m_Workers.GetNumberOfThreads())
{}

void
PatchNetwork::SetParameters(const std::vector<double> & parameters)
{
  m_Tiles->SetParameters(parameters);
  m_UniformColor.clear();
  m_UniformLogits.reset();
  this->Clear();
}

void
PatchNetwork::Clear()
{
  m_Below = BlendedRows{};
}

std::int64_t
PatchNetwork::GetPixelBytes() const
{
  return m_Network.channels * m_Network.GetSampleBytes();
}

/** Whether what is kept is what this region begins with. */
bool
PatchNetwork::GoesOn(const Region & region, Size image) const
{
  const Region & kept = m_Below.region;
  return !m_Below.sums.empty() && m_Below.image.width == image.width && m_Below.image.height == image.height &&
         kept.x == region.x && kept.width == region.width && kept.y == region.y;
}

Region
PatchNetwork::GetInputRegion(const Region & region, Size image) const
{
  const PatchGrid    grid(m_Patches, image);
  const std::int64_t first = GoesOn(region, image) ? m_Below.nextPatch : grid.rows.GetFirstWith(region.y);
  return first < grid.rows.GetFirstFrom(region.y + region.height) ? grid.GetInputRegion(region, first, m_Patches, image)
                                                                  : Region{};
}

PatchNetwork::BlendedRows
PatchNetwork::BeginRows(const Region & region, const PatchGrid & grid, Size image)
{
  if (GoesOn(region, image))
  {
    return std::move(m_Below);
  }
  m_Below = BlendedRows{};
  const std::int64_t values = m_Network.GetNumberOfOutputChannels() + 1;
  const Region       rows{ region.x, region.y, region.width, m_Patches.side };
  return { image, rows, grid.rows.GetFirstWith(region.y), std::vector<float>(rows.width * rows.height * values) };
}

void
PatchNetwork::Check(const PixelSource & pixels, const Region & region) const
{
  m_Network.CheckChannels(pixels);
  const Size   size = pixels.GetSize();
  const Region inside = Intersect(region, { 0, 0, size.width, size.height });
  if (region.width < 1 || region.height < 1 || inside.width != region.width || inside.height != region.height)
  {
    throw InvalidArgument(Diagnostic("E-REGION", "the region is not a part of the image"));
  }
}

/** White where there is no image; of floats, which have no white, 0. */
void
PatchNetwork::ReadPatch(PixelSource & pixels, const Region & place, TileData & data) const
{
  const Size         size = pixels.GetSize();
  const std::int64_t pixel = this->GetPixelBytes(), row = m_Patches.side * pixel;
  const Region       real = Intersect(place, { 0, 0, size.width, size.height });
  data.tile = m_Patch;
  data.sampleType = pixels.GetSampleType();
  data.pixels.resize(row * m_Patches.side);
  data.rows = { data.pixels.data() + m_Patch.window.y * row + m_Patch.window.x * pixel, row };
  if (real.width == place.width && real.height == place.height)
  {
    return pixels.Read(real, data.pixels.data());
  }
  std::vector<std::uint8_t> samples(real.width * real.height * pixel);
  pixels.Read(real, samples.data());
  std::fill(data.pixels.begin(), data.pixels.end(), data.sampleType == SampleType::UInt8 ? White : std::uint8_t{ 0 });
  for (std::int64_t y = 0; y < real.height; ++y)
  {
    std::copy_n(samples.begin() + y * real.width * pixel,
                real.width * pixel,
                data.pixels.begin() + (real.y - place.y + y) * row + (real.x - place.x) * pixel);
  }
}

void
PatchNetwork::ComputeLogits(Worker & worker, Logits & logits) const
{
  const std::int64_t side = m_Patches.side, channels = m_Network.GetNumberOfOutputChannels();
  TileData &         data = worker.data;
  logits.resize(side * side * channels);
  m_Tiles->Predict(data, PixelValue::Logit, logits.data(), side * channels);
  if (!m_Patches.mirror)
  {
    return;
  }
  // Pixels and sum are mirrored together, from one of the four to the next one, and back.
  for (const bool columns : { true, false, true })
  {
    columns ? MirrorColumns(data.pixels, side, this->GetPixelBytes())
            : MirrorRows(data.pixels, side, this->GetPixelBytes());
    columns ? MirrorColumns(logits, side, channels) : MirrorRows(logits, side, channels);
    worker.mirrored.resize(logits.size());
    m_Tiles->Predict(data, PixelValue::Logit, worker.mirrored.data(), side * channels);
    std::transform(logits.begin(), logits.end(), worker.mirrored.begin(), logits.begin(), std::plus<>());
  }
  MirrorRows(logits, side, channels);
  std::transform(logits.begin(), logits.end(), logits.begin(), [](float sum) { return 0.25f * sum; });
}

std::shared_ptr<const PatchNetwork::Logits>
PatchNetwork::Compute(PixelSource & pixels, const Region & place, Worker & worker)
{
  this->ReadPatch(pixels, place, worker.data);
  const std::int64_t              side = m_Patches.side, pixel = this->GetPixelBytes();
  const bool                      uniform = IsUniform({ worker.data.pixels.data(), side * pixel }, side, side, pixel);
  const std::vector<std::uint8_t> color(worker.data.pixels.begin(), worker.data.pixels.begin() + pixel);
  if (uniform)
  {
    const std::lock_guard<std::mutex> lock(m_UniformMutex);
    if (m_UniformLogits && m_UniformColor == color)
    {
      return m_UniformLogits;
    }
  }
  const auto logits = std::make_shared<Logits>();
  this->ComputeLogits(worker, *logits);
  if (uniform)
  {
    const std::lock_guard<std::mutex> lock(m_UniformMutex);
    m_UniformColor = color;
    m_UniformLogits = logits;
  }
  return logits;
}

void
PatchNetwork::Add(const Region & place, const Logits & logits, BlendedRows & rows) const
{
  const std::int64_t channels = m_Network.GetNumberOfOutputChannels();
  const Region       part = Intersect(place, rows.region);
  for (std::int64_t y = part.y; y < part.y + part.height; ++y)
  {
    const std::int64_t from = (y - place.y) * m_Patches.side + part.x - place.x;
    const std::int64_t to = (y - rows.region.y) * rows.region.width + part.x - rows.region.x;
    const float *      weight = m_Weights.data() + from;
    const float *      z = logits.data() + from * channels;
    float *            sum = rows.sums.data() + to * (channels + 1);
    for (std::int64_t x = 0; x < part.width; ++x, ++weight)
    {
      for (std::int64_t c = 0; c < channels; ++c)
      {
        *sum++ += *weight * *z++;
      }
      *sum++ += *weight;
    }
  }
}

/** Rows up to this one are complete: those of the region are given, and all of them make room for later ones. */
template <typename TFinish>
void
PatchNetwork::FinishRows(BlendedRows & rows, const Region & region, std::int64_t end, const TFinish & finish) const
{
  const std::int64_t channels = m_Network.GetNumberOfOutputChannels(), row = rows.region.width * (channels + 1);
  const std::int64_t number = std::min(end, region.y + region.height) - rows.region.y;
  if (number <= 0)
  {
    return;
  }
  std::vector<float> logits(rows.region.width * channels);
  for (std::int64_t y = 0; y < number; ++y)
  {
    const float * sum = rows.sums.data() + y * row;
    for (auto z = logits.begin(); z != logits.end(); z += channels, sum += channels + 1)
    {
      std::transform(sum, sum + channels, z, [weight = sum[channels]](float value) { return value / weight; });
    }
    finish(logits, rows.region.y + y - region.y);
  }
  std::fill(std::copy(rows.sums.begin() + number * row, rows.sums.end(), rows.sums.begin()), rows.sums.end(), 0.0f);
  rows.region.y += number;
}

template <typename TFinish>
bool
PatchNetwork::Blend(PixelSource & pixels, const Region & region, const Progress & progress, const TFinish & finish)
{
  this->Check(pixels, region);
  const Size         image = pixels.GetSize();
  const PatchGrid    grid(m_Patches, image);
  BlendedRows        rows = this->BeginRows(region, grid, image);
  const std::int64_t firstColumn = grid.columns.GetFirstWith(region.x);
  const std::int64_t columns = grid.columns.GetFirstFrom(region.x + region.width) - firstColumn;
  const std::int64_t firstRow = rows.nextPatch;
  const std::int64_t endRow = std::max(firstRow, grid.rows.GetFirstFrom(region.y + region.height));
  const std::int64_t patches = (endRow - firstRow) * columns;
  const auto         getPlace = [&](std::int64_t index) {
    return Region{ grid.columns.GetBegin(firstColumn + index % columns),
                   grid.rows.GetBegin(firstRow + index / columns),
                   m_Patches.side,
                   m_Patches.side };
  };
  std::vector<std::shared_ptr<const Logits>> results(m_Workers.GetNumberOfPlaces());
  const bool                                 finished = m_Workers.Run(
    patches,
    [&](int worker, std::int64_t index) {
      results[index % results.size()] = this->Compute(pixels, getPlace(index), m_Data[worker]);
    },
    [&](std::int64_t index) {
      const Region place = getPlace(index);
      FinishRows(rows, region, place.y, finish);
      this->Add(place, *results[index % results.size()], rows);
      results[index % results.size()].reset();
      return !progress || progress(static_cast<double>(index + 1) / static_cast<double>(patches));
    });
  if (!finished)
  {
    return false;
  }
  FinishRows(rows, region, region.y + region.height, finish);
  rows.nextPatch = endRow;
  if (rows.region.y < image.height)
  {
    m_Below = std::move(rows);
  }
  return true;
}

bool
PatchNetwork::Predict(PixelSource & pixels, const Region & region, float * probabilities, const Progress & progress)
{
  const int          channels = m_Network.GetNumberOfOutputChannels();
  const std::int64_t pitch = region.width * channels;
  const PixelValue   value = GetPredictedValue(m_Network);
  return this->Blend(pixels, region, progress, [&](const Logits & logits, std::int64_t y) {
    float * const row = std::copy(logits.begin(), logits.end(), probabilities + y * pitch) - pitch;
    for (std::int64_t x = 0; x < region.width; ++x)
    {
      LogitsOfPixel<float>(row + x * channels, 1, channels).ReplaceByProbabilities(value);
    }
  });
}

bool
PatchNetwork::PredictLabels(PixelSource &    pixels,
                            const Region &   region,
                            double           threshold,
                            std::uint8_t *   labels,
                            const Progress & progress)
{
  const int  channels = m_Network.GetNumberOfOutputChannels();
  const auto least = static_cast<float>(std::log(threshold / (1 - threshold)));
  return this->Blend(pixels, region, progress, [&](Logits & logits, std::int64_t y) {
    for (std::int64_t x = 0; x < region.width; ++x)
    {
      const LogitsOfPixel<float> z(logits.data() + x * channels, 1, channels);
      labels[y * region.width + x] = static_cast<std::uint8_t>(channels == 1 ? z[0] >= least : z.GetLabel());
    }
  });
}

} // namespace gigapixel
