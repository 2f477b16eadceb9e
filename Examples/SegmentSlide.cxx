/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Segments a slide of any size with a trained model, in strips, into a mask pyramid for slide viewers: the same file as
// gigapixel segment makes.
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSlideSegmentationImageSource.h"
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
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(argv[1]);
  const auto segmentation = itk::SlideSegmentationImageSource<>::New();
  segmentation->SetSlide(slide);
  segmentation->SetModel(gigapixel::Model::Load(argv[2]));
  segmentation->UpdateOutputInformation();
  const auto pyramid = itk::PyramidTIFFImageIO::New();
  pyramid->SetMadeBy(segmentation->GetMadeBy());
  pyramid->SetSlide(slide);
  const auto writer = itk::ImageFileWriter<itk::Image<unsigned char, 2>>::New();
  writer->SetInput(segmentation->GetOutput());
  writer->SetImageIO(pyramid);
  writer->SetFileName(argv[3]);
  writer->Update();
}
catch (const std::exception & error)
{
  std::cerr << error.what() << '\n';
  return 1;
}
