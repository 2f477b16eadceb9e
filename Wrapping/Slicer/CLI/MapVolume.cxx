/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MapVolume.h"
#include "SliceVolume.h"

#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>

namespace gigapixel::slicer
{

void
WriteMapVolume(const std::string &           pyramid,
               const std::array<double, 2> & spacing,
               const std::array<double, 2> & origin,
               const WorkFolder &            folder)
{
  const auto reader = itk::ImageFileReader<itk::Image<float, 2>>::New();
  reader->SetImageIO(itk::WholeSlideImageIO::New());
  reader->SetFileName(pyramid);
  reader->Update();
  using ImageType = itk::Image<float, 3>;
  const auto             map = reader->GetOutput();
  const auto             size = map->GetBufferedRegion().GetSize();
  const auto             image = ImageType::New();
  ImageType::SpacingType spacing3;
  ImageType::PointType   origin3;
  spacing3.Fill(1);
  origin3.Fill(0);
  std::copy(spacing.begin(), spacing.end(), spacing3.Begin());
  std::copy(origin.begin(), origin.end(), origin3.Begin());
  image->SetRegions(ImageType::SizeType{ { size[0], size[1], 1 } });
  image->SetSpacing(spacing3);
  image->SetOrigin(origin3);
  image->Allocate();
  std::copy_n(map->GetBufferPointer(), size[0] * size[1], image->GetBufferPointer());
  WriteSliceVolume(image.GetPointer(), folder);
}

} // namespace gigapixel::slicer
