/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DicomSlice_h
#define DicomSlice_h

#include <cerrno>
#include <cstdint>

#include <sys/socket.h>
#include <unistd.h>

/** \file What the program and its reader of DICOM say to each other through a socket.
 *
 * The reader says DicomProtocol first, so that programs of different versions do not talk past each other.
 * The program asks with a DicomRequest and the file's name behind it. The reader answers with a DicomAnswer, and behind
 * it what was asked for, a DicomSlice or the samples, or else why there is none. */
namespace gigapixel::commandline
{

constexpr std::uint32_t DicomProtocol = 1;

struct DicomRequest
{
  enum Kind : std::uint32_t
  {
    Header,
    Samples
  };
  Kind          kind;
  std::uint32_t nameBytes;
};

struct DicomAnswer
{
  std::uint64_t bytes; ///< of what comes behind it
  std::uint32_t isRefusal;
};

/** As itk::ImageIOBase has it. */
struct DicomSlice
{
  static constexpr unsigned Axes = 3;

  std::uint64_t size[Axes];
  double        spacing[Axes];
  double        origin[Axes];
  double        direction[Axes][Axes]; ///< of each axis
  std::int32_t  pixelType;
  std::int32_t  componentType;
  std::uint32_t components;
  char          series[65]; ///< its Series Instance UID, of which DICOM allows 64 characters
};

/** False where the other side is gone. */
inline bool
SendAll(int socket, const void * data, std::size_t bytes)
{
  const char * from = static_cast<const char *>(data);
  while (bytes > 0)
  {
    const ssize_t sent = send(socket, from, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR)
    {
      return false;
    }
    from += sent < 0 ? 0 : sent;
    bytes -= sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  return true;
}

/** False where the other side is gone, or wait() is false, which is called before more is taken, and returns when there
 * is something to take. */
template <typename TWait>
bool
ReceiveAll(int socket, void * data, std::size_t bytes, const TWait & wait)
{
  char * to = static_cast<char *>(data);
  while (bytes > 0)
  {
    if (!wait())
    {
      return false;
    }
    const ssize_t received = recv(socket, to, bytes, MSG_DONTWAIT);
    if (received == 0 || (received < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
    {
      return false;
    }
    to += received < 0 ? 0 : received;
    bytes -= received < 0 ? 0 : static_cast<std::size_t>(received);
  }
  return true;
}

} // namespace gigapixel::commandline

#endif
