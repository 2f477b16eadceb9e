/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTilePrediction.h"

#include "gigapixelPhysicalImage.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

/** None where there is no limit. */
std::optional<MemoryPlan>
MakePlan(const NetworkDescription &  network,
         Size                        image,
         std::int64_t                tileSize,
         bool                        inPlace,
         const PredictionResources & resources)
{
  if (resources.memory <= 0)
  {
    return {};
  }
  PlannedRun run(network, image, Purpose::Inference, resources.device);
  run.LeaveOutWeights();
  run.SetLimit(resources.memory, resources.beside);
  run.threads = resources.threads;
  run.tileSize = resources.patches ? 0 : tileSize;
  run.inPlace = inPlace;
  run.patches = resources.patches;
  run.segmentation.inFiles = !resources.scratch.empty();
  return MemoryPlan::Make(run);
}

/** round(255 p), exactly: the product of a float and 255 fits in a double. */
std::uint8_t
ToByte(float probability)
{
  return static_cast<std::uint8_t>(255.0 * static_cast<double>(std::min(1.0f, std::max(0.0f, probability))) + 0.5);
}

/** Tiles of one row that were computed together: their labels, or their probabilities as floats. */
struct ComputedTiles
{
  Region                    region;
  std::vector<std::uint8_t> bytes;
};

} // namespace

std::int64_t
FindTileSize(const Model & model, const std::optional<Patches> & patches, Size image, std::int64_t wanted)
{
  const std::int64_t stride = model.network.GetStride();
  const std::int64_t longer = std::max(image.width, image.height);
  return patches                ? patches->GetTileSize()
         : wanted == 0          ? model.tileSize
         : wanted == WholeImage ? (longer + stride - 1) / stride * stride
                                : wanted;
}

struct TilePrediction::Implementation
{
  Implementation(const Model &               model,
                 const PredictionFormat &    f,
                 Size                        image,
                 unsigned                    imageChannels,
                 const PredictionResources & resources)
    : format(f)
    , size(image)
    , tileSize(FindTileSize(model, resources.patches, image, resources.tileSize))
    , plan(MakePlan(model.network,
                    image,
                    tileSize,
                    static_cast<int>(imageChannels) == model.network.channels, // else they are made gray
                    resources))
    , threads(plan ? plan->tilesInFlight : GetNumberOfThreads(resources.threads))
    , ranks(resources.ranks ? resources.ranks : std::make_shared<Ranks>())
    , predictor(model,
                threads,
                resources.device,
                resources.patches,
                resources.patches ? 0 : tileSize,
                resources.scratch)
    , channels(predictor.GetNumberOfOutputChannels())
    , inputChannels(static_cast<unsigned>(model.network.channels))
    , samples(format.content == PredictionFormat::Content::Label || channels == 2 ? 1 : channels)
    , pixelBytes(static_cast<std::size_t>(samples) *
                 (format.sample == PredictionFormat::Sample::Float ? sizeof(float) : 1))
    , computedBytes(format.content == PredictionFormat::Content::Label ? 1 : channels * sizeof(float))
  {
    if (!resources.patches)
    {
      model.network.CheckTileSize(tileSize);
    }
  }

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
    const std::int64_t x = column * tileSize;
    return row == knownRow && std::any_of(known.begin(), known.end(), [x](const ComputedTiles & tiles) {
             return tiles.region.x <= x && x < tiles.region.x + tiles.region.width;
           });
  }

  int
  GetRankOf(std::int64_t row) const
  {
    return static_cast<int>(row % ranks->GetNumberOfRanks());
  }

  void BeginRow(std::int64_t row);

  ComputedTiles MakeTiles(const TileRange & tiles);

  void ReceiveRow(const TileRange & tiles);

  bool ComputeRow(PixelSource & image, const TileRange & tiles, const std::function<bool(double)> & progress);

  bool Compute(PixelSource & image, ComputedTiles & tiles, const std::function<bool(double)> & progress);

  void Convert(const std::uint8_t * from, std::int64_t pixels, std::uint8_t * out) const;

  void ConvertProbabilities(const float * from, std::int64_t count, std::uint8_t * out) const;

  void CopyTo(const Region & region, std::uint8_t * out) const;

  PredictionFormat format;
  Size             size;
  std::int64_t     tileSize;

  std::optional<MemoryPlan> plan;
  int                       threads;

  std::shared_ptr<Ranks> ranks;

  Predictor    predictor;
  int          channels;
  unsigned     inputChannels;
  int          samples;
  std::size_t  pixelBytes;    ///< of the output
  std::size_t  computedBytes; ///< of a pixel of ComputedTiles
  std::int64_t computed{ 0 }; ///< tiles

  std::vector<ComputedTiles> known; ///< of one row
  std::int64_t               knownRow{ -1 };
  std::vector<std::uint8_t>  idle; ///< memory of an earlier row: to get it anew costs
};

