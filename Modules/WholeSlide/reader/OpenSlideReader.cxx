/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// openslide-reader: OpenSlide for one slide, with limits to what it takes. Its standard input is a socket, on which
// come lanes: a socket each, and memory for pixels. Each lane has a thread, which answers what is asked on it
// (OpenSlideMessage.h). When the socket closes, as it does however the other process ends, this one ends at once.
#include "OpenSlideLibrary.h"
#include "OpenSlideLimit.h"
#include "openslide/OpenSlideMessage.h"

#include "gigapixelHelperProgram.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr char source[] = "OpenSlideReader.cxx";
constexpr char libraryOfOpenSlide[] = "libopenslide";

/** Of each lane: what OpenSlide and the libraries below it put onto their stack are some tens of kB. */
constexpr std::size_t stackBytes = std::size_t{ 1 } << 21;

/** Memory that both processes have, as far as it is asked for: the other one makes it longer. */
class SharedMemory
{
public:
  SharedMemory(int file, MemoryLimit & limit)
    : m_File(file)
    , m_Limit(limit)
  {}
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory & operator=(const SharedMemory &) = delete;
  ~SharedMemory()
  {
    Unmap();
    close(m_File);
  }

  /** Null where there is none. */
  std::uint32_t *
  Get(std::size_t size)
  {
    if (size > m_Size)
    {
      Unmap();
      m_Limit.Change(static_cast<std::int64_t>(size));
      void * const begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, m_File, 0);
      if (begin == MAP_FAILED)
      {
        m_Limit.Change(-static_cast<std::int64_t>(size));
        return nullptr;
      }
      m_Begin = static_cast<std::uint32_t *>(begin);
      m_Size = size;
    }
    return m_Begin;
  }

private:
  void
  Unmap()
  {
    if (m_Begin != nullptr)
    {
      munmap(m_Begin, m_Size);
      m_Limit.Change(-static_cast<std::int64_t>(m_Size));
      m_Begin = nullptr;
      m_Size = 0;
    }
  }

  int             m_File;
  MemoryLimit &   m_Limit;
  std::uint32_t * m_Begin{ nullptr };
  std::size_t     m_Size{ 0 };
};

class Reader
{
public:
  explicit Reader(const OpenSlideLibrary & library)
    : m_Library(library)
  {}

  /** Answers the requests of a lane until its socket closes. */
  void ServeLane(int socket, int file, MemoryLimit & limit);

private:
  using Handle = std::shared_ptr<openslide_t>;

  OpenSlideMessage Answer(const OpenSlideMessage & request, SharedMemory & memory);
  OpenSlideMessage Open(const std::string & path);
  void             Try();
  OpenSlideMessage Describe(openslide_t * handle) const;
  OpenSlideMessage Read(const OpenSlideMessage & request, std::uint32_t * argb);
  bool             ReadPixels(openslide_t * handle, const OpenSlideMessage & request, std::uint32_t * argb) const;
  Handle           OpenHandle() const;
  Handle           GetHandle();
  void             ReplaceHandle(const openslide_t * failed, Handle by);

  OpenSlideMessage
  Refuse(openslide_t * handle) const
  {
    return { "refused", std::string("OpenSlide says: ") + m_Library.getError(handle) };
  }

  const OpenSlideLibrary & m_Library;
  std::string              m_Path;

  /** An error of OpenSlide stays with the handle and fails all that comes after it: such a handle is let go of. */
  Handle     m_Handle;
  std::mutex m_HandleMutex;
};

Reader::Handle
Reader::OpenHandle() const
{
  openslide_t * const handle = m_Library.open(m_Path.c_str());
  return handle != nullptr ? Handle(handle, m_Library.close) : nullptr;
}

Reader::Handle
Reader::GetHandle()
{
  const std::lock_guard<std::mutex> lock(m_HandleMutex);
  m_Handle = m_Handle ? m_Handle : OpenHandle();
  return m_Handle;
}

void
Reader::ReplaceHandle(const openslide_t * failed, Handle by)
{
  const std::lock_guard<std::mutex> lock(m_HandleMutex);
  if (m_Handle.get() == failed)
  {
    m_Handle = std::move(by);
  }
}

