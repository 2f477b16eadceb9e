/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Cohorts as CSV.
#include "FuzzTarget.h"
#include "gigapixelCohort.h"

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("cohort.csv");
  static const bool                      hasFiles = [] {
    for (const char * name : { "/a.tif", "/b.tif", "/a.m.tif", "/b.m.tif" })
    {
      std::ofstream(input.GetFolder() + name) << name;
    }
    return true;
  }();
  static_cast<void>(hasFiles);
  const std::string & path = input.Write(data, size);
  gigapixel_fuzz::MayRefuse(path, [&] {
    for (const gigapixel::Diagnostic & warning : gigapixel::Cohort::Load(path).warnings)
    {
      gigapixel_fuzz::CheckRefusal(warning.GetText(), path);
    }
  });
  return 0;
}
