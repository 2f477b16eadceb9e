/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumeFormat.h"

#include <algorithm>
#include <filesystem>

// The formats of volumes, a line for each: Get##Name##Format() is in the source file of its name.
#define GIGAPIXEL_VOLUME_FORMATS(apply) apply(NIfTI) apply(NRRD) apply(MetaImage) apply(MGH)

namespace gigapixel
{

#define GIGAPIXEL_DECLARE(Name) const VolumeFormat & Get##Name##Format();
GIGAPIXEL_VOLUME_FORMATS(GIGAPIXEL_DECLARE)
#undef GIGAPIXEL_DECLARE

const std::vector<const VolumeFormat *> &
GetVolumeFormats()
{
#define GIGAPIXEL_LIST(Name) &Get##Name##Format(),
  static const std::vector<const VolumeFormat *> formats{ GIGAPIXEL_VOLUME_FORMATS(GIGAPIXEL_LIST) };
#undef GIGAPIXEL_LIST
  return formats;
}

const VolumeFormat *
FindVolumeFormat(const std::string & file)
{
  const auto & formats = GetVolumeFormats();
  const auto   found =
    std::find_if(formats.begin(), formats.end(), [&file](const VolumeFormat * format) { return format->isOf(file); });
  return found == formats.end() ? nullptr : *found;
}

const VolumeFormat *
FindVolumeFormatByName(const std::string & fileName)
{
  const auto & formats = GetVolumeFormats();
  const auto   found = std::find_if(formats.begin(), formats.end(), [&fileName](const VolumeFormat * format) {
    return !FindEnding(fileName, format->endings).empty();
  });
  return found == formats.end() ? nullptr : *found;
}

std::string
FindEnding(const std::string & fileName, const std::vector<std::string> & endings)
{
  const std::string name = std::filesystem::path(fileName).filename().string();
  std::string       longest;
  for (const std::string & ending : endings)
  {
    const bool has =
      name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    longest = has && ending.size() > longest.size() ? ending : longest;
  }
  return longest;
}

} // namespace gigapixel
