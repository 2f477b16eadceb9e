/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Arrays in files beside the network: https://onnx.ai/onnx/repo-docs/ExternalData.html
#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxFile.h"
#include "gigapixelPrintable.h"
#include "model/gigapixelSafeTensors.h"

#include <charconv>
#include <filesystem>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Weights of networks that are computed here have a few hundred megabytes; a slide has gigabytes. */
constexpr std::uintmax_t MostBytes = std::uintmax_t{ 1 } << 32;

/** A number of bytes in decimal digits. \throw std::invalid_argument it is none */
std::uint64_t
GetNumber(const OnnxTensor & tensor, const std::string & key, std::uint64_t otherwise)
{
  const auto found = tensor.place.find(key);
  if (found == tensor.place.end())
  {
    return otherwise;
  }
  const std::string & digits = found->second;
  std::uint64_t       value = 0;
  const auto          end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size())
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "at an impossible place"));
  }
  return value;
}

/** Of the file that an array lies in: one in the network's own folder, nowhere else. */
std::string
GetName(const OnnxTensor & tensor)
{
  const auto  found = tensor.place.find("location");
  std::string name = found == tensor.place.end() ? "" : found->second;
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string("/\\\0", 3)) != std::string::npos)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "and not by the name of a file beside the network"));
  }
  return name;
}

std::shared_ptr<const std::string>
Read(const std::filesystem::path & path)
{
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) // opening a pipe would wait for ever
  {
    throw InvalidArgument(Diagnostic("E-FILE-MISSING", "which is not there", "put it beside the network"));
  }
  if (const auto bytes = std::filesystem::file_size(path, error); error || bytes > MostBytes)
  {
    throw InvalidArgument(Diagnostic("E-FILE-LIMIT", "which has more bytes than weights have"));
  }
  return std::make_shared<const std::string>(ReadFile(path.string()));
}

} // namespace

void
OnnxFile::ReadBeside(const std::string & folder)
{
  std::map<std::string, std::uint64_t> taken; // bytes of each file: arrays that share them could ask for any amount
  for (auto & [name, tensor] : arrays)
  {
    if (!tensor.external)
    {
      continue;
    }
    try
    {
      const std::string file = GetName(tensor);
      auto &            content = beside[file];
      if (!content)
      {
        content = Read(std::filesystem::path(folder) / file);
        size += content->size();
      }
      const std::uint64_t offset = GetNumber(tensor, "offset", 0);
      const std::uint64_t left = offset > content->size() ? 0 : content->size() - offset;
      const std::uint64_t length = GetNumber(tensor, "length", left);
      if (offset > content->size() || length > left)
      {
        throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", "which is truncated"));
      }
      taken[file] += length;
      if (taken[file] > content->size())
      {
        throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "where arrays lie in each other"));
      }
      tensor.raw = std::string_view(*content).substr(offset, length);
      tensor.external = false;
    }
    catch (const std::invalid_argument & error)
    {
      const auto location = tensor.place.find("location");
      Diagnostic problem = Diagnostic::Of(error);
      problem.why =
        "its array \"" + GetPrintable(name) + "\" lies in another file (external data), " +
        (location == tensor.place.end() ? "" : '"' + GetPrintable(location->second).substr(0, 200) + "\", ") +
        problem.why;
      throw InvalidArgument(problem);
    }
  }
}

} // namespace gigapixel
