/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Vectors of float for the kernels, and the few functions of them that Highway does not have. Compiled anew for each
// instruction set, therefore Highway's toggling guard.
#if defined(gigapixelLanes_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelLanes_inl_h
#    undef gigapixelLanes_inl_h
#  else
#    define gigapixelLanes_inl_h
#  endif

#  include <hwy/aligned_allocator.h>
#  include <hwy/highway.h>

#  include <cstdint>
#  include <new>
#  include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<std::int32_t>;
using Bytes = hn::Rebind<std::uint8_t, Floats>; // as many bytes as there are float lanes
using FloatVector = hn::Vec<Floats>;
using IntVector = hn::Vec<Ints>;

constexpr int Lanes = static_cast<int>(hn::MaxLanes(Floats()));

// Accumulators of an outer product stay in registers: 4 x 6 of 32 registers, 2 x 6 of 16, leaving room for the
// operands.
#  if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3) || HWY_ARCH_ARM_A64
constexpr int BlockRows = 4;
#  else
constexpr int BlockRows = 2;
#  endif
constexpr int BlockChannels = 6;

/** Memory for whole vectors. */
template <typename T>
hwy::AlignedFreeUniquePtr<T[]>
Allocate(std::size_t count)
{
  auto array = hwy::AllocateAligned<T>(count);
  if (array == nullptr)
  {
    throw std::bad_alloc();
  }
  return array;
}

/** Calls f(std::integral_constant<int, n>), 1 <= n <= BlockChannels: a loop count that the compiler can unroll. */
template <typename F>
HWY_INLINE void
WithBlock(int n, const F & f)
{
  switch (n)
  {
    case 1:
      return f(std::integral_constant<int, 1>());
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 5:
      return f(std::integral_constant<int, 5>());
    default:
      return f(std::integral_constant<int, BlockChannels>());
  }
}

/** Calls f(first, std::integral_constant<int, size>) for blocks that cover [0, channels), as even as can be: 9 is
 * 5 + 4, not 6 + 3, because narrow blocks load more for each product. */
template <typename F>
HWY_INLINE void
ForEachChannelBlock(int channels, const F & f)
{
  const int blocks = (channels + BlockChannels - 1) / BlockChannels;
  for (int block = 0; block < blocks; ++block)
  {
    const int first = channels * block / blocks;
    WithBlock(channels * (block + 1) / blocks - first, [&](auto size) HWY_ATTR { f(first, size); });
  }
}

/** Calls f(first, std::integral_constant<int, BlockRows or 1>) for blocks that cover [0, rows). */
template <typename F>
HWY_INLINE void
ForEachRowBlock(int rows, const F & f)
{
  int row = 0;
  for (; row + BlockRows <= rows; row += BlockRows)
  {
    f(row, std::integral_constant<int, BlockRows>());
  }
  for (; row < rows; ++row)
  {
    f(row, std::integral_constant<int, 1>());
  }
}

/** Sums in double of vectors that are sums of a few already: float alone would drift when thousands of like numbers are
 * added. */
class LaneSums
{
public:
  HWY_INLINE void
  Add(FloatVector v)
  {
    HWY_ALIGN float lanes[Lanes];
    hn::Store(v, Floats(), lanes);
    AddLanes(lanes, m_Sums);
  }

  double
  GetSum() const
  {
    double sum = 0;
    for (const double lane : m_Sums)
    {
      sum += lane;
    }
    return sum;
  }

private:
  /** Not inlined: the compiler would take the array apart into scalars. */
  static HWY_NOINLINE void
  AddLanes(const float * HWY_RESTRICT lanes, double * HWY_RESTRICT sums)
  {
    for (int i = 0; i < Lanes; ++i)
    {
      sums[i] += lanes[i];
    }
  }

  double m_Sums[Lanes] = {};
};

/** Sums of neighbours: low[0] + low[1], low[2] + low[3], ..., and so on in high. */
HWY_INLINE FloatVector
AddPairs(FloatVector low, FloatVector high)
{
#  if HWY_TARGET == HWY_SCALAR
  return hn::Add(low, high);
#  else
  return hn::Add(hn::ConcatEven(Floats(), high, low), hn::ConcatOdd(Floats(), high, low));
#  endif
}

/** 2^x for x <= 0. Relative error below 2e-7 down to x = -126; below that the result stays at 2^-126 = 1.2e-38, which
 * no sum of float with a 1 in it can tell from 0. 2^0 is exactly 1, NaN stays NaN.
 *
 * Adding 1.5 * 2^23 rounds x to a whole number n in the low bits of the sum, from where it is shifted to the place of
 * the exponent; x - n lies within [-1/2, 1/2], where a polynomial interpolates 2^f at Chebyshev's nodes, its constant
 * held at 1 (relative error 9e-9, the rest is rounding). Evaluated in pairs: a shorter chain of dependent operations.
 */
HWY_INLINE FloatVector
PowerOfTwo(FloatVector x)
{
  const Floats d;
  const auto   shift = hn::Set(d, 12582912.0f);
  const auto   clamped = hn::Max(hn::Set(d, -126.0f), x);
  const auto   shifted = hn::Add(clamped, shift);
  const auto   f = hn::Sub(clamped, hn::Sub(shifted, shift));
  const auto   f2 = hn::Mul(f, f);
  const auto   high = hn::MulAdd(hn::MulAdd(hn::Set(d, 1.54532623e-4f), f, hn::Set(d, 1.33909786e-3f)),
                               f2,
                               hn::MulAdd(hn::Set(d, 9.61808208e-3f), f, hn::Set(d, 5.55035695e-2f)));
  const auto   low = hn::MulAdd(hn::Set(d, 2.40226507e-1f), f, hn::Set(d, 6.93147182e-1f));
  const auto   p = hn::MulAdd(hn::MulAdd(high, f2, low), f, hn::Set(d, 1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(Ints(), p), hn::ShiftLeft<23>(hn::BitCast(Ints(), shifted))));
}

/** Sums over the 2^Levels neighbours of each of as many groups as there are lanes. */
template <int Levels>
HWY_INLINE FloatVector
SumOfGroups(const float * values)
{
  if constexpr (Levels == 0)
  {
    return hn::LoadU(Floats(), values);
  }
  else
  {
    constexpr int half = Lanes << (Levels - 1);
    return AddPairs(SumOfGroups<Levels - 1>(values), SumOfGroups<Levels - 1>(values + half));
  }
}

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif
