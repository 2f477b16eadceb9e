/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelBlockPlacement_h
#define gigapixelBlockPlacement_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <map>

namespace gigapixel
{

/** \class BlockPlacement
 * \brief Where blocks of bytes are put in one long piece of memory, so that it is as short as possible.
 *
 * Nothing but the order of calls decides: who estimates a program's memory and who runs it find the same places. */
class GigapixelNetwork_EXPORT BlockPlacement
{
public:
  static constexpr std::int64_t Alignment = 64;

  /** In the first gap that is large enough, or behind everything: the end, where large blocks come and go, stays free.
   * The smallest gap that is large enough has taken up to a third more for U-Nets.
   * \param bytes are rounded up by at most a 64th \return the first byte */
  std::int64_t Take(std::int64_t bytes);

  /** \param first of a block that was taken */
  void Give(std::int64_t first);

  /** One byte behind the last one that is taken. */
  std::int64_t
  GetEnd() const
  {
    return m_End;
  }

  /** One byte behind the last one that was ever taken. */
  std::int64_t
  GetPeak() const
  {
    return m_Peak;
  }

private:
  std::map<std::int64_t, std::int64_t> m_Taken; ///< first byte and size
  std::map<std::int64_t, std::int64_t> m_Gaps;  ///< between them
  std::int64_t                         m_End{ 0 };
  std::int64_t                         m_Peak{ 0 };
};

} // namespace gigapixel

#endif
