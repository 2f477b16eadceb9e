/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileMemory.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace gigapixel
{
namespace
{

/** Smaller ones are few bytes, of the heap. */
constexpr std::size_t LeastPages = std::size_t{ 1 } << 14;

constexpr std::size_t MostIdle = std::size_t{ 1 } << 20;

struct Pages
{
  unsigned char * memory;
  std::size_t     size;
};

/** Never destroyed: tiles in static objects may outlive any order of destruction. */
struct IdlePages
{
  std::mutex         mutex;
  std::vector<Pages> pages; // those given back last at the end
  std::size_t        bytes = 0;

  static IdlePages &
  Get()
  {
    static IdlePages & idle = *new IdlePages;
    return idle;
  }

  /** Null where there are none of this size. */
  unsigned char *
  Take(std::size_t size)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto                        found =
      std::find_if(pages.rbegin(), pages.rend(), [size](const Pages & each) { return each.size == size; });
    if (found == pages.rend())
    {
      return nullptr;
    }
    unsigned char * const memory = found->memory;
    bytes -= size;
    pages.erase(std::next(found).base());
    return memory;
  }

  /** False where there is no room for them. */
  bool
  Keep(const Pages & given)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (given.size > MostIdle)
    {
      return false;
    }
    while (bytes + given.size > MostIdle)
    {
      munmap(pages.front().memory, pages.front().size);
      bytes -= pages.front().size;
      pages.erase(pages.begin());
    }
    pages.push_back(given);
    bytes += given.size;
    return true;
  }
};

} // namespace

TileMemory
MakeTileMemory(std::size_t size)
{
  if (size < LeastPages)
  {
    return TileMemory(new unsigned char[size], { size });
  }
  unsigned char * const idle = IdlePages::Get().Take(size);
  if (idle != nullptr)
  {
    return TileMemory(idle, { size });
  }
  void * const made = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
  {
    throw std::bad_alloc();
  }
  return TileMemory(static_cast<unsigned char *>(made), { size });
}

void
TileMemoryDeleter::operator()(unsigned char * memory) const noexcept
{
  if (size < LeastPages)
  {
    delete[] memory;
    return;
  }
  try
  {
    if (IdlePages::Get().Keep({ memory, size }))
    {
      return;
    }
  }
  catch (const std::exception &) // no memory for the list
  {}
  munmap(memory, size);
}

std::size_t
GetIdleTileBytes()
{
  IdlePages &                       idle = IdlePages::Get();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  return idle.bytes;
}

} // namespace gigapixel
