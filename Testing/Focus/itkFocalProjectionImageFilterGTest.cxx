/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkFocalProjectionImageFilter.h"

#include "BasicObjectMethods.h"
#include "RefusalCode.h"
#include "itkImage.h"
#include "itkImageRegionConstIteratorWithIndex.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"
#include "itkVectorImage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace
{
constexpr long Width = 67;
constexpr long Height = 45;

using Method = gigapixel::ProjectionMethod;
using Samples = std::vector<std::vector<double>>; // of planes; channels interleaved

/** Noise, in which another third of each plane has more contrast. Values are whole numbers up to 240. */
Samples
Draw(unsigned planes, unsigned channels)
{
  std::mt19937 random(7);
  Samples      all(planes);
  for (unsigned plane = 0; plane < planes; ++plane)
  {
    for (long pixel = 0; pixel < Width * Height; ++pixel)
    {
      const bool     isSharp = static_cast<unsigned>(pixel % Width * planes / Width) == plane;
      const unsigned contrast = isSharp ? 200 : 40;
      for (unsigned channel = 0; channel < channels; ++channel)
      {
        all[plane].push_back(static_cast<double>(random() % contrast + 20 * plane));
      }
    }
  }
  return all;
}

/** By the formula, each sum from its definition. */
std::vector<double>
Project(const Samples & planes, unsigned channels, Method method)
{
  const auto clamp = [](long at, long size) { return std::min(std::max(at, 0L), size - 1); };
  const auto gray = [&](unsigned plane, long x, long y) {
    double sum = 0;
    for (unsigned channel = 0; channel < channels; ++channel)
    {
      sum += planes[plane][static_cast<std::size_t>((clamp(y, Height) * Width + clamp(x, Width)) * channels + channel)];
    }
    return sum;
  };
  const auto energy = [&](unsigned plane, long x, long y) {
    double sum = 0;
    for (long v = y - 4; v <= y + 4; ++v)
    {
      for (long u = x - 4; u <= x + 4; ++u)
      {
        const long   i = clamp(u, Width), j = clamp(v, Height);
        const double twice = 2 * gray(plane, i, j);
        sum += std::abs(twice - gray(plane, i - 1, j) - gray(plane, i + 1, j)) +
               std::abs(twice - gray(plane, i, j - 1) - gray(plane, i, j + 1));
      }
    }
    return sum;
  };
  std::vector<double> projected;
  for (long pixel = 0; pixel < Width * Height; ++pixel)
  {
    unsigned best = 0;
    double   most = energy(0, pixel % Width, pixel / Width);
    for (unsigned plane = 1; plane < planes.size(); ++plane)
    {
      const double found = energy(plane, pixel % Width, pixel / Width);
      best = found > most ? plane : best;
      most = std::max(found, most);
    }
    for (unsigned channel = 0; channel < channels; ++channel)
    {
      const auto at = static_cast<std::size_t>(pixel * channels + channel);
      double     value = planes[best][at];
      for (unsigned plane = 0; plane < planes.size() && method == Method::Maximum; ++plane)
      {
        value = std::max(value, planes[plane][at]);
      }
      projected.push_back(value);
    }
  }
  return projected;
}

template <typename TImage>
typename TImage::Pointer
MakeImage(const std::vector<double> & samples, unsigned channels)
{
  auto image = TImage::New();
  image->SetRegions(itk::ImageRegion<2>(itk::Index<2>{ { -3, 11 } }, itk::Size<2>{ { Width, Height } }));
  image->SetNumberOfComponentsPerPixel(channels);
  image->Allocate();
  using Sample = typename itk::NumericTraits<typename TImage::PixelType>::ValueType;
  std::copy(samples.begin(), samples.end(), reinterpret_cast<Sample *>(image->GetBufferPointer()));
  return image;
}

template <typename TImage>
void
Check(unsigned channels)
{
  using Sample = typename itk::NumericTraits<typename TImage::PixelType>::ValueType;
  const Samples planes = Draw(3, channels);
  for (const Method method : { Method::Maximum, Method::Focus })
  {
    const auto filter = itk::FocalProjectionImageFilter<TImage>::New();
    for (unsigned plane = 0; plane < planes.size(); ++plane)
    {
      filter->SetInput(plane, MakeImage<TImage>(planes[plane], channels));
    }
    filter->SetMethod(method);
    const auto expected = Project(planes, channels, method);
    for (const unsigned divisions : { 1U, 7U })
    {
      SCOPED_TRACE(testing::Message() << "focus " << (method == Method::Focus) << ", " << channels << " channels of "
                                      << sizeof(Sample) << " bytes, " << divisions << " parts");
      const auto streamer = itk::StreamingImageFilter<TImage, TImage>::New();
      streamer->SetInput(filter->GetOutput());
      streamer->SetNumberOfStreamDivisions(divisions);
      streamer->Update();
      const auto * const  found = reinterpret_cast<const Sample *>(streamer->GetOutput()->GetBufferPointer());
      std::vector<double> values(found, found + expected.size());
      EXPECT_TRUE(values == expected);
    }
  }
}
} // namespace

