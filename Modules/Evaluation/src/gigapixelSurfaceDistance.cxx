/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSurfaceDistance.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr float Far = std::numeric_limits<float>::infinity();

/** 32 bits: there may be as many as voxels, and no volume in memory has a longer side. */
using Place = std::array<std::int32_t, 3>;

/** Voxels from first to last along each axis; empty where first is behind last. */
struct Box
{
  std::array<std::int64_t, 3> first{};
  std::array<std::int64_t, 3> last{ -1, -1, -1 };

  bool
  IsEmpty() const
  {
    return last[0] < first[0];
  }

  void
  Add(const Place & voxel)
  {
    const bool isFirst = IsEmpty();
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      first[axis] = isFirst ? voxel[axis] : std::min<std::int64_t>(first[axis], voxel[axis]);
      last[axis] = std::max<std::int64_t>(last[axis], voxel[axis]);
    }
  }

  std::array<std::int64_t, 3>
  GetSize() const
  {
    return { last[0] - first[0] + 1, last[1] - first[1] + 1, last[2] - first[2] + 1 };
  }
};

bool
Is(const LabelVolume & volume, std::int64_t x, std::int64_t y, std::int64_t z, std::uint8_t label)
{
  const auto & size = volume.size;
  return x >= 0 && y >= 0 && z >= 0 && x < size[0] && y < size[1] && z < size[2] &&
         volume.labels[static_cast<std::size_t>((z * size[1] + y) * size[0] + x)] == label;
}

bool
IsSurface(const LabelVolume & volume, std::int64_t x, std::int64_t y, std::int64_t z, std::uint8_t label)
{
  return Is(volume, x, y, z, label) &&
         !(Is(volume, x - 1, y, z, label) && Is(volume, x + 1, y, z, label) && Is(volume, x, y - 1, z, label) &&
           Is(volume, x, y + 1, z, label) && Is(volume, x, y, z - 1, label) && Is(volume, x, y, z + 1, label));
}

/** Places of an object's surface. */
std::vector<Place>
FindSurface(const LabelVolume & volume, std::uint8_t label)
{
  std::vector<Place> surface;
  const auto &       size = volume.size;
  for (std::int64_t z = 0; z < size[2]; ++z)
  {
    for (std::int64_t y = 0; y < size[1]; ++y)
    {
      const auto row = volume.labels.begin() + (z * size[1] + y) * size[0];
      for (auto found = std::find(row, row + size[0], label); found != row + size[0];
           found = std::find(found + 1, row + size[0], label))
      {
        if (IsSurface(volume, found - row, y, z, label))
        {
          surface.push_back(
            { static_cast<std::int32_t>(found - row), static_cast<std::int32_t>(y), static_cast<std::int32_t>(z) });
        }
      }
    }
  }
  return surface;
}

/** Of one line of squared distances: the least of value + (spacing * (here - there))^2 over all places there, from the
 * lower envelope of their parabolas. */
class Line
{
public:
  void
  Transform(float * values, std::int64_t length, std::ptrdiff_t step, double spacing)
  {
    m_Values.resize(static_cast<std::size_t>(length));
    m_Places.clear();
    m_Starts.clear();
    const double square = spacing * spacing;
    for (std::int64_t place = 0; place < length; ++place)
    {
      const double value = m_Values[static_cast<std::size_t>(place)] = values[place * step];
      if (value == Far)
      {
        continue;
      }
      double start = -std::numeric_limits<double>::infinity();
      while (!m_Places.empty())
      {
        const std::int64_t before = m_Places.back();
        const double       other = m_Values[static_cast<std::size_t>(before)];
        start = ((value - other) / square + static_cast<double>(place * place - before * before)) /
                (2.0 * static_cast<double>(place - before));
        if (start > m_Starts.back())
        {
          break;
        }
        m_Places.pop_back();
        m_Starts.pop_back();
        start = -std::numeric_limits<double>::infinity();
      }
      m_Places.push_back(place);
      m_Starts.push_back(start);
    }
    std::size_t parabola = 0;
    for (std::int64_t place = 0; !m_Places.empty() && place < length; ++place)
    {
      while (parabola + 1 < m_Places.size() && m_Starts[parabola + 1] < static_cast<double>(place))
      {
        ++parabola;
      }
      const double distance = spacing * static_cast<double>(place - m_Places[parabola]);
      values[place * step] =
        static_cast<float>(m_Values[static_cast<std::size_t>(m_Places[parabola])] + distance * distance);
    }
  }

private:
  std::vector<double>       m_Values;
  std::vector<std::int64_t> m_Places; ///< whose parabolas are the envelope
  std::vector<double>       m_Starts; ///< from where on
};

