/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelSurfaceDistance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

using gigapixel::LabelVolume;
using gigapixel::MeasureSurfaceDistance;

namespace
{

using Place = std::array<std::int64_t, 3>;

LabelVolume
MakeVolume(const Place & size, const std::array<double, 3> & spacing)
{
  return { size, spacing, std::vector<std::uint8_t>(static_cast<std::size_t>(size[0] * size[1] * size[2])) };
}

std::uint8_t &
At(LabelVolume & volume, std::int64_t x, std::int64_t y, std::int64_t z)
{
  return volume.labels[static_cast<std::size_t>((z * volume.size[1] + y) * volume.size[0] + x)];
}

void
FillBox(LabelVolume & volume, const Place & first, const Place & last, std::uint8_t label)
{
  for (std::int64_t z = first[2]; z <= last[2]; ++z)
  {
    for (std::int64_t y = first[1]; y <= last[1]; ++y)
    {
      for (std::int64_t x = first[0]; x <= last[0]; ++x)
      {
        At(volume, x, y, z) = label;
      }
    }
  }
}

/** As the definition says, with no thought for time. */
std::vector<Place>
ListSurface(LabelVolume & volume, std::uint8_t label)
{
  std::vector<Place> places;
  const auto         is = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return x >= 0 && y >= 0 && z >= 0 && x < volume.size[0] && y < volume.size[1] && z < volume.size[2] &&
           At(volume, x, y, z) == label;
  };
  for (std::int64_t z = 0; z < volume.size[2]; ++z)
  {
    for (std::int64_t y = 0; y < volume.size[1]; ++y)
    {
      for (std::int64_t x = 0; x < volume.size[0]; ++x)
      {
        const int inside =
          is(x - 1, y, z) + is(x + 1, y, z) + is(x, y - 1, z) + is(x, y + 1, z) + is(x, y, z - 1) + is(x, y, z + 1);
        if (is(x, y, z) && inside < 6)
        {
          places.push_back({ x, y, z });
        }
      }
    }
  }
  return places;
}

std::vector<double>
ListDistances(const std::vector<Place> &    places,
              const std::vector<Place> &    others,
              const std::array<double, 3> & spacing)
{
  std::vector<double> distances;
  for (const Place & place : places)
  {
    double least = HUGE_VAL;
    for (const Place & other : others)
    {
      double square = 0;
      for (std::size_t axis = 0; axis < 3; ++axis)
      {
        square += std::pow(spacing[axis] * static_cast<double>(place[axis] - other[axis]), 2);
      }
      least = std::min(least, square);
    }
    distances.push_back(std::sqrt(least));
  }
  std::sort(distances.begin(), distances.end());
  return distances;
}

double
GetPercentile(const std::vector<double> & values)
{
  const double rank = 0.95 * static_cast<double>(values.size() - 1);
  const auto   below = static_cast<std::size_t>(rank);
  const double next = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (next - values[below]) * (rank - static_cast<double>(below));
}

} // namespace

/** Two plates, parallel and 7 voxels of 2.5 mm apart: every distance is 17.5 mm. */
TEST(SurfaceDistance, OfParallelPlatesIsTheirDistance)
{
  LabelVolume a = MakeVolume({ 9, 8, 20 }, { 1, 1.5, 2.5 }), b = a;
  FillBox(a, { 0, 0, 3 }, { 8, 7, 3 }, 4);
  FillBox(b, { 0, 0, 10 }, { 8, 7, 10 }, 4);
  const auto distance = MeasureSurfaceDistance(a, b, 4);
  ASSERT_TRUE(distance);
  EXPECT_FLOAT_EQ(static_cast<float>(distance->hausdorff95), 17.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(distance->mean), 17.5f);
}

TEST(SurfaceDistance, OfTheSameIsZero)
{
  LabelVolume a = MakeVolume({ 9, 8, 7 }, { 1, 1, 1 });
  FillBox(a, { 2, 2, 2 }, { 6, 5, 4 }, 1);
  const auto distance = MeasureSurfaceDistance(a, a, 1);
  ASSERT_TRUE(distance);
  EXPECT_EQ(distance->hausdorff95, 0);
  EXPECT_EQ(distance->mean, 0);
}

TEST(SurfaceDistance, OfWhatIsNotThereIsNone)
{
  LabelVolume a = MakeVolume({ 4, 4, 4 }, { 1, 1, 1 }), b = a;
  At(a, 1, 1, 1) = 1;
  EXPECT_FALSE(MeasureSurfaceDistance(a, b, 1));
  EXPECT_FALSE(MeasureSurfaceDistance(b, a, 1));
  EXPECT_FALSE(MeasureSurfaceDistance(b, b, 1));
  b.labels.pop_back();
  EXPECT_REFUSAL(MeasureSurfaceDistance(a, b, 1), "E-VOLUME-GEOMETRY");
}

/** Boxes and noise, several labels, three spacings: as by comparing each place with each other one. */
TEST(SurfaceDistance, IsThatOfAllPairsOfPlaces)
{
  std::mt19937 engine(1);
  for (const std::array<double, 3> & spacing :
       { std::array<double, 3>{ 1, 1, 1 }, std::array<double, 3>{ 0.4, 1.1, 3 }, std::array<double, 3>{ 5, 0.3, 0.7 } })
  {
    LabelVolume a = MakeVolume({ 17, 14, 11 }, spacing), b = a;
    FillBox(a, { 2, 3, 1 }, { 9, 9, 7 }, 1);
    FillBox(b, { 4, 2, 2 }, { 12, 8, 10 }, 1);
    FillBox(a, { 11, 0, 0 }, { 16, 5, 10 }, 2);
    FillBox(b, { 0, 10, 0 }, { 7, 13, 3 }, 2);
    for (LabelVolume * const volume : { &a, &b })
    {
      for (std::uint8_t & label : volume->labels)
      {
        label = engine() % 20 == 0 ? static_cast<std::uint8_t>(engine() % 4) : label;
      }
    }
    for (const std::uint8_t label : { std::uint8_t{ 1 }, std::uint8_t{ 2 }, std::uint8_t{ 3 } })
    {
      const auto ofA = ListSurface(a, label), ofB = ListSurface(b, label);
      const auto there = ListDistances(ofA, ofB, spacing), back = ListDistances(ofB, ofA, spacing);
      double     sum = 0;
      for (const auto * const distances : { &there, &back })
      {
        for (const double distance : *distances)
        {
          sum += distance;
        }
      }
      const auto found = MeasureSurfaceDistance(a, b, label);
      ASSERT_TRUE(found);
      // Squares are kept as floats.
      EXPECT_NEAR(found->hausdorff95, std::max(GetPercentile(there), GetPercentile(back)), 2e-6);
      EXPECT_NEAR(found->mean, sum / static_cast<double>(there.size() + back.size()), 2e-6);
    }
  }
}
