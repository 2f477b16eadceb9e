/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Labels the tissue of a slide, in strips, into a mask pyramid for slide viewers: the same file as gigapixel label
// makes.
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSlideTissueImageSource.h"
#include "itkWholeSlideImageIO.h"

#include <iostream>

int
main(int argc, char * argv[])
try
{
  if (argc != 4)
  {
    std::cerr << "usage: " << argv[0] << " SLIDE PRESET MASK.pyramid.tif, of which PRESET is one of:\n";
    for (const std::string & preset : itk::SlideTissueImageSource::GetPresets())
    {
      std::cerr << preset << '\n';
    }
    return 2;
  }
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(argv[1]);
  const auto tissue = itk::SlideTissueImageSource::New();
  tissue->SetSlide(slide);
  tissue->SetPreset(argv[2]);
  tissue->UpdateOutputInformation();
  const auto pyramid = itk::PyramidTIFFImageIO::New();
  pyramid->SetMadeBy(tissue->GetMadeBy());
  pyramid->SetSlide(slide);
  const auto writer = itk::ImageFileWriter<itk::Image<unsigned char, 2>>::New();
  writer->SetInput(tissue->GetOutput());
  writer->SetImageIO(pyramid);
  writer->SetFileName(argv[3]);
  writer->Update();
}
catch (const std::exception & error)
{
  std::cerr << error.what() << '\n';
  return 1;
}
