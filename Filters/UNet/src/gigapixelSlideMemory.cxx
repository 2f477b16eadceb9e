/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlideMemory.h"
#include "gigapixelImageKind.h"
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
#  include "itkWholeSlideImageIO.h"
#endif

#include <algorithm>
#include <limits>
#include <mutex>

namespace gigapixel
{
namespace
{

#ifdef GIGAPIXEL_HAS_WHOLESLIDE
std::size_t
GetTileCacheLimit()
{
  return itk::WholeSlideImageIO::GetTileCacheLimit();
}

void
SetTileCacheLimit(std::size_t bytes)
{
  itk::WholeSlideImageIO::SetTileCacheLimit(bytes);
}
#else
std::size_t
GetTileCacheLimit()
{
  return 0;
}

void
SetTileCacheLimit(std::size_t)
{}
#endif

/** \class TileCacheBounds
 * \brief The bounds of the process that exist now. */
class TileCacheBounds
{
public:
  static TileCacheBounds &
  GetInstance()
  {
    static TileCacheBounds bounds;
    return bounds;
  }

  /** The limit without any bound. */
  std::size_t
  GetBase()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    this->FindBase();
    return m_Base;
  }

  std::multiset<std::size_t>::iterator
  Add(std::size_t bytes)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    this->FindBase();
    const auto bound = m_Bounds.insert(bytes);
    this->Apply();
    return bound;
  }

  void
  Remove(std::multiset<std::size_t>::iterator bound)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    this->FindBase();
    m_Bounds.erase(bound);
    this->Apply();
  }

private:
  /** Another limit than the applied one was set by somebody else: it is the new base. */
  void
  FindBase()
  {
    const std::size_t now = GetTileCacheLimit();
    m_Base = m_Bounds.empty() || now != m_Applied ? now : m_Base;
  }

  void
  Apply()
  {
    m_Applied = m_Bounds.empty() ? m_Base : std::min(m_Base, *m_Bounds.begin());
    SetTileCacheLimit(m_Applied);
  }

  std::mutex                 m_Mutex;
  std::multiset<std::size_t> m_Bounds;
  std::size_t                m_Base{ 0 };
  std::size_t                m_Applied{ 0 };
};

/** The side of the network's tiles in pixels. */
std::int64_t
GetSide(const SlideMemory & run, std::int64_t notChosenYet)
{
  return run.patches                  ? run.patches->GetTileSize()
         : run.tileSize == WholeImage ? std::max(run.image.width, run.image.height)
         : run.tileSize > 0           ? run.tileSize
                                      : notChosenYet;
}

/** Decoded tiles that the reader keeps: those of which a tile of the network, or a row of them, has only a part. Those
 * of the mask, too, in training. The reader keeps whole tiles, also where they reach beyond the image. */
std::int64_t
GetDecodedBytes(const SlideMemory & run, std::int64_t budget)
{
  if (run.reading.FillsCache())
  {
    return SlideMemory::GetCacheBytes(budget);
  }
  const Size         image = run.part.value_or(run.image);
  const std::int64_t tileSize = GetSide(run, SlideMemory::TileSide); // with little memory a plan takes such small ones
  const std::int64_t rows = (image.height - 1) / tileSize, columns = (image.width - 1) / tileSize;
  const bool         training = run.purpose == Purpose::Training;
  const auto         ofTiles = [](std::int64_t side) {
    return (side + SlideMemory::TileSide - 1) / SlideMemory::TileSide * SlideMemory::TileSide;
  };
  const std::int64_t width = ofTiles(image.width), height = ofTiles(image.height), all = width * height;
  const std::int64_t seams = rows * width + (training ? columns * height : 0);
  const std::int64_t kept = std::min(2 * SlideMemory::TileSide * seams, all); // pixels
  const std::int64_t pixel = run.network.channels * run.network.GetSampleBytes();
  const std::int64_t decoded = training && run.sharedMemory ? 0 : kept * pixel;
  const std::int64_t mask = training ? kept : 0;
  const std::int64_t others = (run.images - 1) * all * (pixel + 1);
  return std::min(SlideMemory::GetCacheBytes(budget), decoded + mask + others);
}

/** Counts the rows of pixels and of results on the way from a slide to the masks.
 * \param around rows of pixels that a row of tiles reads beside its own */
std::int64_t
GetStripBytes(const SlideMemory & run, std::int64_t tileSize, std::int64_t around)
{
  const NetworkDescription & network = run.network;
  const Size                 image = run.part.value_or(run.image);
  const std::int64_t         row = image.width * std::min(image.height, SlideMemory::TileSide);
  const std::int64_t         band =
    run.isProbability ? row : std::min(image.width * image.height, std::max(row, SlideMemory::BandBytes / row * row));
  const std::int64_t tileRows = (band / image.width + tileSize - 1) / tileSize; // that a band needs
  const std::int64_t pixelRows = std::min(image.height, tileRows * tileSize + around);
  // Where each pixel depends on all, they are read at once, which the engine's plan counts; here they are counted once
  // more where what is no tissue is made white.
  const bool         seesAll = !run.patches && network.graph.SeesWholeImage();
  const std::int64_t whole = run.hasTissue ? run.image.width * run.image.height : 0;
  // Samples of 16 bit become floats: the reader has both meanwhile.
  const std::int64_t sample =
    run.network.GetSampleBytes() + (network.IsNormalized() ? std::int64_t{ 2 } : std::int64_t{ 0 });
  const std::int64_t pixels = (seesAll ? whole : image.width * pixelRows) * network.channels * sample;
  const std::int64_t results = image.width * std::min(image.height, tileSize);
  // The writer holds a row of tiles of each level, and each of its threads a tile: as it is, reduced, and compressed.
  const std::int64_t writers =
    4 * std::min(run.writingThreads * SlideMemory::TileSide * SlideMemory::TileSide, image.width * image.height);
  return pixels + (run.isProbability
                     ? 4 * (network.GetNumberOfOutputChannels() * results + band + writers) + 2 * (band + 2 * row)
                     : results + band + writers + 2 * row);
}

} // namespace

std::int64_t
SlideMemory::GetCacheBytes(std::int64_t budget)
{
  const auto most = static_cast<std::int64_t>(TileCacheBounds::GetInstance().GetBase());
  return budget > 0 ? std::min(most, budget / 16) : most;
}

std::int64_t
SlideMemory::GetBytes(std::int64_t budget) const
{
  if (!network.GetImageKind().isByRow)
  {
    return keptBytes;
  }
  const std::int64_t side = GetSide(*this, 2048);
  const std::int64_t around = patches ? patches->side : 2 * network.GetHalo();
  return keptBytes + reading.GetBytes(budget) + GetDecodedBytes(*this, budget) +
         (purpose == Purpose::Inference && !network.LabelsImage() ? GetStripBytes(*this, side, around) : 0);
}

TileCacheBound::TileCacheBound(std::int64_t budget)
  : m_Bound(TileCacheBounds::GetInstance().Add(budget > 0 ? static_cast<std::size_t>(SlideMemory::GetCacheBytes(budget))
                                                          : std::numeric_limits<std::size_t>::max()))
{}

TileCacheBound::~TileCacheBound()
{
  TileCacheBounds::GetInstance().Remove(m_Bound);
}

} // namespace gigapixel
