/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRunLengthMask.h"
#include "gigapixelBitRows.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelRunSets.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace gigapixel
{
namespace
{

unsigned
CountTrailingZeros(std::uint64_t word)
{
#if defined(__GNUC__)
  return static_cast<unsigned>(__builtin_ctzll(word));
#else
  unsigned zeros = 0;
  for (; (word & 1u) == 0; word >>= 1)
  {
    ++zeros;
  }
  return zeros;
#endif
}

} // namespace

/** Runs of one value. Row y has n foreground runs and n + 1 background runs, of which the first and the last may be
 * empty; numbers count runs in the order of rows and columns. */
class RunLengthMask::Runs
{
public:
  Runs(const RunLengthMask & mask, bool foreground)
    : m_Mask(mask)
    , m_Foreground(foreground)
  {}

  std::size_t
  GetFirstNumber(std::size_t y) const
  {
    return m_Mask.m_RowStarts[y] / 2 + (m_Foreground ? 0 : y);
  }
  std::size_t
  GetCount(std::size_t y) const
  {
    return this->GetFirstNumber(y + 1) - this->GetFirstNumber(y);
  }
  std::uint32_t
  GetBegin(std::size_t y, std::size_t i) const
  {
    const std::uint32_t * changes = m_Mask.m_Changes.data() + m_Mask.m_RowStarts[y];
    return m_Foreground ? changes[2 * i] : (i == 0 ? 0 : changes[2 * i - 1]);
  }
  std::uint32_t
  GetEnd(std::size_t y, std::size_t i) const
  {
    const std::uint32_t * changes = m_Mask.m_Changes.data() + m_Mask.m_RowStarts[y];
    return m_Foreground ? changes[2 * i + 1]
                        : (i + 1 == this->GetCount(y) ? static_cast<std::uint32_t>(m_Mask.m_Width) : changes[2 * i]);
  }

  /** Unites the runs of row y with those of the row above that share a column, or that touch at a corner if those count
   * (diagonals). Run numbers in the sets begin at firstNumber. */
  void
  ConnectToAbove(std::size_t y, bool diagonals, std::uint32_t firstNumber, RunSets & sets) const
  {
    const std::uint32_t reach = diagonals ? 1 : 0;
    std::size_t         above = 0;
    std::size_t         here = 0;
    while (above < this->GetCount(y - 1) && here < this->GetCount(y))
    {
      const std::uint32_t aboveEnd = this->GetEnd(y - 1, above);
      const std::uint32_t end = this->GetEnd(y, here);
      if (this->GetBegin(y - 1, above) < end + reach && this->GetBegin(y, here) < aboveEnd + reach)
      {
        sets.Unite(firstNumber + static_cast<std::uint32_t>(this->GetFirstNumber(y - 1) + above),
                   firstNumber + static_cast<std::uint32_t>(this->GetFirstNumber(y) + here));
      }
      // Between runs of one row lies at least one pixel, so the run that ends first meets nothing more.
      above += aboveEnd <= end ? 1 : 0;
      here += end <= aboveEnd ? 1 : 0;
    }
  }

private:
  const RunLengthMask & m_Mask;
  bool                  m_Foreground;
};

void
RunLengthMask::Reset(std::size_t width)
{
  if (width >= std::numeric_limits<std::uint32_t>::max())
  {
    throw RefusalOf<std::length_error>(Diagnostic("E-IMAGE-SIZE", "A mask row is too long"));
  }
  m_Width = width;
  m_Changes.clear();
  m_RowStarts.assign(1, 0);
  m_RowBits.assign((width + 63) / 64, 0);
}

void
RunLengthMask::AppendRow(const unsigned char * pixels)
{
  PackBits(pixels, m_Width, m_RowBits.data());
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < m_RowBits.size(); ++i)
  {
    const std::uint64_t word = m_RowBits[i];
    std::uint64_t       changes = word ^ ((word << 1) | before);
    before = word >> 63;
    for (; changes != 0; changes &= changes - 1)
    {
      // The bits past the last pixel are 0, so a run that reaches the row's end is closed there.
      m_Changes.push_back(static_cast<std::uint32_t>(64 * i + CountTrailingZeros(changes)));
    }
  }
  if (before != 0 && m_Width % 64 == 0)
  {
    m_Changes.push_back(static_cast<std::uint32_t>(m_Width));
  }
  m_RowStarts.push_back(m_Changes.size());
}