void
TilePrediction::Implementation::BeginRow(std::int64_t row)
{
  if (row == knownRow)
  {
    return;
  }
  if (!known.empty())
  {
    idle = std::move(known.front().bytes);
  }
  known.clear();
  knownRow = row;
}

ComputedTiles
TilePrediction::Implementation::MakeTiles(const TileRange & tiles)
{
  ComputedTiles result{ this->RegionOf(tiles), std::move(idle) };
  const auto    bytes = static_cast<std::size_t>(result.region.width * result.region.height) * computedBytes;
  if (bytes > result.bytes.capacity())
  {
    result.bytes = std::vector<std::uint8_t>(); // else a vector that grows has both, the old memory and the new one
  }
  result.bytes.resize(bytes);
  return result;
}

/** Computes what is not known of a row's tiles. */
bool
TilePrediction::Implementation::ComputeRow(PixelSource &                       image,
                                           const TileRange &                   tiles,
                                           const std::function<bool(double)> & progress)
{
  const std::int64_t row = tiles.firstRow;
  this->BeginRow(row);
  for (std::int64_t column = tiles.firstColumn; column < tiles.endColumn; ++column)
  {
    std::int64_t end = column;
    while (end < tiles.endColumn && !this->IsKnown(end, row))
    {
      ++end;
    }
    if (end == column)
    {
      continue;
    }
    const double all = static_cast<double>(tiles.endColumn - tiles.firstColumn);
    const auto   report = [&](double fraction) {
      ranks->ReportProgress();
      const double done =
        static_cast<double>(column - tiles.firstColumn) + fraction * static_cast<double>(end - column);
      return progress(done / all);
    };
    ComputedTiles together = this->MakeTiles({ column, end, row, row + 1 });
    if (!this->Compute(image, together, report))
    {
      return false;
    }
    known.push_back(std::move(together));
    computed += end - column;
    column = end;
  }
  return true;
}

bool
TilePrediction::Implementation::Compute(PixelSource &                       image,
                                        ComputedTiles &                     tiles,
                                        const std::function<bool(double)> & progress)
{
  return format.content == PredictionFormat::Content::Label
           ? predictor.PredictLabels(image, tiles.region, format.threshold, tiles.bytes.data(), progress)
           : predictor.Predict(image, tiles.region, reinterpret_cast<float *>(tiles.bytes.data()), progress);
}

/** Of two classes with an output each, that of the object, the last one, is taken.
 * \param count of samples of the output */
void
TilePrediction::Implementation::ConvertProbabilities(const float * from, std::int64_t count, std::uint8_t * out) const
{
  const std::int64_t step = channels / samples;
  for (std::int64_t i = 0; i < count; ++i)
  {
    const float probability = from[i * step + step - 1];
    if (format.sample == PredictionFormat::Sample::Float)
    {
      std::memcpy(out + static_cast<std::size_t>(i) * sizeof(float), &probability, sizeof(float));
    }
    else
    {
      out[i] = ToByte(probability);
    }
  }
}

