/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SliceVolume_h
#define SliceVolume_h

#include "WorkFolder.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"

#include "itkImageFileWriter.h"
#include "itkNrrdImageIO.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace gigapixel::slicer
{

/** Writes a volume as 3D Slicer loads it, in NRRD. */
template <typename TImage>
void
WriteSliceVolume(const TImage * image, const WorkFolder & folder)
{
  const auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetImageIO(itk::NrrdImageIO::New());
  writer->SetInput(image);
  writer->SetFileName(folder.GetPath(".nrrd"));
  errno = 0;
  try
  {
    writer->Update();
  }
  catch (const itk::ExceptionObject &)
  {
    // ITK has words of its own for a full disk, and no code.
    const std::error_code error(errno, std::generic_category());
    const std::string     code = GetWritingCode(error);
    if (code != "E-DISK-FULL")
    {
      throw;
    }
    throw Refusal(
      Diagnostic(code, "it cannot be written: " + error.message(), GetFileRemedy(error)).OfFile(folder.GetOutput()));
  }
}

} // namespace gigapixel::slicer

#endif
