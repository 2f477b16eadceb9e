/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSocket_h
#define gigapixelSocket_h

#include <cerrno>
#include <cstddef>

#include <sys/socket.h>
#include <sys/types.h>

/** \file
 * What comes through a socket between a program and one of its helpers (gigapixelHelperProgram.h). Inline: a
 * helper links none of our libraries. */
namespace gigapixel
{

/** Sends all of it. False where the other side is gone. */
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

/** Takes this many bytes. False where the other side is gone, or wait() is false, which is called before more is taken,
 * and returns when there is something to take. */
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
    const ssize_t received = recv(socket, to, bytes, 0);
    if (received == 0 || (received < 0 && errno != EINTR))
    {
      return false;
    }
    to += received < 0 ? 0 : received;
    bytes -= received < 0 ? 0 : static_cast<std::size_t>(received);
  }
  return true;
}

} // namespace gigapixel

#endif
