/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTilePrediction.h"

#include "gigapixelMemoryPlan.h"
#include "gigapixelPhysicalImage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

namespace gigapixel
{
namespace
{

/** Tiles by column and row: [begin, end). */
struct TileRange
{
  std::int64_t firstColumn{ 0 };
  std::int64_t endColumn{ 0 };
  std::int64_t firstRow{ 0 };
  std::int64_t endRow{ 0 };
};

int
ThreadsWithin(const Model & model, Size image, int threads, std::int64_t memory, Strategy strategy)
{
  const int wanted = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  if (memory <= 0)
  {
    return wanted;
  }
  const MemoryPlan plan =
    MemoryPlan::Make(model.network, image, Purpose::Inference, strategy, memory, wanted, model.tileSize);
  return std::max(1, std::min(wanted, plan.tilesInFlight));
}

/** round(255 p), exactly: the product of a float and 255 fits in a double. */
std::uint8_t
ToByte(float probability)
{
  return static_cast<std::uint8_t>(255.0 * static_cast<double>(std::min(1.0f, std::max(0.0f, probability))) + 0.5);
}

/** Labels as the sample type; the object of two classes is 255. */
template <typename TSample>
void
ToSamples(const std::uint8_t * labels, int channels, TSample * out, std::int64_t pixels)
{
  const int object = channels == 1 ? 255 : 1;
  std::transform(labels, labels + pixels, out, [object](std::uint8_t l) { return static_cast<TSample>(object * l); });
}

} // namespace

struct TilePrediction::Implementation
{
  Implementation(const Model &            model,
                 const PredictionFormat & f,
                 Size                     image,
                 int                      numberOfThreads,
                 std::int64_t             memory,
                 Device                   device,
                 std::shared_ptr<Ranks>   others)
    : format(f)
    , size(image)
    , tileSize(model.tileSize)
    , threads(
        ThreadsWithin(model, image, numberOfThreads, memory, device.shared ? Strategy::Unified : Strategy::Streamed))
    , ranks(others ? std::move(others) : std::make_shared<Ranks>())
    , predictor(model, threads, device)
    , channels(predictor.GetNumberOfOutputChannels())
    , inputChannels(static_cast<unsigned>(model.network.channels))
    , samples(format.content == PredictionFormat::Content::Label ? 1 : channels)
    , pixelBytes(static_cast<std::size_t>(samples) *
                 (format.sample == PredictionFormat::Sample::Float ? sizeof(float) : 1))
  {}

  using Bytes = std::vector<std::uint8_t>;

  TileRange
  TilesOf(const Region & region) const
  {
    return TileRange{ region.x / tileSize,
                      (region.x + region.width + tileSize - 1) / tileSize,
                      region.y / tileSize,
                      (region.y + region.height + tileSize - 1) / tileSize };
  }

  Region
  RegionOf(const TileRange & tiles) const
  {
    const std::int64_t x = tiles.firstColumn * tileSize;
    const std::int64_t y = tiles.firstRow * tileSize;
    return Region{
      x, y, std::min(tiles.endColumn * tileSize, size.width) - x, std::min(tiles.endRow * tileSize, size.height) - y
    };
  }

  bool
  IsKnown(std::int64_t column, std::int64_t row) const
  {
    return row == knownRow && known.count(column) != 0;
  }

  int
  GetRankOf(std::int64_t row) const
  {
    return static_cast<int>(row % ranks->GetNumberOfRanks());
  }

  void SendRow(const TileRange & tiles);

  void ReceiveRow(const TileRange & tiles);

  bool ComputeRow(PixelSource & image, const TileRange & tiles, const std::function<bool(double)> & progress);

  void Store(const TileRange & tiles, const Region & region);

  bool Compute(PixelSource & image, const Region & region, const std::function<bool(double)> & progress);

  void Convert(std::int64_t pixel, std::uint8_t * out, std::int64_t pixels) const;

  void CopyTo(const Region & region, std::int64_t row, std::uint8_t * out) const;

  PredictionFormat format;
  Size             size;
  std::int64_t     tileSize;
  int              threads;

  std::shared_ptr<Ranks> ranks;

  Predictor    predictor;
  int          channels;
  unsigned     inputChannels;
  int          samples;
  std::size_t  pixelBytes;
  std::int64_t computed{ 0 };

