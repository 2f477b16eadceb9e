/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelClassMap.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{

void
ClassMap::Reset(std::size_t width)
{
  if (width >= std::size_t{ 1 } << 30)
  {
    throw RefusalOf<std::length_error>(Diagnostic("E-IMAGE-SIZE", "A row of classes has fewer than 2^30 pixels"));
  }
  m_Width = width;
  m_Runs.clear();
  m_RowStarts.assign(1, 0);
}

void
ClassMap::AppendRow(const unsigned char * classes)
{
  std::size_t begin = 0;
  while (begin < m_Width)
  {
    const unsigned char value = classes[begin];
    const auto *        end =
      std::find_if(classes + begin, classes + m_Width, [value](unsigned char other) { return other != value; });
    const auto next = static_cast<std::size_t>(end - classes);
    m_Runs.push_back(static_cast<std::uint32_t>(next) * 4 + value);
    begin = next;
  }
  m_RowStarts.push_back(m_Runs.size());
}

void
ClassMap::PaintRow(std::size_t                                y,
                   std::size_t                                first,
                   std::size_t                                count,
                   const std::array<unsigned char, Classes> & values,
                   unsigned char *                            pixels) const
{
  const auto end = m_Runs.begin() + static_cast<std::ptrdiff_t>(m_RowStarts[y + 1]);
  auto       run = std::upper_bound(
    m_Runs.begin() + static_cast<std::ptrdiff_t>(m_RowStarts[y]), end, static_cast<std::uint32_t>(first * 4 + 3));
  for (std::size_t done = 0; done < count && run != end; ++run)
  {
    const std::size_t last = std::min<std::size_t>(*run / 4, first + count) - first;
    std::fill(pixels + done, pixels + last, values[*run % 4]);
    done = last;
  }
}

} // namespace gigapixel
