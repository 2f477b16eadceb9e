/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMSlide.h"
#include "HamamatsuSlide.h"
#include "OpenSlideLibrary.h"
#include "OpenSlideSlide.h"
#include "TIFFSlide.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <tuple>

#include <sys/stat.h>

namespace gigapixel
{
namespace
{

/** A file as it is now: a file that was replaced or rewritten is another one. */
using FileIdentity = std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;

FileIdentity
GetIdentity(const std::string & path)
{
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
  {
    throw SlideError(
      path, std::string("it cannot be opened: ") + std::strerror(errno), "check the name and its rights");
  }
  if (!S_ISREG(status.st_mode))
  {
    throw SlideError(path, "it is not a file", "name a slide's file");
  }
  return { path,
           static_cast<std::uint64_t>(status.st_ino),
           static_cast<std::uint64_t>(status.st_size),
           static_cast<std::int64_t>(status.st_mtim.tv_sec),
           static_cast<std::int64_t>(status.st_mtim.tv_nsec) };
}

/** Vendors whose TIFFs are decoded as what they say they are, so that OpenSlide's opinion is not needed. */
bool
IsPlainVendor(const std::string & vendor)
{
  return vendor.empty() || vendor == "generic-tiff" || vendor == "aperio";
}

/** Whose slide a TIFF is, in OpenSlide's words. OpenSlide is loaded and asked only where the first page bears a
 * vendor's mark, or the pages (without `layout`) are damaged or in a dialect; where it is not installed, the mark says
 * it. */
std::string
DetectTIFFVendor(const std::string & path, const TIFFLayout * layout)
{
  if (layout != nullptr && layout->GetVendor() == "aperio")
  {
    return "aperio";
  }
  const std::string mark = FindVendorMark(path);
  if (layout != nullptr && mark.empty())
  {
    return {};
  }
  return OpenSlideLibrary::Find() != nullptr ? DetectOpenSlideVendor(path) : mark;
}

/** The first of what keeps the file from being read as one slide, or the levels' pages, those of further channels among
 * them, from being decoded. */
TIFFObstacle
FindObstacleOfLevels(const TIFFLayout & layout)
{
  if (!layout.GetObstacle().what.empty())
  {
    return layout.GetObstacle();
  }
  for (std::size_t level = 0; level < layout.GetLevels().size(); ++level)
  {
    std::vector<std::size_t> pages = layout.GetFurtherChannels(level);
    pages.insert(pages.begin(), layout.GetLevels()[level]);
    for (const std::size_t page : pages)
    {
      TIFFObstacle obstacle = FindObstacle(layout.GetPage(page));
      if (!obstacle.what.empty())
      {
        return obstacle;
      }
    }
  }
  return {};
}

std::unique_ptr<const Slide>
OpenTIFF(const std::string & path)
{
  std::unique_ptr<TIFFLayout> layout;
  std::string                 damage;
  try
  {
    layout = std::make_unique<TIFFLayout>(path);
  }
  catch (const std::runtime_error & error)
  {
    damage = error.what(); // or a vendor's own dialect: Hamamatsu stretches TIFF beyond 4 GiB
  }
  const std::string vendor = DetectTIFFVendor(path, layout.get());
  if (vendor == "hamamatsu")
  {
    try
    {
      auto file = std::make_unique<TIFFFile>(path);
      return std::make_unique<HamamatsuSlide>(path, std::move(file));
    }
    catch (const std::runtime_error &)
    {} // older kinds of it, which OpenSlide knows
  }
  const bool isKnown = IsPlainVendor(vendor) || (layout && layout->GetVendor() == vendor);
  if (!isKnown)
  {
    return std::make_unique<OpenSlideSlide>(path);
  }
  if (!layout)
  {
    throw std::runtime_error(damage);
  }
  const TIFFObstacle obstacle = FindObstacleOfLevels(*layout);
  if (obstacle.what.empty())
  {
    try
    {
      return std::make_unique<TIFFSlide>(path, std::move(layout));
    }
    catch (const std::runtime_error &)
    {
      if (IsPlainVendor(vendor))
      {
        throw;
      }
      return std::make_unique<OpenSlideSlide>(path);
    }
  }
  // OpenSlide may know the codec; more bits or channels it would squeeze into 8-bit RGB, which is no reading.
  if (obstacle.compression)
  {
    try
    {
      return std::make_unique<OpenSlideSlide>(path);
    }
    catch (const std::runtime_error &)
    {}
  }
  throw SlideError(path, obstacle.what, obstacle.remedy);
}

std::unique_ptr<const Slide>
OpenUnshared(const std::string & path)
{
  const std::string fetchAgain = "get the file again from where it came, or convert it to a tiled TIFF";
  try
  {
    if (TIFFFile::IsTIFF(path))
    {
      return OpenTIFF(path);
    }
    if (DICOMFile::IsDICOM(path, false))
    {
      return std::make_unique<DICOMSlide>(path);
    }
    if (!DetectOpenSlideVendor(path).empty())
    {
      return std::make_unique<OpenSlideSlide>(path);
    }
  }
  catch (const SlideError &)
  {
    throw;
  }
  catch (const std::bad_alloc &)
  {
    throw SlideError(path, "there is no memory left to open it", "free some");
  }
  catch (const std::exception & error)
  {
    throw SlideError(path, std::string("it cannot be opened: ") + error.what(), fetchAgain);
  }
  const std::string what = "it is neither a TIFF nor a DICOM file, and ";
  if (OpenSlideLibrary::Find() == nullptr)
  {
    throw SlideError(path, what + OpenSlideLibrary::GetProblem(), OpenSlideLibrary::GetRemedy());
  }
  throw SlideError(path,
                   what + "OpenSlide " + GetOpenSlideVersion() + " does not know this kind of file",
                   "convert it to a tiled TIFF (vips tiffsave FILE FILE.tif --tile --pyramid), or read it with another "
                   "itk::ImageIO");
}

} // namespace

std::shared_ptr<const Slide>
Slide::Open(const std::string & path)
{
  // Never destroyed: readers in static objects may outlive any order of destruction.
  static std::mutex &                                         mutex = *new std::mutex;
  static std::map<FileIdentity, std::weak_ptr<const Slide>> & slides =
    *new std::map<FileIdentity, std::weak_ptr<const Slide>>;

  const FileIdentity identity = GetIdentity(path);
  const auto         find = [&identity]() -> std::shared_ptr<const Slide> {
    const auto found = slides.find(identity);
    return found == slides.end() ? nullptr : found->second.lock();
  };
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (auto open = find())
    {
      return open;
    }
  }
  std::shared_ptr<const Slide>      slide = OpenUnshared(path); // slow: no lock is held
  const std::lock_guard<std::mutex> lock(mutex);
  if (auto open = find())
  {
    return open; // another thread was faster
  }
  for (auto entry = slides.begin(); entry != slides.end();)
  {
    entry = entry->second.expired() ? slides.erase(entry) : std::next(entry);
  }
  slides[identity] = slide;
  return slide;
}

bool
Slide::IsClaimed(const std::string & path) noexcept
{
  try
  {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    {
      return false;
    }
    if (!TIFFFile::IsTIFF(path))
    {
      return DICOMFile::IsDICOM(path, true) || !DetectOpenSlideVendor(path).empty();
    }
    std::unique_ptr<TIFFLayout> layout;
    try
    {
      layout = std::make_unique<TIFFLayout>(path);
      if (layout->GetVendor() == "aperio" || layout->IsTiledPyramid())
      {
        return true;
      }
    }
    catch (const std::runtime_error &)
    {} // damaged, or a vendor's own dialect
    return !IsPlainVendor(DetectTIFFVendor(path, layout.get()));
  }
  catch (...)
  {
    return false;
  }
}

} // namespace gigapixel
