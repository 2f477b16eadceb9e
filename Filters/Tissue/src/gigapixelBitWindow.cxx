/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBitWindow.h"
#include "gigapixelBitRows.h"
#include "gigapixelInstructionSets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gigapixel
{
namespace
{

using Word = std::uint64_t;

/** Words are worked on in groups of 512 bits, which the compiler turns into the widest registers there are. */
constexpr std::size_t Group = 8;

/** What lies outside the image. */
enum class Outside
{
  Background,
  Foreground,
  Nearest
};

/** Rows of a mask, 64 pixels a word, with a margin on either side that says what lies outside. All rows, and the space
 * before the first and after the last, may be read as far as a shift by the margin reaches. */
class BitBand
{
public:
  BitBand(std::size_t width, std::size_t height, std::size_t margin)
    : m_Width(width)
    , m_Margin((margin + 63) / 64)
    , m_Words((2 * m_Margin + (width + 63) / 64 + Group - 1) / Group * Group)
    , m_Bits((height * m_Words) + 2 * this->GetSlack())
  {}

  Word *
  GetRow(std::size_t y)
  {
    return m_Bits.data() + this->GetSlack() + y * m_Words;
  }

  std::size_t
  GetWords() const
  {
    return m_Words;
  }

  /** Bit of a row's first pixel. */
  std::size_t
  GetFirstBit() const
  {
    return 64 * m_Margin;
  }

  void
  SetRow(std::size_t y, const unsigned char * pixels, Outside outside)
  {
    Word * const row = this->GetRow(y);
    PackBits(pixels, m_Width, row + m_Margin);
    const bool left = outside == Outside::Nearest ? pixels[0] != 0 : outside == Outside::Foreground;
    const bool right = outside == Outside::Nearest ? pixels[m_Width - 1] != 0 : outside == Outside::Foreground;
    std::fill_n(row, m_Margin, left ? ~Word(0) : Word(0));
    std::size_t end = m_Margin + m_Width / 64;
    if (m_Width % 64 != 0)
    {
      row[end++] |= right ? ~Word(0) << (m_Width % 64) : Word(0);
    }
    std::fill(row + end, row + m_Words, right ? ~Word(0) : Word(0));
  }

private:
  std::size_t
  GetSlack() const
  {
    return 2 * m_Margin + Group;
  }

  std::size_t       m_Width;
  std::size_t       m_Margin;
  std::size_t       m_Words;
  std::vector<Word> m_Bits;
};

/** Half the width of a disc in the row dy from its center: the largest dx with dx^2 + dy^2 <= (r + 1/2)^2, that is, in
 * whole numbers, dx^2 + dy^2 <= r^2 + r. */
std::size_t
GetHalfWidth(std::size_t radius, std::size_t dy)
{
  const std::size_t square = radius * radius + radius - dy * dy;
  auto              half = static_cast<std::size_t>(std::sqrt(static_cast<double>(square)));
  while (half * half > square)
  {
    --half;
  }
  while ((half + 1) * (half + 1) <= square)
  {
    ++half;
  }
  return half;
}

/** to = to OR row moved by `shift` pixels to the left and to the right (Dilating), or AND (not Dilating). */
template <bool Dilating>
GIGAPIXEL_ALWAYS_INLINE void
WidenRow(const Word * __restrict row, std::size_t words, std::size_t shift, Word * __restrict to)
{
  const std::size_t q = shift / 64;
  const unsigned    s = shift % 64;
  for (std::size_t i = 0; i < words; i += Group)
  {
    const Word * a = row + i + q;
    const Word * b = row + i - q;
    for (std::size_t k = 0; k < Group; ++k)
    {
      // Two shifts where one would do: shifting by 64 is not defined.
      const Word fromRight = (a[k] >> s) | ((a[k + 1] << 1) << (63 - s));
      const Word fromLeft = (b[k] << s) | ((b[static_cast<std::ptrdiff_t>(k) - 1] >> 1) >> (63 - s));
      to[i + k] = Dilating ? (to[i + k] | fromRight | fromLeft) : (to[i + k] & fromRight & fromLeft);
    }
  }
}

template <bool Dilating>
GIGAPIXEL_ALWAYS_INLINE void
JoinRow(const Word * __restrict row, std::size_t words, Word * __restrict to)
{
  for (std::size_t i = 0; i < words; ++i)
  {
    to[i] = Dilating ? (to[i] | row[i]) : (to[i] & row[i]);
  }
}

/** A disc is a stack of horizontal lines. Each input row is widened step by step to all half-widths that the disc has,
 * and joined into the output rows in which the disc has that width. */
template <bool Dilating>
GIGAPIXEL_ALWAYS_INLINE void
ApplyDisc(const Word * const * rows, std::size_t height, std::size_t words, std::size_t radius, BitBand & output)
{
  std::vector<std::vector<std::size_t>> offsetsOfHalfWidth(radius + 1);
  for (std::size_t dy = 0; dy <= radius; ++dy)
  {
    offsetsOfHalfWidth[GetHalfWidth(radius, dy)].push_back(dy);
  }
  std::fill_n(output.GetRow(0), height * words, Dilating ? Word(0) : ~Word(0));
  std::vector<Word> widened(words);
  // Row `radius` of `rows` is the first output row.
  const auto joinInto = [&](std::size_t row, std::size_t above) {
    if (row >= above && row - above < height)
    {
      JoinRow<Dilating>(widened.data(), words, output.GetRow(row - above));
    }
  };
  for (std::size_t j = 0; j < height + 2 * radius; ++j)
  {
    std::copy_n(rows[j], words, widened.begin());
    for (std::size_t half = 0; half <= radius; ++half)
    {
      if (half > 0)
      {
        WidenRow<Dilating>(rows[j], words, half, widened.data());
      }
      for (const std::size_t dy : offsetsOfHalfWidth[half])
      {
        joinInto(j, radius + dy);
        if (dy > 0)
        {
          joinInto(j, radius - dy);
        }
      }
    }
  }
}

GIGAPIXEL_INSTRUCTION_SETS void
ErodeRows(const Word * const * rows, std::size_t height, std::size_t words, std::size_t radius, BitBand & output)
{
  ApplyDisc<false>(rows, height, words, radius, output);
}

GIGAPIXEL_INSTRUCTION_SETS void
DilateRows(const Word * const * rows, std::size_t height, std::size_t words, std::size_t radius, BitBand & output)
{
  ApplyDisc<true>(rows, height, words, radius, output);
}

/** A row of small numbers, one for every pixel, held as one bit plane per binary digit. */
class BitPlanes
{
public:
  BitPlanes(std::size_t digits, std::size_t words, std::size_t slack)
    : m_Stride(words + slack)
    , m_Bits(digits * m_Stride)
  {}

  Word *
  GetDigit(std::size_t digit)
  {
    return m_Bits.data() + digit * m_Stride;
  }
  const Word *
  GetDigit(std::size_t digit) const
  {
    return m_Bits.data() + digit * m_Stride;
  }

private:
  std::size_t       m_Stride;
  std::vector<Word> m_Bits;
};

/** numbers += row (Adding) or numbers -= row. */
template <bool Adding>
GIGAPIXEL_ALWAYS_INLINE void
CountRow(const Word * row, std::size_t words, std::size_t digits, BitPlanes & numbers)
{
  for (std::size_t i = 0; i < words; i += Group)
  {
    Word carry[Group];
    std::copy_n(row + i, Group, carry);
    for (std::size_t digit = 0; digit < digits; ++digit)
    {
      Word * const number = numbers.GetDigit(digit) + i;
      for (std::size_t k = 0; k < Group; ++k)
      {
        const Word before = number[k];
        number[k] = before ^ carry[k];
        carry[k] &= Adding ? before : ~before;
      }
    }
  }
}

/** Numbers of so many digits. */
template <typename TPlanes>
struct Numbers
{
  TPlanes &   planes;
  std::size_t digits;
};

/** sum = a + (b taken from `shift` pixels further right). */
GIGAPIXEL_ALWAYS_INLINE void
AddShifted(const Numbers<const BitPlanes> & a,
           const Numbers<const BitPlanes> & b,
           std::size_t                      shift,
           std::size_t                      words,
           const Numbers<BitPlanes> &       sum)
{
  const std::size_t q = shift / 64;
  const unsigned    s = shift % 64;
  for (std::size_t i = 0; i < words; i += Group)
  {
    Word carry[Group] = {};
    for (std::size_t digit = 0; digit < sum.digits; ++digit)
    {
      Word left[Group] = {};
      Word right[Group] = {};
      if (digit < a.digits)
      {
        std::copy_n(a.planes.GetDigit(digit) + i, Group, left);
      }
      if (digit < b.digits)
      {
        const Word * const from = b.planes.GetDigit(digit) + i + q;
        for (std::size_t k = 0; k < Group; ++k)
        {
          right[k] = (from[k] >> s) | ((from[k + 1] << 1) << (63 - s));
        }
      }
      Word * const to = sum.planes.GetDigit(digit) + i;
      for (std::size_t k = 0; k < Group; ++k)
      {
        const Word either = left[k] ^ right[k];
        to[k] = either ^ carry[k];
        carry[k] = (left[k] & right[k]) | (carry[k] & either);
      }
    }
  }
}

std::size_t
GetDigits(std::size_t largest)
{
  std::size_t digits = 0;
  for (; largest > 0; largest /= 2)
  {
    ++digits;
  }
  return digits;
}

/** Counts the foreground in the square below each pixel: first down the columns (add the row that enters, take off the
 * row that leaves), then along the row by doubling: sums over 1, 2, 4, ... columns, of which those are added up that
 * make 2r+1. All numbers are bit planes, so that one operation serves 64 pixels or more. */
class MajorityCounter
{
public:
  MajorityCounter(std::size_t radius, std::size_t words)
    : m_Radius(radius)
    , m_Side(2 * radius + 1)
    , m_Words(words)
    , m_ColumnDigits(GetDigits(m_Side))
    , m_SumDigits(GetDigits(m_Side * m_Side))
    , m_Columns(m_ColumnDigits, words, this->GetSlack())
    , m_Power{ this->MakeSum(), this->MakeSum() }
    , m_Sum{ this->MakeSum(), this->MakeSum() }
  {}

  GIGAPIXEL_ALWAYS_INLINE void
  Apply(const Word * const * rows, std::size_t height, BitBand & output)
  {
    for (std::size_t j = 0; j + 1 < m_Side; ++j)
    {
      CountRow<true>(rows[j], m_Words, m_ColumnDigits, m_Columns);
    }
    for (std::size_t y = 0; y < height; ++y)
    {
      CountRow<true>(rows[y + m_Side - 1], m_Words, m_ColumnDigits, m_Columns);
      this->Compare(this->SumColumns(), output.GetRow(y));
      CountRow<false>(rows[y], m_Words, m_ColumnDigits, m_Columns);
    }
  }

private:
  std::size_t
  GetSlack() const
  {
    return m_Side / 64 + 2 * Group;
  }
  BitPlanes
  MakeSum() const
  {
    return BitPlanes(m_SumDigits, m_Words, this->GetSlack());
  }

  /** The sums over the squares; the number at a pixel is that of the square whose left column is there. */
  GIGAPIXEL_ALWAYS_INLINE const BitPlanes &
  SumColumns()
  {
    // Over `length` columns: the power of two in hand; over `offset` columns: what is already added up.
    const BitPlanes * power = &m_Columns;
    const BitPlanes * sum = &m_Columns;
    std::size_t       length = 1;
    std::size_t       offset = 1;
    std::size_t       nextPower = 0;
    std::size_t       nextSum = 0;
    while (2 * length <= m_Side)
    {
      const std::size_t digits = GetDigits(length * m_Side);
      const std::size_t doubled = GetDigits(2 * length * m_Side);
      AddShifted({ *power, digits }, { *power, digits }, length, m_Words, { m_Power[nextPower], doubled });
      power = &m_Power[nextPower];
      nextPower = 1 - nextPower;
      length *= 2;
      if ((m_Side & length) != 0)
      {
        const std::size_t sumDigits = GetDigits((offset + length) * m_Side);
        const std::size_t before = GetDigits(offset * m_Side);
        AddShifted({ *sum, before }, { *power, doubled }, offset, m_Words, { m_Sum[nextSum], sumDigits });
        sum = &m_Sum[nextSum];
        nextSum = 1 - nextSum;
        offset += length;
      }
    }
    return *sum;
  }

  /** 1 where the sum is more than half of the square: the carry of sum + (2^digits - threshold). */
  GIGAPIXEL_ALWAYS_INLINE void
  Compare(const BitPlanes & sum, Word * output)
  {
    const std::size_t threshold = (m_Side * m_Side + 1) / 2;
    const std::size_t addend = (std::size_t(1) << m_SumDigits) - threshold;
    const std::size_t q = m_Radius / 64;
    const unsigned    s = m_Radius % 64;
    m_Carry.assign(m_Words + this->GetSlack(), 0);
    Word * const carries = m_Carry.data() + q + 1;
    for (std::size_t i = 0; i < m_Words; i += Group)
    {
      Word carry[Group] = {};
      for (std::size_t digit = 0; digit < m_SumDigits; ++digit)
      {
        const Word * const number = sum.GetDigit(digit) + i;
        const bool         set = ((addend >> digit) & 1u) != 0;
        for (std::size_t k = 0; k < Group; ++k)
        {
          carry[k] = set ? (number[k] | carry[k]) : (number[k] & carry[k]);
        }
      }
      std::copy_n(carry, Group, carries + i);
    }
    // The square's left column is `radius` pixels left of its center.
    const Word * const from = carries - q;
    for (std::size_t i = 0; i < m_Words; ++i)
    {
      output[i] = (from[i] << s) | ((from[static_cast<std::ptrdiff_t>(i) - 1] >> 1) >> (63 - s));
    }
  }

  std::size_t       m_Radius;
  std::size_t       m_Side;
  std::size_t       m_Words;
  std::size_t       m_ColumnDigits;
  std::size_t       m_SumDigits;
  BitPlanes         m_Columns;
  BitPlanes         m_Power[2];
  BitPlanes         m_Sum[2];
  std::vector<Word> m_Carry;
};

GIGAPIXEL_INSTRUCTION_SETS void
MajorityRows(const Word * const * rows, std::size_t height, std::size_t words, std::size_t radius, BitBand & output)
{
  MajorityCounter(radius, words).Apply(rows, height, output);
}

/** Whether the window over any wanted pixel holds the whole block, and so all of the image that there is to see. */
bool
HoldsTheBlock(BitWindow kind, std::size_t radius, const PixelBlock & block)
{
  const std::size_t width = block.width - 1;
  const std::size_t height = block.height - 1;
  return kind == BitWindow::Majority ? radius >= std::max(width, height)
                                     : width * width + height * height <= radius * radius;
}

/** Majority where HoldsTheBlock(): whatever the radius, all that changes from pixel to pixel is how often the block's
 * border counts. Foreground counts 1, background -1. */
void
CountWholeBlock(std::size_t         radius,
                const PixelBlock &  block,
                const PixelWindow & wanted,
                unsigned char *     output,
                std::size_t         outputStride)
{
  const auto getSign = [&](std::size_t x, std::size_t y) -> std::int64_t {
    return block.pixels[y * block.stride + x] != 0 ? 1 : -1;
  };
  const std::size_t right = block.width - 1;
  const std::size_t bottom = block.height - 1;
  /** A row, the border's left and right pixels counted as often as the window lies over them beside x. */
  struct Sums
  {
    std::int64_t row, left, right;
  };
  const auto addRow = [&](std::size_t y, Sums sums) {
    for (std::size_t x = 0; x <= right; ++x)
    {
      sums.row += getSign(x, y);
    }
    return Sums{ sums.row, sums.left + getSign(0, y), sums.right + getSign(right, y) };
  };
  Sums all{};
  for (std::size_t y = 0; y <= bottom; ++y)
  {
    all = addRow(y, all);
  }
  const Sums top = addRow(0, {});
  const Sums last = addRow(bottom, {});
  for (std::size_t j = 0; j < wanted.height; ++j)
  {
    const auto above = static_cast<std::int64_t>(radius - (wanted.y + j));
    const auto below = static_cast<std::int64_t>(radius - (bottom - wanted.y - j));
    for (std::size_t i = 0; i < wanted.width; ++i)
    {
      const auto before = static_cast<std::int64_t>(radius - (wanted.x + i));
      const auto after = static_cast<std::int64_t>(radius - (right - wanted.x - i));
      const auto sum = [&](const Sums & sums) { return sums.row + before * sums.left + after * sums.right; };
      output[j * outputStride + i] = sum(all) + above * sum(top) + below * sum(last) > 0 ? 255 : 0;
    }
  }
}

/** Discs where HoldsTheBlock(): one answer for all pixels. */
void
JoinWholeBlock(BitWindow           kind,
               const PixelBlock &  block,
               const PixelWindow & wanted,
               unsigned char *     output,
               std::size_t         outputStride)
{
  const bool dilates = kind == BitWindow::Dilate;
  bool       decided = false;
  for (std::size_t y = 0; y < block.height && !decided; ++y)
  {
    const unsigned char * row = block.pixels + y * block.stride;
    decided = std::any_of(row, row + block.width, [&](unsigned char pixel) { return (pixel != 0) == dilates; });
  }
  for (std::size_t j = 0; j < wanted.height; ++j)
  {
    std::fill_n(output + j * outputStride, wanted.width, decided == dilates ? 255 : 0);
  }
}

} // namespace

void
ApplyWindow(BitWindow           kind,
            std::size_t         radius,
            const PixelBlock &  block,
            const PixelWindow & wanted,
            unsigned char *     output,
            std::size_t         outputStride)
{
  if (HoldsTheBlock(kind, radius, block))
  {
    kind == BitWindow::Majority ? CountWholeBlock(radius, block, wanted, output, outputStride)
                                : JoinWholeBlock(kind, block, wanted, output, outputStride);
    return;
  }
  const Outside outside = kind == BitWindow::Majority
                            ? Outside::Nearest
                            : (kind == BitWindow::Erode ? Outside::Foreground : Outside::Background);
  // One row more than the block has, for what lies above and below the image.
  BitBand band(block.width, block.height + 1, radius);
  for (std::size_t y = 0; y < block.height; ++y)
  {
    band.SetRow(y, block.pixels + y * block.stride, outside);
  }
  Word * const beyond = band.GetRow(block.height);
  std::fill_n(beyond, band.GetWords(), outside == Outside::Foreground ? ~Word(0) : Word(0));

  std::vector<const Word *> rows;
  for (std::size_t j = 0; j < wanted.height + 2 * radius; ++j)
  {
    const auto y = static_cast<std::ptrdiff_t>(wanted.y + j) - static_cast<std::ptrdiff_t>(radius);
    const auto last = static_cast<std::ptrdiff_t>(block.height) - 1;
    const auto nearest = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(y, 0, last));
    rows.push_back(outside == Outside::Nearest || (y >= 0 && y <= last) ? band.GetRow(nearest) : beyond);
  }

  BitBand result(block.width, wanted.height, radius);
  switch (kind)
  {
    case BitWindow::Majority:
      MajorityRows(rows.data(), wanted.height, band.GetWords(), radius, result);
      break;
    case BitWindow::Erode:
      ErodeRows(rows.data(), wanted.height, band.GetWords(), radius, result);
      break;
    case BitWindow::Dilate:
      DilateRows(rows.data(), wanted.height, band.GetWords(), radius, result);
      break;
  }
  for (std::size_t y = 0; y < wanted.height; ++y)
  {
    UnpackBits(result.GetRow(y), result.GetFirstBit() + wanted.x, wanted.width, output + y * outputStride);
  }
}

} // namespace gigapixel
