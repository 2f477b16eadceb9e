/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlideFiles.h"

#include "FocalStack.h"
#include "formats/DICOMFile.h"
#include "formats/SlideFormat.h"

#include "gigapixelFileIdentity.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace gigapixel
{

std::string
FindSlideDescription(const std::string & path)
{
  const SlideFormat * const format = FindFormatByExtension(path);
  return format && format->findDescription ? format->findDescription(path) : std::string();
}

SlideSeries
FindSlideSeries(const std::string & path)
{
  try
  {
    if (!DICOMFile::IsDICOM(path, true))
    {
      return {};
    }
    const DICOMFile     file(path);
    const std::uint64_t width = file.GetInteger(DICOMTag::TotalColumns, 0);
    const std::uint64_t height = file.GetInteger(DICOMTag::TotalRows, 0);
    return { file.GetText(DICOMTag::SeriesInstance), file.GetFlavor() == "level" ? width * height : 0 };
  }
  catch (const std::runtime_error &)
  {
    return {};
  }
}

bool
NamesSlides(const std::string & path)
{
  const SlideFormat * const format = FindFormatByExtension(path);
  return format != nullptr && format->areCompanionsSlides;
}

std::vector<std::string>
FindSlideParts(const std::string & path)
{
  if (!NamesSlides(path))
  {
    return FindOMEParts(path);
  }
  auto parts = FindFormatByExtension(path)->findCompanions(path);
  parts.push_back(path);
  std::sort(parts.begin(), parts.end());
  return parts;
}

std::string
FindDICOMDamage(const std::string & path)
{
  if (!DICOMFile::IsNamedAsDICOM(path))
  {
    return {};
  }
  std::error_code error;
  std::string     whyNot = DICOMFile::FindWhyNot(path, error);
  if (!whyNot.empty() || !DICOMFile::IsDICOM(path, true))
  {
    return whyNot;
  }
  try
  {
    const DICOMFile file(path);
  }
  catch (const DICOMFile::NoWholeSlide &)
  {
    return {};
  }
  catch (const std::runtime_error & damage)
  {
    return Diagnostic::Of(damage).why;
  }
  return {};
}

bool
IsReadAsLabels(const std::string & path)
{
  return SlideFile(path).IsTIFF();
}

namespace
{
const std::string ImageMark = "image=";

/** What IdentifySlide() says, taken apart. */
struct SlideIdentity
{
  std::string number; // of the image, or of the first one of a stack; empty for the main one
  std::string file;

  explicit SlideIdentity(const std::string & text)
    : file(text)
  {
    if (text.rfind(ImageMark, 0) == 0)
    {
      const std::size_t end = text.find(' ');
      const std::string image = text.substr(ImageMark.size(), end - ImageMark.size()); // "2" or "max:2"
      number = image.substr(image.find(':') + 1);
      file = end == std::string::npos ? std::string() : text.substr(end + 1);
    }
  }
};
} // namespace

bool
AreOfOneImage(const std::string & path, const std::string & one, const std::string & other)
{
  const SlideIdentity a(one), b(other);
  if (one == other || a.file != b.file)
  {
    return one == other;
  }
  const auto slide = Slide::Open(path, {});
  const auto find = [&images = slide->GetImages()](const std::string & number) {
    return std::find_if(images.begin(), images.end(), [&number](const SlideImage & image) {
      return number.empty() ? image.isMain : std::to_string(image.number) == number;
    });
  };
  const auto ofA = find(a.number), ofB = find(b.number), none = slide->GetImages().end();
  return ofA != none && ofB != none && ofA->depth && ofB->depth && ofA->stack == ofB->stack;
}

std::string
IdentifySlide(const std::string & path, const SlideContent & content)
{
  std::string prefix; // of an image that is not the main one
  if (const AskedImage asked{ content.image, content.plane }; !asked.IsEmpty())
  {
    const auto slide = Slide::Open(path, asked);
    if (const auto stack = std::dynamic_pointer_cast<const FocalStack>(slide))
    {
      prefix = ImageMark + stack->GetIdentity() + ' ';
    }
    for (const SlideImage & each : slide->GetImages())
    {
      prefix = each.isRead && !each.isMain ? ImageMark + std::to_string(each.number) + ' ' : prefix;
    }
  }
  std::string text = prefix + IdentifyFile(path, HashedBytes::Samples, FindSlideDescription(path));
  for (const std::string & part : FindSlideParts(path))
  {
    std::error_code ignored;
    text += part != path && std::filesystem::is_regular_file(part, ignored)
              ? ' ' + IdentifyFile(part, HashedBytes::Samples)
              : "";
  }
  return text;
}

std::string
IdentifySlide(const itk::WholeSlideImageIO & slide)
{
  const std::string choice = slide.GetChannelChoice();
  return (choice.empty() ? choice : choice + ' ') + IdentifySlide(slide.GetFileName(), slide.GetContent());
}

} // namespace gigapixel
