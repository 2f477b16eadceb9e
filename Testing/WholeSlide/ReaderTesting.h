/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReaderTesting_h
#define ReaderTesting_h

#include "TIFFFixture.h"

#include "itkWholeSlideImageIO.h"

#include <string>

namespace gigapixel_test
{

/** The reader, with the file's information read. */
inline itk::WholeSlideImageIO::Pointer
OpenSlideFile(const std::string & path)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(path);
  io->ReadImageInformation();
  return io;
}

inline Picture
ReadLevel(const itk::WholeSlideImageIO & io, unsigned level, unsigned channels)
{
  const auto size = io.GetLevelSize(level);
  Picture    picture{ static_cast<std::uint32_t>(size[0]), static_cast<std::uint32_t>(size[1]), channels, {} };
  picture.pixels.resize(size[0] * size[1] * channels);
  io.ReadRegion(level, 0, 0, size[0], size[1], channels, picture.pixels.data());
  return picture;
}

/** What the reader's sentence is; empty where it does not fail. */
template <typename TAction>
std::string
GetFailure(const TAction & action)
{
  try
  {
    action();
  }
  catch (const itk::ExceptionObject & error)
  {
    return error.GetDescription();
  }
  return {};
}

} // namespace gigapixel_test

#endif
