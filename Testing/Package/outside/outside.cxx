/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelUNetImageFilter.h"
#include "itkGigapixelUNetTrainer.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

int
main()
{
  const auto slide = itk::SyntheticSlideImageSource::New();
  slide->SetSize(400, 300);
  const auto truth = itk::SyntheticSlideTruthImageSource::New();
  truth->SetSize(400, 300);
  const auto trainer = itk::GigapixelUNetTrainer::New();
  trainer->SetNetwork("remedios2023"); // installations may have no LibTorch
  trainer->SetEpochs(1);
  trainer->AddTrainingImage(slide->GetOutput(), truth->GetOutput());
  trainer->Update();
  const auto filter =
    itk::GigapixelUNetImageFilter<itk::SyntheticSlideImageSource::OutputImageType, itk::Image<float, 2>>::New();
  filter->SetInput(slide->GetOutput());
  filter->SetModel(trainer->GetBestModel());
  filter->Update();
  const float probability = filter->GetOutput()->GetPixel({ { 399, 299 } });
  return probability > 0 && probability < 1 ? 0 : 1;
}