OpenSlideMessage
Reader::Describe(openslide_t * handle) const
{
  OpenSlideMessage answer{ "opened" };
  const auto       add = [&answer](const OpenSlideMessage & texts) {
    answer.insert(answer.end(), texts.begin(), texts.end());
  };
  const auto getText = [](const char * text) { return std::string(text != nullptr ? text : ""); };
  const int  levels = m_Library.getLevelCount(handle);
  for (int level = 0; level < levels; ++level)
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    m_Library.getLevelDimensions(handle, level, &width, &height);
    add({ "level", std::to_string(width), std::to_string(height) });
  }
  for (auto name = m_Library.getPropertyNames(handle); name != nullptr && *name != nullptr; ++name)
  {
    add({ "property", *name, getText(m_Library.getPropertyValue(handle, *name)) });
  }
  for (auto name = m_Library.getAssociatedImageNames(handle); name != nullptr && *name != nullptr; ++name)
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    m_Library.getAssociatedImageDimensions(handle, *name, &width, &height);
    add({ "image", *name, std::to_string(width), std::to_string(height) });
  }
  if (m_Library.getICCProfileSize != nullptr && m_Library.readICCProfile != nullptr)
  {
    const std::int64_t size = m_Library.getICCProfileSize(handle);
    std::string        profile(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), '\0');
    if (size > 0)
    {
      m_Library.readICCProfile(handle, &profile[0]);
      add({ "profile", profile });
    }
  }
  return m_Library.getError(handle) == nullptr ? answer : Refuse(handle);
}

OpenSlideMessage
Reader::Open(const std::string & path)
{
  m_Path = path;
  const Handle handle = GetHandle();
  if (!handle)
  {
    return { "unknown" };
  }
  return m_Library.getError(handle.get()) == nullptr ? Describe(handle.get()) : Refuse(handle.get());
}

/** A pixel of each level. What is wrong with single tiles is said of those that are read. */
void
Reader::Try()
{
  const Handle handle = GetHandle();
  std::int64_t width = 0;
  std::int64_t height = 0;
  m_Library.getLevelDimensions(handle.get(), 0, &width, &height);
  for (int level = 0; level < m_Library.getLevelCount(handle.get()); ++level)
  {
    std::uint32_t pixel = 0;
    m_Library.readRegion(handle.get(), &pixel, width / 2, height / 2, level, 1, 1);
  }
  if (m_Library.getError(handle.get()) != nullptr)
  {
    ReplaceHandle(handle.get(), nullptr);
  }
}

/** False where there is no room for them. */
bool
Reader::ReadPixels(openslide_t * handle, const OpenSlideMessage & request, std::uint32_t * argb) const
{
  if (request[0] == "image")
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    m_Library.getAssociatedImageDimensions(handle, request[2].c_str(), &width, &height);
    const std::uint64_t room = std::strtoull(request[1].c_str(), nullptr, 10) / sizeof(*argb);
    if (width <= 0 || height <= 0 || static_cast<std::uint64_t>(width) > room / static_cast<std::uint64_t>(height))
    {
      return false; // of a file that is another one by now
    }
    m_Library.readAssociatedImage(handle, request[2].c_str(), argb);
    return true;
  }
  const auto get = [&request](std::size_t i) { return std::strtoll(request[i].c_str(), nullptr, 10); };
  const auto level = static_cast<int>(get(2));
  const auto downsample = m_Library.getLevelDownsample(handle, level);
  m_Library.readRegion(handle,
                       argb,
                       std::llround(static_cast<double>(get(3)) * downsample),
                       std::llround(static_cast<double>(get(4)) * downsample),
                       level,
                       get(5),
                       get(6));
  return true;
}

/** OpenSlide does not say that it cannot open a file for want of one. */
bool
LacksDescriptors()
{
  const int descriptor = open("/", O_PATH | O_CLOEXEC);
  const int error = errno;
  if (descriptor >= 0)
  {
    close(descriptor);
  }
  return descriptor < 0 && (error == EMFILE || error == ENFILE);
}

