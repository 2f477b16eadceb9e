/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef UNetTestImages_h
#define UNetTestImages_h

#include "gigapixelModel.h"
#include "itkGigapixelImageSource.h"
#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageIOBase.h"
#include "itkImageRegionIterator.h"
#include "itkRGBPixel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <vector>

namespace gigapixel_test
{

using GrayImage = itk::Image<unsigned char, 2>;
using ColorImage = itk::Image<itk::RGBPixel<unsigned char>, 2>;

template <typename TImage>
void
SetSpacing(TImage & image, double micronsPerPixel, double origin = 0)
{
  typename TImage::SpacingType spacing;
  spacing.Fill(micronsPerPixel / 1000);
  typename TImage::PointType point;
  point.Fill(origin);
  image.SetSpacing(spacing);
  image.SetOrigin(point);
}

/** An image of noise that is the same everywhere: the generator's numbers are fixed by the C++ standard. 0.5 um. */
template <typename TImage = GrayImage>
typename TImage::Pointer
NoiseImage(unsigned width, unsigned height, unsigned seed = 1)
{
  const auto image = TImage::New();
  image->SetRegions(itk::Size<2>{ { width, height } });
  image->Allocate();
  SetSpacing(*image, 0.5);
  std::mt19937 random(seed);
  auto *       bytes = reinterpret_cast<unsigned char *>(image->GetBufferPointer());
  const auto   samples = width * height * image->GetNumberOfComponentsPerPixel();
  for (std::size_t i = 0; i < samples; ++i)
  {
    bytes[i] = static_cast<unsigned char>(random() >> 24);
  }
  return image;
}

/** Dark discs (50) on bright ground (220). */
inline GrayImage::Pointer
DiscsImage(unsigned width, unsigned height, unsigned seed, unsigned char ground = 220, unsigned char disc = 50)
{
  const auto                         image = NoiseImage(width, height, seed);
  std::mt19937                       random(seed);
  std::vector<std::array<double, 3>> discs(6);
  for (auto & d : discs)
  {
    d = { { static_cast<double>(random() % width), static_cast<double>(random() % height), 20.0 + random() % 30 } };
  }
  for (itk::ImageRegionIterator<GrayImage> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    bool inside = false;
    for (const auto & d : discs)
    {
      inside = inside || std::hypot(static_cast<double>(it.GetIndex()[0]) - d[0],
                                    static_cast<double>(it.GetIndex()[1]) - d[1]) < d[2];
    }
    it.Set(inside ? disc : ground);
  }
  return image;
}

/** The network remedios2023 (or another) with weights that make probabilities vary around one half. */
inline gigapixel::Model
NoiseModel(std::int64_t tileSize = 128, const std::string & json = "")
{
  gigapixel::Model model;
  model.network =
    json.empty() ? gigapixel::NetworkDescription::Load("remedios2023") : gigapixel::NetworkDescription::FromJSON(json);
  model.tileSize = tileSize;
  model.micronsPerPixel = 0.5;
  std::mt19937 random(7);
  const auto   fill = [&](const std::string & name, std::vector<std::int64_t> shape, double scale) {
    gigapixel::Parameter parameter;
    std::int64_t         count = 1;
    for (const std::int64_t n : shape)
    {
      count *= n;
    }
    parameter.shape = std::move(shape);
    for (std::int64_t i = 0; i < count; ++i)
    {
      parameter.values.push_back(static_cast<float>(scale * (random() / 2147483648.0 - 1)));
    }
    model.parameters[name] = parameter;
  };
  for (const gigapixel::Layer & layer : model.network.layers)
  {
    const bool   down = layer.kind == gigapixel::Layer::Kind::Convolution;
    const double inputs = layer.inputChannels * (down ? layer.kernel * layer.kernel : 1);
    fill(layer.name + ".weight",
         { down ? layer.outputChannels : layer.inputChannels,
           down ? layer.inputChannels : layer.outputChannels,
           layer.kernel,
           layer.kernel },
         std::sqrt(6 / inputs));
    fill(layer.name + ".bias", { layer.outputChannels }, 0.1);
  }
  return model;
}

template <typename TImage>
void
ExpectSamePixels(const TImage & a, const TImage & b)
{
  ASSERT_EQ(a.GetBufferedRegion(), b.GetBufferedRegion());
  itk::ImageRegionConstIterator<TImage> ia(&a, a.GetBufferedRegion());
  itk::ImageRegionConstIterator<TImage> ib(&b, b.GetBufferedRegion());
  std::size_t                           different = 0;
  for (; !ia.IsAtEnd(); ++ia, ++ib)
  {
    different += ia.Get() == ib.Get() ? 0 : 1;
  }
  EXPECT_EQ(different, 0u);
}

/** The message of the exception that a call throws; fails when it throws none. */
template <typename TFunction>
std::string
MessageOf(const TFunction & function)
{
  try
  {
    function();
  }
  catch (const itk::ExceptionObject & error)
  {
    return error.GetDescription();
  }
  catch (const std::exception & error)
  {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::string();
}

#define EXPECT_MESSAGE(statement, part)                                                                                \
  EXPECT_NE(gigapixel_test::MessageOf([&] { statement; }).find(part), std::string::npos)                               \
    << gigapixel_test::MessageOf([&] { statement; })

template <typename TImage>
std::string
Write(const TImage * image, const std::string & fileName)
{
  const auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(image);
  writer->SetFileName(fileName);
  writer->UseCompressionOff();
  writer->Update();
  return fileName;
}

} // namespace gigapixel_test

#endif
