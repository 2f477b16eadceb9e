/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// ApplyNetwork MODEL PIXELS WIDTH HEIGHT TILES PROBABILITIES
// ApplyNetwork MODEL FLOATS WIDTH HEIGHT TILES LABELS DEPTH
// ApplyNetwork MODEL FLOATS WIDTH HEIGHT TILES PROBABILITIES DEPTH probabilities
// A model's probabilities of all classes for an image of any number of channels: PIXELS and PROBABILITIES are files of
// rows of interleaved bytes and floats. TILES are sides of tiles' cores, 0: one tile; for each the image is computed.
// With a depth it is a volume of floats, and LABELS are bytes, unless probabilities are asked for.
#include "gigapixelPredictor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

using namespace gigapixel;

namespace
{

class Pixels : public PixelSource
{
public:
  Pixels(const std::string & path, Size size, unsigned channels, SampleType type)
    : m_Size(size)
    , m_Channels(channels)
    , m_Type(type)
  {
    std::ifstream file(path, std::ios::binary);
    m_Samples.assign(std::istreambuf_iterator<char>(file), {});
    if (static_cast<std::int64_t>(m_Samples.size()) != size.width * size.height * size.depth * GetPixelBytes())
    {
      throw std::runtime_error(path + " is not of this size");
    }
  }

  Size
  GetSize() const override
  {
    return m_Size;
  }

  SampleType
  GetSampleType() const override
  {
    return m_Type;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const auto row = static_cast<std::size_t>(region.width * GetPixelBytes());
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += row)
      {
        const std::int64_t place = (z * m_Size.height + y) * m_Size.width + region.x;
        std::memcpy(samples, m_Samples.data() + place * GetPixelBytes(), row);
      }
    }
  }

private:
  std::int64_t
  GetPixelBytes() const
  {
    return m_Channels * GetSampleBytes(m_Type);
  }

  const Size        m_Size;
  const unsigned    m_Channels;
  const SampleType  m_Type;
  std::vector<char> m_Samples;
};

void
Apply(int count, char ** words)
{
  Model      model = Model::Load(words[1]);
  const bool isVolume = count >= 8;
  const Size size{ std::stoll(words[3]), std::stoll(words[4]), isVolume ? std::stoll(words[7]) : 1 };
  const auto stride = static_cast<std::int64_t>(model.network.GetStride());
  Pixels     pixels(
    words[2], size, static_cast<unsigned>(model.network.channels), isVolume ? SampleType::Float : SampleType::UInt8);
  std::ofstream     file(words[6], std::ios::binary);
  std::stringstream tiles(words[5]);
  for (std::string tile; std::getline(tiles, tile, ',');)
  {
    model.tileSize = std::stoll(tile);
    if (model.tileSize == 0)
    {
      model.tileSize = (std::max({ size.width, size.height, size.depth }) + stride - 1) / stride * stride;
    }
    Predictor    predictor(model, 2);
    const Region all{ 0, 0, size.width, size.height, 0, size.depth };
    if (count == 8)
    {
      std::vector<std::uint8_t> labels(size.width * size.height * size.depth);
      predictor.PredictLabels(pixels, all, 0.5, labels.data());
      file.write(reinterpret_cast<const char *>(labels.data()), static_cast<std::streamsize>(labels.size()));
      continue;
    }
    std::vector<float> probabilities(size.width * size.height * size.depth * predictor.GetNumberOfOutputChannels());
    predictor.Predict(pixels, all, probabilities.data());
    file.write(reinterpret_cast<const char *>(probabilities.data()),
               static_cast<std::streamsize>(probabilities.size() * sizeof(float)));
  }
}

} // namespace

int
main(int count, char ** words)
{
  try
  {
    if (count < 7 || count > 9)
    {
      throw std::runtime_error("ApplyNetwork MODEL PIXELS WIDTH HEIGHT TILES PROBABILITIES [DEPTH [probabilities]]");
    }
    Apply(count, words);
    return EXIT_SUCCESS;
  }
  catch (const std::exception & error)
  {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
