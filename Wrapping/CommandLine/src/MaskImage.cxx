/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MaskImage.h"

#include "ITKMessages.h"
#include "SlideFile.h"

#include "gigapixelMaskLabelSource.h"

#include "itkImageFileReader.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{
itk::ImageIOBase::Pointer
FindImageIO(const std::string & file)
{
  auto io = itk::ImageIOFactory::CreateImageIO(file.c_str(), itk::IOFileModeEnum::ReadMode);
  if (io.IsNull())
  {
    throw std::runtime_error(file +
                             " is no picture that can be read (pyramid TIFF, TIFF, PNG, NRRD, MetaImage, JPEG).");
  }
  io->SetFileName(file);
  io->ReadImageInformation();
  return io;
}

void
RefuseColors(const std::string & file, const itk::ImageIOBase & io)
{
  const std::string channels = std::to_string(io.GetNumberOfComponents());
  if (channels == "1")
  {
    return;
  }
  if (io.GetMetaDataDictionary().HasKey("Segment0_ID"))
  {
    throw std::runtime_error(file + ": " + DescribeLayers(io.GetNumberOfComponents()) + '.');
  }
  throw std::runtime_error(file + " has " + channels + " channels: a mask has one.");
}

/** Makes rows begin at the left, and the first one the uppermost. */
void
MirrorPixels(std::vector<unsigned char> & pixels, std::int64_t width, const std::array<bool, 2> & mirrored)
{
  if (mirrored[1])
  {
    // Turned by half: both axes are mirrored now.
    std::reverse(pixels.begin(), pixels.end());
  }
  if (mirrored[0] != mirrored[1])
  {
    for (auto row = pixels.begin(); row != pixels.end(); row += width)
    {
      std::reverse(row, row + width);
    }
  }
}
} // namespace

MaskImage::MaskImage(const std::string & file)
{
  CheckInputFile(file);
  m_Grid.name = file;
  const auto pyramid = itk::WholeSlideImageIO::New();
  if (pyramid->CanReadFile(file.c_str()))
  {
    m_Pyramid = pyramid;
    m_Pyramid->SetFileName(file);
    m_Pyramid->ReadImageInformation();
    RefuseColors(file, *m_Pyramid);
    SetGeometry(Grid::Of(*m_Pyramid));
  }
  else
  {
    try
    {
      ReadWhole();
    }
    catch (const itk::ExceptionObject & error)
    {
      const std::string reason = CleanMessage(error.GetDescription());
      throw std::runtime_error(reason.find(file) == std::string::npos ? file + ": " + reason : reason);
    }
  }
}

void
MaskImage::SetGeometry(const Grid & grid)
{
  m_Grid.size = { grid.size.width, grid.size.height };
  for (unsigned axis = 0; grid.IsSpacingKnown() && axis < 2; ++axis)
  {
    m_Grid.spacing[axis] = grid.spacing[axis];
    // The first pixel's center lies less than half a pixel from 0, in levels (ITK counts from the center of level 0's
    // first pixel) as in files without an origin; regions begin so many whole pixels further on.
    m_Grid.corner[axis] = grid.spacing[axis] * std::floor(grid.origin[axis] / grid.spacing[axis] + 1e-3);
  }
}

void
MaskImage::ReadWhole()
{
  const auto io = FindImageIO(m_Grid.name);
  RefuseColors(m_Grid.name, *io);
  if (io->GetNumberOfDimensions() < 2)
  {
    throw std::runtime_error(m_Grid.name + " has one axis: a mask has rows and columns.");
  }
  if (io->GetNumberOfDimensions() > 2 && io->GetDimensions(2) > 1)
  {
    throw std::runtime_error(m_Grid.name + " has " + std::to_string(io->GetDimensions(2)) + " slices: a mask has one.");
  }
  const Grid grid = Grid::Of(*io);
  const auto mirrored = FindMirroredAxes(grid, Grid());
  if (!mirrored)
  {
    throw std::runtime_error(m_Grid.name +
                             " is turned: its rows and columns do not run along the slide's; resample it.");
  }
  // Masks are large: no wider type than the file's. The others become float, where no value but 0 becomes 0.
  switch (io->GetComponentType())
  {
    case itk::IOComponentEnum::UCHAR:
      ReadPixels<unsigned char>(io);
      break;
    case itk::IOComponentEnum::USHORT:
      ReadPixels<unsigned short>(io);
      break;
    default:
      ReadPixels<float>(io);
  }
  SetGeometry(Unmirror(grid, *mirrored));
  MirrorPixels(m_Pixels, m_Grid.size[0], *mirrored);
}

template <typename TPixel>
void
MaskImage::ReadPixels(itk::ImageIOBase * io)
{
  using ImageType = itk::Image<TPixel, 2>;
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetFileName(m_Grid.name);
  reader->SetImageIO(io);
  reader->Update();
  const ImageType * image = reader->GetOutput();
  const TPixel *    values = image->GetBufferPointer();
  m_Pixels.resize(image->GetBufferedRegion().GetNumberOfPixels());
  std::transform(values, values + m_Pixels.size(), m_Pixels.begin(), [](TPixel value) { return value != 0; });
}

void
MaskImage::ReadRows(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const
{
  const std::int64_t width = m_Grid.size[0];
  rows.resize(static_cast<std::size_t>(width * count));
  if (m_Pyramid.IsNull())
  {
    std::copy_n(m_Pixels.begin() + first * width, width * count, rows.begin());
    return;
  }
  m_Pyramid->ReadRegion(0,
                        0,
                        static_cast<itk::SizeValueType>(first),
                        static_cast<itk::SizeValueType>(width),
                        static_cast<itk::SizeValueType>(count),
                        1,
                        rows.data());
  std::transform(rows.begin(), rows.end(), rows.begin(), [](unsigned char value) { return value != 0; });
}

} // namespace gigapixel::commandline
