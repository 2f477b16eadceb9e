/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskOutline.h"
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSlideTissueImageSource.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkWholeSlideImageIO.h"

// A slide is written, read again, and its tissue outlined.
int
main()
{
  constexpr const char * file = "outside.tif";
  const auto             drawn = itk::SyntheticSlideImageSource::New();
  drawn->SetSize(800, 600);
  const auto writer = itk::ImageFileWriter<itk::SyntheticSlideImageSource::OutputImageType>::New();
  writer->SetInput(drawn->GetOutput());
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(file);
  writer->Update();
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(file);
  const auto tissue = itk::SlideTissueImageSource::New();
  tissue->SetSlide(slide);
  tissue->SetPreset("robust");
  tissue->Update();
  const auto             mask = tissue->GetOutput();
  const auto             size = mask->GetLargestPossibleRegion().GetSize();
  gigapixel::MaskOutline outline(size[0]);
  for (std::size_t row = 0; row < size[1]; ++row)
  {
    outline.AppendRow(mask->GetBufferPointer() + row * size[0], 255);
  }
  return outline.Trace(1, 1).empty() ? 1 : 0;
}
