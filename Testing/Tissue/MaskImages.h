/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MaskImages_h
#define MaskImages_h

#include "itkImage.h"
#include "itkImageRegionIterator.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkRGBPixel.h"

#include <gtest/gtest.h>

#include <random>

namespace gigapixel_test
{

using MaskType = itk::Image<unsigned char, 2>;
using ColorType = itk::Image<itk::RGBPixel<unsigned char>, 2>;

template <typename TImage>
typename TImage::Pointer
MakeImage(itk::SizeValueType width, itk::SizeValueType height)
{
  auto image = TImage::New();
  image->SetRegions(typename TImage::SizeType{ { width, height } });
  image->Allocate();
  return image;
}

/** Pixels of 255 with the given probability, else 0. */
inline MaskType::Pointer
MakeNoise(itk::SizeValueType width, itk::SizeValueType height, double density, unsigned seed)
{
  auto                        image = MakeImage<MaskType>(width, height);
  std::mt19937                random(seed);
  std::bernoulli_distribution isForeground(density);
  for (itk::ImageRegionIterator<MaskType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(isForeground(random) ? 255 : 0);
  }
  return image;
}

/** Overlapping discs of foreground, and discs of background on top of them, with a little noise: like a tissue mask. */
inline MaskType::Pointer
MakeBlobs(itk::SizeValueType width, itk::SizeValueType height, unsigned seed)
{
  auto         image = MakeNoise(width, height, 0.01, seed);
  std::mt19937 random(seed + 1);
  for (int blob = 0; blob < 24; ++blob)
  {
    const double x = static_cast<double>(random() % width);
    const double y = static_cast<double>(random() % height);
    const double radius = 2.0 + random() % 20;
    const bool   foreground = blob < 14;
    for (itk::ImageRegionIteratorWithIndex<MaskType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
    {
      const double dx = it.GetIndex()[0] - x;
      const double dy = it.GetIndex()[1] - y;
      if (dx * dx + dy * dy < radius * radius && random() % 50 != 0)
      {
        it.Set(foreground ? 255 : 0);
      }
    }
  }
  return image;
}

/** Expects equal regions and pixels; says where the first difference is. */
template <typename TImage>
void
ExpectEqual(const TImage * image, const TImage * reference, const std::string & what)
{
  ASSERT_EQ(image->GetLargestPossibleRegion(), reference->GetLargestPossibleRegion()) << what;
  itk::ImageRegionConstIteratorWithIndex<TImage> it(image, image->GetLargestPossibleRegion());
  itk::ImageRegionConstIterator<TImage>          expected(reference, image->GetLargestPossibleRegion());
  for (; !it.IsAtEnd(); ++it, ++expected)
  {
    ASSERT_EQ(it.Get(), expected.Get()) << what << " at " << it.GetIndex();
  }
}

} // namespace gigapixel_test

#endif
