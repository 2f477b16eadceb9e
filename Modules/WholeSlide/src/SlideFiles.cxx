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

std::vector<std::string>
FindSlideParts(const std::string & path)
{
  const SlideFormat * const format = FindFormatByExtension(path);
  if (format == nullptr || !format->areCompanionsSlides)
  {
    return FindOMEParts(path);
  }
  auto parts = format->findCompanions(path);
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

std::string
IdentifySlide(const std::string & path, const std::string & image, const std::string & plane)
{
  std::string prefix; // of an image that is not the main one
  if (const AskedImage asked{ image, plane }; !asked.IsEmpty())
  {
    const auto slide = Slide::Open(path, asked);
    if (const auto stack = std::dynamic_pointer_cast<const FocalStack>(slide))
    {
      prefix = "image=" + stack->GetIdentity() + ' ';
    }
    for (const SlideImage & each : slide->GetImages())
    {
      prefix = each.isRead && !each.isMain ? "image=" + std::to_string(each.number) + ' ' : prefix;
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
  return (choice.empty() ? choice : choice + ' ') +
         IdentifySlide(slide.GetFileName(), slide.GetImage(), slide.GetFocalPlane());
}

} // namespace gigapixel
