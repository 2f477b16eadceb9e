/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumeOrientation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace gigapixel
{
namespace
{

using Triple = std::array<std::int64_t, 3>;

/** Along x, y and z of ITK, whose coordinates grow to the left, back and head. */
constexpr std::array<const char *, 3> Sides{ "LR", "PA", "SI" };

Triple
GetSides(const Size & size)
{
  return { size.width, size.height, size.depth };
}

/** The volume's axis for each of the patient's: the pair that is nearest to each other comes first, then the nearest of
 * what is left, as in ITK's orientation filters and in nibabel, whose orientations training states. */
std::array<std::size_t, 3>
FindNearest(const VolumeGrid & grid)
{
  std::array<std::size_t, 3> nearest{ 3, 3, 3 };
  std::array<bool, 3>        isTaken{};
  for (std::size_t pair = 0; pair < 3; ++pair)
  {
    double      best = -1;
    std::size_t axis = 0, patient = 0;
    for (std::size_t i = 0; i < 9; ++i)
    {
      const double along = std::abs(grid.axes[i / 3][i % 3]);
      if (!isTaken[i / 3] && nearest[i % 3] == 3 && along > best + 1e-9) // the first of those that are as near
      {
        best = along;
        axis = i / 3;
        patient = i % 3;
      }
    }
    nearest[patient] = axis;
    isTaken[axis] = true;
  }
  return nearest;
}

/** Which of the patient's axes a letter is of. */
std::size_t
GetPatientAxis(char letter)
{
  const auto found = std::find_if(
    Sides.begin(), Sides.end(), [letter](const char * side) { return side[0] == letter || side[1] == letter; });
  return static_cast<std::size_t>(found - Sides.begin());
}

/** \class Walk
 * \brief Where the voxels of a region as it is shown lie in the volume. */
struct Walk
{
  Region       region; ///< of the volume
  std::int64_t first;  ///< voxel of that region, for the first one that is shown
  Triple       steps;  ///< from voxel to voxel along x, y and z as they are shown, in that region

  Walk(const AxisOrder & order, const Region & shown, const Size & volume)
  {
    const Triple begins{ shown.x, shown.y, shown.z }, lengths{ shown.width, shown.height, shown.depth };
    const Triple all = GetSides(volume);
    Triple       begin{}, length{};
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      const std::size_t own = order.from[axis];
      begin[own] = order.isReversed[axis] ? all[own] - begins[axis] - lengths[axis] : begins[axis];
      length[own] = lengths[axis];
    }
    region = { begin[0], begin[1], length[0], length[1], begin[2], length[2] };
    const Triple strides{ 1, length[0], length[0] * length[1] };
    first = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      const std::int64_t stride = strides[order.from[axis]];
      steps[axis] = order.isReversed[axis] ? -stride : stride;
      first += order.isReversed[axis] ? stride * (lengths[axis] - 1) : 0;
    }
  }

  /** \param function called with the voxel of the region, in the order of what is shown */
  template <typename TFunction>
  void
  Go(const Region & shown, const TFunction & function) const
  {
    for (std::int64_t z = 0; z < shown.depth; ++z)
    {
      for (std::int64_t y = 0; y < shown.height; ++y)
      {
        std::int64_t at = first + z * steps[2] + y * steps[1];
        for (std::int64_t x = 0; x < shown.width; ++x, at += steps[0])
        {
          function(static_cast<std::size_t>(at));
        }
      }
    }
  }
};

/** Reads a region of the volume, and puts its voxels into the order in which they are shown.
 * \param bytes of a voxel */
template <typename TSource>
void
ReadOrdered(TSource & source, const AxisOrder & order, const Region & shown, std::size_t bytes, std::uint8_t * out)
{
  const Walk                walk(order, shown, source.GetSize());
  std::vector<std::uint8_t> read(static_cast<std::size_t>(shown.width * shown.height * shown.depth) * bytes);
  source.Read(walk.region, read.data());
  walk.Go(shown, [&](std::size_t voxel) {
    std::memcpy(out, read.data() + voxel * bytes, bytes);
    out += bytes;
  });
}

Size
GetShownSize(const AxisOrder & order, const Size & size)
{
  const Triple sides = GetSides(size);
  return { sides[order.from[0]], sides[order.from[1]], sides[order.from[2]] };
}

class OrderedPixelSource : public PixelSource
{
public:
  OrderedPixelSource(std::shared_ptr<PixelSource> volume, const AxisOrder & order)
    : m_Volume(std::move(volume))
    , m_Order(order)
  {}

