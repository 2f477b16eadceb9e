/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelStreamedNetwork.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelDeviceModule.h"
#include "gigapixelLabeling.h"
#include "gigapixelExecutor.h"
#include "gigapixelReadAhead.h"
#include "objective/gigapixelLoss.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** The first rows of a tile's values, if all others repeat them.
 * \param width values in a row */
template <typename T>
std::vector<T>
GetRepeatedRows(const T * values, std::ptrdiff_t pitch, std::int64_t width, std::int64_t height, std::int64_t rows)
{
  for (std::int64_t y = rows; y < height; ++y)
  {
    if (!std::equal(values + y * pitch, values + y * pitch + width, values + (y - rows) * pitch))
    {
      return {};
    }
  }
  std::vector<T> repeated;
  for (std::int64_t y = 0; y < std::min(rows, height); ++y)
  {
    repeated.insert(repeated.end(), values + y * pitch, values + y * pitch + width);
  }
  return repeated;
}

/** Without layers, whatever it is, LibTorch computes it. */
NetworkDescription
WithoutLayers(NetworkDescription network)
{
  network.layers.clear();
  return network;
}

/** \throw as CheckDevice() */
Device
GetChecked(const NetworkDescription & network, const Device & device)
{
  CheckDevice(network, device);
  return device;
}

} // namespace

StreamedNetwork::StreamedNetwork(const NetworkDescription & network,
                                 std::int64_t               tileSize,
                                 int                        tilesInFlight,
                                 Device                     device)
  : m_Network(device.precision == Precision::Double ? WithoutLayers(network) : network)
  , m_TileSize(tileSize)
  , m_Device(GetChecked(m_Network, device))
  , m_Tiles(Executor::Of(m_Network).MakePasses(m_Network, device))
  , m_Workers(tilesInFlight)
  , m_Data(m_Workers.GetNumberOfThreads())
  , m_SeesWholeImage(m_Network.graph.SeesWholeImage())
{
  if (tileSize != WholeImage)
  {
    m_Network.CheckTileSize(tileSize);
  }
  if (device.shared && m_Network.TakesFloats())
  {
    throw InvalidArgument(Diagnostic("E-OPTION-APPLIES",
                                     "networks for volumes or normalized values do not compute in shared memory",
                                     "leave out shared memory"));
  }
}

std::unique_ptr<SharedImage>
StreamedNetwork::Share(PixelSource & pixels, LabelSource & labels, const std::function<bool()> & goesOn)
{
  m_Network.CheckChannels(pixels);
  return SharedImage::Read(m_Device, m_Network, pixels, labels, m_Workers, goesOn);
}

void
StreamedNetwork::SetParameters(const std::vector<double> & parameters)
{
  m_Tiles->SetParameters(parameters);
  m_UniformProbabilities.Clear();
  m_UniformLabels.Clear();
  Clear();
}

void
StreamedNetwork::SetMaskSeed(const std::optional<std::uint64_t> & seed)
{
  const auto & operations = m_Network.graph.operations;
  m_HasMasks = seed && std::any_of(operations.begin(), operations.end(), [](const Operation & operation) {
                 return operation.type.rfind("dropout", 0) == 0;
               });
  m_Tiles->SetMaskSeed(seed);
}

void
StreamedNetwork::CheckSizes(const PixelSource & pixels, const LabelSource & labels) const
{
  m_Network.CheckChannels(pixels);
  const Size size = Labeling::Of(m_Network.graph).GetSize(pixels.GetSize()), labeled = labels.GetSize();
  if (labeled.width != size.width || labeled.height != size.height || labeled.depth != size.depth)
  {
    throw InvalidArgument(
      Diagnostic("E-MASK-GRID",
                 "the labels are of another size (" + ToText(labeled) + ") than the pixels (" + ToText(size) + ")"));
  }
}

