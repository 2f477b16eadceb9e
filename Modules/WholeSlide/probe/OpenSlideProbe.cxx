/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// openslide-probe LIBRARY SLIDE: opens a slide with this OpenSlide and reads one pixel of each level, with limits to
// memory and time. The last line of what it writes says what came of it: "probe: opened", or "probe: refused: " with
// OpenSlide's reason. A process that ends without saying so has crashed, or met a limit.
#include "OpenSlideProbe.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <openslide.h>
#include <sys/resource.h>
#include <unistd.h>

namespace
{

template <typename TFunction>
TFunction *
Find(void * library, const char * name)
{
  return reinterpret_cast<TFunction *>(dlsym(library, name));
}

void
Limit(int resource, rlim_t soft, rlim_t hard)
{
  rlimit limit{};
  getrlimit(resource, &limit);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < hard)
  {
    return; // somebody else's limit is tighter
  }
  limit = { soft, hard };
  setrlimit(resource, &limit);
}

/** Beyond what this process has taken already: the libraries that come with OpenSlide are mapped. */
void
LimitMemory()
{
  std::FILE * const file = std::fopen("/proc/self/statm", "r");
  char              line[64] = "";
  if (file == nullptr || std::fgets(line, sizeof(line), file) == nullptr)
  {
    return; // not Linux
  }
  std::fclose(file);
  const rlim_t pages = std::strtoul(line, nullptr, 10);
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + gigapixel::OpenSlideProbe::memoryLimit;
  Limit(RLIMIT_AS, most, most);
}

void
LimitTime()
{
  // Behind the soft limit, whose signal tells it from others, the hard one.
  constexpr rlim_t seconds = gigapixel::OpenSlideProbe::processorLimit;
  Limit(RLIMIT_CPU, seconds, seconds + 1);
  // Who waits for this process ends it before; this is for where nobody waits any more.
  alarm(gigapixel::OpenSlideProbe::timeLimit + 1);
}

} // namespace

int
main(int argc, char ** argv)
{
  void * const library = argc == 3 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : nullptr;
  if (library == nullptr)
  {
    std::fprintf(stderr, "openslide-probe LIBRARY SLIDE: opens a slide with this library of OpenSlide\n");
    return 2;
  }
  const auto open = Find<decltype(openslide_open)>(library, "openslide_open");
  const auto getError = Find<decltype(openslide_get_error)>(library, "openslide_get_error");
  const auto getLevels = Find<decltype(openslide_get_level_count)>(library, "openslide_get_level_count");
  const auto getSize = Find<decltype(openslide_get_level0_dimensions)>(library, "openslide_get_level0_dimensions");
  const auto read = Find<decltype(openslide_read_region)>(library, "openslide_read_region");
  if (open == nullptr || getError == nullptr || getLevels == nullptr || getSize == nullptr || read == nullptr)
  {
    return 2;
  }
  Limit(RLIMIT_CORE, 0, 0);
  LimitTime();
  LimitMemory();

  openslide_t * const slide = open(argv[2]);
  if (slide == nullptr)
  {
    std::puts("\nprobe: opened"); // as well as OpenSlide can: it does not know this kind of file
    return 0;
  }
  if (const char * const error = getError(slide))
  {
    std::printf("\nprobe: refused: OpenSlide says: %s\n", error);
    return 0;
  }
  std::int64_t width = 0;
  std::int64_t height = 0;
  getSize(slide, &width, &height);
  // What is wrong with single tiles is said of those that are read.
  for (int level = 0; level < getLevels(slide) && getError(slide) == nullptr; ++level)
  {
    std::uint32_t pixel = 0;
    read(slide, &pixel, width / 2, height / 2, level, 1, 1);
  }
  std::puts("\nprobe: opened");
  std::fflush(stdout);
  _exit(0); // closing the slide would find out nothing more
}
