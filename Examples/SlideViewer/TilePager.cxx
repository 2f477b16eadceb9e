/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TilePager.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace
{
using Color = std::array<unsigned char, 3>;

/** A mask of two classes is 0 and 255; classes of a label map are counted from 1, and their colors repeat after eight.
 */
Color
GetColor(unsigned char value)
{
  static constexpr std::array<Color, 8> classes{ { { 31, 119, 180 },
                                                   { 214, 39, 40 },
                                                   { 44, 160, 44 },
                                                   { 148, 103, 189 },
                                                   { 255, 127, 14 },
                                                   { 23, 190, 207 },
                                                   { 227, 119, 194 },
                                                   { 188, 189, 34 } } };
  return value == 255 ? Color{ 255, 176, 0 } : classes[(value + 7) % 8];
}
} // namespace

Pyramid::Pyramid(const std::string & fileName, double micronsPerPixel)
  : m_IO(itk::WholeSlideImageIO::New())
{
  m_IO->SetFileName(fileName);
  m_IO->SetLevelZeroMicronsPerPixel(micronsPerPixel);
  m_IO->ReadImageInformation();
  const unsigned count = m_IO->GetNumberOfLevels() + m_IO->GetNumberOfReducedLevels();
  for (unsigned number = 0; number < count; ++number)
  {
    const auto   size = m_IO->GetLevelSize(number);
    const double downsample = m_IO->GetLevelDownsample(number);
    PyramidLevel level{ number, {}, {}, { static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]) } };
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      level.spacing[axis] = m_IO->GetSpacing(axis) * downsample;
      level.origin[axis] = m_IO->GetOrigin(axis) + (downsample - 1) / 2 * m_IO->GetSpacing(axis);
    }
    m_Levels.push_back(level);
  }
  std::sort(m_Levels.begin(), m_Levels.end(), [](const PyramidLevel & one, const PyramidLevel & other) {
    return one.spacing[0] < other.spacing[0];
  });
}

unsigned
Pyramid::SelectLevel(double spacing) const
{
  unsigned selected = 0;
  for (unsigned index = 1; index < m_Levels.size(); ++index)
  {
    if (m_Levels[index].spacing[0] <= spacing * 1.001)
    {
      selected = index;
    }
  }
  return selected;
}

void
Pyramid::Read(unsigned                        index,
              const std::array<unsigned, 4> & rectangle,
              unsigned                        channels,
              unsigned char *                 pixels) const
{
  const auto & [x, y, width, height] = rectangle;
  m_IO->ReadRegion(m_Levels[index].number, x, y, width, height, channels, pixels);
  m_IO->ReportDamage(); // while the viewer runs
}

TilePager::TilePager(const Pyramid & slide, const Pyramid * mask)
  : m_Slide(slide)
  , m_Mask(mask)
  , m_Thread([this] { this->Work(); })
{}

TilePager::~TilePager()
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Ends = true;
  }
  m_Wake.notify_one();
  m_Thread.join();
}

void
TilePager::Want(std::vector<TileKey> keys)
{
  std::reverse(keys.begin(), keys.end());
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Wanted = std::move(keys);
  }
  m_Wake.notify_one();
}

std::vector<std::unique_ptr<Tile>>
TilePager::Take()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (!m_Error.empty())
  {
    throw std::runtime_error(std::exchange(m_Error, {}));
  }
  return std::exchange(m_Read, {});
}

bool
TilePager::IsIdle() const
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  return m_Wanted.empty() && !m_IsReading;
}

void
TilePager::Work()
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  while (true)
  {
    m_Wake.wait(lock, [this] { return m_Ends || !m_Wanted.empty(); });
    if (m_Ends)
    {
      return;
    }
    const TileKey key = m_Wanted.back();
    m_Wanted.pop_back();
    m_IsReading = true;
    lock.unlock();
    std::unique_ptr<Tile> tile;
    std::string           error;
    try
    {
      tile = this->ReadTile(key);
    }
    catch (const itk::ExceptionObject & exception)
    {
      error = exception.GetDescription();
    }
    catch (const std::exception & exception)
    {
      error = exception.what();
    }
    lock.lock();
    m_IsReading = false;
    if (tile)
    {
      m_Read.push_back(std::move(tile));
    }
    else
    {
      m_Error = error;
      m_Wanted.clear();
    }
  }
}

std::unique_ptr<Tile>
TilePager::ReadTile(const TileKey & key) const
{
  const PyramidLevel & level = m_Slide.GetLevels()[key.level];
  const unsigned       left = key.column * TileSize;
  const unsigned       top = key.row * TileSize;
  auto                 tile = std::make_unique<Tile>();
  tile->key = key;
  tile->size = { std::min(TileSize, level.size[0] - left), std::min(TileSize, level.size[1] - top) };
  tile->spacing = level.spacing;
  tile->origin = { level.origin[0] + left * level.spacing[0], level.origin[1] + top * level.spacing[1] };
  tile->colors.resize(std::size_t{ tile->size[0] } * tile->size[1] * 3);
  m_Slide.Read(key.level, { left, top, tile->size[0], tile->size[1] }, 3, tile->colors.data());
  if (m_Mask)
  {
    this->AddOverlay(*tile);
  }
  return tile;
}

void
TilePager::AddOverlay(Tile & tile) const
{
  const unsigned       index = m_Mask->SelectLevel(tile.spacing[0]);
  const PyramidLevel & level = m_Mask->GetLevels()[index];
  // Along each axis, the pixel of the mask in which each pixel's center lies; -1 outside of the mask.
  std::array<std::vector<long>, 2> places;
  std::array<unsigned, 4>          rectangle{};
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    long first = level.size[axis];
    long last = -1;
    for (unsigned i = 0; i < tile.size[axis]; ++i)
    {
      const double center = tile.origin[axis] + i * tile.spacing[axis];
      const long   place = std::lround((center - level.origin[axis]) / level.spacing[axis]);
      const bool   isInside = place >= 0 && place < static_cast<long>(level.size[axis]);
      places[axis].push_back(isInside ? place : -1);
      first = isInside ? std::min(first, place) : first;
      last = isInside ? std::max(last, place) : last;
    }
    rectangle[axis] = static_cast<unsigned>(first);
    rectangle[axis + 2] = last < 0 ? 0 : static_cast<unsigned>(last - first + 1);
  }
  tile.overlay.assign(std::size_t{ tile.size[0] } * tile.size[1] * 4, 0);
  const auto [left, top, width, height] = rectangle;
  if (width == 0 || height == 0)
  {
    return;
  }
  std::vector<unsigned char> mask(std::size_t{ width } * height);
  m_Mask->Read(index, rectangle, 1, mask.data());
  unsigned char * out = tile.overlay.data();
  for (const long y : places[1])
  {
    for (const long x : places[0])
    {
      const unsigned char value = x < 0 || y < 0 ? 0 : mask[(y - top) * std::size_t{ width } + (x - left)];
      if (value != 0)
      {
        const Color color = GetColor(value);
        std::copy(color.begin(), color.end(), out);
        out[3] = 255;
      }
      out += 4;
    }
  }
}
