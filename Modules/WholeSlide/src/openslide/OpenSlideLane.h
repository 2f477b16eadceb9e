/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideLane_h
#define OpenSlideLane_h

#include <cstddef>

namespace gigapixel
{

/** What a request goes through to the process that OpenSlide runs in: a socket, and memory for pixels. The process has
 * the other ends of both. */
class OpenSlideLane
{
public:
  OpenSlideLane() = default;
  OpenSlideLane(const OpenSlideLane &) = delete;
  OpenSlideLane & operator=(const OpenSlideLane &) = delete;
  ~OpenSlideLane();

  /** Makes both, and sends the other ends through the socket. False where the system does not give them; errno says
   * why. */
  bool Make(int through);

  /** Throws Obstacle where a limit to files forbids it, and std::bad_alloc where there is no memory. */
  void Grow(std::size_t size);

  int
  GetSocket() const
  {
    return m_Socket;
  }

  const void *
  GetMemory() const
  {
    return m_Memory;
  }

  std::size_t
  GetSize() const
  {
    return m_Size;
  }

private:
  void Unmap();

  int         m_Socket{ -1 };
  int         m_File{ -1 };
  void *      m_Memory{ nullptr };
  std::size_t m_Size{ 0 };
};

} // namespace gigapixel

#endif
