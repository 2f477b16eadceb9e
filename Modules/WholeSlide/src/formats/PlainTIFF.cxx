/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A TIFF that says all in its tags.
#include "SlideFormat.h"

#include <stdexcept>

namespace gigapixel
{
namespace
{

bool
Detect(const SlideFile & file)
{
  return file.IsTIFF();
}

/** Pages that we cannot read may be of a vendor's own dialect of TIFF. */
bool
IsVendors(const SlideFile & file)
{
  const std::string vendor = file.GetOpenSlideVendor().value_or("");
  return !vendor.empty() && vendor != "generic-tiff";
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  std::shared_ptr<TIFFLayout> layout;
  try
  {
    layout = std::make_shared<TIFFLayout>(file.GetPath());
  }
  catch (const std::runtime_error &)
  {
    if (IsVendors(file))
    {
      return OpenThroughOpenSlide(file);
    }
    throw;
  }
  layout->AddPagesByTags();
  return OpenTIFF(file, std::move(layout));
}

bool
Claims(const SlideFile & file)
{
  try
  {
    TIFFLayout layout(file.GetPath());
    layout.AddPagesByTags();
    return layout.IsTiledPyramid();
  }
  catch (const std::runtime_error &)
  {
    return IsVendors(file);
  }
}

} // namespace

extern const SlideFormat plainTIFFFormat;
const SlideFormat        plainTIFFFormat{ "generic-tiff", { ".tif", ".tiff" }, Detect, Open, Claims };

} // namespace gigapixel
