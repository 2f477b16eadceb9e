/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PictureFile.h"

#include "itkPNGImageIO.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>
#include <zlib.h>

namespace fs = std::filesystem;

namespace gigapixel::commandline
{
namespace
{
/** The last chunk of every PNG: length 0, type, checksum. */
const std::string EndChunk("\0\0\0\0IEND\xAE\x42\x60\x82", 12);

std::string
ToBigEndian(std::uint32_t number)
{
  return { static_cast<char>(number >> 24),
           static_cast<char>(number >> 16),
           static_cast<char>(number >> 8),
           static_cast<char>(number) };
}

/** A PNG's end with a text before it (PNG specification, 11.3.4.3): ITK writes none. */
std::string
MakeEnd(const std::string & madeBy)
{
  const std::string body = std::string("tEXtmade-by") + '\0' + madeBy;
  const uLong       checksum = crc32(0, reinterpret_cast<const Bytef *>(body.data()), static_cast<uInt>(body.size()));
  return ToBigEndian(static_cast<std::uint32_t>(body.size() - 4)) + body +
         ToBigEndian(static_cast<std::uint32_t>(checksum)) + EndChunk;
}
} // namespace

void
WritePNG(const Picture & picture, const std::string & file, const std::string & madeBy)
{
  // ITK's writer puts pixels straight into the file of that name; so it gets another name until all is there.
  const fs::path    target(file);
  const std::string unfinished =
    (target.parent_path() / ('.' + target.stem().string() + '-' + std::to_string(getpid()) + ".png")).string();
  const auto io = itk::PNGImageIO::New();
  io->SetFileName(unfinished);
  io->SetNumberOfDimensions(2);
  io->SetDimensions(0, picture.width);
  io->SetDimensions(1, picture.height);
  io->SetNumberOfComponents(3);
  io->SetComponentType(itk::IOComponentEnum::UCHAR);
  io->SetPixelType(itk::IOPixelEnum::RGB);
  io->SetUseCompression(true);
  itk::ImageIORegion region(2);
  region.SetSize(0, picture.width);
  region.SetSize(1, picture.height);
  io->SetIORegion(region);
  try
  {
    io->WriteImageInformation();
    io->Write(picture.pixels.data());
    if (!madeBy.empty())
    {
      std::fstream written(unfinished, std::ios::binary | std::ios::in | std::ios::out);
      written.seekp(-static_cast<std::streamoff>(EndChunk.size()), std::ios::end);
      if (!(written << MakeEnd(madeBy)).flush())
      {
        throw std::runtime_error(file + " cannot be written completely; is the disk full?");
      }
    }
    fs::rename(unfinished, target);
  }
  catch (...)
  {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
}

bool
HasValidPNG(const std::string & file, const std::string & madeBy)
{
  if (!fs::is_regular_file(file)) // opening a pipe would wait for its other end
  {
    return false;
  }
  const std::string wanted = MakeEnd(madeBy);
  std::ifstream     stream(file, std::ios::binary);
  std::string       found(wanted.size(), 0);
  stream.seekg(-static_cast<std::streamoff>(wanted.size()), std::ios::end);
  if (!stream.read(found.data(), static_cast<std::streamsize>(found.size())) || found != wanted)
  {
    throw std::runtime_error(file + " exists, but is no picture made as is asked for (" + madeBy +
                             "); --overwrite replaces it, another output name keeps it.");
  }
  return true;
}

} // namespace gigapixel::commandline
