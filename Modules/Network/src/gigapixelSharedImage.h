/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSharedImage_h
#define gigapixelSharedImage_h

#include "gigapixelDevice.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelWorkers.h"

namespace gigapixel
{

/** \class SharedMemory
 * \brief Bytes that the CPU and a device both see: CUDA's managed memory, which may be more than the GPU has; for the
 * CPU plain memory. */
class SharedMemory
{
public:
  /** \throw std::runtime_error the GPU cannot share memory, or there is not enough */
  SharedMemory(const Device & device, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory & operator=(const SharedMemory &) = delete;

  std::uint8_t *
  Get() const
  {
    return m_Memory;
  }

  /** From now on it is only read: each side may keep a copy of a page. */
  void FinishWriting();

private:
  const Device      m_Device;
  const std::size_t m_Bytes;
  std::uint8_t *    m_Memory{ nullptr };
};

/** \class SharedImage
 * \brief The pixels and classes of a whole image in memory that its device shares, read once. */
class GigapixelNetwork_EXPORT SharedImage
{
public:
  /** Reads in bands of rows, by all workers. The network's ignored label becomes LabelSource::Ignored.
   * \throw LabelError for a class that is none of the network's; what the sources throw */
  SharedImage(const Device &             device,
              const NetworkDescription & network,
              PixelSource &              pixels,
              LabelSource &              labels,
              Workers &                  workers);
  ~SharedImage();

  PixelSource & GetPixels();

  LabelSource & GetLabels();

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
