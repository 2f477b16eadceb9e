/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPerAxis_h
#define gigapixelPerAxis_h

#include <algorithm>
#include <array>
#include <initializer_list>

namespace gigapixel
{

/** \class PerAxis
 * \brief A value for each spatial axis of a network's maps, in the order of PyTorch's tensors: y and x, or z, y and x.
 *
 * How many there are is a matter of the graph (NetworkGraph::GetNumberOfAxes()); none of them lies on the heap. */
template <typename T>
class PerAxis
{
public:
  static constexpr int MostAxes = 3;

  PerAxis() = default; // of no axes

  explicit PerAxis(int axes, const T & value = T())
    : m_Axes(axes)
  {
    std::fill(begin(), end(), value);
  }

  PerAxis(std::initializer_list<T> values)
    : m_Axes(static_cast<int>(values.size()))
  {
    std::copy(values.begin(), values.end(), m_Values.begin());
  }

  int
  GetNumberOfAxes() const
  {
    return m_Axes;
  }

  T &
  operator[](int axis)
  {
    return m_Values[axis];
  }

  const T &
  operator[](int axis) const
  {
    return m_Values[axis];
  }

  /** Along the last axis, x, whose pixels lie beside each other in memory. */
  T &
  Last()
  {
    return m_Values[m_Axes - 1];
  }

  const T &
  Last() const
  {
    return m_Values[m_Axes - 1];
  }

  T *
  begin()
  {
    return m_Values.data();
  }

  T *
  end()
  {
    return m_Values.data() + m_Axes;
  }

  const T *
  begin() const
  {
    return m_Values.data();
  }

  const T *
  end() const
  {
    return m_Values.data() + m_Axes;
  }

  bool
  operator==(const PerAxis & other) const
  {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

  bool
  operator!=(const PerAxis & other) const
  {
    return !(*this == other);
  }

private:
  std::array<T, MostAxes> m_Values{};
  int                     m_Axes{ 0 };
};

} // namespace gigapixel

#endif
