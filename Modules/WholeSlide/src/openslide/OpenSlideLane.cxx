/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideLane.h"

#include "slide/Slide.h"

#include "gigapixelFileRefusal.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

/** Returns the system's error. The signal that it sends where a limit to files (ulimit -f) does not allow the size
 * would end a program that does not expect it. */
int
SetFileSize(int file, off_t size)
{
  sigset_t tooLarge;
  sigset_t before;
  sigemptyset(&tooLarge);
  sigaddset(&tooLarge, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &tooLarge, &before);
  const int error = ftruncate(file, size) == 0 ? 0 : errno;
  if (error == EFBIG && sigismember(&before, SIGXFSZ) == 0)
  {
    const timespec now{};
    sigtimedwait(&tooLarge, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

} // namespace

OpenSlideLane::~OpenSlideLane()
{
  Unmap();
  for (const int descriptor : { m_Socket, m_File })
  {
    if (descriptor >= 0)
    {
      close(descriptor);
    }
  }
}

void
OpenSlideLane::Unmap()
{
  if (m_Memory != nullptr)
  {
    munmap(m_Memory, m_Size);
    m_Memory = nullptr;
    m_Size = 0;
  }
}

void
OpenSlideLane::Grow(std::size_t size)
{
  if (size <= m_Size)
  {
    return;
  }
  Unmap();
  const int error = SetFileSize(m_File, static_cast<off_t>(size));
  if (error == EFBIG)
  {
    throw Obstacle(Diagnostic("E-DISK-FULL",
                              "pixels of OpenSlide are shared through a file in memory, and files may not be as large "
                              "here",
                              GetFileRemedy(std::error_code(error, std::generic_category()))));
  }
  void * const memory = error == 0 ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, m_File, 0) : MAP_FAILED;
  if (memory == MAP_FAILED)
  {
    throw std::bad_alloc();
  }
  m_Memory = memory;
  m_Size = size;
}

bool
OpenSlideLane::Make(int through)
{
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
  {
    return false;
  }
  m_Socket = sockets[0];
  m_File = memfd_create("pixels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Else this process would end where the other one made it shorter.
  const bool            isSealed = m_File >= 0 && fcntl(m_File, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
  const int             descriptors[2] = { sockets[1], m_File };
  char                  byte = 0;
  iovec                 data{ &byte, 1 };
  alignas(cmsghdr) char rights[CMSG_SPACE(sizeof(descriptors))] = {};
  msghdr                message{ nullptr, 0, &data, 1, rights, sizeof(rights), 0 };
  cmsghdr * const       header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(descriptors));
  std::memcpy(CMSG_DATA(header), descriptors, sizeof(descriptors));
  // Where the process is gone, so is the other end of the lane.
  const bool isSent = isSealed && (sendmsg(through, &message, MSG_NOSIGNAL) >= 0 || errno == EPIPE);
  const int  error = errno;
  close(sockets[1]);
  errno = error;
  return isSent;
}

} // namespace gigapixel
