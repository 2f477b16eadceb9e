/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileArena_h
#define gigapixelTileArena_h

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gigapixel::torchmodule
{

class TileArena;

/** \class TileArenas
 * \brief Memory for the maps of tiles, a piece for each thread that computes one at the same time, kept from tile to
 * tile: the system's allocator keeps freed blocks of many sizes, which doubles the peak, and fresh pages cost time.
 *
 * LibTorch's allocator is the process' one, which others may use: what other threads allocate, or these ones when they
 * compute no tile, goes to the allocator that was there before, and so do small tensors. It is there again when the
 * last object of this class is gone. Tensors may be freed anywhere and at any time. */
class TileArenas
{
public:
  TileArenas();
  ~TileArenas();
  TileArenas(const TileArenas &) = delete;
  TileArenas & operator=(const TileArenas &) = delete;

  /** While it lives, tensors of the calling thread are put into an arena. */
  class Scope
  {
  public:
    explicit Scope(TileArenas & arenas);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope & operator=(const Scope &) = delete;

  private:
    TileArenas &               m_Arenas;
    std::shared_ptr<TileArena> m_Arena;
    std::shared_ptr<TileArena> m_Before; ///< what the thread had; none as a rule
  };

  /** Most bytes that any of them, which nobody uses now, has ever needed. */
  std::int64_t GetPeak();

private:
  std::mutex                              m_Mutex;
  std::vector<std::shared_ptr<TileArena>> m_Free;
};

} // namespace gigapixel::torchmodule

#endif