template <typename TResult, typename TCompute>
bool
StreamedNetwork::SumOverTiles(PixelSource &    pixels,
                              LabelSource &    labels,
                              TResult &        sum,
                              const Progress & progress,
                              const RankTeam & team,
                              const TCompute & compute,
                              bool             training)
{
  CheckSizes(pixels, labels);
  const TileGrid       grid(m_Network, pixels.GetSize(), m_TileSize, training);
  const std::int64_t   tiles = grid.GetNumberOfTiles();
  const std::int64_t   own = team.GetNumberOfOwn(tiles);
  std::vector<TResult> results(m_Workers.GetNumberOfPlaces());
  return m_Workers.Run(
    own,
    [&](int worker, std::int64_t index) {
      TileData & data = m_Data[worker];
      TResult &  result = results[index % results.size()];
      const Tile tile = grid.GetTile(team.GetOwn(index));
      result = TResult{};
      ReadAhead(pixels, index, own, m_Workers.GetNumberOfThreads(), [&](std::int64_t coming) {
        return grid.GetInputOf(team.GetOwn(coming));
      });
      if (m_Device.cuda >= 0 && m_Device.shared && PointTo(pixels, labels, tile, data))
      {
        const BytesInMemory coming = GetComingRows(pixels, tile, grid.GetTileSize());
        if (coming.size > 0)
        {
          DeviceModule::Get().prefetch(m_Device.cuda, coming.first, coming.size);
        }
        return Measure(m_NetworkTime, [&] { compute(data, result); });
      }
      Measure(m_LabelTime, [&] { ReadClasses(labels, tile, m_Network, data); });
      if (TakesNoPart(data.classes))
      {
        return;
      }
      Measure(m_PixelTime,
              [&] { m_Device.cuda < 0 ? FindPixels(pixels, tile, data) : ReadPixels(pixels, tile, data); });
      Measure(m_NetworkTime, [&] { compute(data, result); });
    },
    [&](std::int64_t index) {
      const std::int64_t tile = team.GetOwn(index);
      team.TakeOver(tile, sum, m_Network);
      sum.Add(results[index % results.size()]);
      team.HandOver(tile, tiles, sum, m_Network);
      return !progress || progress(static_cast<double>(index + 1) / own);
    },
    training ? 0 : m_ScoredTilesInFlight);
}

bool
StreamedNetwork::ComputeGradient(PixelSource &    pixels,
                                 LabelSource &    labels,
                                 LossGradient &   sum,
                                 const Progress & progress,
                                 const RankTeam & team)
{
  sum = LossGradient{};
  if (IsInSegments())
  {
    return ComputeSegmentedGradient(pixels, labels, sum, progress, team);
  }
  LossTerms  terms = MakeLossTerms(m_Network);
  const bool hasSums = terms.HasSums();
  Score      score;
  if (hasSums)
  {
    if (!ComputeScore(
          pixels, labels, score, [&](double done) { return !progress || progress(done / 2); }, team))
    {
      return false;
    }
    team.ShareSum(GetLastRank(pixels, team), score, m_Network);
    terms = MakeSumTerms(m_Network, score);
  }
  const auto      report = [&](double done) { return !progress || progress(hasSums ? 0.5 + done / 2 : done); };
  FixedPointSum & gradient = BeginSums();
  if (!AddGradients(pixels, labels, terms, sum, gradient, report, team))
  {
    return false;
  }
  const int last = GetLastRank(pixels, team);
  team.AddAll(last, gradient);
  if (team.IsThis(last))
  {
    sum.gradient = m_Tiles->GetGradient(gradient, m_Workers);
  }
  sum.loss = hasSums ? score.loss : sum.loss;
  return true;
}

FixedPointSum &
StreamedNetwork::BeginSums()
{
  if (m_Sums)
  {
    m_Sums->Clear();
  }
  else
  {
    m_Sums = std::make_unique<FixedPointSum>(m_Tiles->GetNumberOfSums());
  }
  return *m_Sums;
}

bool
StreamedNetwork::AddGradients(PixelSource &     pixels,
                              LabelSource &     labels,
                              const LossTerms & terms,
                              LossSum &         sum,
                              FixedPointSum &   gradient,
                              const Progress &  progress,
                              const RankTeam &  team)
{
  EqualTiles<LossSum> equal;
  const auto add = [&](TileData & data, LossSum & result) { m_Tiles->AddGradient(data, terms, 1, result, gradient); };
  const auto compute = [&](TileData & data, LossSum & result) {
    m_HasMasks ? add(data, result) : equal.Compute(data, m_Network.channels, result, add);
  };
  if (!SumOverTiles(pixels, labels, sum, progress, team, compute, true))
  {
    return false;
  }
  const auto repeated = equal.GetRepeated();
  const auto computeAgain = [&](int worker, std::int64_t index) {
    const auto & entry = repeated[index];
    TileData &   data = m_Data[worker];
    LossSum      known;
    ReadPixels(pixels, entry.tile, data);
    ReadClasses(labels, entry.tile, m_Network, data);
    m_Tiles->AddGradient(data, terms, entry.repetitions, known, gradient);
  };
  const auto goOn = [&](std::int64_t) { return !progress || progress(std::nextafter(1.0, 0.0)); };
  return m_Workers.Run(static_cast<std::int64_t>(repeated.size()), computeAgain, goOn);
}

