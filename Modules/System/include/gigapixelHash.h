/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelHash_h
#define gigapixelHash_h

#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** \class Hash
 * \brief FNV-1a of 64 bit, of the bytes that are added to it: tells contents apart, and hides nothing. */
class Hash
{
public:
  /** Bytes count in the order in which they come. */
  void
  Add(const void * bytes, std::size_t count)
  {
    const auto * const from = static_cast<const unsigned char *>(bytes);
    for (std::size_t i = 0; i < count; ++i)
    {
      m_Value = (m_Value ^ from[i]) * 0x100000001b3u;
    }
  }

  /** The hash of all bytes so far. */
  std::uint64_t
  Get() const
  {
    return m_Value;
  }

private:
  std::uint64_t m_Value{ 0xcbf29ce484222325u };
};

} // namespace gigapixel

#endif
