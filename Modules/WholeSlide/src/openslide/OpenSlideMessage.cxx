/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideMessage.h"

#include "gigapixelSocket.h"

#include <algorithm>
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
  std::size_t at = 0;
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
  return SendAll(socket, bytes.data(), bytes.size());
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
  Size size = 0;
  if (!ReceiveAll(socket, &size, sizeof(size), wait))
  {
    return false;
  }
  // Room is made as it is filled: the size may be the last word of a process that something has gone wrong in.
  constexpr std::size_t room = 1 << 16;
  std::string           bytes;
  while (bytes.size() < size)
  {
    const std::size_t at = bytes.size();
    bytes.resize(std::min(at + room, std::size_t{ size }));
    if (!ReceiveAll(socket, &bytes[at], bytes.size() - at, wait))
    {
      return false;
    }
  }
  return Unpack(bytes, message);
}

} // namespace gigapixel
