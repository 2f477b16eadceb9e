/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFileIdentity.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

void
AddSamples(const fs::path & path, std::uintmax_t size, std::uint64_t & hash)
{
  constexpr std::uintmax_t sample = 1 << 16;
  constexpr std::uintmax_t samples = 16;
  std::ifstream            file(path, std::ios::binary);
  std::string              bytes(sample, '\0');
  for (std::uintmax_t i = 0; i < samples; ++i)
  {
    file.clear();
    file.seekg(static_cast<std::streamoff>(size <= sample ? 0 : (size - sample) * i / (samples - 1)));
    file.read(bytes.data(), sample);
    for (std::streamsize b = 0; b < file.gcount(); ++b)
    {
      hash = (hash ^ static_cast<unsigned char>(bytes[static_cast<std::size_t>(b)])) * 0x100000001b3u;
    }
  }
}
} // namespace

std::string
IdentifyFile(const std::string & fileName)
{
  std::error_code      error;
  const std::uintmax_t size = fs::file_size(fileName, error);
  if (error)
  {
    throw std::runtime_error(fileName + " cannot be read: " + error.message());
  }
  std::uint64_t hash = 0xcbf29ce484222325u;
  AddSamples(fileName, size, hash);
  const fs::path       index = fs::path(fileName).replace_extension() / "Slidedat.ini";
  const std::uintmax_t indexSize = fs::file_size(index, error);
  if (!error)
  {
    AddSamples(index, indexSize, hash);
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "bytes=" << size << " hash=" << std::hex << hash;
  return text.str();
}

} // namespace gigapixel
