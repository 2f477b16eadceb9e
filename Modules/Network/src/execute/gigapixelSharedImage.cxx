/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSharedImage.h"
#include "gigapixelDeviceModule.h"
#include "maps/gigapixelTileData.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::int64_t BandRows = 256;

/** Samples of a region of a source in shared memory, row by row. */
template <typename TSource>
class InSharedMemory : public TSource
{
public:
  InSharedMemory(const Device & device, Size size, const Region & region, unsigned channels)
    : memory(device, region.width * region.height * channels)
    , m_Size(size)
    , m_Region(region)
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
    return { memory.Get() + GetOffset(0, 0), m_Channels, GetPitch() };
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const std::int64_t row = region.width * m_Channels;
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      std::copy_n(memory.Get() + GetOffset(region.x, region.y + y), row, samples + y * row);
    }
  }

  /** \param fill (worker, rows, samples) writes the samples of some rows of the region; called by all workers
   * \param goesOn is called after each such band; false stops
   * \return false if it was stopped */
  template <typename TFill>
  bool
  Fill(Workers & workers, const TFill & fill, const std::function<bool()> & goesOn)
  {
    const bool filled = workers.Run(
      (m_Region.height + BandRows - 1) / BandRows,
      [&](int worker, std::int64_t band) {
        const std::int64_t y = m_Region.y + band * BandRows;
        const std::int64_t height = std::min(BandRows, m_Region.y + m_Region.height - y);
        fill(worker, Region{ m_Region.x, y, m_Region.width, height }, memory.Get() + GetOffset(m_Region.x, y));
      },
      [&](std::int64_t) { return goesOn(); });
    memory.FinishWriting();
    return filled;
  }

  SharedMemory memory;

protected:
  RowsInMemory
  GetRows(const Region & region) const
  {
    return { memory.Get() + GetOffset(region.x, region.y), GetPitch() };
  }

  const Size         m_Size;
  const Region       m_Region;
  const std::int64_t m_Channels;

private:
  std::ptrdiff_t
  GetPitch() const
  {
    return m_Region.width * m_Channels;
  }

  /** Of a pixel of the image from the memory's first byte; negative before the region. */
  std::ptrdiff_t
  GetOffset(std::int64_t x, std::int64_t y) const
  {
    return (y - m_Region.y) * GetPitch() + (x - m_Region.x) * m_Channels;
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

  RowsInMemory
  FindRows(const Region & region) const override
  {
    return GetRows(region);
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    return m_Source && m_Source->ReadTissue(region, tissue);
  }

  /** \param source tells of its tissue as long as this lives */
  bool
  Fill(Workers & workers, PixelSource & source, const std::function<bool()> & goesOn)
  {
    m_Source = &source;
    const auto read = [&](int, const Region & rows, std::uint8_t * samples) { source.Read(rows, samples); };
    return InSharedMemory::Fill(workers, read, goesOn);
  }

private:
  const PixelSource * m_Source{ nullptr };
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

void
SharedMemory::Prefetch() const
{
  if (m_Device.cuda >= 0)
  {
    DeviceModule::Get().prefetch(m_Device.cuda, m_Memory, m_Bytes);
  }
}

std::unique_ptr<PixelSource>
SharePixels(const Device & device, PixelSource & pixels, const Region & region, Workers & workers)
{
  auto shared = std::make_unique<SharedPixels>(device, pixels.GetSize(), region, pixels.GetNumberOfChannels());
  shared->Fill(workers, pixels, [] { return true; });
  shared->memory.Prefetch();
  return shared;
}

struct SharedImage::Implementation
{
  SharedPixels                pixels;
  InSharedMemory<LabelSource> labels;
};

std::unique_ptr<SharedImage>
SharedImage::Read(const Device &                device,
                  const NetworkDescription &    network,
                  PixelSource &                 pixels,
                  LabelSource &                 labels,
                  Workers &                     workers,
                  const std::function<bool()> & goesOn)
{
  const Size                      size = pixels.GetSize();
  const Region                    whole{ 0, 0, size.width, size.height };
  const Size                      labeled = labels.GetSize(); // one pixel, of a network that labels images
  std::unique_ptr<Implementation> image(
    new Implementation{ { device, size, whole, pixels.GetNumberOfChannels() },
                        { device, labeled, { 0, 0, labeled.width, labeled.height }, 1 } });
  std::vector<TileData> data(workers.GetNumberOfThreads());
  const auto            readClasses = [&](int worker, const Region & rows, std::uint8_t * classes) {
    ReadClasses(labels, { rows, rows }, network, data[worker]);
    std::copy(data[worker].classes.begin(), data[worker].classes.end(), classes);
  };
  if (!image->pixels.Fill(workers, pixels, goesOn) || !image->labels.Fill(workers, readClasses, goesOn))
  {
    return nullptr;
  }
  return std::unique_ptr<SharedImage>(new SharedImage(std::move(image)));
}

SharedImage::SharedImage(std::unique_ptr<Implementation> implementation)
  : m_Implementation(std::move(implementation))
{}

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
