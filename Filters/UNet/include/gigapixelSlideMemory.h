/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlideMemory_h
#define gigapixelSlideMemory_h

#include "gigapixelMemoryPlan.h"
#include "gigapixelReadingMemory.h"

#include <set>

namespace gigapixel
{

/** What a slide takes of a process's memory on its way to the network and from it: decoded tiles, rows of pixels and of
 * results, and what is kept of it. A memory limit is the peak of the process, so that this is no longer the engine's.
 * The program, filters and Python all take it from here. */
struct GigapixelUNet_EXPORT SlideMemory
{
  /** The side in pixels of the tiles of most slides, and of the pyramids that are written. */
  static constexpr std::int64_t TileSide = 256;
  /** Bytes that a pyramid's writer asks for at a time: so many rows of tiles. */
  static constexpr std::int64_t BandBytes = 8 << 20;

  const NetworkDescription & network;               ///< what is computed
  Size                       image;                 ///< all of it, in pixels of the level that is read
  Purpose                    purpose;               ///< training or inference
  std::int64_t               tileSize{ 0 };         ///< 0: not chosen yet
  bool                       sharedMemory{ false }; ///< whether pixels lie in memory that CPU and GPU share
  std::optional<Patches>     patches{};             ///< none: the network sees the whole image
  /** The part of the image that is computed, in whole tiles, where it is not all of it. */
  std::optional<Size> part{};
  /** What is kept of the image until the end. */
  std::int64_t keptBytes{ 0 };
  /** Images of a training. Tiles of one stay while the next ones are read, as far as the reader keeps them. */
  int           images{ 1 };
  ReadingMemory reading{};              ///< what readers hold
  bool          isProbability{ false }; ///< whether probabilities are written, else labels
  bool          hasTissue{ false };     ///< whether a tissue mask is read as well
  int           writingThreads{ 1 };    ///< threads that compress the output's tiles

  /** \param budget of the process */
  std::int64_t GetBytes(std::int64_t budget) const;

  /** Bytes of a budget for the decoded tiles that readers keep. 0: the budget is not known. */
  static std::int64_t GetCacheBytes(std::int64_t budget);
};

/** \class TileCacheBound
 * \brief Lets readers keep no more decoded tiles than a budget has room for, until its end. The tiles are shared by the
 * process: the least of all bounds that exist at a time holds, and without one the limit that the caller set. Threads
 * may make and end bounds at the same time. */
class GigapixelUNet_EXPORT TileCacheBound
{
public:
  /** \param budget 0: nothing is bound */
  explicit TileCacheBound(std::int64_t budget);
  ~TileCacheBound();

  TileCacheBound(const TileCacheBound &) = delete;
  TileCacheBound & operator=(const TileCacheBound &) = delete;

private:
  std::multiset<std::size_t>::iterator m_Bound;
};

} // namespace gigapixel

#endif