void
RunLengthMask::FillHoles(std::uint64_t maximum)
{
  const Runs        background(*this, false);
  const std::size_t height = this->GetHeight();
  // Set 0 is what lies outside of the image; run i is number i + 1.
  RunSets    sets(background.GetFirstNumber(height) + 1);
  const auto uniteWithOutside = [&](std::size_t y, std::size_t i) {
    if (background.GetBegin(y, i) < background.GetEnd(y, i))
    {
      sets.Unite(0, static_cast<std::uint32_t>(background.GetFirstNumber(y) + i + 1));
    }
  };
  for (std::size_t y = 0; y < height; ++y)
  {
    const bool edge = y == 0 || y + 1 == height;
    for (std::size_t i = 0; edge && i < background.GetCount(y); ++i)
    {
      uniteWithOutside(y, i);
    }
    uniteWithOutside(y, 0);
    uniteWithOutside(y, background.GetCount(y) - 1);
    if (y > 0)
    {
      background.ConnectToAbove(y, false, 1, sets);
    }
  }

  // Set 0 is never a hole, however small.
  std::vector<std::uint64_t> areas(background.GetFirstNumber(height) + 1, 0);
  for (std::size_t y = 0; y < height; ++y)
  {
    for (std::size_t i = 0; i < background.GetCount(y); ++i)
    {
      const std::uint32_t root = sets.GetRoot(static_cast<std::uint32_t>(background.GetFirstNumber(y) + i + 1));
      areas[root] += background.GetEnd(y, i) - background.GetBegin(y, i);
    }
  }

  std::size_t   kept = 0;
  std::size_t   begin = 0;
  std::uint32_t number = 1;
  for (std::size_t y = 0; y < height; ++y)
  {
    const std::size_t end = m_RowStarts[y + 1];
    for (std::size_t i = begin; i < end; i += 2, ++number)
    {
      // The background run before this run; the row's first one touches the edge.
      const std::uint32_t before = sets.GetRoot(number);
      const bool          joins = i > begin && before != 0 && areas[before] <= maximum;
      if (joins)
      {
        m_Changes[kept - 1] = m_Changes[i + 1];
      }
      else
      {
        m_Changes[kept++] = m_Changes[i];
        m_Changes[kept++] = m_Changes[i + 1];
      }
    }
    // The background run after the last one.
    ++number;
    begin = end;
    m_RowStarts[y + 1] = kept;
  }
  m_Changes.resize(kept);
  m_Changes.shrink_to_fit();
}

void
RunLengthMask::RemoveSmallObjects(std::uint64_t minimum)
{
  const Runs        foreground(*this, true);
  const std::size_t height = this->GetHeight();
  RunSets           sets(foreground.GetFirstNumber(height));
  for (std::size_t y = 1; y < height; ++y)
  {
    foreground.ConnectToAbove(y, true, 0, sets);
  }
  std::vector<std::uint64_t> areas(foreground.GetFirstNumber(height), 0);
  for (std::size_t i = 0; i < m_Changes.size(); i += 2)
  {
    areas[sets.GetRoot(static_cast<std::uint32_t>(i / 2))] += m_Changes[i + 1] - m_Changes[i];
  }

  std::size_t kept = 0;
  std::size_t begin = 0;
  for (std::size_t y = 0; y < height; ++y)
  {
    const std::size_t end = m_RowStarts[y + 1];
    for (std::size_t i = begin; i < end; i += 2)
    {
      if (areas[sets.GetRoot(static_cast<std::uint32_t>(i / 2))] >= minimum)
      {
        m_Changes[kept++] = m_Changes[i];
        m_Changes[kept++] = m_Changes[i + 1];
      }
    }
    begin = end;
    m_RowStarts[y + 1] = kept;
  }
  m_Changes.resize(kept);
  m_Changes.shrink_to_fit();
}

void
RunLengthMask::PaintRow(std::size_t y, std::size_t first, std::size_t count, unsigned char * pixels) const
{
  const auto rowBegin = m_Changes.begin() + static_cast<std::ptrdiff_t>(m_RowStarts[y]);
  const auto rowEnd = m_Changes.begin() + static_cast<std::ptrdiff_t>(m_RowStarts[y + 1]);
  auto       next = std::upper_bound(rowBegin, rowEnd, first);
  bool       foreground = (next - rowBegin) % 2 != 0;
  for (std::size_t x = 0; x < count; foreground = !foreground)
  {
    const std::size_t end = next == rowEnd ? count : std::min<std::size_t>(*next++ - first, count);
    std::memset(pixels + x, foreground ? 255 : 0, end - x);
    x = end;
  }
}

std::size_t
RunLengthMask::GetMemory() const
{
  return m_Changes.capacity() * sizeof(std::uint32_t) + m_RowStarts.capacity() * sizeof(std::size_t);
}

} // namespace gigapixel
