/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Outlines as GeoJSON or XML, packed or not, and the masks that are drawn of them.
#include "FuzzTarget.h"
#include "gigapixelAnnotation.h"
#include "itkAnnotationImageSource.h"

namespace
{

void
Draw(const std::vector<gigapixel::Annotation> & annotations)
{
  const auto source = itk::AnnotationImageSource::New();
  source->SetSize(64, 64);
  source->SetNumberOfWorkUnits(1);
  for (const auto & annotation : annotations)
  {
    source->AddAnnotation(annotation, 1);
  }
  try
  {
    source->Update();
  }
  catch (const itk::ExceptionObject & error)
  {
    gigapixel_fuzz::CheckRefusal(error.GetDescription(), "");
  }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("outlines.geojson");
  const std::string &                    path = input.Write(data, size);
  gigapixel_fuzz::MayRefuse(path, [&] {
    std::vector<gigapixel::Diagnostic> warnings;
    Draw(gigapixel::ReadAnnotations(path, &warnings));
    for (const gigapixel::Diagnostic & warning : warnings)
    {
      gigapixel_fuzz::CheckRefusal(warning.GetText(), path);
    }
  });
  return 0;
}
