/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// An OpenSlide that runs into trouble, to be named in GIGAPIXEL_OPENSLIDE. GIGAPIXEL_TROUBLE says which and where:
// KIND, and behind a blank X,Y for regions of level 0 that hold this pixel, or a function's name (open, detect);
// several of them between semicolons. Each time that it happens, a line with it is added to the file
// GIGAPIXEL_TROUBLES.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <openslide.h>
#include <unistd.h>

namespace
{

void *
FindReal(const char * name)
{
  static void * const library = dlopen(TROUBLED_OPENSLIDE, RTLD_NOW);
  return dlsym(library, name);
}

template <typename TFunction>
TFunction *
GetReal(TFunction *, const char * name)
{
  return reinterpret_cast<TFunction *>(FindReal(name));
}

void
Tell(const std::string & trouble)
{
  const char * const file = std::getenv("GIGAPIXEL_TROUBLES");
  const int          descriptor = file != nullptr ? open(file, O_CREAT | O_WRONLY | O_APPEND, 0666) : -1;
  const std::string  line = trouble + '\n';
  if (descriptor >= 0 && write(descriptor, line.data(), line.size()) > 0)
  {
    close(descriptor);
  }
}

void
Run(const std::string & kind)
{
  if (kind == "crash")
  {
    std::signal(SIGSEGV, SIG_DFL); // a sanitizer would report it as one of ours
    std::raise(SIGSEGV);
  }
  else if (kind == "kill")
  {
    std::raise(SIGKILL);
  }
  else if (kind == "hang")
  {
    while (true)
    {
      pause();
    }
  }
  else if (kind == "spin")
  {
    for (volatile unsigned turns = 0;; turns = turns + 1)
    {}
  }
  else if (kind == "memory")
  {
    // GLib's: it ends the process where it gets none.
    std::memset(reinterpret_cast<void * (*)(std::size_t)>(FindReal("g_malloc"))(std::size_t{ 3 } << 29), 1, 1);
  }
  else if (kind == "exit")
  {
    _exit(0);
  }
}

/** Runs into the troubles whose place `isHere` says yes to. */
template <typename TIsHere>
void
RunIntoTroubles(const TIsHere & isHere)
{
  const char * const all = std::getenv("GIGAPIXEL_TROUBLE");
  std::istringstream stream(all != nullptr ? all : "");
  for (std::string trouble; std::getline(stream, trouble, ';');)
  {
    const std::size_t blank = trouble.find(' ');
    if (blank != std::string::npos && isHere(trouble.substr(blank + 1)))
    {
      Tell(trouble);
      Run(trouble.substr(0, blank));
    }
  }
}

} // namespace

extern "C" {

const char *
openslide_detect_vendor(const char * path)
{
  RunIntoTroubles([](const std::string & place) { return place == "detect"; });
  return GetReal(openslide_detect_vendor, "openslide_detect_vendor")(path);
}

openslide_t *
openslide_open(const char * path)
{
  RunIntoTroubles([](const std::string & place) { return place == "open"; });
  return GetReal(openslide_open, "openslide_open")(path);
}

void
openslide_read_region(openslide_t *   slide,
                      std::uint32_t * argb,
                      std::int64_t    x,
                      std::int64_t    y,
                      std::int32_t    level,
                      std::int64_t    width,
                      std::int64_t    height)
{
  RunIntoTroubles([=](const std::string & place) {
    std::istringstream stream(place);
    std::int64_t       column = -1;
    std::int64_t       row = -1;
    char               comma = 0;
    stream >> column >> comma >> row;
    return stream && level == 0 && column >= x && column < x + width && row >= y && row < y + height;
  });
  GetReal(openslide_read_region, "openslide_read_region")(slide, argb, x, y, level, width, height);
}
}
