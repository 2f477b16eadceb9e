/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "channels/ChannelView.h"
#include "slide/FileStamp.h"
#include "FocalStack.h"
#include "openslide/OpenSlideProcess.h"
#include "openslide/OpenSlideSlide.h"
#include "formats/SlideFormat.h"

#include "gigapixelFileRefusal.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

/** A mark that cannot be read is none. */
bool
IsOfFormat(const SlideFormat & format, const SlideFile & file)
{
  try
  {
    return format.detect(file);
  }
  catch (const std::runtime_error &)
  {
    return false;
  }
}

/** OpenSlide's process, which was asked what a file is, is not kept longer than until that file is open. */
struct EndOfAsking
{
  EndOfAsking() = default;
  EndOfAsking(const EndOfAsking &) = delete;
  EndOfAsking & operator=(const EndOfAsking &) = delete;
  ~EndOfAsking() { OpenSlideProcess::EndKept(); }
};

/** OpenSlide does not tell why it opens no file beside the named one, and another copy would be as little readable. */
void
RequireReadableCompanions(const std::string & path)
{
  for (const std::string & companion : FindCompanionFiles(path))
  {
    if (access(companion.c_str(), R_OK) != 0 && errno == EACCES)
    {
      const std::error_code error(EACCES, std::generic_category());
      throw SlideError(
        "E-FILE-ACCESS", path, "it cannot be opened: " + companion + ": " + error.message(), GetFileRemedy(error));
    }
  }
}

/** Refuses any image but number 1 of a file with one image, and its planes. Formats with several refuse others
 * themselves. */
void
RequireImage(const Slide & slide, const AskedImage & asked)
{
  if (!slide.GetImages().empty())
  {
    return;
  }
  if (!asked.image.empty() && asked.image != "1")
  {
    throw SlideError(
      Diagnostic("E-SLIDE-IMAGE", "it has one image only, and no image '" + asked.image + "'", "choose image 1")
        .OfFile(slide.GetPath())
        .OfOption("--image", asked.image));
  }
  if (!asked.plane.empty())
  {
    throw NoFocalPlanes(slide.GetPath(), asked.plane);
  }
}

std::unique_ptr<const Slide>
OpenUnshared(const std::string & path, const AskedImage & image, TIFFReading reading)
{
  if (FocalStack::FindMethod(image.plane))
  {
    return std::make_unique<FocalStack>(path, image, reading);
  }
  const std::string fetchAgain = "get the file again from where it came, or convert it to a tiled TIFF";
  try
  {
    const SlideFile file(path, image, reading);
    for (const SlideFormat * const format : GetSlideFormats())
    {
      auto slide = IsOfFormat(*format, file) ? format->open(file) : nullptr;
      if (slide)
      {
        RequireImage(*slide, image);
        return slide;
      }
    }
  }
  catch (const SlideError &)
  {
    throw;
  }
  catch (const std::bad_alloc &)
  {
    throw SlideError("E-MEMORY", path, "there is not enough memory to open it", "end other programs");
  }
  catch (const std::system_error & error)
  {
    throw SlideError("E-FILE-ACCESS",
                     path,
                     std::string("it cannot be opened: ") + error.what(),
                     GetFileRemedy(error.code(), fetchAgain));
  }
  catch (const Obstacle & obstacle)
  {
    const Diagnostic & inner = obstacle.GetDiagnostic();
    throw SlideError(inner.code, path, "it cannot be opened: " + inner.why, inner.remedy);
  }
  catch (const std::exception & error)
  {
    RequireReadableCompanions(path);
    const Diagnostic inner = Diagnostic::Of(error);
    throw SlideError(inner.code == "E-OTHER" ? "E-SLIDE-FORMAT" : inner.code,
                     path,
                     "it cannot be opened: " + inner.why,
                     inner.remedy.empty() ? fetchAgain : inner.remedy);
  }
  const std::string what = "it is neither a TIFF nor a DICOM file";
  CheckOpenSlide(path, what);
  throw SlideError("E-SLIDE-FORMAT",
                   path,
                   what + ", and OpenSlide " + GetOpenSlideVersion() + " does not know this kind of file",
                   "check that it is a slide, and convert it to OME-TIFF with its scanner's program or Bio-Formats");
}

} // namespace

std::shared_ptr<const Slide>
Slide::Open(const std::string & path, const AskedImage & image, TIFFReading reading)
{
  return Open(path, image, reading, {});
}

std::shared_ptr<const Slide>
Slide::Open(const std::string &     path,
            const AskedImage &      image,
            TIFFReading             reading,
            const ChannelChoice &   choice,
            const OpeningProgress & progress)
{
  using Key = std::tuple<FileStamp, AskedImage, TIFFReading, ChannelChoice>;
  // Never destroyed: readers in static objects may outlive any order of destruction.
  static std::mutex &                                mutex = *new std::mutex;
  static std::map<Key, std::weak_ptr<const Slide>> & slides = *new std::map<Key, std::weak_ptr<const Slide>>;

  const EndOfAsking end;
  const Key         stamp(GetFileStamp(path), image, reading, choice);
  const auto        find = [&stamp]() -> std::shared_ptr<const Slide> {
    const auto found = slides.find(stamp);
    return found == slides.end() ? nullptr : found->second.lock();
  };
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (auto open = find())
    {
      return open;
    }
  }
  // Both are slow: no lock is held.
  std::shared_ptr<const Slide>      slide = ChannelView::IsAsked(choice)
                                              ? ChannelView::Make(Open(path, image, reading), choice, progress)
                                              : OpenUnshared(path, image, reading);
  const std::lock_guard<std::mutex> lock(mutex);
  if (auto open = find())
  {
    return open; // another thread was faster
  }
  for (auto entry = slides.begin(); entry != slides.end();)
  {
    entry = entry->second.expired() ? slides.erase(entry) : std::next(entry);
  }
  slides[stamp] = slide;
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
    const SlideFile file(path);
    const auto &    formats = GetSlideFormats();
    const auto      format = std::find_if(
      formats.begin(), formats.end(), [&file](const SlideFormat * each) { return IsOfFormat(*each, file); });
    const bool isClaimed = format != formats.end() && ((*format)->claims == nullptr || (*format)->claims(file));
    if (!isClaimed)
    {
      OpenSlideProcess::EndKept();
    }
    return isClaimed;
  }
  catch (const Obstacle &)
  {
    return true; // who opens the file is told
  }
  catch (...)
  {
    return false;
  }
}

} // namespace gigapixel