  std::map<std::int64_t, Bytes> known; ///< finished tiles of one row, by column
  std::int64_t                  knownRow{ -1 };
  // Of the tiles that are being computed, one or the other; kept, since to get it anew costs.
  std::vector<float>        probabilities;
  std::vector<std::uint8_t> labels;
};

/** Computes what is not known of a row's tiles, a few at a time so that their float probabilities stay few. */
bool
TilePrediction::Implementation::ComputeRow(PixelSource &                       image,
                                           const TileRange &                   tiles,
                                           const std::function<bool(double)> & progress)
{
  const std::int64_t row = tiles.firstRow;
  if (row != knownRow)
  {
    known.clear();
    knownRow = row;
  }
  const std::int64_t most = 2 * threads; // twice, so that a thread that is done early finds another one
  for (std::int64_t column = tiles.firstColumn; column < tiles.endColumn;)
  {
    if (this->IsKnown(column, row))
    {
      ++column;
      continue;
    }
    std::int64_t end = column + 1;
    while (end < tiles.endColumn && end < column + most && !this->IsKnown(end, row))
    {
      ++end;
    }
    const TileRange batch{ column, end, row, row + 1 };
    const Region    region = this->RegionOf(batch);
    const double    all = static_cast<double>(tiles.endColumn - tiles.firstColumn);
    const auto      report = [&](double fraction) {
      const double done =
        static_cast<double>(column - tiles.firstColumn) + fraction * static_cast<double>(end - column);
      return progress(done / all);
    };
    ranks->ReportProgress();
    if (!this->Compute(image, region, report))
    {
      return false;
    }
    this->Store(batch, region);
    computed += end - column;
    column = end;
    if (!progress(static_cast<double>(column - tiles.firstColumn) / all))
    {
      return false;
    }
  }
  return true;
}

bool
TilePrediction::Implementation::Compute(PixelSource &                       image,
                                        const Region &                      region,
                                        const std::function<bool(double)> & progress)
{
  const auto pixels = static_cast<std::size_t>(region.width * region.height);
  if (format.content == PredictionFormat::Content::Label)
  {
    labels.resize(std::max(labels.size(), pixels));
    return predictor.PredictLabels(image, region, format.threshold, labels.data(), progress);
  }
  probabilities.resize(std::max(probabilities.size(), pixels * channels));
  return predictor.Predict(image, region, probabilities.data(), progress);
}

void
TilePrediction::Implementation::Store(const TileRange & tiles, const Region & region)
{
  for (std::int64_t column = tiles.firstColumn; column < tiles.endColumn; ++column)
  {
    const Region tile = this->RegionOf(TileRange{ column, column + 1, tiles.firstRow, tiles.endRow });
    Bytes        bytes(static_cast<std::size_t>(tile.width * tile.height) * pixelBytes);
    for (std::int64_t y = 0; y < tile.height; ++y)
    {
      const std::int64_t pixel = y * region.width + tile.x - region.x;
      this->Convert(pixel, bytes.data() + static_cast<std::size_t>(y * tile.width) * pixelBytes, tile.width);
    }
    known[column] = std::move(bytes);
  }
}

/** \param pixel the first, among those that were computed */
void
TilePrediction::Implementation::Convert(std::int64_t pixel, std::uint8_t * out, std::int64_t pixels) const
{
  const bool asFloat = format.sample == PredictionFormat::Sample::Float;
  if (format.content == PredictionFormat::Content::Label)
  {
    const std::uint8_t * from = labels.data() + pixel;
    return asFloat ? ToSamples(from, channels, reinterpret_cast<float *>(out), pixels)
                   : ToSamples(from, channels, out, pixels);
  }
  const float * from = probabilities.data() + pixel * channels;
  if (asFloat)
  {
    std::memcpy(out, from, static_cast<std::size_t>(pixels) * pixelBytes);
    return;
  }
  std::transform(from, from + pixels * channels, out, ToByte);
}

void
TilePrediction::Implementation::SendRow(const TileRange & tiles)
{
  for (std::int64_t column = tiles.firstColumn; column < tiles.endColumn; ++column)
  {
    ranks->Send(0, known[column].data(), known[column].size());
  }
}

void
TilePrediction::Implementation::ReceiveRow(const TileRange & tiles)
{
  if (tiles.firstRow == knownRow)
  {
    return;
  }
  known.clear();
  knownRow = tiles.firstRow;
  for (std::int64_t column = tiles.firstColumn; column < tiles.endColumn; ++column)
  {
    const Region tile = this->RegionOf(TileRange{ column, column + 1, tiles.firstRow, tiles.endRow });
    Bytes &      bytes = known[column];
    bytes.resize(static_cast<std::size_t>(tile.width * tile.height) * pixelBytes);
    ranks->Receive(this->GetRankOf(tiles.firstRow), bytes.data(), bytes.size());
  }
}

/** Copies a row of tiles' part of the region to its place. */
void
TilePrediction::Implementation::CopyTo(const Region & region, std::int64_t row, std::uint8_t * out) const
{
  for (const auto & [column, bytes] : known)
  {
    const Region       tile = this->RegionOf(TileRange{ column, column + 1, row, row + 1 });
    const std::int64_t left = std::max(tile.x, region.x);
    const std::int64_t right = std::min(tile.x + tile.width, region.x + region.width);
    const std::int64_t top = std::max(tile.y, region.y);
    const std::int64_t bottom = std::min(tile.y + tile.height, region.y + region.height);
    for (std::int64_t y = top; left < right && y < bottom; ++y)
    {
      const std::int64_t from = (y - tile.y) * tile.width + left - tile.x;
      const std::int64_t to = (y - region.y) * region.width + left - region.x;
      std::memcpy(out + static_cast<std::size_t>(to) * pixelBytes,
                  bytes.data() + static_cast<std::size_t>(from) * pixelBytes,
                  static_cast<std::size_t>(right - left) * pixelBytes);
    }
  }
}

TilePrediction::TilePrediction(const Model &            model,
                               const PredictionFormat & format,
                               Size                     image,
                               int                      threads,
                               std::int64_t             memory,
                               Device                   device,
                               std::shared_ptr<Ranks>   ranks)
  : m_Implementation(std::make_unique<Implementation>(model, format, image, threads, memory, device, std::move(ranks)))
{}

TilePrediction::~TilePrediction() = default;

int
TilePrediction::GetNumberOfSamples() const
{
  return m_Implementation->samples;
}

std::vector<Region>
TilePrediction::GetOwnRows(const Region & region) const
{
  const Implementation & self = *m_Implementation;
  if (self.ranks->GetRank() == 0)
  {
    return { region };
  }
  std::vector<Region> rows;
  const TileRange     tiles = self.TilesOf(region);
  for (std::int64_t row = tiles.firstRow; row < tiles.endRow; ++row)
  {
    if (self.GetRankOf(row) == self.ranks->GetRank())
    {
      const std::int64_t top = std::max(region.y, row * self.tileSize);
      const std::int64_t bottom = std::min(region.y + region.height, (row + 1) * self.tileSize);
      rows.push_back({ region.x, top, region.width, bottom - top });
    }
  }
  return rows;
}

Region
TilePrediction::GetInputRegion(const Region & region) const
{
  const Implementation & self = *m_Implementation;
  const TileRange        tiles = self.TilesOf(region);
  TileRange              missing{ tiles.endColumn, tiles.firstColumn, tiles.endRow, tiles.firstRow };
  for (std::int64_t row = tiles.firstRow; row < tiles.endRow; ++row)
  {
    for (std::int64_t column = tiles.firstColumn; column < tiles.endColumn; ++column)
    {
      if (!self.IsKnown(column, row) && self.GetRankOf(row) == self.ranks->GetRank())
      {
        missing.firstColumn = std::min(missing.firstColumn, column);
        missing.endColumn = std::max(missing.endColumn, column + 1);
        missing.firstRow = std::min(missing.firstRow, row);
        missing.endRow = std::max(missing.endRow, row + 1);
      }
    }
  }
  if (missing.firstRow >= missing.endRow)
  {
    return Region{};
  }
  return self.predictor.GetInputRegion(self.RegionOf(missing), self.size);
}

bool
TilePrediction::Predict(PixelSource &                       image,
                        const Region &                      region,
                        void *                              samples,
                        const std::function<bool(double)> & progress)
{
  Implementation & self = *m_Implementation;
  // The image belongs to the caller; the pointer that the adapter wants owns nothing.
  const std::shared_ptr<PixelSource> pixels =
    AdaptChannels(std::shared_ptr<PixelSource>(&image, [](PixelSource *) {}), self.inputChannels, "the image");
  const TileRange tiles = self.TilesOf(region);
  const double    rows = static_cast<double>(tiles.endRow - tiles.firstRow);
  for (std::int64_t row = tiles.firstRow; row < tiles.endRow; ++row)
  {
    const auto report = [&](double fraction) {
      return progress((static_cast<double>(row - tiles.firstRow) + fraction) / rows);
    };
    const TileRange inRow{ tiles.firstColumn, tiles.endColumn, row, row + 1 };
    if (self.GetRankOf(row) != self.ranks->GetRank())
    {
      self.ReceiveRow(inRow);
    }
    else if (!self.ComputeRow(*pixels, inRow, report))
    {
      return false;
    }
    else if (self.ranks->GetRank() > 0)
    {
      self.SendRow(inRow);
    }
    self.CopyTo(region, row, static_cast<std::uint8_t *>(samples));
  }
  if (region.x + region.width == self.size.width && region.y + region.height == self.size.height)
  {
    this->Clear();
  }
  return true;
}

void
TilePrediction::Clear()
{
  m_Implementation->known.clear();
  m_Implementation->knownRow = -1;
}

std::int64_t
TilePrediction::GetNumberOfComputedTiles() const
{
  return m_Implementation->computed;
}

} // namespace gigapixel
