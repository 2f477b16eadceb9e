/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SegmentationNRRD.h"

#include "itkImageFileWriter.h"
#include "itkMetaDataObject.h"
#include "itkNrrdImageIO.h"

#include <iterator>
#include <locale>
#include <sstream>

namespace gigapixel::commandline
{
namespace
{
/** Colors that stand out from hematoxylin and eosin, and from each other. */
const char *
GetColor(std::size_t index)
{
  static constexpr const char * colors[] = { "0.10 0.75 0.35", "0.95 0.75 0.10", "0.10 0.60 0.95", "0.95 0.45 0.10",
                                             "0.55 0.35 0.95", "0.10 0.80 0.80", "0.60 0.60 0.20", "0.90 0.20 0.20" };
  return colors[index % std::size(colors)];
}

std::string
ToColor(const std::array<unsigned char, 3> & rgb)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << rgb[0] / 255.0 << ' ' << rgb[1] / 255.0 << ' ' << rgb[2] / 255.0;
  return text.str();
}

/** The grid of all pixels in Slicer's words: index to RAS in mm, row by row, then the first and last index of each
 * axis. */
std::string
DescribeGrid(const SegmentationImage & image)
{
  const auto         size = image.GetLargestPossibleRegion().GetSize();
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  for (unsigned row = 0; row < 3; ++row)
  {
    const int sign = row < 2 ? -1 : 1; // LPS to RAS
    for (unsigned column = 0; column < 3; ++column)
    {
      // Where nothing stands a plain 0: a product with it might be -0.
      const double part = image.GetDirection()[row][column];
      text << (part == 0 ? 0 : sign * part * image.GetSpacing()[column]) << ';';
    }
    text << sign * image.GetOrigin()[row] << ';';
  }
  text << "0;0;0;1;0;" << size[0] - 1 << ";0;" << size[1] - 1 << ";0;" << size[2] - 1 << ';';
  return text.str();
}

void
Describe(SegmentationImage & image, const std::vector<Segment> & segments)
{
  auto &     dictionary = image.GetMetaDataDictionary();
  const auto size = image.GetLargestPossibleRegion().GetSize();
  const auto set = [&dictionary](const std::string & key, const std::string & value) {
    itk::EncapsulateMetaData<std::string>(dictionary, key, value);
  };
  for (std::size_t i = 0; i < segments.size(); ++i)
  {
    const std::string key = "Segment" + std::to_string(i) + '_';
    set(key + "ID", "segment_" + std::to_string(segments[i].label));
    set(key + "Name", segments[i].name);
    set(key + "Color", segments[i].color.empty() ? GetColor(i) : segments[i].color);
    set(key + "LabelValue", std::to_string(segments[i].label));
    set(key + "Layer", "0");
    set(key + "Extent",
        "0 " + std::to_string(size[0] - 1) + " 0 " + std::to_string(size[1] - 1) + " 0 " + std::to_string(size[2] - 1));
  }
  set("Segmentation_MasterRepresentation", "Binary labelmap");
  // Without it Slicer would cut off what is around the segments when it saves them, and the file were no mask of the
  // slide.
  set("Segmentation_ReferenceImageExtentOffset", "0 0 0");
  set("Segmentation_ConversionParameters", "Reference image geometry|" + DescribeGrid(image) + "|Grid of the mask&");
}
} // namespace

std::vector<Segment>
FindSegments(const LabelCounts &                        counts,
             const std::map<unsigned char, MaskClass> & classes,
             const std::string &                        objectName)
{
  std::vector<Segment> segments;
  for (unsigned value = 1; value < 255; ++value)
  {
    if (counts[value] > 0)
    {
      const auto label = static_cast<unsigned char>(value);
      const auto known = classes.find(label);
      segments.push_back(known == classes.end()
                           ? Segment{ "Class " + std::to_string(value), label, label }
                           : Segment{ known->second.name, label, label, ToColor(known->second.color) });
    }
  }
  return segments.empty() ? std::vector<Segment>{ { objectName, 255, 1 } } : segments;
}

void
WriteSegments(SegmentationImage & image, const std::vector<Segment> & segments, const std::string & file)
{
  Describe(image, segments);
  const auto writer = itk::ImageFileWriter<SegmentationImage>::New();
  writer->SetImageIO(itk::NrrdImageIO::New());
  writer->SetInput(&image);
  writer->SetFileName(file);
  writer->UseCompressionOn();
  writer->Update();
}

} // namespace gigapixel::commandline
