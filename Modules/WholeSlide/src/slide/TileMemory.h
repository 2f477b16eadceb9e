/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TileMemory_h
#define TileMemory_h

#include <cstddef>
#include <memory>

namespace gigapixel
{

/** Gives a tile's memory back. */
struct TileMemoryDeleter
{
  std::size_t size = 0;

  void operator()(unsigned char * memory) const noexcept;
};

using TileMemory = std::unique_ptr<unsigned char[], TileMemoryDeleter>;

/** Memory for the pixels of a tile, not initialised. Tiles have pages of their own: those of a slide and of its mask,
 * which differ in size, come and go in any order, and would leave holes in the heap (measured: 1.9 times what is kept
 * of tiles). The system takes time to make new pages, so some that were given back last are kept for the next tile of
 * their size. Throws std::bad_alloc. */
TileMemory MakeTileMemory(std::size_t size);

/** Pages that no tile has now, in bytes. */
std::size_t GetIdleTileBytes();

} // namespace gigapixel

#endif
