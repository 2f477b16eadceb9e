/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Slides as the pipeline reads them: information, corners of all levels in color and gray, what was scanned, associated
// images. A file that says it is huge is not read whole.
#include "FuzzTarget.h"
#include "itkWholeSlideImageIO.h"

namespace
{

constexpr std::uint64_t Side = 256;

void
ReadCorners(const itk::WholeSlideImageIO & io, unsigned level, unsigned char * pixels)
{
  const auto size = io.GetLevelSize(level);
  const auto width = std::min<std::uint64_t>(Side, size[0]);
  const auto height = std::min<std::uint64_t>(Side, size[1]);
  io.ReadRegion(level, 0, 0, width, height, 3, pixels);
  io.ReadRegion(level, size[0] - width, size[1] - height, width, height, 1, pixels);
  io.ReadScanned(level, 0, 0, width, height, pixels);
}

void
ReadAssociated(itk::WholeSlideImageIO & io, const std::string & name)
{
  io.SetAssociatedImage(name);
  io.ReadImageInformation();
  if (static_cast<itk::SizeValueType>(io.GetImageSizeInBytes()) <= Side * Side * 12)
  {
    std::vector<char> pixels(static_cast<std::size_t>(io.GetImageSizeInBytes()));
    io.Read(pixels.data());
  }
}

void
ReadSlide(const std::string & path)
{
  static std::vector<unsigned char> pixels(Side * Side * 3);
  const auto                        io = itk::WholeSlideImageIO::New();
  io->CanReadFile(path.c_str());
  io->SetFileName(path);
  io->ReadImageInformation();
  for (unsigned level = 0; level < std::min(io->GetNumberOfLevels(), 8u); ++level)
  {
    ReadCorners(*io, level, pixels.data());
  }
  for (const std::string & name : io->GetAssociatedImageNames())
  {
    ReadAssociated(*io, name);
  }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("slide"), set("slide.ndpis");
  static const std::string               channel = set.GetFolder() + "/s.ndpi";
  // A text that begins with a bracket is an NDPIS. Behind a zero follows the NDPI that it may name.
  const bool          isSet = size > 0 && data[0] == '[';
  const auto          text = isSet ? static_cast<std::size_t>(std::find(data, data + size, 0) - data) : size;
  const std::string & path = (isSet ? set : input).Write(data, text);
  if (text < size)
  {
    std::filesystem::remove(channel);
    std::ofstream(channel, std::ios::binary)
      .write(reinterpret_cast<const char *>(data + text + 1), static_cast<std::streamsize>(size - text - 1));
  }
  try
  {
    ReadSlide(path);
  }
  catch (const itk::ExceptionObject & error)
  {
    gigapixel_fuzz::CheckRefusal(error.GetDescription(), isSet ? set.GetFolder() : path); // the channel may be at fault
  }
  return 0;
}
