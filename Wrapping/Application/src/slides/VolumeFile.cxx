/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "VolumeFile.h"

#include "SlideFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

namespace gigapixel::application
{
namespace fs = std::filesystem;

namespace
{
using JSON = nlohmann::ordered_json;

/** Without zeros that say nothing: "1", "0.9375". */
std::string
FormatPlain(double value)
{
  std::ostringstream text;
  text.precision(6);
  text << (std::abs(value) < 1e-9 ? 0.0 : value);
  return text.str();
}

std::string
Join(const std::array<double, 3> & numbers, const std::string & separator)
{
  return FormatPlain(numbers[0]) + separator + FormatPlain(numbers[1]) + separator + FormatPlain(numbers[2]);
}

std::string
Format(const JSON & info, const VolumeGrid & grid)
{
  const auto  size = std::array<double, 3>{ grid.spacing[0] * static_cast<double>(grid.size.width),
                                            grid.spacing[1] * static_cast<double>(grid.size.height),
                                            grid.spacing[2] * static_cast<double>(grid.size.depth) };
  const bool  isOne = info["channels"] == 1;
  std::string text = info["volume"].get<std::string>() + '\n';
  text += "  size           " + FormatSize(grid.size) + " voxels, " + info["channels"].dump() +
          (isOne ? " channel of " : " channels of ") + info["sampleType"].get<std::string>() + ", " +
          Join(size, " x ") + " mm, " + FormatBytes(info["fileBytes"].get<double>()) + '\n';
  text += "  spacing        " + Join(grid.spacing, " x ") + " mm\n";
  text += "  origin         " + Join(grid.origin, ", ") + " mm to the left, back and head\n";
  text += "  direction      " + Join(grid.axes[0], ", ") + "; " + Join(grid.axes[1], ", ") + "; " +
          Join(grid.axes[2], ", ") + " of the columns, rows and slices\n";
  text += info["placedBy"].is_null() ? "" : "  place from     " + info["placedBy"].get<std::string>() + '\n';
  return text;
}

} // namespace

bool
IsVolume(const std::string & name)
{
  const auto files = itk::GigapixelSplitModalities(name);
  return std::all_of(files.begin(), files.end(), itk::GigapixelIsVolumeName);
}

itk::GigapixelVolume
OpenVolume(const std::string & name)
{
  const auto files = itk::GigapixelSplitModalities(name);
  for (const std::string & file : files)
  {
    if (!itk::GigapixelIsDicomFolder(file))
    {
      CheckInputFile(file);
    }
  }
  return itk::GigapixelVolumeSource(files);
}

itk::GigapixelVolume
OpenVolume(const std::string & name, const Session & session)
{
  itk::GigapixelVolume volume = OpenVolume(name);
  for (const Diagnostic & warning : volume.warnings)
  {
    session.Warn(warning);
  }
  return volume;
}

std::string
GetVolumeName(const std::string & volume)
{
  const fs::path  path = fs::path(itk::GigapixelSplitModalities(volume).front()).lexically_normal();
  std::error_code error;
  if (fs::is_directory(path, error)) // of a DICOM series
  {
    return (path.has_filename() ? path : path.parent_path()).filename().string();
  }
  fs::path name = path.filename();
  name = name.extension() == ".gz" ? name.stem() : name;
  return name.stem().string();
}

std::string
FormatSize(const Size & size)
{
  return std::to_string(size.width) + " x " + std::to_string(size.height) + " x " + std::to_string(size.depth);
}

JSON
DescribeVolume(const std::string & name, const ArgumentValues & values, const Session & session, std::string & text)
{
  RefuseOptions(values, name + " is a volume");
  const itk::GigapixelVolume volume = OpenVolume(name, session);
  const VolumeGrid &         grid = volume.grid;
  if (values.Has("check"))
  {
    std::vector<float> voxel(volume.voxels->GetNumberOfChannels());
    volume.voxels->Read({ 0, 0, 1, 1 }, reinterpret_cast<std::uint8_t *>(voxel.data())); // which reads all files
  }
  JSON info{ { "volume", name } };
  info["width"] = grid.size.width;
  info["height"] = grid.size.height;
  info["depth"] = grid.size.depth;
  info["channels"] = volume.voxels->GetNumberOfChannels();
  info["sampleType"] = volume.sampleType;
  info["spacingMm"] = grid.spacing;
  info["originMm"] = grid.origin;
  info["direction"] = grid.axes;
  info["placedBy"] = volume.placedBy.empty() ? JSON() : JSON(volume.placedBy);
  std::uintmax_t bytes = 0;
  for (const std::string & modality : itk::GigapixelSplitModalities(name))
  {
    for (const std::string & file : itk::GigapixelListFiles(modality))
    {
      bytes += fs::file_size(file);
    }
  }
  info["fileBytes"] = bytes;
  info["checked"] = values.Has("check");
  text += Format(info, grid);
  text += values.Has("check") ? "  checked        all voxels can be read\n" : "";
  return info;
}

} // namespace gigapixel::application
