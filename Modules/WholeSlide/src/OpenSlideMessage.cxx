/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideMessage.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace gigapixel
{
namespace
{

using Size = std::uint32_t;

void
Append(std::string & bytes, std::size_t size)
{
  const auto number = static_cast<Size>(size);
  bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

/** The number at the place, behind which it moves the place. */
bool
Take(const std::string & bytes, std::size_t & at, Size & number)
{
  if (bytes.size() - at < sizeof(number))
  {
    return false;
  }
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  at += sizeof(number);
  return true;
}

bool
Unpack(const std::string & bytes, OpenSlideMessage & message)
{
  std::size_t at = sizeof(Size);
  message.clear();
  while (at < bytes.size())
  {
    Size size = 0;
    if (!Take(bytes, at, size) || size > bytes.size() - at)
    {
      return false;
    }
    message.push_back(bytes.substr(at, size));
    at += size;
  }
  return !message.empty();
}

} // namespace

bool
SendMessage(int socket, const OpenSlideMessage & message)
{
  std::size_t size = 0;
  for (const std::string & text : message)
  {
    size += sizeof(Size) + text.size();
  }
  std::string bytes;
  bytes.reserve(sizeof(Size) + size);
  Append(bytes, size);
  for (const std::string & text : message)
  {
    Append(bytes, text.size());
    bytes += text;
  }
  for (std::size_t sent = 0; sent < bytes.size();)
  {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
    {
      return false;
    }
    sent += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  return true;
}

void
SendLate(int socket)
{
  const struct
  {
    Size size, textSize;
    char text[4];
  } message{ 8, 4, { 'l', 'a', 't', 'e' } };
  send(socket, &message, sizeof(message), MSG_NOSIGNAL);
}

bool
ReceiveMessage(int socket, OpenSlideMessage & message, const std::function<bool()> & wait)
{
  std::string bytes;
  while (true)
  {
    std::size_t at = 0;
    Size        size = 0;
    if (Take(bytes, at, size) && bytes.size() >= at + size)
    {
      return Unpack(bytes, message);
    }
    char part[16384];
    if (!wait())
    {
      return false;
    }
    const ssize_t count = recv(socket, part, sizeof(part), 0);
    if (count == 0 || (count < 0 && errno != EINTR))
    {
      return false;
    }
    bytes.append(part, count > 0 ? static_cast<std::size_t>(count) : 0);
  }
}

} // namespace gigapixel
