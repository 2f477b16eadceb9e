/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFileIdentity.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelHash.h"

#include "gigapixelPixelFiles.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

[[noreturn]] void
Refuse(const fs::path & path, const char * code, const std::string & reason, const std::string & remedy = {})
{
  throw Refusal(Diagnostic(code, "it cannot be read: " + reason, remedy).OfFile(path.string()));
}

/** The system's reason. */
[[noreturn]] void
Refuse(const fs::path & path, const std::error_code & error)
{
  if (error == std::errc::no_such_file_or_directory)
  {
    throw Refusal(DescribeMissingFile(path.string()));
  }
  Refuse(path, "E-FILE-ACCESS", error.message(), GetFileRemedy(error));
}

/** Of files. */
class FileHash : public Hash
{
public:
  /** \throw std::runtime_error there are no `size` bytes that can be read */
  void
  AddAll(const fs::path & path, std::uintmax_t size)
  {
    std::ifstream file(path, std::ios::binary);
    for (std::uintmax_t at = 0; at == 0 || at < size; at += Piece)
    {
      AddPiece(file, path, std::min(Piece, size - at));
    }
  }

  /** 16 pieces of 64 KiB from the first byte to the last. */
  void
  AddSamples(const fs::path & path, std::uintmax_t size)
  {
    constexpr std::uintmax_t samples = 16;
    std::ifstream            file(path, std::ios::binary);
    for (std::uintmax_t i = 0; i < samples; ++i)
    {
      file.seekg(static_cast<std::streamoff>(size <= Piece ? 0 : (size - Piece) * i / (samples - 1)));
      AddPiece(file, path, std::min(Piece, size));
    }
  }

private:
  static constexpr std::uintmax_t Piece = 1 << 16;

  void
  AddPiece(std::ifstream & file, const fs::path & path, std::uintmax_t count)
  {
    // One byte is asked for where there are none, so that a file that gives an error is not taken for an empty one.
    file.read(m_Bytes.data(), static_cast<std::streamsize>(std::max<std::uintmax_t>(count, 1)));
    if (!file.is_open())
    {
      Refuse(path, std::error_code(errno, std::generic_category()));
    }
    if (file.bad() || static_cast<std::uintmax_t>(file.gcount()) < count)
    {
      Refuse(path, file.bad() ? "E-FILE-ACCESS" : "E-FILE-CHANGED", "it cannot be read to its end");
    }
    file.clear();
    Add(m_Bytes.data(), count);
  }

  std::string m_Bytes = std::string(Piece, '\0');
};

/** What belongs to the file and is there. */
std::vector<fs::path>
FindOthers(const fs::path & file, const std::string & description)
{
  const auto            header = ReadPixelHeader(file);
  std::vector<fs::path> others = header ? header->files : std::vector<fs::path>();
  if (!description.empty())
  {
    others.emplace_back(description);
  }
  const auto isMissing = [](const fs::path & other) {
    std::error_code error;
    return fs::status(other, error).type() == fs::file_type::not_found;
  };
  others.erase(std::remove_if(others.begin(), others.end(), isMissing), others.end());
  return others;
}

std::uintmax_t
GetSize(const fs::path & path)
{
  std::error_code      error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error)
  {
    Refuse(path, error);
  }
  return size;
}

std::string
Describe(std::uintmax_t size, std::uint64_t hash)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "bytes=" << size << " hash=" << std::hex << hash;
  return text.str();
}
} // namespace

std::string
IdentifyFile(const std::string & fileName, HashedBytes bytes, const std::string & description)
{
  const std::uintmax_t size = GetSize(fileName);
  FileHash             hash;
  bytes == HashedBytes::All ? hash.AddAll(fileName, size) : hash.AddSamples(fileName, size);
  for (const fs::path & other : FindOthers(fileName, description))
  {
    hash.AddAll(other, GetSize(other));
  }
  return Describe(size, hash.Get());
}

std::string
IdentifyContent(const std::string & content)
{
  Hash hash;
  hash.Add(content.data(), content.size());
  return Describe(content.size(), hash.Get());
}

} // namespace gigapixel