  Size
  GetSize() const override
  {
    return GetShownSize(m_Order, m_Volume->GetSize());
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Volume->GetNumberOfChannels();
  }

  SampleType
  GetSampleType() const override
  {
    return m_Volume->GetSampleType();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const auto bytes = static_cast<std::size_t>(GetSampleBytes(this->GetSampleType())) * this->GetNumberOfChannels();
    ReadOrdered(*m_Volume, m_Order, region, bytes, samples);
  }

private:
  std::shared_ptr<PixelSource> m_Volume;
  AxisOrder                    m_Order;
};

class OrderedLabelSource : public LabelSource
{
public:
  OrderedLabelSource(std::shared_ptr<LabelSource> labels, const AxisOrder & order)
    : m_Labels(std::move(labels))
    , m_Order(order)
  {}

  Size
  GetSize() const override
  {
    return GetShownSize(m_Order, m_Labels->GetSize());
  }

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    ReadOrdered(*m_Labels, m_Order, region, 1, classes);
  }

private:
  std::shared_ptr<LabelSource> m_Labels;
  AxisOrder                    m_Order;
};

} // namespace

bool
IsOrientation(const std::string & letters)
{
  std::array<bool, 3> isThere{};
  for (const char letter : letters)
  {
    const std::size_t axis = GetPatientAxis(letter);
    if (axis == 3 || isThere[axis])
    {
      return false;
    }
    isThere[axis] = true;
  }
  return letters.size() == 3;
}

std::string
GetOrientation(const VolumeGrid & grid)
{
  const auto  nearest = FindNearest(grid);
  std::string letters(3, ' ');
  for (std::size_t patient = 0; patient < 3; ++patient)
  {
    letters[nearest[patient]] = Sides[patient][grid.axes[nearest[patient]][patient] < 0 ? 1 : 0];
  }
  return letters;
}

AxisOrder
AxisOrder::Find(const VolumeGrid & grid, const std::string & letters)
{
  if (letters == StoredOrientation)
  {
    return {};
  }
  const auto        nearest = FindNearest(grid);
  const std::string own = GetOrientation(grid);
  AxisOrder         order;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    order.from[axis] = nearest[GetPatientAxis(letters[axis])];
    order.isReversed[axis] = own[order.from[axis]] != letters[axis];
  }
  return order;
}

bool
AxisOrder::ChangesNothing() const
{
  return from == std::array<std::size_t, 3>{ 0, 1, 2 } && isReversed == std::array<bool, 3>{};
}

VolumeGrid
AxisOrder::Apply(const VolumeGrid & grid) const
{
  const Triple sides = GetSides(grid.size);
  VolumeGrid   shown;
  shown.size = GetShownSize(*this, grid.size);
  shown.origin = grid.origin;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const std::size_t own = from[axis];
    const double      sign = isReversed[axis] ? -1 : 1;
    shown.spacing[axis] = grid.spacing[own];
    for (std::size_t i = 0; i < 3; ++i)
    {
      shown.axes[axis][i] = sign * grid.axes[own][i];
      shown.origin[i] +=
        isReversed[axis] ? static_cast<double>(sides[own] - 1) * grid.spacing[own] * grid.axes[own][i] : 0;
    }
  }
  return shown;
}

template <typename T>
void
AxisOrder::BringBack(const std::vector<T> & shown, const Size & size, T * own, std::size_t values) const
{
  const Size   ordered = GetShownSize(*this, size);
  const Region whole{ 0, 0, ordered.width, ordered.height, 0, ordered.depth };
  auto         next = shown.begin();
  Walk(*this, whole, size).Go(whole, [&](std::size_t voxel) {
    std::copy_n(next, values, own + voxel * values);
    next += static_cast<std::ptrdiff_t>(values);
  });
}

template void AxisOrder::BringBack(const std::vector<std::uint8_t> &, const Size &, std::uint8_t *, std::size_t) const;
template void AxisOrder::BringBack(const std::vector<float> &, const Size &, float *, std::size_t) const;

std::shared_ptr<PixelSource>
MakeOrderedSource(std::shared_ptr<PixelSource> volume, const AxisOrder & order)
{
  return order.ChangesNothing() ? volume : std::make_shared<OrderedPixelSource>(std::move(volume), order);
}

std::shared_ptr<LabelSource>
MakeOrderedSource(std::shared_ptr<LabelSource> labels, const AxisOrder & order)
{
  return order.ChangesNothing() ? labels : std::make_shared<OrderedLabelSource>(std::move(labels), order);
}

} // namespace gigapixel
