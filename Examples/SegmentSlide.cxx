/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Segments a slide of any size with a trained model, in strips, into a mask pyramid for slide viewers.
#include "itkGigapixelUNetImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <iostream>

int
main(int argc, char * argv[])
try
{
  if (argc != 4)
  {
    throw std::runtime_error("usage: SegmentSlide SLIDE MODEL MASK.pyramid.tif");
  }
  using ColorImage = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  using MaskImage = itk::Image<unsigned char, 2>;
  const auto model = gigapixel::Model::Load(argv[2]);
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetMicronsPerPixel(model.micronsPerPixel);
  const auto reader = itk::ImageFileReader<ColorImage>::New();
  reader->SetImageIO(slide);
  reader->SetFileName(argv[1]);
  const auto filter = itk::GigapixelUNetImageFilter<ColorImage, MaskImage>::New();
  filter->SetInput(reader->GetOutput());
  filter->SetModel(model);
  const auto writer = itk::ImageFileWriter<MaskImage>::New();
  writer->SetInput(filter->GetOutput());
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(argv[3]);
  writer->Update();
}
catch (const std::exception & error)
{
  std::cerr << error.what() << '\n';
  return 1;
}
