/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SegmentationNRRD.h"

#include "gigapixelAtomicFile.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <locale>
#include <memory>
#include <new>
#include <sstream>

#include <zlib.h>

namespace gigapixel::application
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

/** A value of a key in one line (https://teem.sourceforge.net/nrrd/format.html#general.5). */
std::string
Escape(const std::string & text)
{
  std::string escaped;
  for (const char c : text)
  {
    escaped += c == '\\' ? std::string("\\\\") : c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

std::string
MakeHeader(const SegmentationImage & image, const std::vector<Segment> & segments)
{
  const auto         size = image.GetLargestPossibleRegion().GetSize();
  const auto &       origin = image.GetOrigin();
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << "NRRD0004\ntype: unsigned char\ndimension: 3\nspace: left-posterior-superior\nsizes: " << size[0] << ' '
       << size[1] << ' ' << size[2] << "\nspace directions:";
  for (unsigned axis = 0; axis < 3; ++axis)
  {
    for (unsigned row = 0; row < 3; ++row)
    {
      text << (row == 0 ? " (" : ",") << image.GetDirection()[row][axis] * image.GetSpacing()[axis];
    }
    text << ')';
  }
  text << "\nkinds: domain domain domain\nencoding: gzip\nspace origin: (" << origin[0] << ',' << origin[1] << ','
       << origin[2] << ")\n";
  for (std::size_t i = 0; i < segments.size(); ++i)
  {
    const Segment &   segment = segments[i];
    const std::string key = "Segment" + std::to_string(i) + '_';
    text << key << "ID:=segment_" << +segment.label << '\n'
         << key << "Name:=" << Escape(segment.name) << '\n'
         << key << "Color:=" << (segment.color.empty() ? GetColor(i) : segment.color) << '\n'
         << key << "LabelValue:=" << +segment.label << '\n'
         << key << "Layer:=0\n"
         << key << "Extent:=0 " << size[0] - 1 << " 0 " << size[1] - 1 << " 0 " << size[2] - 1 << '\n';
  }
  // Without the offset Slicer would cut off what is around the segments when it saves them, and the file were no mask
  // of the slide.
  text << "Segmentation_MasterRepresentation:=Binary labelmap\nSegmentation_ReferenceImageExtentOffset:=0 0 0\n"
       << "Segmentation_ConversionParameters:=Reference image geometry|" << DescribeGrid(image)
       << "|Grid of the mask&\n\n";
  return text.str();
}

/** Appends bytes as a stream of gzip. */
void
AppendCompressed(const unsigned char * bytes, std::size_t count, AtomicFile & file)
{
  z_stream   stream{};
  const auto window = 15 + 16; // the largest, with the header of gzip
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
  {
    throw std::bad_alloc(); // zlib has no other reason
  }
  const std::unique_ptr<z_stream, int (*)(z_streamp)> ending(&stream, deflateEnd);
  std::vector<unsigned char>                          piece(1 << 18);
  int                                                 state = Z_OK;
  stream.next_in = const_cast<unsigned char *>(bytes); // zlib reads it alone
  while (state != Z_STREAM_END)
  {
    if (stream.avail_in == 0)
    {
      const std::size_t given = std::min<std::size_t>(count, std::numeric_limits<uInt>::max());
      stream.avail_in = static_cast<uInt>(given);
      count -= given;
    }
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    state = deflate(&stream, count == 0 ? Z_FINISH : Z_NO_FLUSH);
    file.Append(piece.data(), piece.size() - stream.avail_out);
  }
}
} // namespace

std::vector<Segment>
FindSegments(const LabelCounts &                        counts,
             const std::map<unsigned char, MaskClass> & classes,
             const std::string &                        objectName)
{
  constexpr std::ptrdiff_t mostUnnamed = 32; // more values are those of gray pixels, as JPEG leaves them at edges
  const auto               isPresent = [](std::int64_t count) { return count > 0; };
  const auto               present = std::count_if(counts.begin() + 1, counts.end(), isPresent);
  const bool               isGray = classes.empty() && present > mostUnnamed;
  std::vector<Segment>     segments;
  for (unsigned value = 1; value < 255 && !isGray; ++value)
  {
    const auto label = static_cast<unsigned char>(value);
    const auto known = classes.find(label);
    // One segment at least, so that there is something to draw in.
    if (counts[value] > 0 || (present == 0 && known != classes.end()))
    {
      segments.push_back(known == classes.end()
                           ? Segment{ "Class " + std::to_string(value), label, label }
                           : Segment{ known->second.name, label, label, ToColor(known->second.color) });
    }
  }
  return segments.empty() ? std::vector<Segment>{ { objectName, Segment::Anything, 1 } } : segments;
}

LabelMap
MakeLabelMap(const std::vector<Segment> & segments)
{
  LabelMap labels{};
  for (const Segment & segment : segments)
  {
    if (segment.value == Segment::Anything)
    {
      std::fill(labels.begin() + 1, labels.end(), segment.label);
    }
    labels[segment.value] = segment.label;
  }
  return labels;
}

void
WriteSegments(const SegmentationImage &    image,
              const std::vector<Segment> & segments,
              const std::string &          file,
              bool                         mayReplace)
{
  AtomicFile output(file, mayReplace);
  output.Append(MakeHeader(image, segments));
  AppendCompressed(image.GetBufferPointer(), image.GetBufferedRegion().GetNumberOfPixels(), output);
  output.Commit();
}

} // namespace gigapixel::application
