/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MaskImage_h
#define MaskImage_h

#include "PlaneGrid.h"

#include "gigapixelGrid.h"

#include "itkWholeSlideImageIO.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** \class MaskImage
 * \brief A mask whose rows are read from the top: a pyramid (level 0) piece by piece, every other format that ITK
 * reads (PNG, NRRD, MetaImage, TIFF) as a whole. Every value but 0 is object. The file may count its rows and columns
 * from either end, as its direction says. */
class MaskImage
{
public:
  /** \throw std::runtime_error, itk::ExceptionObject naming the file: not there, no mask (more than one channel) */
  explicit MaskImage(const std::string & file);

  const PlaneGrid &
  GetGrid() const
  {
    return m_Grid;
  }

  /** Rows [first, first + count), every byte 0 or 1. Thread-safe. */
  void ReadRows(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const;

private:
  void ReadWhole();

  template <typename TPixel>
  void ReadPixels(itk::ImageIOBase * io);

  void SetGeometry(const Grid & grid);

  PlaneGrid                       m_Grid;
  itk::WholeSlideImageIO::Pointer m_Pyramid; ///< null: m_Pixels holds all
  std::vector<unsigned char>      m_Pixels;
};

} // namespace gigapixel::commandline

#endif
