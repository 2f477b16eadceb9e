/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSharedImage.h"
#include "gigapixelDeviceModule.h"
#include "gigapixelTileData.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::int64_t BandRows = 256;

/** A source's samples in shared memory, row by row. */
template <typename TSource>
class InSharedMemory : public TSource
{
public:
  InSharedMemory(const Device & device, Size size, unsigned channels)
    : memory(device, size.width * size.height * channels)
    , m_Size(size)
    , m_Channels(channels)
  {}

  Size
  GetSize() const override
  {
    return m_Size;
  }

  SamplesInMemory
  GetInMemory() const override
  {
    return { memory.Get(), m_Channels, GetPitch() };
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const std::int64_t row = region.width * m_Channels;
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      std::copy_n(memory.Get() + (region.y + y) * GetPitch() + region.x * m_Channels, row, samples + y * row);
    }
  }

  std::uint8_t *
  GetRow(std::int64_t y)
  {
    return memory.Get() + y * GetPitch();
  }

  SharedMemory memory;

protected:
  const Size         m_Size;
  const std::int64_t m_Channels;

private:
  std::ptrdiff_t
  GetPitch() const
  {
    return m_Size.width * m_Channels;
  }
};

class SharedPixels : public InSharedMemory<PixelSource>
{
public:
  using InSharedMemory::InSharedMemory;

  unsigned
  GetNumberOfChannels() const override
  {
    return static_cast<unsigned>(m_Channels);
  }
};

} // namespace

SharedMemory::SharedMemory(const Device & device, std::size_t bytes)
  : m_Device(device)
  , m_Bytes(bytes)
{
  m_Memory = static_cast<std::uint8_t *>(device.cuda < 0 ? std::malloc(bytes)
                                                         : DeviceModule::Get().allocateShared(device.cuda, bytes));
  if (!m_Memory)
  {
    throw std::bad_alloc();
  }
}

SharedMemory::~SharedMemory()
{
  m_Device.cuda < 0 ? std::free(m_Memory) : DeviceModule::Get().freeShared(m_Memory);
}

void
SharedMemory::FinishWriting()
{
  if (m_Device.cuda >= 0)
  {
    DeviceModule::Get().finishWriting(m_Device.cuda, m_Memory, m_Bytes);
  }
}

struct SharedImage::Implementation
{
  SharedPixels                pixels;
  InSharedMemory<LabelSource> labels;
};

SharedImage::SharedImage(const Device &             device,
                         const NetworkDescription & network,
                         PixelSource &              pixels,
                         LabelSource &              labels,
                         Workers &                  workers)
{
  const Size size = pixels.GetSize();
  m_Implementation.reset(new Implementation{ { device, size, pixels.GetNumberOfChannels() }, { device, size, 1 } });
  std::vector<TileData> data(workers.GetNumberOfThreads());
  workers.Run((size.height + BandRows - 1) / BandRows,
              [&](int worker, std::int64_t band) {
                const std::int64_t y = band * BandRows;
                const Region       rows{ 0, y, size.width, std::min(BandRows, size.height - y) };
                pixels.Read(rows, m_Implementation->pixels.GetRow(y));
                ReadClasses(labels, { rows, rows }, network, data[worker]);
                std::copy(data[worker].classes.begin(), data[worker].classes.end(), m_Implementation->labels.GetRow(y));
              },
              [](std::int64_t) { return true; });
  m_Implementation->pixels.memory.FinishWriting();
  m_Implementation->labels.memory.FinishWriting();
}

SharedImage::~SharedImage() = default;

PixelSource &
SharedImage::GetPixels()
{
  return m_Implementation->pixels;
}

LabelSource &
SharedImage::GetLabels()
{
  return m_Implementation->labels;
}

} // namespace gigapixel
