/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRunSets_h
#define gigapixelRunSets_h

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace gigapixel
{

/** \class RunSets
 * \brief Sets of runs of pixels that touch each other; the root of a set is its lowest number. 4 bytes a run. */
class RunSets
{
public:
  /** \param count sets of one run each to begin with */
  explicit RunSets(std::size_t count = 0)
  {
    RequireNumber(count);
    m_Parents.resize(count);
    std::iota(m_Parents.begin(), m_Parents.end(), std::uint32_t(0));
  }

  /** A set of its own with the next number. */
  std::uint32_t
  Add()
  {
    RequireNumber(m_Parents.size() + 1);
    m_Parents.push_back(static_cast<std::uint32_t>(m_Parents.size()));
    return m_Parents.back();
  }

  /** The lowest number of the run's set. */
  std::uint32_t
  GetRoot(std::uint32_t run)
  {
    while (m_Parents[run] != run)
    {
      m_Parents[run] = m_Parents[m_Parents[run]];
      run = m_Parents[run];
    }
    return run;
  }

  /** Makes one set of the sets of both runs. */
  void
  Unite(std::uint32_t a, std::uint32_t b)
  {
    a = this->GetRoot(a);
    b = this->GetRoot(b);
    m_Parents[std::max(a, b)] = std::min(a, b);
  }

private:
  static void
  RequireNumber(std::size_t count)
  {
    if (count > std::numeric_limits<std::uint32_t>::max())
    {
      throw RefusalOf<std::length_error>(
        Diagnostic("E-IMAGE-SIZE", "The mask has more than 2^32 runs: it is noise", "smooth it (median) before"));
    }
  }

  std::vector<std::uint32_t> m_Parents;
};

} // namespace gigapixel

#endif