TEST(FocalProjectionImageFilter, BasicObjectMethods)
{
  using Plane = itk::Image<unsigned char, 2>;
  EXPECT_BASIC_OBJECT_METHODS(FocalProjectionImageFilter, ImageToImageFilter, itk::FocalProjectionImageFilter<Plane>);
}

TEST(FocalProjectionImageFilter, IsWhatTheFormulaSays)
{
  Check<itk::Image<unsigned char, 2>>(1);
  Check<itk::Image<unsigned short, 2>>(1);
  Check<itk::Image<float, 2>>(1);
  Check<itk::Image<itk::RGBPixel<unsigned char>, 2>>(3);
  Check<itk::VectorImage<unsigned short, 2>>(5);
  Check<itk::VectorImage<float, 2>>(1);
}

TEST(FocalProjectionImageFilter, FocusOfOnePlaneOrOfEqualOnesIsThatPlane)
{
  using ImageType = itk::Image<unsigned char, 2>;
  const Samples planes = Draw(1, 1);
  for (const unsigned count : { 1U, 4U })
  {
    const auto filter = itk::FocalProjectionImageFilter<ImageType>::New();
    for (unsigned plane = 0; plane < count; ++plane)
    {
      filter->SetInput(plane, MakeImage<ImageType>(planes[0], 1));
    }
    filter->SetMethod(Method::Focus);
    filter->Update();
    EXPECT_TRUE(std::equal(planes[0].begin(), planes[0].end(), filter->GetOutput()->GetBufferPointer()));
  }
}

TEST(FocalProjectionImageFilter, AsksForNoMoreThanItNeeds)
{
  using ImageType = itk::Image<unsigned char, 2>;
  const auto input = MakeImage<ImageType>(Draw(1, 1)[0], 1);
  const auto filter = itk::FocalProjectionImageFilter<ImageType>::New();
  filter->SetInput(input);
  filter->SetMethod(Method::Focus);
  filter->UpdateOutputInformation();
  filter->GetOutput()->SetRequestedRegion(itk::ImageRegion<2>(itk::Index<2>{ { 20, 12 } }, itk::Size<2>{ { 10, 8 } }));
  filter->PropagateRequestedRegion(filter->GetOutput());
  EXPECT_EQ(input->GetRequestedRegion(), itk::ImageRegion<2>(itk::Index<2>{ { 15, 11 } }, itk::Size<2>{ { 20, 14 } }));
}

TEST(FocalProjectionImageFilter, RefusesPlanesThatDiffer)
{
  using ImageType = itk::VectorImage<float, 2>;
  const auto refuses = [](const ImageType * other, unsigned input) {
    const auto filter = itk::FocalProjectionImageFilter<ImageType>::New();
    filter->SetInput(0, MakeImage<ImageType>(Draw(1, 2)[0], 2));
    filter->SetInput(input, other);
    EXPECT_REFUSAL(filter->Update(), "E-SLIDE-PLANES");
  };
  auto small = ImageType::New();
  small->SetRegions(itk::Size<2>{ { Width, Height } }); // at another index
  small->SetNumberOfComponentsPerPixel(2);
  small->Allocate();
  refuses(small, 1);
  refuses(MakeImage<ImageType>(Draw(1, 3)[0], 3), 1);
  refuses(MakeImage<ImageType>(Draw(1, 2)[0], 2), 2); // input 1 is missing
}
