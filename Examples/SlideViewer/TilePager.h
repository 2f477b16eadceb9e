/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TilePager_h
#define TilePager_h

#include "itkWholeSlideImageIO.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

/** A level of a pyramid in its place: spacing and center of the first pixel in mm (pixels of level 0 where the slide
 * does not know its resolution). */
struct PyramidLevel
{
  unsigned                number; ///< as the reader counts
  std::array<double, 2>   spacing;
  std::array<double, 2>   origin;
  std::array<unsigned, 2> size;
};

/** A slide or mask that is open, with all levels that its reader offers, the finest first. */
class Pyramid
{
public:
  /** \param micronsPerPixel of level 0 where the file does not tell; 0: unknown \throw itk::ExceptionObject one
   * sentence */
  Pyramid(const std::string & fileName, double micronsPerPixel);

  const std::vector<PyramidLevel> &
  GetLevels() const
  {
    return m_Levels;
  }

  bool
  KnowsResolution() const
  {
    return m_IO->GetMicronsPerPixel() > 0;
  }

  /** Index of the coarsest level whose spacing is at most \a spacing; 0 where none is as fine. */
  unsigned SelectLevel(double spacing) const;

  /** Pixels of a rectangle of a level; any thread. */
  void Read(unsigned index, const std::array<unsigned, 4> & rectangle, unsigned channels, unsigned char * pixels) const;

private:
  itk::WholeSlideImageIO::Pointer m_IO;
  std::vector<PyramidLevel>       m_Levels;
};

/** Tiles of TilePager::TileSize pixels lie on a grid in each level. */
struct TileKey
{
  unsigned level; ///< index in Pyramid::GetLevels()
  unsigned column;
  unsigned row;

  bool
  operator<(const TileKey & other) const
  {
    return std::tie(level, column, row) < std::tie(other.level, other.column, other.row);
  }
};

/** A tile of the slide, RGB, and what the mask says of each of its pixels, RGBA (empty without a mask). */
struct Tile
{
  TileKey                    key;
  std::array<unsigned, 2>    size;
  std::array<double, 2>      origin; ///< center of the first pixel
  std::array<double, 2>      spacing;
  std::vector<unsigned char> colors;
  std::vector<unsigned char> overlay;
};

/** Reads tiles in a thread of its own, so that who looks never waits. */
class TilePager
{
public:
  static constexpr unsigned TileSize = 256;

  /** \param mask null: none; matched to the slide in mm */
  TilePager(const Pyramid & slide, const Pyramid * mask);
  ~TilePager();
  TilePager(const TilePager &) = delete;
  TilePager & operator=(const TilePager &) = delete;

  /** What is wanted from now on, the most wanted first; what was wanted before is forgotten. */
  void Want(std::vector<TileKey> keys);

  /** The tiles that were read since the last call. \throw std::runtime_error one sentence: a tile can not be read */
  std::vector<std::unique_ptr<Tile>> Take();

  /** Whether nothing is wanted any more that was not read. */
  bool IsIdle() const;

private:
  void                  Work();
  std::unique_ptr<Tile> ReadTile(const TileKey & key) const;
  void                  AddOverlay(Tile & tile) const;

  const Pyramid &                    m_Slide;
  const Pyramid *                    m_Mask;
  mutable std::mutex                 m_Mutex;
  std::condition_variable            m_Wake;
  std::vector<TileKey>               m_Wanted; ///< the most wanted last
  std::vector<std::unique_ptr<Tile>> m_Read;
  std::string                        m_Error;
  bool                               m_IsReading{ false };
  bool                               m_Ends{ false };
  std::thread                        m_Thread;
};

#endif
