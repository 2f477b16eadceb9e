/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// DICOM files of whole-slide images: elements, and where the frames are.
#include "DICOMFile.h"
#include "FuzzTarget.h"

using namespace gigapixel;

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("slide.dcm");
  const std::string &                    path = input.Write(data, size);
  DICOMFile::IsDICOM(path, false);
  DICOMFile::IsDICOM(path, true);
  gigapixel_fuzz::MayRefuse("", [&] {
    const DICOMFile file(path);
    file.GetPlaces();
    file.GetOpticalPaths();
    file.GetText(DICOMTag::ImageType);
    file.GetText(DICOMTag::ICCProfile);
    file.GetInteger(DICOMTag::TotalColumns, 0);
    const std::size_t count = std::min<std::size_t>(file.GetFrames().size(), 16);
    for (std::size_t i = 0; i < count; ++i)
    {
      file.Prefetch(file.GetFrames()[i]);
      file.ReadFrame(file.GetFrames()[i]);
    }
  });
  return 0;
}
