/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// LabelStages ours|itk PIXELS WIDTH HEIGHT RADIUS MASK: the published chain (threshold, median, erosion, dilation, hole
// fill; radii in pixels) on interleaved RGB bytes, by our filters or by ITK's own; the mask is written as bytes.
// LabelStages decode SLIDE DOWNSAMPLE: reads the coarsest level that is not coarser, in strips, and drops it.
// Prints one line of JSON: CPU seconds of the work alone.

#include "itkBinaryBallStructuringElement.h"
#include "itkBinaryDilateImageFilter.h"
#include "itkBinaryErodeImageFilter.h"
#include "itkBinaryFillholeImageFilter.h"
#include "itkImage.h"
#include "itkMedianImageFilter.h"
#include "itkRGBPixel.h"
#include "itkTissueLabelImageFilter.h"
#include "itkUnaryFunctorImageFilter.h"
#include "itkWholeSlideImageIO.h"

#include <fstream>
#include <iostream>
#include <sys/resource.h>

namespace
{
using Color = itk::RGBPixel<unsigned char>;
using ColorImage = itk::Image<Color, 2>;
using MaskImage = itk::Image<unsigned char, 2>;

double
GetCPUSeconds()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct IsBelowMean
{
  unsigned char
  operator()(const Color & color) const
  {
    const int sum = color[0] + color[1] + color[2];
    return sum > 690 || 19595 * color[0] + 38470 * color[1] + 7471 * color[2] < 32768 ? 0 : 255;
  }
  bool
  operator!=(const IsBelowMean &) const
  {
    return false;
  }
};

MaskImage::Pointer
LabelByUs(const ColorImage * slide, unsigned radius)
{
  auto filter = itk::TissueLabelImageFilter<ColorImage>::New();
  filter->SetInput(slide);
  filter->SetShrinkFactor(1);
  filter->SetMicronsPerPixel(1.0);
  filter->SetMedianRadiusInMicrometers(radius);
  filter->SetErosionRadiusInMicrometers(radius);
  filter->SetDilationRadiusInMicrometers(radius);
  filter->Update();
  return filter->GetOutput();
}

MaskImage::Pointer
LabelByITK(const ColorImage * slide, unsigned radius)
{
  using Ball = itk::BinaryBallStructuringElement<unsigned char, 2>;
  Ball ball;
  ball.SetRadius(radius);
  ball.CreateStructuringElement();
  auto threshold = itk::UnaryFunctorImageFilter<ColorImage, MaskImage, IsBelowMean>::New();
  threshold->SetInput(slide);
  auto median = itk::MedianImageFilter<MaskImage, MaskImage>::New();
  median->SetInput(threshold->GetOutput());
  median->SetRadius(radius);
  auto erode = itk::BinaryErodeImageFilter<MaskImage, MaskImage, Ball>::New();
  erode->SetInput(median->GetOutput());
  erode->SetKernel(ball);
  erode->SetErodeValue(255);
  erode->SetBoundaryToForeground(true);
  auto dilate = itk::BinaryDilateImageFilter<MaskImage, MaskImage, Ball>::New();
  dilate->SetInput(erode->GetOutput());
  dilate->SetKernel(ball);
  dilate->SetDilateValue(255);
  auto fill = itk::BinaryFillholeImageFilter<MaskImage>::New();
  fill->SetInput(dilate->GetOutput());
  fill->SetForegroundValue(255);
  fill->Update();
  return fill->GetOutput();
}

void
RunChain(const std::string & whose, char ** argv)
{
  const itk::SizeValueType width = std::stoul(argv[1]);
  const itk::SizeValueType height = std::stoul(argv[2]);
  std::ifstream            file(argv[0], std::ios::binary);
  auto                     slide = ColorImage::New();
  slide->SetRegions(ColorImage::SizeType{ { width, height } });
  slide->Allocate();
  file.read(reinterpret_cast<char *>(slide->GetBufferPointer()), static_cast<std::streamsize>(width * height * 3));
  const auto   radius = static_cast<unsigned>(std::stoul(argv[3]));
  const double before = GetCPUSeconds();
  const auto   mask = whose == "ours" ? LabelByUs(slide, radius) : LabelByITK(slide, radius);
  std::cout << "{\"cpu_s\": " << GetCPUSeconds() - before << "}" << std::endl;
  std::ofstream(argv[4], std::ios::binary)
    .write(reinterpret_cast<const char *>(mask->GetBufferPointer()), static_cast<std::streamsize>(width * height));
}

void
Decode(const std::string & file, double downsample)
{
  constexpr itk::SizeValueType rows = 256;
  const double                 before = GetCPUSeconds();
  const auto                   slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(file);
  slide->SetDownsample(downsample);
  slide->ReadImageInformation();
  const auto                 size = slide->GetLevelSize(slide->GetLevel());
  std::vector<unsigned char> strip(size[0] * rows * 3);
  for (itk::SizeValueType y = 0; y < size[1]; y += rows)
  {
    slide->ReadRegion(slide->GetLevel(), 0, y, size[0], std::min(rows, size[1] - y), 3, strip.data());
  }
  std::cout << "{\"cpu_s\": " << GetCPUSeconds() - before << ", \"level\": " << slide->GetLevel()
            << ", \"width\": " << size[0] << ", \"height\": " << size[1] << "}" << std::endl;
}
} // namespace

int
main(int argc, char ** argv)
{
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "decode" && argc == 4)
  {
    Decode(argv[2], std::stod(argv[3]));
  }
  else if ((what == "ours" || what == "itk") && argc == 7)
  {
    RunChain(what, argv + 2);
  }
  else
  {
    std::cerr << "usage: LabelStages ours|itk PIXELS WIDTH HEIGHT RADIUS MASK | decode SLIDE DOWNSAMPLE" << std::endl;
    return 2;
  }
  return 0;
}