/** Squared distances of all voxels of the box to the places. */
std::vector<float>
MapDistances(const std::vector<Place> & places, const Box & box, const std::array<double, 3> & spacing)
{
  const auto         size = box.GetSize();
  std::vector<float> map(static_cast<std::size_t>(size[0] * size[1] * size[2]), Far);
  const auto         find = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return map.data() + (z * size[1] + y) * size[0] + x;
  };
  for (const auto & place : places)
  {
    *find(place[0] - box.first[0], place[1] - box.first[1], place[2] - box.first[2]) = 0;
  }
  Line line;
  for (std::int64_t z = 0; z < size[2]; ++z)
  {
    for (std::int64_t y = 0; y < size[1]; ++y)
    {
      line.Transform(find(0, y, z), size[0], 1, spacing[0]);
    }
    for (std::int64_t x = 0; x < size[0]; ++x)
    {
      line.Transform(find(x, 0, z), size[1], size[0], spacing[1]);
    }
  }
  for (std::int64_t y = 0; y < size[1]; ++y)
  {
    for (std::int64_t x = 0; x < size[0]; ++x)
    {
      line.Transform(find(x, y, 0), size[2], size[0] * size[1], spacing[2]);
    }
  }
  return map;
}

/** Of the places to the nearest ones of the others. */
std::vector<double>
GetDistances(const std::vector<Place> &    places,
             const std::vector<Place> &    others,
             const Box &                   box,
             const std::array<double, 3> & spacing)
{
  const std::vector<float> map = MapDistances(others, box, spacing);
  const auto               size = box.GetSize();
  std::vector<double>      distances;
  for (const auto & place : places)
  {
    const std::int64_t index =
      ((place[2] - box.first[2]) * size[1] + place[1] - box.first[1]) * size[0] + place[0] - box.first[0];
    distances.push_back(std::sqrt(static_cast<double>(map[static_cast<std::size_t>(index)])));
  }
  std::sort(distances.begin(), distances.end());
  return distances;
}

/** \param values sorted */
double
GetPercentile(const std::vector<double> & values, double percentile)
{
  const double rank = static_cast<double>(values.size() - 1) * percentile / 100;
  const auto   below = static_cast<std::size_t>(rank);
  const auto   above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (rank - static_cast<double>(below));
}

} // namespace

std::optional<SurfaceDistance>
MeasureSurfaceDistance(const LabelVolume & a, const LabelVolume & b, std::uint8_t label)
{
  constexpr double Part = 95;
  const auto       count = static_cast<std::size_t>(a.size[0] * a.size[1] * a.size[2]);
  if (a.size != b.size || a.labels.size() != count || b.labels.size() != count)
  {
    throw InvalidArgument(Diagnostic("E-VOLUME-GEOMETRY", "the volumes of labels are not of the same size"));
  }
  const auto ofA = FindSurface(a, label), ofB = FindSurface(b, label);
  if (ofA.empty() || ofB.empty())
  {
    return {};
  }
  Box box;
  for (const auto * const surface : { &ofA, &ofB })
  {
    for (const auto & place : *surface)
    {
      box.Add(place);
    }
  }
  const auto      there = GetDistances(ofA, ofB, box, a.spacing), back = GetDistances(ofB, ofA, box, a.spacing);
  SurfaceDistance distance;
  distance.hausdorff95 = std::max(GetPercentile(there, Part), GetPercentile(back, Part));
  distance.mean = (std::accumulate(there.begin(), there.end(), 0.0) + std::accumulate(back.begin(), back.end(), 0.0)) /
                  static_cast<double>(there.size() + back.size());
  return distance;
}

} // namespace gigapixel
