/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelStageSeconds_h
#define gigapixelStageSeconds_h

namespace gigapixel
{

/** CPU time of all threads (user and system) by what it was spent on. */
struct StageSeconds
{
  double pixels{ 0 };  ///< reading pixels: decoding, or the cache
  double labels{ 0 };  ///< reading labels
  double network{ 0 }; ///< computing tiles
};

} // namespace gigapixel

#endif
