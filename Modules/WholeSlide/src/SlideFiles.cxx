/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlideFiles.h"

#include "formats/DICOMFile.h"
#include "formats/SlideFormat.h"

#include "gigapixelFileIdentity.h"

#include <stdexcept>

namespace gigapixel
{

std::string
FindSlideDescription(const std::string & path)
{
  const SlideFormat * const format = FindFormatByExtension(path);
  return format && format->findDescription ? format->findDescription(path) : std::string();
}

std::string
FindSlideSeries(const std::string & path)
{
  try
  {
    return DICOMFile::IsDICOM(path, true) ? DICOMFile(path).GetText(DICOMTag::SeriesInstance) : std::string();
  }
  catch (const std::runtime_error &)
  {
    return {};
  }
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
    return damage.what();
  }
  return {};
}

std::string
IdentifySlide(const std::string & path)
{
  return IdentifyFile(path, HashedBytes::Samples, FindSlideDescription(path));
}

} // namespace gigapixel
