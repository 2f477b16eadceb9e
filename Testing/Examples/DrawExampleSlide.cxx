/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A small synthetic slide and its truth as pyramids: what the examples are run on.
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

#include <iostream>

namespace
{

template <typename TSource>
void
Draw(const char * fileName)
{
  const auto source = TSource::New();
  source->SetSize(900, 700);
  const auto writer = itk::ImageFileWriter<typename TSource::OutputImageType>::New();
  writer->SetInput(source->GetOutput());
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(fileName);
  writer->Update();
}

} // namespace

int
main(int argc, char * argv[])
try
{
  if (argc != 3)
  {
    std::cerr << "usage: " << argv[0] << " SLIDE.tif TRUTH.tif\n";
    return 2;
  }
  Draw<itk::SyntheticSlideImageSource>(argv[1]);
  Draw<itk::SyntheticSlideTruthImageSource>(argv[2]);
}
catch (const std::exception & error)
{
  std::cerr << error.what() << '\n';
  return 1;
}
