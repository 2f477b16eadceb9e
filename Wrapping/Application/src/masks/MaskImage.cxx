/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MaskImage.h"

#include "ArgumentText.h"
#include "OutputCheck.h"
#include "SlideFile.h"

#include "gigapixelGridMatch.h"

#include "itkGigapixelFileSource.h"
#include "itkMetaDataObject.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>

namespace gigapixel::application
{
namespace
{
/** A reader of the file that knows of it what stands before the pixels; null: it is no slide or pyramid. */
itk::WholeSlideImageIO::Pointer
OpenPyramid(const std::string & file)
{
  auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->SetStoredValues(true);
  io->GiveWarningsOff(); // which follow when the mask itself is opened
  try
  {
    io->ReadImageInformation();
  }
  catch (const itk::ExceptionObject &)
  {
    return nullptr;
  }
  return io;
}

PhysicalImage
OpenMask(const std::string & file, itk::HighSamples high)
{
  CheckInputFile(file);
  const auto pyramid = OpenPyramid(file);
  if (pyramid && pyramid->GetComponentType() == itk::CommonEnums::IOComponent::FLOAT && !GetMadeBy(*pyramid).empty())
  {
    throw Refusal(
      Diagnostic("E-MASK-FORMAT",
                 "it has a number for each pixel, as maps of classify and probabilities of segment have, and "
                 "is no mask",
                 "give a mask, or look at the picture beside the map")
        .OfFile(file));
  }
  return AlignAxes(itk::GigapixelMaskSource(file, high), Grid(), "a slide");
}

/** Whether `label --classes` has made it: 0 glass, 1 tissue, 2 pen, 3 artifact. */
bool
HasTissueClasses(const std::string & file)
{
  const auto        pyramid = OpenPyramid(file);
  const std::string madeBy = (pyramid ? GetMadeBy(*pyramid) : std::string()) + ' ';
  return madeBy.rfind("label ", 0) == 0 && madeBy.find(" classes ") != std::string::npos;
}

/** Adds the class of a property such as "gigapixel.class.2" = "#0050d0 pen"; what is written otherwise is none. */
void
AddClass(const std::string & key, const std::string & text, std::map<unsigned char, MaskClass> & classes)
{
  const std::string start = "gigapixel.class.";
  const auto        label = key.rfind(start, 0) == 0 ? ReadInteger(key.substr(start.size())).value_or(-1) : -1;
  const auto        color = ReadColor(text);
  if (label < 0 || label > 255 || !color)
  {
    return;
  }
  constexpr std::size_t longestName = 100; // nobody reads more of what a damaged file holds
  classes[static_cast<unsigned char>(label)] = { text.size() > 8 ? text.substr(8, longestName) : std::to_string(label),
                                                 *color };
}

std::map<unsigned char, MaskClass>
FindClasses(const std::string & file)
{
  std::map<unsigned char, MaskClass> classes;
  const auto                         io = OpenPyramid(file);
  if (!io) // none of ours
  {
    return classes;
  }
  const itk::MetaDataDictionary & dictionary = io->GetMetaDataDictionary();
  for (const std::string & key : dictionary.GetKeys())
  {
    std::string text;
    if (itk::ExposeMetaData(dictionary, key, text))
    {
      AddClass(key, text, classes);
    }
  }
  return classes;
}
} // namespace

std::optional<std::array<unsigned char, 3>>
ReadColor(const std::string & text)
{
  if (text.size() < 7 || text[0] != '#' || text.find_first_not_of("0123456789abcdefABCDEF", 1) < 7)
  {
    return std::nullopt;
  }
  std::array<unsigned char, 3> color{};
  for (std::size_t channel = 0; channel < 3; ++channel)
  {
    color[channel] = static_cast<unsigned char>(std::stoul(text.substr(1 + 2 * channel, 2), nullptr, 16));
  }
  return color;
}

MaskImage::MaskImage(const std::string & file, itk::HighSamples high)
  : m_Image(OpenMask(file, high))
  , m_HasTissueClasses(HasTissueClasses(file))
  , m_Classes(FindClasses(file))
{}

void
MaskImage::ReadRows(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const
{
  this->ReadLabels(first, count, rows);
  std::transform(rows.begin(), rows.end(), rows.begin(), [this](unsigned char value) {
    return m_HasTissueClasses ? value == 1 : value != 0;
  });
}

void
MaskImage::ReadLabels(std::int64_t first, std::int64_t count, std::vector<unsigned char> & rows) const
{
  this->ReadLabels({ 0, first, this->GetSize().width, count }, rows);
}

void
MaskImage::ReadLabels(const Region & region, std::vector<std::uint8_t> & labels) const
{
  labels.resize(static_cast<std::size_t>(region.width * region.height));
  m_Image.pixels->Read(region, labels.data());
}

void
MaskImage::ReadLabels(const Region & region, std::vector<std::uint32_t> & labels) const
{
  if (this->AreLabelsWide())
  {
    labels.resize(static_cast<std::size_t>(region.width * region.height));
    m_Image.pixels->Read(region, reinterpret_cast<std::uint8_t *>(labels.data()));
    return;
  }
  std::vector<std::uint8_t> bytes;
  this->ReadLabels(region, bytes);
  labels.assign(bytes.begin(), bytes.end());
}

std::vector<unsigned char>
SampleMask(const MaskImage & mask, const GridMatch & match, const std::array<unsigned, 2> & size, bool asLabels)
{
  std::vector<unsigned char> marks(std::size_t(size[0]) * size[1]);
  std::vector<unsigned char> row;
  // The mask's pixel; -1: the picture's lies outside of the mask.
  const auto find = [&match, &size](std::size_t axis, unsigned pixel) {
    const AxisMatch &  on = match.axes[axis];
    const double       scale = static_cast<double>(on.pixels) / size[axis];
    const std::int64_t found = on((pixel + 0.5) * scale);
    return found >= 0 && found < on.maskPixels ? found : -1;
  };
  for (unsigned y = 0; y < size[1]; ++y)
  {
    const std::int64_t maskY = find(1, y);
    if (maskY < 0)
    {
      continue;
    }
    asLabels ? mask.ReadLabels(maskY, 1, row) : mask.ReadRows(maskY, 1, row);
    for (unsigned x = 0; x < size[0]; ++x)
    {
      const std::int64_t maskX = find(0, x);
      marks[std::size_t(y) * size[0] + x] = maskX >= 0 ? row[static_cast<std::size_t>(maskX)] : 0;
    }
  }
  return marks;
}

} // namespace gigapixel::application
