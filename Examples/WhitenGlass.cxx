/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Writes a level of a slide as a pyramid in which all that is no tissue is white. The pipeline streams: its memory does
// not depend on the size of the slide.
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMaskImageFilter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkRGBPixel.h"
#include "itkSlideTissueImageSource.h"
#include "itkWholeSlideImageIO.h"

#include <iostream>

int
main(int argc, char * argv[])
try
{
  if (argc != 4)
  {
    std::cerr << "usage: " << argv[0] << " SLIDE DOWNSAMPLE OUTPUT.pyramid.tif\n";
    return 2;
  }
  using Pixel = itk::RGBPixel<unsigned char>;
  using Image = itk::Image<Pixel, 2>;
  const auto downsample = static_cast<unsigned>(std::stoul(argv[2]));
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(argv[1]);
  slide->SetDownsample(downsample); // the level of which a pixel covers so many pixels of level 0 along each side
  const auto reader = itk::ImageFileReader<Image>::New();
  reader->SetImageIO(slide);
  reader->SetFileName(argv[1]);

  const auto tissue = itk::SlideTissueImageSource::New();
  tissue->SetSlide(slide);
  tissue->SetDownsample(downsample); // one pixel of the mask for each pixel of the level

  const auto mask = itk::MaskImageFilter<Image, itk::SlideTissueImageSource::OutputImageType>::New();
  mask->SetInput(reader->GetOutput());
  mask->SetMaskImage(tissue->GetOutput());
  Pixel white;
  white.Fill(255);
  mask->SetOutsideValue(white);

  const auto writer = itk::ImageFileWriter<Image>::New();
  writer->SetInput(mask->GetOutput());
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(argv[3]);
  writer->Update(); // region by region, as many as the pyramid asks for
}
catch (const std::exception & error)
{
  std::cerr << error.what() << '\n';
  return 1;
}
