/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PictureFile.h"

#include "gigapixelArgumentValues.h"

#include "itkPNGImageIO.h"

#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::commandline
{

void
CheckPNGName(const std::string & file)
{
  if (fs::path(file).extension() != ".png")
  {
    throw UsageError("--output " + file + " is to be a PNG picture: end it in .png.");
  }
}

void
WritePNG(const Picture & picture, const std::string & file)
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
    fs::rename(unfinished, target);
  }
  catch (...)
  {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
}

} // namespace gigapixel::commandline
