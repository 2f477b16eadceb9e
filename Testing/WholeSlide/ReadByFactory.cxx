/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// An ITK program that knows nothing of this project: says which reader ITK finds for a file, and what it reads.
#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageIOFactory.h"
#include "itkRGBPixel.h"
#include "itkTIFFImageIOFactory.h"

#include <iostream>

int
main(int argc, char * argv[])
{
  if (argc != 2)
  {
    return 2;
  }
  itk::TIFFImageIOFactory::RegisterOneFactory();
  const auto io = itk::ImageIOFactory::CreateImageIO(argv[1], itk::IOFileModeEnum::ReadMode);
  if (io.IsNull())
  {
    std::cout << "none" << std::endl;
    return 1;
  }
  const auto reader = itk::ImageFileReader<itk::Image<itk::RGBPixel<unsigned char>, 2>>::New();
  reader->SetFileName(argv[1]);
  reader->Update();
  std::cout << io->GetNameOfClass() << ' ' << reader->GetOutput()->GetLargestPossibleRegion().GetSize() << ' '
            << reader->GetOutput()->GetSpacing()[0] << std::endl;
  return 0;
}
