/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OpenSlide's functions, found in its shared library at the first call. So the package loads without OpenSlide, and
// users replace the library (it is under the LGPL) by naming another in GIGAPIXEL_OPENSLIDE.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <openslide.h>

namespace
{

/** In site-packages/openslide_bin, seen from the folder of this library (site-packages/itk) or program
 * (site-packages/itkgigapixel/bin). */
std::string
GetPackagedLibrary()
{
  Dl_info here{};
  if (dladdr(reinterpret_cast<void *>(&GetPackagedLibrary), &here) == 0 || here.dli_fname == nullptr)
  {
    return {};
  }
  const auto folder = std::filesystem::weakly_canonical(here.dli_fname).parent_path();
  const auto name = std::filesystem::path("openslide_bin") / "libopenslide.so.1";
  const auto beside = folder.parent_path() / name;
  return (std::filesystem::exists(beside) ? beside : folder.parent_path().parent_path() / name).string();
}

void *
OpenLibrary()
{
  if (const char * const named = std::getenv("GIGAPIXEL_OPENSLIDE"))
  {
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  }
  for (const std::string & name :
       { GetPackagedLibrary(), std::string("libopenslide.so.1"), std::string("libopenslide.so.0") })
  {
    if (void * const library = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    {
      return library;
    }
  }
  return nullptr;
}

/** \return null without OpenSlide, or where its version lacks the function */
template <typename TFunction>
TFunction *
Find(const char * name, TFunction *)
{
  static void * const library = OpenLibrary();
  return library == nullptr ? nullptr : reinterpret_cast<TFunction *>(dlsym(library, name));
}

} // namespace

// Each call once per process looks its function up; without OpenSlide the last argument is the answer.
#define GIGAPIXEL_FORWARD(name, arguments, without)                                                                    \
  static const auto function = Find(#name, &name);                                                                     \
  return function != nullptr ? function arguments : (without)

extern "C" {

const char *
openslide_detect_vendor(const char * filename)
{
  GIGAPIXEL_FORWARD(openslide_detect_vendor, (filename), nullptr);
}

openslide_t *
openslide_open(const char * filename)
{
  GIGAPIXEL_FORWARD(openslide_open, (filename), nullptr);
}

void
openslide_close(openslide_t * slide)
{
  GIGAPIXEL_FORWARD(openslide_close, (slide), void());
}

const char *
openslide_get_error(openslide_t * slide)
{
  GIGAPIXEL_FORWARD(openslide_get_error, (slide), nullptr);
}

int32_t
openslide_get_level_count(openslide_t * slide)
{
  GIGAPIXEL_FORWARD(openslide_get_level_count, (slide), -1);
}

void
openslide_get_level_dimensions(openslide_t * slide, int32_t level, int64_t * width, int64_t * height)
{
  GIGAPIXEL_FORWARD(openslide_get_level_dimensions, (slide, level, width, height), void());
}

double
openslide_get_level_downsample(openslide_t * slide, int32_t level)
{
  GIGAPIXEL_FORWARD(openslide_get_level_downsample, (slide, level), -1.0);
}

const char * const *
openslide_get_property_names(openslide_t * slide)
{
  GIGAPIXEL_FORWARD(openslide_get_property_names, (slide), nullptr);
}

const char *
openslide_get_property_value(openslide_t * slide, const char * name)
{
  GIGAPIXEL_FORWARD(openslide_get_property_value, (slide, name), nullptr);
}

void
openslide_read_region(openslide_t * slide,
                      uint32_t *    pixels,
                      int64_t       x,
                      int64_t       y,
                      int32_t       level,
                      int64_t       width,
                      int64_t       height)
{
  GIGAPIXEL_FORWARD(openslide_read_region, (slide, pixels, x, y, level, width, height), void());
}

const char * const *
openslide_get_associated_image_names(openslide_t * slide)
{
  GIGAPIXEL_FORWARD(openslide_get_associated_image_names, (slide), nullptr);
}

void
openslide_get_associated_image_dimensions(openslide_t * slide, const char * name, int64_t * width, int64_t * height)
{
  GIGAPIXEL_FORWARD(openslide_get_associated_image_dimensions, (slide, name, width, height), void());
}

void
openslide_read_associated_image(openslide_t * slide, const char * name, uint32_t * pixels)
{
  GIGAPIXEL_FORWARD(openslide_read_associated_image, (slide, name, pixels), void());
}

/** Without OpenSlide the text makes a sentence of "OpenSlide <version> does not know this kind of file". */
const char *
openslide_get_version(void)
{
  GIGAPIXEL_FORWARD(openslide_get_version, (), "is not installed (pip install openslide-bin), so that it");
}

} // extern "C"
