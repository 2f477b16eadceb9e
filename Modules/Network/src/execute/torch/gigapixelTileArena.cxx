/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileArena.h"
#include "schedule/gigapixelBlockPlacement.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

// torch/version.h, whose folder no include path of the engine has.
#include <torch/csrc/api/include/torch/version.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <new>

#include <sys/mman.h>

namespace gigapixel::torchmodule
{

/** One piece of addresses, as many as are ever needed: a part of them can be used, which grows, and pages come when
 * they are first written. */
class TileArena
{
public:
  TileArena()
  {
    while (!Reserve() && m_Addresses > LeastAddresses)
    {
      m_Addresses /= 4;
    }
    if (m_Memory != MAP_FAILED && m_Addresses < MostAddresses)
    {
      // The system limits a process' addresses: others need some as well.
      munmap(m_Memory, m_Addresses);
      m_Addresses /= 4;
      Reserve();
    }
    if (m_Memory == MAP_FAILED)
    {
      throw std::bad_alloc();
    }
    const std::lock_guard<std::mutex> lock(GetAllMutex());
    GetAll()[static_cast<char *>(m_Memory)] = m_Addresses;
  }

  ~TileArena()
  {
    {
      const std::lock_guard<std::mutex> lock(GetAllMutex());
      GetAll().erase(static_cast<char *>(m_Memory));
    }
    munmap(m_Memory, m_Addresses);
  }

  TileArena(const TileArena &) = delete;
  TileArena & operator=(const TileArena &) = delete;

  /** Null: it is full. */
  void *
  Take(std::size_t bytes)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const std::int64_t                first = m_Blocks.Take(static_cast<std::int64_t>(bytes));
    if (!MakeUsable(first + bytes))
    {
      m_Blocks.Give(first);
      return nullptr;
    }
    m_Kept = std::max(m_Kept, m_Blocks.GetEnd());
    return static_cast<char *>(m_Memory) + first;
  }

  void
  Give(void * block)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Blocks.Give(static_cast<char *>(block) - static_cast<char *>(m_Memory));
  }

  std::int64_t
  GetPeak()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    return m_Blocks.GetPeak();
  }

  /** Where its pages end that may have been written. */
  std::int64_t
  GetKept()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    return m_Kept;
  }

  /** Gives pages back to the system that lie beyond so many bytes, and beyond all blocks. */
  void
  GiveBack(std::int64_t bytes)
  {
    constexpr std::int64_t            Page = Growth; // at least one of any system's
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const std::int64_t                kept = (std::max(bytes, m_Blocks.GetEnd()) + Page - 1) / Page * Page;
    if (kept < m_Kept)
    {
      madvise(static_cast<char *>(m_Memory) + kept, m_Usable - kept, MADV_DONTNEED);
      m_Kept = kept;
    }
  }

  /** Whether any arena holds this place. */
  static bool
  Holds(void * place)
  {
    const std::lock_guard<std::mutex> lock(GetAllMutex());
    const auto                        next = GetAll().upper_bound(static_cast<char *>(place));
    return next != GetAll().begin() && static_cast<char *>(place) < std::prev(next)->first + std::prev(next)->second;
  }

private:
  static constexpr std::size_t MostAddresses = std::size_t(1) << 40;
  static constexpr std::size_t LeastAddresses = std::size_t(1) << 28;
  static constexpr std::size_t Growth = std::size_t(1) << 21;

  bool
  Reserve()
  {
    m_Memory = mmap(nullptr, m_Addresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return m_Memory != MAP_FAILED;
  }

  /** \return false: the system has no more */
  bool
  MakeUsable(std::size_t bytes)
  {
    if (bytes > m_Usable)
    {
      const std::size_t usable = (bytes + Growth - 1) / Growth * Growth;
      if (usable > m_Addresses ||
          mprotect(static_cast<char *>(m_Memory) + m_Usable, usable - m_Usable, PROT_READ | PROT_WRITE) != 0)
      {
        return false;
      }
      m_Usable = usable;
    }
    return true;
  }

  static std::mutex &
  GetAllMutex()
  {
    static std::mutex mutex;
    return mutex;
  }

  /** Their first bytes, and how many they have. */
  static std::map<char *, std::size_t> &
  GetAll()
  {
    static std::map<char *, std::size_t> all;
    return all;
  }

  std::size_t    m_Addresses{ MostAddresses };
  void *         m_Memory{ MAP_FAILED };
  std::size_t    m_Usable{ 0 };
  std::mutex     m_Mutex;
  BlockPlacement m_Blocks;
  std::int64_t   m_Kept{ 0 };
};

namespace
{

/** Where the calling thread's tensors go; none: to the allocator that was there before. */
std::shared_ptr<TileArena> &
GetArena()
{
  thread_local std::shared_ptr<TileArena> arena;
  return arena;
}

/** Stands before each block of an arena, which lives as long as any of them. */
struct BlockHead
{
  std::shared_ptr<TileArena> arena;
};

constexpr std::size_t HeadBytes = BlockPlacement::Alignment;
constexpr std::size_t LeastBytes = 32768;
static_assert(sizeof(BlockHead) <= HeadBytes);

void
GiveBlock(void * values)
{
  auto * const                     head = reinterpret_cast<BlockHead *>(static_cast<char *>(values) - HeadBytes);
  const std::shared_ptr<TileArena> arena = std::move(head->arena);
  head->~BlockHead();
  arena->Give(head);
}

class ArenaAllocator : public c10::Allocator
{
public:
  explicit ArenaAllocator(c10::Allocator * others)
    : m_Others(others)
  {}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr
  allocate(std::size_t bytes) override
  {
    return Allocate(bytes);
  }

