/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReadAhead_h
#define gigapixelReadAhead_h

#include "gigapixelSource.h"

namespace gigapixel
{

/** Called when an item of a run begins: says to the source what the item reads that this thread takes next, so that
 * storage brings it meanwhile. Each item is announced once, those that begin a run by themselves.
 * \param threads that take items in their order
 * \param getInput (item) is the region of pixels that it reads; without a width: none */
template <typename TGetInput>
void
ReadAhead(PixelSource & pixels, std::int64_t item, std::int64_t items, std::int64_t threads, const TGetInput & getInput)
{
  const auto announce = [&](std::int64_t which) {
    const Region input = which < items ? getInput(which) : Region{};
    if (input.width > 0 && input.height > 0)
    {
      pixels.ReadAhead(input);
    }
  };
  if (item < threads)
  {
    announce(item);
  }
  announce(item + threads);
}

} // namespace gigapixel

#endif