bool
StreamedNetwork::ComputeScore(PixelSource &    pixels,
                              LabelSource &    labels,
                              Score &          sum,
                              const Progress & progress,
                              const RankTeam & team)
{
  sum = Score{};
  sum.SetNumberOfChannels(m_Network.GetNumberOfOutputChannels());
  const LossTerms   terms = MakeLossTerms(m_Network);
  EqualTiles<Score> equal;
  const auto        add = [&](TileData & data, Score & result) { m_Tiles->AddScore(data, terms, result); };
  const auto        compute = [&](TileData & data, Score & result) {
    m_HasMasks ? add(data, result) : equal.Compute(data, m_Network.channels, result, add);
  };
  const bool finished = m_SeesWholeImage ? ComputeSegmentedScore(pixels, labels, sum, progress, team)
                                         : SumOverTiles(pixels, labels, sum, progress, team, compute);
  if (finished && terms.HasSums())
  {
    TakeSumLoss(m_Network, sum);
  }
  return finished;
}

StageSeconds
StreamedNetwork::GetSeconds() const
{
  return { 1e-9 * m_PixelTime, 1e-9 * m_LabelTime, 1e-9 * m_NetworkTime };
}

int
StreamedNetwork::GetLastRank(const PixelSource & pixels, const RankTeam & team) const
{
  const Size         labels = Labeling::Of(m_Network.graph).GetSize(pixels.GetSize());
  const std::int64_t side = GetTileSide(m_TileSize, labels, m_Network.GetStride());
  const auto         count = [side](std::int64_t length) { return RoundUp(length, side) / side; };
  return team.GetRankOf(count(labels.width) * count(labels.height) * count(labels.depth) - 1);
}

namespace
{

/** \throw std::invalid_argument no pixels of this region can be labeled */
void
CheckRegion(const NetworkDescription & network, PixelSource & pixels, const Region & region)
{
  network.CheckChannels(pixels);
  const Region inside = Intersect(region, GetWhole(pixels.GetSize()));
  if (region.width < 1 || region.height < 1 || region.depth < 1 || inside.width != region.width ||
      inside.height != region.height || inside.depth != region.depth)
  {
    throw InvalidArgument(Diagnostic("E-REGION", "the region is not a part of the image"));
  }
  Labeling::OfPixels().Require(network);
}

/** Copies a part of a core's values. \param getRow where a row of the part goes to, by its z and y */
template <typename T, typename TGetRow>
void
CopyPart(const std::vector<T> & all, const Region & core, const Region & part, int values, const TGetRow & getRow)
{
  for (std::int64_t z = 0; z < part.depth; ++z)
  {
    for (std::int64_t y = 0; y < part.height; ++y)
    {
      const std::int64_t row = (part.z - core.z + z) * core.height + part.y - core.y + y;
      const auto         from = all.begin() + (row * core.width + part.x - core.x) * values;
      std::copy(from, from + part.width * values, getRow(z, y));
    }
  }
}

void
ReadTile(PixelSource & pixels, const Tile & tile, const Device & device, TileData & data)
{
  if (tile.window.width == 0) // all that is read are maps
  {
    data.tile = tile;
    data.rows = {};
    data.inMemory = {};
  }
  else if (device.cuda < 0)
  {
    FindPixels(pixels, tile, data);
  }
  else if (!PointTo(pixels, tile, data))
  {
    ReadPixels(pixels, tile, data);
  }
}

} // namespace

/** Writes what compute(data, target, pitch) yields for the pixels of the region.
 * \param values of each pixel */
