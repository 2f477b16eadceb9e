/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDeviceBuffer_h
#define gigapixelDeviceBuffer_h

#include <cstddef>
#include <utility>

namespace gigapixel
{

/** \class DeviceBuffer
 * \brief Memory of a device that stays for the next tile. TDevice has Allocate(bytes) and Free(memory). */
template <typename TDevice>
class DeviceBuffer
{
public:
  explicit DeviceBuffer(TDevice & device)
    : m_Device(&device)
  {}
  DeviceBuffer(DeviceBuffer && other) noexcept
    : m_Device(other.m_Device)
    , m_Memory(std::exchange(other.m_Memory, nullptr))
    , m_Bytes(other.m_Bytes)
  {}
  ~DeviceBuffer()
  {
    if (m_Memory)
    {
      m_Device->Free(m_Memory);
    }
  }

  /** At least so many bytes, whose values are not set. */
  void *
  Take(std::size_t bytes)
  {
    if (bytes > m_Bytes)
    {
      if (m_Memory)
      {
        m_Device->Free(std::exchange(m_Memory, nullptr));
        m_Bytes = 0; // if there is not enough memory for more
      }
      m_Memory = m_Device->Allocate(bytes);
      m_Bytes = bytes;
    }
    return m_Memory;
  }

  template <typename T>
  T *
  Take(std::size_t values)
  {
    return static_cast<T *>(Take(values * sizeof(T)));
  }

  void *
  Get() const
  {
    return m_Memory;
  }

private:
  TDevice *   m_Device;
  void *      m_Memory{ nullptr };
  std::size_t m_Bytes{ 0 };
};

} // namespace gigapixel

#endif