  void
  copy_data(void * target, const void * source, std::size_t bytes) const override
  {
    default_copy_data(target, source, bytes);
  }
#else
  c10::DataPtr
  allocate(std::size_t bytes) const override
  {
    return Allocate(bytes);
  }
#endif

  /** Of memory without a deleter of its own: oneDNN's, whether it came from an arena or not. */
  c10::DeleterFnPtr
  raw_deleter() const override
  {
    return &GiveRaw;
  }

  c10::Allocator *
  GetOthers() const
  {
    return m_Others;
  }

private:
  c10::DataPtr
  Allocate(std::size_t bytes) const
  {
    const std::shared_ptr<TileArena> & arena = GetArena();
    void * const                       block = arena && bytes >= LeastBytes ? arena->Take(bytes + HeadBytes) : nullptr;
    if (!block)
    {
      return m_Others->allocate(bytes);
    }
    auto * const head = static_cast<char *>(block);
    new (head) BlockHead{ arena };
    void * const values = head + HeadBytes;
    return { values, values, &GiveBlock, c10::Device(c10::DeviceType::CPU) };
  }

  static void GiveRaw(void * values);

  c10::Allocator * const m_Others;
};

std::mutex &
GetInstallMutex()
{
  static std::mutex mutex;
  return mutex;
}

int              installed = 0;
ArenaAllocator * allocator = nullptr; ///< of all objects; never freed, since tensors may remember it

void
ArenaAllocator::GiveRaw(void * values)
{
  if (TileArena::Holds(values))
  {
    GiveBlock(values);
  }
  else
  {
    allocator->GetOthers()->raw_deallocate(values);
  }
}

} // namespace

TileArenas::TileArenas()
{
  const std::lock_guard<std::mutex> lock(GetInstallMutex());
  if (installed++ == 0)
  {
    c10::Allocator * const others = c10::GetCPUAllocator();
    if (!allocator || (others != allocator && others != allocator->GetOthers()))
    {
      allocator = new ArenaAllocator(others);
    }
    c10::SetCPUAllocator(allocator);
  }
}

TileArenas::~TileArenas()
{
  const std::lock_guard<std::mutex> lock(GetInstallMutex());
  if (--installed == 0 && c10::GetCPUAllocator() == allocator)
  {
    c10::SetCPUAllocator(allocator->GetOthers());
  }
}

/** The smallest one that is free and has been as large; else the largest one that is free, else a new one. */
std::shared_ptr<TileArena>
TileArenas::Begin(std::int64_t bytes)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  Entry *                           best = nullptr;
  for (Entry & entry : m_Entries)
  {
    const auto isBetter = [&] {
      const std::int64_t kept = entry.arena->GetKept(), before = best->arena->GetKept();
      return before < bytes ? kept > before : kept >= bytes && kept < before;
    };
    if (entry.needed == 0 && (best == nullptr || isBetter()))
    {
      best = &entry;
    }
  }
  if (best == nullptr)
  {
    best = &m_Entries.emplace_back(Entry{ std::make_shared<TileArena>() });
  }
  best->needed = std::max<std::int64_t>(1, bytes);
  const std::shared_ptr<TileArena> arena = best->arena;
  GiveBackExcess();
  return arena;
}

void
TileArenas::End(const TileArena * arena)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  for (Entry & entry : m_Entries)
  {
    entry.needed = entry.arena.get() == arena ? 0 : entry.needed;
  }
}

/** Where arenas would come to more than tiles have needed together, first those that are free give back what is too
 * much, then the others what their tiles do not need. What tiles need is an estimate: an eighth more is left alone. */
void
TileArenas::GiveBackExcess()
{
  const auto   getKept = [](const Entry & entry) { return std::max(entry.needed, entry.arena->GetKept()); };
  std::int64_t needed = 0, kept = 0;
  for (const Entry & entry : m_Entries)
  {
    needed += entry.needed;
    kept += getKept(entry);
  }
  m_Most = std::max(m_Most, needed);
  const std::int64_t most = m_Most + m_Most / 8;
  for (const bool free : { true, false })
  {
    for (const Entry & entry : m_Entries)
    {
      if (kept > most && (entry.needed == 0) == free)
      {
        const std::int64_t before = getKept(entry);
        entry.arena->GiveBack(std::max(entry.needed, before - (kept - m_Most)));
        kept -= before - getKept(entry);
      }
    }
  }
}

TileArenas::Scope::Scope(TileArenas & arenas, std::int64_t bytes)
  : m_Arenas(arenas)
  , m_Arena(arenas.Begin(bytes))
  , m_Before(GetArena())
{
  GetArena() = m_Arena;
}

TileArenas::Scope::~Scope()
{
  GetArena() = m_Before;
  m_Arenas.End(m_Arena.get());
}

std::int64_t
TileArenas::GetPeak()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  std::int64_t                      peak = 0;
  for (const Entry & entry : m_Entries)
  {
    peak = std::max(peak, entry.arena->GetPeak());
  }
  return peak;
}

std::int64_t
TileArenas::GetKept()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  std::int64_t                      kept = 0;
  for (const Entry & entry : m_Entries)
  {
    kept += entry.arena->GetKept();
  }
  return kept;
}

} // namespace gigapixel::torchmodule
