/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNonZeroVoxels.h"

#include "gigapixelFloatReader.h"

namespace gigapixel
{
namespace
{

/** \class Flood
 * \brief Marks the zeros that are connected with the volume's outside.
 *
 * It goes from run to run of zeros in rows of voxels, so that what waits is few runs and not many voxels, whatever
 * shape the zeros have. */
class Flood
{
public:
  /** \param zero which voxels are 0; those that are connected with the outside cease to be \param size of the volume */
  Flood(std::vector<bool> & zero, const Size & size)
    : m_Zero(zero)
    , m_Size(size)
  {
    for (std::int64_t z = 0; z < size.depth; ++z)
    {
      for (std::int64_t y = 0; y < size.height; ++y)
      {
        const bool isOuter = z == 0 || z == size.depth - 1 || y == 0 || y == size.height - 1;
        this->Enter(y, z, 0, isOuter ? size.width : 1);
        this->Enter(y, z, size.width - 1, size.width);
      }
    }
    while (!m_Waiting.empty())
    {
      const Run run = m_Waiting.back();
      m_Waiting.pop_back();
      this->Enter(run.y - 1, run.z, run.begin, run.end);
      this->Enter(run.y + 1, run.z, run.begin, run.end);
      this->Enter(run.y, run.z - 1, run.begin, run.end);
      this->Enter(run.y, run.z + 1, run.begin, run.end);
    }
  }

private:
  /** Of zeros in a row. */
  struct Run
  {
    std::int64_t y, z, begin, end;
  };

  /** Takes all runs of zeros that have a voxel between begin and end. */
  void
  Enter(std::int64_t y, std::int64_t z, std::int64_t begin, std::int64_t end)
  {
    if (y < 0 || y >= m_Size.height || z < 0 || z >= m_Size.depth)
    {
      return;
    }
    const auto row = m_Zero.begin() + (z * m_Size.height + y) * m_Size.width;
    for (std::int64_t x = begin; x < end; ++x)
    {
      if (!row[x])
      {
        continue;
      }
      Run run{ y, z, x, x + 1 };
      while (run.begin > 0 && row[run.begin - 1])
      {
        --run.begin;
      }
      while (run.end < m_Size.width && row[run.end])
      {
        ++run.end;
      }
      std::fill(row + run.begin, row + run.end, false);
      m_Waiting.push_back(run);
      x = run.end;
    }
  }

  std::vector<bool> & m_Zero;
  const Size          m_Size;
  std::vector<Run>    m_Waiting;
};

/** The interval of the flags that are set. */
struct Extent
{
  std::int64_t begin{ -1 };
  std::int64_t end{ -1 };

  void
  Add(std::int64_t place)
  {
    begin = begin < 0 ? place : std::min(begin, place);
    end = std::max(end, place + 1);
  }
};

} // namespace

std::optional<NonZeroVoxels>
NonZeroVoxels::Find(PixelSource & volume, const std::function<bool(double)> & goesOn)
{
  NonZeroVoxels found;
  found.m_Size = volume.GetSize();
  found.m_Filled.resize(static_cast<std::size_t>(found.m_Size.width * found.m_Size.height * found.m_Size.depth));
  const unsigned channels = volume.GetNumberOfChannels();
  const auto     see = [&](const Region & piece, const std::vector<float> & samples) {
    auto to = found.m_Filled.begin() + (piece.z * found.m_Size.height + piece.y) * found.m_Size.width;
    for (auto voxel = samples.begin(); voxel != samples.end(); voxel += channels)
    {
      *to++ = std::any_of(voxel, voxel + channels, [](float value) { return value != 0; });
    }
  };
  if (!GoOver(volume, see, goesOn))
  {
    return {};
  }
  found.FindBox();
  found.Fill();
  return found;
}

void
NonZeroVoxels::FindBox()
{
  Extent x, y, z;
  auto   voxel = m_Filled.cbegin();
  for (std::int64_t slice = 0; slice < m_Size.depth; ++slice)
  {
    for (std::int64_t row = 0; row < m_Size.height; ++row)
    {
      for (std::int64_t column = 0; column < m_Size.width; ++column, ++voxel)
      {
        if (*voxel)
        {
          x.Add(column);
          y.Add(row);
          z.Add(slice);
        }
      }
    }
  }
  m_Box = x.begin < 0 ? Region{ 0, 0, m_Size.width, m_Size.height, 0, m_Size.depth }
                      : Region{ x.begin, y.begin, x.end - x.begin, y.end - y.begin, z.begin, z.end - z.begin };
}

void
NonZeroVoxels::Fill()
{
  std::vector<bool> enclosed = m_Filled;
  enclosed.flip();
  const Flood flood(enclosed, m_Size); // which leaves those zeros that are enclosed
  auto        zero = enclosed.cbegin();
  for (auto voxel = m_Filled.begin(); voxel != m_Filled.end(); ++voxel, ++zero)
  {
    *voxel = *voxel || *zero;
  }
}

} // namespace gigapixel
