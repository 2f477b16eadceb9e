/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMapMemory_h
#define gigapixelMapMemory_h

#include "kernels/gigapixelKernelViews.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class MapMemory
 * \brief Memory for the maps of one tile, kept from tile to tile: asking the system for it anew costs more than many a
 * layer. */
class MapMemory
{
public:
  /** All maps are given back.
   * \param pixels of the tile's window
   * \param greatest of any tile's window: blocks are made for it at once, for those of a smaller one would be given
   * back to the system when it comes, and what is not written to takes no memory */
  void Begin(std::int64_t pixels, std::int64_t greatest);

  /** A compact planar map whose values are not set. */
  kernels::MapView<float> Take(std::int64_t channels, std::int64_t height, std::int64_t width);

  /** Gives a map back, if it is one (and not given back yet), and forgets it. */
  void Release(kernels::MapView<float> & map);

private:
  struct Free
  {
    void
    operator()(float * values) const
    {
      std::free(values);
    }
  };

  struct Block
  {
    std::unique_ptr<float[], Free> values;
    std::size_t                    size{ 0 };
    bool                           taken{ false };
  };

  std::size_t GetGreatest(std::size_t size) const;

  std::vector<Block> m_Blocks;
  std::int64_t       m_Pixels{ 0 };   ///< of the window
  std::int64_t       m_Greatest{ 0 }; ///< of the greatest window so far
};

} // namespace gigapixel

#endif
