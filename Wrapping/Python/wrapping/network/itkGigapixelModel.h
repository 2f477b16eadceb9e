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
/** \class GigapixelVolumeInMemory
 * \brief A volume of floats, (depth, height, width, channels), that lies in memory, which is not owned. */
class GigapixelVolumeInMemory : public gigapixel::PixelSource
{
public:
  GigapixelVolumeInMemory(const float * samples, gigapixel::Size size, unsigned channels)
    : m_Samples(samples)
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
    return gigapixel::SampleType::Float;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    const std::size_t row = static_cast<std::size_t>(region.width) * m_Channels * sizeof(float);
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += row)
      {
        const std::int64_t first = (z * m_Size.height + y) * m_Size.width + region.x;
        std::memcpy(samples, m_Samples + first * m_Channels, row);
      }
    }
  }

private:
  const float *         m_Samples;
  const gigapixel::Size m_Size;
  const unsigned        m_Channels;
};

/** Probabilities of a volume's voxels, (depth, height, width, classes). \param bytes of the samples
 * \throw std::invalid_argument they are no volume of this size */
inline std::vector<float>
GigapixelPredictVolume(const gigapixel::Model & model,
                       const float *            samples,
                       std::int64_t             bytes,
                       gigapixel::Size          size,
                       std::int64_t             tileSize)
{
  constexpr std::int64_t longest = 65536;
  const bool             possible = std::min({ size.width, size.height, size.depth }) >= 1 &&
                        std::max({ size.width, size.height, size.depth }) <= longest;
  const std::int64_t voxels = possible ? size.width * size.height * size.depth : 0;
  if (voxels < 1 || bytes / static_cast<std::int64_t>(sizeof(float)) / model.network.channels != voxels ||
      bytes % static_cast<std::int64_t>(sizeof(float) * model.network.channels) != 0)
  {
    throw std::invalid_argument("The array has " + std::to_string(bytes) + " bytes, which are no volume of floats of " +
                                std::to_string(size.depth) + " x " + std::to_string(size.height) + " x " +
                                std::to_string(size.width) + " voxels and " + std::to_string(model.network.channels) +
                                " channels");
  }
  GigapixelVolumeInMemory volume(samples, size, static_cast<unsigned>(model.network.channels));
  gigapixel::Predictor    predictor(model, 0, {}, {}, tileSize);
  std::vector<float>      probabilities(voxels * predictor.GetNumberOfOutputChannels());
  predictor.Predict(volume, { 0, 0, size.width, size.height, 0, size.depth }, probabilities.data());
  return probabilities;
}

/** The name of the engine's models in Python: itk.GigapixelModel. */
using GigapixelModel = gigapixel::Model;
} // namespace itk

#endif
