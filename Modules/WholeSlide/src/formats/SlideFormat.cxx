/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideFormat.h"

#include "openslide/OpenSlideSlide.h"
#include "tiff/TIFFSlide.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace gigapixel
{

// Each in the file of its name.
extern const SlideFormat overviewFormat;
extern const SlideFormat aperioFormat;
extern const SlideFormat hamamatsuFormat;
extern const SlideFormat trestleFormat;
extern const SlideFormat leicaFormat;
extern const SlideFormat philipsFormat;
extern const SlideFormat ventanaFormat;
extern const SlideFormat perkinElmerFormat;
extern const SlideFormat omeFormat;
extern const SlideFormat plainTIFFFormat;
extern const SlideFormat dicomFormat;
extern const SlideFormat miraxFormat;
extern const SlideFormat hamamatsuVMSFormat;
extern const SlideFormat hamamatsuSetFormat;
extern const SlideFormat openSlideFormat;

const std::vector<const SlideFormat *> &
GetSlideFormats()
{
  // Overviews of slides that lie in other files come first. Then vendors' TIFFs before those that many write, and what
  // only OpenSlide knows at the end.
  static const std::vector<const SlideFormat *> formats{ &overviewFormat,     &perkinElmerFormat,  &aperioFormat,
                                                         &hamamatsuFormat,    &trestleFormat,      &leicaFormat,
                                                         &philipsFormat,      &ventanaFormat,      &omeFormat,
                                                         &plainTIFFFormat,    &dicomFormat,        &miraxFormat,
                                                         &hamamatsuVMSFormat, &hamamatsuSetFormat, &openSlideFormat };
  return formats;
}

const SlideFormat *
FindFormatByExtension(const std::string & path)
{
  const std::string ending = std::filesystem::path(path).extension().string();
  for (const SlideFormat * const format : GetSlideFormats())
  {
    for (const char * const extension : format->extensions)
    {
      if (extension != nullptr && ending == extension)
      {
        return format;
      }
    }
  }
  return nullptr;
}

std::vector<std::string>
FindCompanionFiles(const std::string & path)
{
  const SlideFormat * const format = FindFormatByExtension(path);
  if (format != nullptr && format->findCompanions != nullptr)
  {
    return format->findCompanions(path);
  }
  // The files of a set are named so, and others are not to be read once more each time that they are opened.
  const bool isNamedSo = std::filesystem::path(path).filename().string().find(".ome") != std::string::npos;
  auto       parts = isNamedSo ? FindOMEParts(path) : std::vector<std::string>();
  parts.erase(std::remove(parts.begin(), parts.end(), path), parts.end());
  return parts;
}

bool
IsOpenSlides(const SlideFile & file)
{
  const std::optional<std::string> & vendor = file.GetOpenSlideVendor();
  return vendor ? !vendor->empty() : !GetOpenSlideVersion().empty();
}

SlideFile::SlideFile(std::string path, AskedImage image, TIFFReading reading)
  : m_Path(std::move(path))
  , m_Image(std::move(image))
  , m_Reading(reading)
  , m_IsTIFF(TIFFFile::IsTIFF(m_Path))
{
  if (!m_IsTIFF)
  {
    return;
  }
  try
  {
    m_File = std::make_unique<const TIFFFile>(m_Path);
    std::uint64_t next = 0;
    m_FirstPage = std::make_unique<const TIFFPage>(*m_File, m_File->GetFirstPage(), next);
  }
  catch (const std::runtime_error &)
  {} // who opens the file says what is wrong with it
}

const std::optional<std::string> &
SlideFile::GetOpenSlideVendor() const
{
  if (!m_WasOpenSlideAsked)
  {
    m_OpenSlideVendor = DetectOpenSlideVendor(m_Path);
    m_WasOpenSlideAsked = true;
  }
  return m_OpenSlideVendor;
}

bool
SlideFile::IsConfirmed(const std::string & vendor) const
{
  return GetOpenSlideVendor().value_or(vendor) == vendor;
}

std::unique_ptr<const Slide>
OpenThroughOpenSlide(const SlideFile & file)
{
  return std::make_unique<const OpenSlideSlide>(file.GetPath());
}

std::unique_ptr<const Slide>
OpenTIFF(const SlideFile & file, std::shared_ptr<TIFFLayout> layout)
{
  layout->reading = file.GetReading();
  const TIFFObstacle obstacle = layout->FindObstacle();
  if (obstacle.what.empty())
  {
    return std::make_unique<const TIFFSlide>(file.GetPath(), std::move(layout));
  }
  // More bits or channels it would squeeze into 8-bit RGB, which is no reading.
  if (obstacle.isOpenSlides)
  {
    try
    {
      return std::make_unique<const OpenSlideSlide>(file.GetPath(), layout.get());
    }
    catch (const std::runtime_error &)
    {}
  }
  throw SlideError(obstacle.code, file.GetPath(), obstacle.what, obstacle.remedy);
}

std::unique_ptr<const Slide>
OpenTIFFOrElseOpenSlide(const SlideFile & file, void (*describe)(TIFFLayout & layout))
{
  try
  {
    auto layout = std::make_shared<TIFFLayout>(file.GetPath(), file.GetImage());
    describe(*layout);
    return OpenTIFF(file, std::move(layout));
  }
  catch (const SlideError &)
  {
    throw;
  }
  catch (const std::runtime_error &)
  {
    return OpenThroughOpenSlide(file);
  }
}

} // namespace gigapixel
