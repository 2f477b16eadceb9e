/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideLibrary.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <dlfcn.h>

namespace gigapixel
{
namespace
{

std::atomic<bool> silent{ false };

/** Names for the loader, best first. All versions since 3.4 have the same functions. */
std::vector<std::string>
GetNames()
{
  if (const char * const named = std::getenv("GIGAPIXEL_OPENSLIDE"))
  {
    return { named };
  }
  std::vector<std::string> names;
#ifdef GIGAPIXEL_PACKAGED_OPENSLIDE
  // In site-packages, seen from the folder of this library (site-packages/itk) or program
  // (site-packages/itkgigapixel/bin).
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void *>(&GetNames), &here) != 0 && here.dli_fname != nullptr)
  {
    const auto folder = std::filesystem::weakly_canonical(here.dli_fname).parent_path();
    names.push_back(folder.parent_path() / GIGAPIXEL_PACKAGED_OPENSLIDE);
    names.push_back(folder.parent_path().parent_path() / GIGAPIXEL_PACKAGED_OPENSLIDE);
  }
#endif
  names.emplace_back("libopenslide.so.1");
  names.emplace_back("libopenslide.so.0");
  return names;
}

void *
Open(std::string & problem)
{
  for (const std::string & name : GetNames())
  {
    if (void * const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL))
    {
      return handle;
    }
    const char * const reason = dlerror();
    problem = reason != nullptr ? reason : name;
  }
  return nullptr;
}

/** Keeps GLib and libtiff, if they are libraries of their own, from speaking to the standard error. */
void
SilenceDependencies(void * handle)
{
  using TIFFHandler = void (*)(const char *, const char *, std::va_list);
  for (const char * const name : { "TIFFSetErrorHandler", "TIFFSetWarningHandler" })
  {
    if (void * const found = dlsym(handle, name))
    {
      reinterpret_cast<TIFFHandler (*)(TIFFHandler)>(found)(nullptr);
    }
  }
  using Log = void (*)(const char * domain, int level, const char * message, void * user);
  if (void * const found = dlsym(handle, "g_log_set_default_handler"))
  {
    reinterpret_cast<Log (*)(Log, void *)>(found)(
      [](const char *, int level, const char * message, void *) {
        constexpr int fatal = 1 << 2; // G_LOG_LEVEL_ERROR: GLib ends the program then
        if ((level & fatal) != 0)
        {
          std::fprintf(stderr, "%s\n", message);
        }
      },
      nullptr);
  }
}

struct LoadedLibrary
{
  OpenSlideLibrary functions{};
  std::string      problem;

  LoadedLibrary();

private:
  template <typename TFunction>
  void
  Find(void * handle, const char * name, TFunction *& function)
  {
    function = reinterpret_cast<TFunction *>(dlsym(handle, name));
    problem = function != nullptr ? problem : std::string("it has no function ") + name;
  }
};

LoadedLibrary::LoadedLibrary()
{
  void * const handle = Open(problem);
  if (handle == nullptr)
  {
    return;
  }
  problem.clear();
  Find(handle, "openslide_get_icc_profile_size", functions.getICCProfileSize);
  Find(handle, "openslide_read_icc_profile", functions.readICCProfile);
  problem.clear(); // those may be missing
  Find(handle, "openslide_detect_vendor", functions.detectVendor);
  Find(handle, "openslide_open", functions.open);
  Find(handle, "openslide_close", functions.close);
  Find(handle, "openslide_get_error", functions.getError);
  Find(handle, "openslide_get_version", functions.getVersion);
  Find(handle, "openslide_get_level_count", functions.getLevelCount);
  Find(handle, "openslide_get_level_dimensions", functions.getLevelDimensions);
  Find(handle, "openslide_get_level_downsample", functions.getLevelDownsample);
  Find(handle, "openslide_get_property_names", functions.getPropertyNames);
  Find(handle, "openslide_get_property_value", functions.getPropertyValue);
  Find(handle, "openslide_get_associated_image_names", functions.getAssociatedImageNames);
  Find(handle, "openslide_get_associated_image_dimensions", functions.getAssociatedImageDimensions);
  Find(handle, "openslide_read_associated_image", functions.readAssociatedImage);
  Find(handle, "openslide_read_region", functions.readRegion);
  if (silent)
  {
    SilenceDependencies(handle);
  }
}

/** Loaded once, and never unloaded: slides in static objects may outlive any order of destruction. */
const LoadedLibrary &
GetLoadedLibrary()
{
  static const LoadedLibrary & library = *new LoadedLibrary;
  return library;
}

} // namespace

const OpenSlideLibrary *
OpenSlideLibrary::Find()
{
  const LoadedLibrary & library = GetLoadedLibrary();
  return library.problem.empty() ? &library.functions : nullptr;
}

const OpenSlideLibrary &
OpenSlideLibrary::Get()
{
  if (const OpenSlideLibrary * const library = Find())
  {
    return *library;
  }
  throw std::runtime_error(GetProblem());
}

std::string
OpenSlideLibrary::GetProblem()
{
  const std::string & problem = GetLoadedLibrary().problem;
  return problem.empty() ? problem : "OpenSlide's library does not load (" + problem + ')';
}

std::string
OpenSlideLibrary::GetPath()
{
  const OpenSlideLibrary * const library = Find();
  Dl_info                        found{};
  if (library == nullptr || dladdr(reinterpret_cast<const void *>(library->open), &found) == 0)
  {
    return {};
  }
  return found.dli_fname;
}

const char *
OpenSlideLibrary::GetRemedy()
{
  return "install it (Debian: libopenslide0; Python: pip install openslide-bin), or name the file of the library in "
         "GIGAPIXEL_OPENSLIDE";
}

void
OpenSlideLibrary::Silence()
{
  silent = true;
}

} // namespace gigapixel
