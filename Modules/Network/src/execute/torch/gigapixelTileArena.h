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
 * Together they keep little more than tiles that were computed at the same time have needed: tiles are of different
 * sizes, and where a large one comes to an arena that has been small, others give back what they hold in vain.
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
    /** \param bytes that the tile needs: TileProgram::GetPeakBytes() */
    Scope(TileArenas & arenas, std::int64_t bytes);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope & operator=(const Scope &) = delete;

  private:
    TileArenas &               m_Arenas;
    std::shared_ptr<TileArena> m_Arena;
    std::shared_ptr<TileArena> m_Before; ///< what the thread had; none as a rule
  };

  /** Most bytes that any of them has ever needed. */
  std::int64_t GetPeak();

  /** Bytes that all of them keep. */
  std::int64_t GetKept();

private:
  struct Entry
  {
    std::shared_ptr<TileArena> arena;
    std::int64_t               needed{ 0 }; ///< by the tile that is computed in it; 0: none is
  };

  std::shared_ptr<TileArena> Begin(std::int64_t bytes);

  void End(const TileArena * arena);

  void GiveBackExcess();

  std::mutex         m_Mutex;
  std::vector<Entry> m_Entries;
  std::int64_t       m_Most{ 0 }; ///< that tiles have needed at the same time
};

} // namespace gigapixel::torchmodule

#endif