OpenSlideMessage
Reader::Read(const OpenSlideMessage & request, std::uint32_t * argb)
{
  const OpenSlideMessage read{ "read" };
  const OpenSlideMessage noRoom{ "refused", "the picture is larger than it was as the file was opened" };
  const Handle           handle = GetHandle();
  if (handle)
  {
    const bool hasRoom = ReadPixels(handle.get(), request, argb);
    if (m_Library.getError(handle.get()) == nullptr)
    {
      return hasRoom ? read : noRoom;
    }
  }
  // Maybe another thread's tile: what this one is tells a handle that has not failed yet.
  Handle fresh = OpenHandle();
  if (!fresh && !LacksDescriptors()) // another thread may have had the last one
  {
    fresh = OpenHandle();
  }
  ReplaceHandle(handle.get(), nullptr);
  if (!fresh)
  {
    return { "refused", LacksDescriptors() ? std::strerror(EMFILE) : "OpenSlide cannot open the file any more" };
  }
  const bool hasRoom = ReadPixels(fresh.get(), request, argb);
  if (m_Library.getError(fresh.get()) != nullptr)
  {
    return Refuse(fresh.get());
  }
  ReplaceHandle(nullptr, std::move(fresh));
  return hasRoom ? read : noRoom;
}

OpenSlideMessage
Reader::Answer(const OpenSlideMessage & request, SharedMemory & memory)
{
  if (request[0] == "vendor")
  {
    const char * const vendor = m_Library.detectVendor(request[1].c_str());
    return { "vendor", vendor != nullptr ? vendor : "" };
  }
  if (request[0] == "open" || request[0] == "try")
  {
    OpenSlideMessage answer = Open(request[1]);
    if (request[0] == "try" && answer[0] == "opened")
    {
      Try();
    }
    return answer;
  }
  std::uint32_t * const argb = memory.Get(std::strtoull(request[1].c_str(), nullptr, 10));
  return argb != nullptr ? Read(request, argb) : OpenSlideMessage{ "refused", "there is no memory for its pixels" };
}

void
Reader::ServeLane(int socket, int file, MemoryLimit & limit)
{
  {
    SharedMemory     memory(file, limit);
    ProcessorLimit   time(socket);
    OpenSlideMessage message;
    bool             isOpen = true;
    while (isOpen && ReceiveMessage(socket, message, [] { return true; }))
    {
      time.Set(OpenSlideLimits::processor);
      message = Answer(message, memory);
      time.Set(0);
      isOpen = SendMessage(socket, message);
    }
  }
  close(socket);
  limit.Change(-static_cast<std::int64_t>(stackBytes));
}

/** Waits for the next lane. False where the socket has closed, or there are too few descriptors for another lane;
 * without descriptors where what came was no lane. */
bool
ReceiveLane(int (&descriptors)[2])
{
  char                  byte = 0;
  iovec                 data{ &byte, 1 };
  alignas(cmsghdr) char rights[CMSG_SPACE(sizeof(descriptors))] = {};
  msghdr                message{ nullptr, 0, &data, 1, rights, sizeof(rights), 0 };
  ssize_t               count = 0;
  do
  {
    count = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  const cmsghdr * const header = CMSG_FIRSTHDR(&message);
  descriptors[0] = descriptors[1] = -1;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(descriptors)))
  {
    std::memcpy(descriptors, CMSG_DATA(header), sizeof(descriptors));
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0)
  {
    std::fprintf(stderr, "openslide-reader: %s\n", std::strerror(EMFILE)); // the other process looks for it
    return false;
  }
  return count > 0;
}

/** So that the limit to memory is one to what OpenSlide takes: glibc gives each thread 64 MiB of address space for its
 * allocations, and 8 MiB for its stack. */
void
SaveAddressSpace()
{
  mallopt(M_ARENA_MAX, 1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

int
Run()
{
  const OpenSlideLibrary library;
  const bool             loads = library.problem.empty();
  if (!SendMessage(STDIN_FILENO, { OpenSlideProtocol, loads ? library.getVersion() : "", library.problem }))
  {
    std::fprintf(stderr, "openslide-reader is started by programs that read slides, which talk to it on a socket\n");
    return 2;
  }
  SaveAddressSpace();
  Reader      reader(library);
  MemoryLimit limit;
  int         lane[2];
  while (ReceiveLane(lane))
  {
    if (lane[0] < 0)
    {
      continue;
    }
    limit.Change(stackBytes);
    try
    {
      std::thread(&Reader::ServeLane, &reader, lane[0], lane[1], std::ref(limit)).detach();
    }
    catch (const std::system_error &)
    {
      break; // who waits for an answer learns that there is none
    }
  }
  _exit(0); // whatever the lanes' threads are at
}

} // namespace
} // namespace gigapixel

int
main()
{
  gigapixel::BeginHelperProgram<gigapixel::source, gigapixel::libraryOfOpenSlide>();
  return gigapixel::Run();
}