template <typename T, typename TCompute>
bool
StreamedNetwork::PredictTiles(PixelSource &    pixels,
                              const Region &   region,
                              int              values,
                              T *              output,
                              const Progress & progress,
                              UniformRows<T> & uniform,
                              const TCompute & compute)
{
  const Size size = pixels.GetSize();
  CheckRegion(m_Network, pixels, region);
  if (size.width != m_UniformSize.width || size.height != m_UniformSize.height || size.depth != m_UniformSize.depth)
  {
    m_UniformProbabilities.Clear();
    m_UniformLabels.Clear();
    m_UniformSize = size;
  }
  const std::int64_t stride = m_Network.GetStride();
  const auto         computeOnce = [&](TileData & data, T * target, std::ptrdiff_t pitch) {
    const auto         key = FindTileKey(data, m_Network.channels);
    const std::int64_t width = data.tile.core.width * values, height = data.tile.core.height * data.tile.core.depth;
    std::vector<T>     rows;
    const bool         isKnown = key && uniform.Repeat(*key, rows);
    for (std::int64_t y = 0; !rows.empty() && y < height; ++y)
    {
      std::copy_n(rows.begin() + y % stride * width, width, target + y * pitch);
    }
    if (rows.empty())
    {
      compute(data, target, pitch);
    }
    if (key && !isKnown)
    {
      uniform.Remember(*key, data.tile, GetRepeatedRows(target, pitch, width, height, stride));
    }
  };
  double before = 0;
  if (!KeepMaps(pixels, progress, before))
  {
    return false;
  }
  const std::ptrdiff_t            pitch = region.width * values;
  const TileGrid                  grid = MakeOutputGrid(size);
  const std::vector<std::int64_t> tiles = grid.GetTilesOf(region);
  std::unique_ptr<PixelSource>    shared;
  if (m_Device.shared)
  {
    shared = SharePixels(m_Device, pixels, grid.GetInputRegion(region), m_Workers);
  }
  PixelSource & source = shared ? *shared : pixels;
  return m_Workers.Run(
    static_cast<std::int64_t>(tiles.size()),
    [&](int worker, std::int64_t index) {
      TileData & data = m_Data[worker];
      const Tile tile = grid.GetTile(tiles[index]);
      ReadAhead(source,
                index,
                static_cast<std::int64_t>(tiles.size()),
                m_Workers.GetNumberOfThreads(),
                [&](std::int64_t coming) { return grid.GetInputOf(tiles[coming]); });
      data.kept = m_KeptImage ? m_KeptImage->maps.get() : nullptr;
      ReadTile(source, tile, m_Device, data);
      const Region & core = data.tile.core;
      const Region   part = Intersect(core, region);
      T * const      origin = output + (part.x - region.x) * values; // in the region's first row
      const auto     getRow = [&](std::int64_t z, std::int64_t y) {
        return origin + ((part.z - region.z + z) * region.height + part.y - region.y + y) * pitch;
      };
      if (part.width == core.width && part.height == core.height && core.depth == 1)
      {
        return computeOnce(data, getRow(0, 0), pitch);
      }
      // A tile is always computed whole, so that a pixel's bits do not depend on what else was asked for.
      std::vector<T> all(core.width * core.height * core.depth * values);
      computeOnce(data, all.data(), core.width * values);
      CopyPart(all, core, part, values, getRow);
    },
    [&](std::int64_t index) {
      return !progress || progress(before + (1 - before) * static_cast<double>(index + 1) / tiles.size());
    });
}

bool
StreamedNetwork::KeptImage::IsOf(Size size) const
{
  return geometry->GetSize(0) == ToExtent(size, geometry->GetNumberOfAxes());
}

/** In segments, that of the last one. */
TileGrid
StreamedNetwork::MakeOutputGrid(Size size) const
{
  return m_KeptImage ? TileGrid(m_KeptImage->geometry, m_KeptImage->last, false)
                     : TileGrid(m_Network, size, m_TileSize);
}

Region
StreamedNetwork::GetInputRegion(const Region & region, Size image) const
{
  return IsInSegments() && !(m_KeptImage && m_KeptImage->IsOf(image)) ? GetWhole(image)
                                                                      : MakeOutputGrid(image).GetInputRegion(region);
}

bool
StreamedNetwork::Predict(PixelSource & pixels, const Region & region, float * probabilities, const Progress & progress)
{
  return PredictTiles(pixels,
                      region,
                      m_Network.GetNumberOfOutputChannels(),
                      probabilities,
                      progress,
                      m_UniformProbabilities,
                      [this](TileData & tile, float * target, std::ptrdiff_t pitch) {
                        m_Tiles->Predict(tile, GetPredictedValue(m_Network), target, pitch);
                      });
}

bool
StreamedNetwork::PredictLabels(PixelSource &    pixels,
                               const Region &   region,
                               double           threshold,
                               std::uint8_t *   labels,
                               const Progress & progress)
{
  if (threshold != m_Threshold)
  {
    m_UniformLabels.Clear();
    m_Threshold = threshold;
  }
  return PredictTiles(pixels,
                      region,
                      1,
                      labels,
                      progress,
                      m_UniformLabels,
                      [this, threshold](TileData & tile, std::uint8_t * target, std::ptrdiff_t pitch) {
                        m_Tiles->PredictLabels(tile, threshold, target, pitch);
                      });
}

} // namespace gigapixel
