/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MaskImage.h"

#include "OutputCheck.h"
#include "SlideFile.h"

#include "gigapixelGridMatch.h"

#include "itkGigapixelFileSource.h"

#include <algorithm>

namespace gigapixel::commandline
{
namespace
{
PhysicalImage
OpenMask(const std::string & file)
{
  CheckInputFile(file);
  return AlignAxes(itk::GigapixelMaskSource(file, itk::HighSamples::Are255), Grid(), "a slide");
}

/** Whether `label --classes` has made it: 0 glass, 1 tissue, 2 pen, 3 artifact. */
bool
HasTissueClasses(const std::string & file)
{
  const std::string madeBy = FindMadeBy(file) + ' ';
  return madeBy.rfind("label ", 0) == 0 && madeBy.find(" classes ") != std::string::npos;
}
} // namespace

MaskImage::MaskImage(const std::string & file)
  : m_Image(OpenMask(file))
  , m_HasTissueClasses(HasTissueClasses(file))
{}

void
MaskImage::ReadRows(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const
{
  const std::int64_t width = this->GetSize().width;
  rows.resize(static_cast<std::size_t>(width * count));
  m_Image.pixels->Read({ 0, first, width, count }, rows.data());
  std::transform(rows.begin(), rows.end(), rows.begin(), [this](unsigned char value) {
    return m_HasTissueClasses ? value == 1 : value != 0;
  });
}

} // namespace gigapixel::commandline
