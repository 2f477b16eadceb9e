/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSharedImage_h
#define gigapixelSharedImage_h

#include "gigapixelDevice.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelWorkers.h"

#include <functional>
#include <memory>

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

  /** All of it comes to the device, which goes on meanwhile. */
  void Prefetch() const;

private:
  const Device      m_Device;
  const std::size_t m_Bytes;
  std::uint8_t *    m_Memory{ nullptr };
};

/** The pixels of a region of an image in memory that its device shares, for tiles that are computed at once: a source
 * of the image's size, of which only the region may be read. Reads in bands of rows, by all workers.
 * \throw what SharedMemory and the source throw */
GigapixelNetwork_EXPORT std::unique_ptr<PixelSource> SharePixels(const Device & device,
                                                                 PixelSource &  pixels,
                                                                 const Region & region,
                                                                 Workers &      workers);

/** \class SharedImage
 * \brief The pixels and classes of a whole image in memory that its device shares, read once. */
class GigapixelNetwork_EXPORT SharedImage
{
public:
  /** Reads in bands of rows, by all workers. The network's ignored label becomes LabelSource::Ignored.
   * \param goesOn is called after each band by the calling thread; false stops
   * \return null if it was stopped
   * \throw LabelError for a class that is none of the network's; what the sources throw */
  static std::unique_ptr<SharedImage> Read(const Device &                device,
                                           const NetworkDescription &    network,
                                           PixelSource &                 pixels,
                                           LabelSource &                 labels,
                                           Workers &                     workers,
                                           const std::function<bool()> & goesOn);
  ~SharedImage();

  PixelSource & GetPixels();

  LabelSource & GetLabels();

private:
  struct Implementation;
  explicit SharedImage(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
