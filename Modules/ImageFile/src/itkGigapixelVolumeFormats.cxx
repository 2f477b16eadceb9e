/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelVolumeFormats.h"

#include "itkGigapixelVolumeSource.h"
#include "volumes/gigapixelVolumeFormat.h"

#include <algorithm>
#include <filesystem>

namespace itk
{
namespace
{

/** "a, b or c" */
std::string
Enumerate(const std::vector<std::string> & names)
{
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  }
  return text;
}

} // namespace

bool
GigapixelIsVolumeName(const std::string & fileName)
{
  return gigapixel::FindVolumeFormatByName(fileName) != nullptr || GigapixelIsDicomFolder(fileName);
}

bool
GigapixelIsNamedAsVolumeOnly(const std::string & fileName)
{
  const auto * const format = gigapixel::FindVolumeFormatByName(fileName);
  return format != nullptr && !format->hasPictures;
}

bool
GigapixelIsPixelsName(const std::string & fileName)
{
  const auto & formats = gigapixel::GetVolumeFormats();
  return std::any_of(formats.begin(), formats.end(), [&fileName](const auto * format) {
    return !gigapixel::FindEnding(fileName, format->pixels).empty();
  });
}

bool
GigapixelHasHeaderBeside(const std::string & fileName)
{
  std::error_code ignored;
  for (const auto * const format : gigapixel::GetVolumeFormats())
  {
    const std::string ending = gigapixel::FindEnding(fileName, format->pixels);
    const std::string stem = fileName.substr(0, fileName.size() - ending.size());
    for (const std::string & header : format->headers)
    {
      if (!ending.empty() && std::filesystem::is_regular_file(stem + header, ignored))
      {
        return true;
      }
    }
  }
  return false;
}

std::string
GigapixelNameVolumeFormats()
{
  std::vector<std::string> names;
  for (const auto * const format : gigapixel::GetVolumeFormats())
  {
    names.push_back(format->name);
  }
  return Enumerate(names);
}

std::vector<std::string>
GigapixelGetLabelEndings()
{
  std::vector<std::string> endings;
  for (const auto * const format : gigapixel::GetVolumeFormats())
  {
    endings.insert(endings.end(), format->outputs.begin(), format->outputs.end());
  }
  return endings;
}

std::string
GigapixelNameLabelEndings()
{
  std::vector<std::string> endings;
  for (const auto * const format : gigapixel::GetVolumeFormats())
  {
    if (!format->outputs.empty())
    {
      endings.push_back(format->outputs.front());
    }
  }
  return Enumerate(endings);
}

} // namespace itk
