/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelModel_h
#define itkGigapixelModel_h

#include "gigapixelClassifier.h"
#include "gigapixelModel.h"
#include "gigapixelPredictor.h"
#include "itkGigapixelImageSource.h"
#include "itkGigapixelImages.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace itk
{
/** \class GigapixelImageInMemory
 * \brief Samples, (height, width, channels), of volumes (depth, height, width, channels), that lie in memory, which is
 * not owned. */
class GigapixelImageInMemory : public gigapixel::PixelSource
{
public:
  GigapixelImageInMemory(const void * samples, gigapixel::SampleType type, gigapixel::Size size, unsigned channels)
    : m_Samples(static_cast<const std::uint8_t *>(samples))
    , m_Type(type)
    , m_Size(size)
    , m_Channels(channels)
  {}

  gigapixel::Size
  GetSize() const override
  {
    return m_Size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    return m_Type;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    const std::int64_t pixel = m_Channels * gigapixel::GetSampleBytes(m_Type);
    const std::int64_t row = region.width * pixel;
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += row)
      {
        const std::int64_t first = (z * m_Size.height + y) * m_Size.width + region.x;
        std::memcpy(samples, m_Samples + first * pixel, row);
      }
    }
  }

private:
  const std::uint8_t * const  m_Samples;
  const gigapixel::SampleType m_Type;
  const gigapixel::Size       m_Size;
  const unsigned              m_Channels;
};

/** Probabilities of each pixel, (height, width, classes), of volumes (depth, height, width, classes).
 * \param bytes of the samples \throw std::invalid_argument they are no image of this size */
inline std::vector<float>
GigapixelPredict(const gigapixel::Model & model,
                 const void *             samples,
                 gigapixel::SampleType    type,
                 std::int64_t             bytes,
                 gigapixel::Size          size,
                 std::int64_t             tileSize)
{
  constexpr std::int64_t longest = 65536; // along each axis, so that their product is a number
  const bool             possible = std::min({ size.width, size.height, size.depth }) >= 1 &&
                        std::max({ size.width, size.height, size.depth }) <= longest;
  const std::int64_t pixels = possible ? size.width * size.height * size.depth : 0;
  const std::int64_t pixelSize = gigapixel::GetSampleBytes(type) * model.network.channels;
  if (pixels < 1 || bytes / pixelSize != pixels || bytes % pixelSize != 0)
  {
    const bool ofFloats = type == gigapixel::SampleType::Float;
    throw gigapixel::InvalidArgument(
      gigapixel::Diagnostic(
        "E-OPTION-VALUE",
        "the array has " + std::to_string(bytes) + " bytes, which are no " +
          (ofFloats ? "volume of floats of " + std::to_string(size.depth) + " x " : "image of bytes of ") +
          std::to_string(size.height) + " x " + std::to_string(size.width) +
          (ofFloats ? " voxels and " : " pixels and ") + std::to_string(model.network.channels) + " channels")
        .OfOption("array", std::to_string(bytes)));
  }
  GigapixelImageInMemory image(samples, type, size, static_cast<unsigned>(model.network.channels));
  gigapixel::Predictor   predictor(model, 0, {}, {}, tileSize);
  std::vector<float>     probabilities(pixels * predictor.GetNumberOfOutputChannels());
  predictor.Predict(image, { 0, 0, size.width, size.height, 0, size.depth }, probabilities.data());
  return probabilities;
}

/** The name of the engine's models in Python: itk.GigapixelModel. */
using GigapixelModel = gigapixel::Model;
} // namespace itk

#endif
