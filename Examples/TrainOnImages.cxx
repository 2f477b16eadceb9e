/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Trains a network on whole images that come from ITK pipelines, region by region: put any filters behind the readers.
#include "itkGigapixelUNetTrainer.h"
#include "itkImageFileReader.h"
#include "itkRGBPixel.h"
#include "itkWholeSlideImageIOFactory.h"

#include <iostream>

int
main(int argc, char * argv[])
try
{
  if (argc < 4 || argc % 2 != 0)
  {
    std::cerr << "usage: " << argv[0] << " RUN IMAGE MASK [IMAGE MASK]...\n";
    return 2;
  }
  itk::WholeSlideImageIOFactory::RegisterOneFactory();
  const auto trainer = itk::GigapixelUNetTrainer::New();
  trainer->SetNetwork("remedios2023"); // small and gray; without this line a U-Net in RGB, which takes far longer
  trainer->SetRunFolder(argv[1]);
  trainer->SetEpochs(5);
  for (int i = 2; i < argc; i += 2)
  {
    const auto image = itk::ImageFileReader<itk::Image<itk::RGBPixel<unsigned char>, 2>>::New();
    image->SetFileName(argv[i]);
    const auto mask = itk::ImageFileReader<itk::Image<unsigned char, 2>>::New();
    mask->SetFileName(argv[i + 1]);
    trainer->AddTrainingImage(image->GetOutput(), mask->GetOutput());
  }
  trainer->AddObserver(itk::IterationEvent(),
                       [&](const auto &) { std::cout << "loss " << trainer->GetTrainingProgress().loss << std::endl; });
  trainer->Update();
}
catch (const std::exception & error)
{
  std::cerr << error.what() << '\n';
  return 1;
}