/** What was computed becomes samples of the output. */
void
TilePrediction::Implementation::Convert(const std::uint8_t * from, std::int64_t pixels, std::uint8_t * out) const
{
  const bool asFloat = format.sample == PredictionFormat::Sample::Float;
  const bool twoClasses = channels <= 2;
  if (format.content == PredictionFormat::Content::Probability)
  {
    this->ConvertProbabilities(reinterpret_cast<const float *>(from), pixels * samples, out);
  }
  else if (asFloat)
  {
    const float object = twoClasses ? 255.0f : 1.0f;
    std::transform(
      from, from + pixels, reinterpret_cast<float *>(out), [object](std::uint8_t l) { return object * l; });
  }
  else if (twoClasses)
  {
    // The object, 1, becomes 255.
    std::transform(from, from + pixels, out, [](std::uint8_t l) { return static_cast<std::uint8_t>(-l); });
  }
  else
  {
    std::memcpy(out, from, static_cast<std::size_t>(pixels));
  }
}

void
TilePrediction::Implementation::ReceiveRow(const TileRange & tiles)
{
  if (tiles.firstRow != knownRow)
  {
    this->BeginRow(tiles.firstRow);
    known.push_back(this->MakeTiles(tiles));
    ranks->Receive(this->GetRankOf(tiles.firstRow), known.back().bytes.data(), known.back().bytes.size());
  }
}

/** Copies the region's part of what is known to its place. */
void
TilePrediction::Implementation::CopyTo(const Region & region, std::uint8_t * out) const
{
  for (const ComputedTiles & tiles : known)
  {
    const Region &     have = tiles.region;
    const std::int64_t left = std::max(have.x, region.x);
    const std::int64_t right = std::min(have.x + have.width, region.x + region.width);
    const std::int64_t top = std::max(have.y, region.y);
    const std::int64_t bottom = std::min(have.y + have.height, region.y + region.height);
    for (std::int64_t y = top; left < right && y < bottom; ++y)
    {
      const std::int64_t from = (y - have.y) * have.width + left - have.x;
      const std::int64_t to = (y - region.y) * region.width + left - region.x;
      this->Convert(tiles.bytes.data() + static_cast<std::size_t>(from) * computedBytes,
                    right - left,
                    out + static_cast<std::size_t>(to) * pixelBytes);
    }
  }
}

TilePrediction::TilePrediction(const Model &               model,
                               const PredictionFormat &    format,
                               Size                        image,
                               unsigned                    imageChannels,
                               const PredictionResources & resources)
  : m_Implementation(std::make_unique<Implementation>(model, format, image, imageChannels, resources))
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
  Region input = self.predictor.GetInputRegion(self.RegionOf(missing), self.size);
  if (input.y == 0)
  {
    // As high as those that have a halo above, too: ITK's reader copies what it holds to a greater buffer when a later
    // region does not fit, and has both meanwhile.
    input.height = std::min(self.size.height, input.height + self.predictor.GetNetwork().GetHalo());
  }
  return input;
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
      // It asks for a row once, so that all of it was computed together.
      const std::vector<std::uint8_t> & bytes = self.known.front().bytes;
      self.ranks->Send(0, bytes.data(), bytes.size());
    }
    self.CopyTo(region, static_cast<std::uint8_t *>(samples));
  }
  if (region.x + region.width == self.size.width && region.y + region.height == self.size.height)
  {
    this->Clear();
  }
  return true;
}

const std::optional<MemoryPlan> &
TilePrediction::GetMemoryPlan() const
{
  return m_Implementation->plan;
}

void
TilePrediction::Clear()
{
  m_Implementation->BeginRow(-1);
  m_Implementation->predictor.Clear();
  m_Implementation->idle = std::vector<std::uint8_t>();
}

std::int64_t
TilePrediction::GetNumberOfComputedTiles() const
{
  return m_Implementation->computed;
}

} // namespace gigapixel
