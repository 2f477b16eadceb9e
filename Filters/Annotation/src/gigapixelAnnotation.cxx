/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAnnotation.h"

#include "AnnotationFormat.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gigapixel
{
namespace
{
using JSON = nlohmann::json;

const AnnotationFormat formats[] = {
  { "GeoJSON", IsGeoJSON, ReadGeoJSON },
  { "XML of ASAP", IsASAP, ReadASAP },
  { "XML of ImageScope or HALO", IsImageScope, ReadImageScope },
};

AnnotationContent
ReadContent(const std::string & file)
{
  try
  {
    const std::string text = ReadAnnotationText(file);
    const auto        format =
      std::find_if(std::begin(formats), std::end(formats), [&text](const auto & each) { return each.isOf(text); });
    if (format != std::end(formats))
    {
      return format->read(text);
    }
    const std::string root = FindRootElement(text);
    std::string       names;
    for (const AnnotationFormat & each : formats)
    {
      names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    throw Refusal(
      Diagnostic("E-ANNOTATION-FORMAT",
                 (root.empty() ? "the file" : "its XML, <" + root + ">,") + " is none of the formats " + names,
                 "export the annotations as GeoJSON"));
  }
  catch (const Refusal & error)
  {
    throw Refusal(error.GetDiagnostic().OfFile(file));
  }
}

void
WriteRing(const AnnotationRing & ring, std::ostream & stream)
{
  stream << '[';
  for (std::size_t i = 0; i <= ring.size(); ++i)
  {
    const AnnotationPoint & point = ring[i % ring.size()];
    stream << (i > 0 ? ", [" : "[") << point.x << ", " << point.y << ']';
  }
  stream << ']';
}
} // namespace

void
CheckPosition(const AnnotationPoint & point)
{
  // Farther out a 32-bit pixel index ends, and an outline means another coordinate system.
  if (!(std::abs(point.x) < 1e9 && std::abs(point.y) < 1e9))
  {
    throw Refusal(Diagnostic("E-ANNOTATION-FORMAT",
                             "a position lies beyond 1e9 pixels",
                             "export the annotations in pixels of the full resolution"));
  }
}

void
AddWithArea(Annotation annotation, AnnotationContent & content)
{
  const bool hasArea = std::any_of(
    annotation.rings.begin(), annotation.rings.end(), [](const AnnotationRing & ring) { return ring.size() > 2; });
  if (hasArea)
  {
    content.annotations.push_back(std::move(annotation));
  }
  else
  {
    ++content.remarks["left out: without an area (points, lines)"];
  }
}

std::vector<Annotation>
ReadAnnotations(const std::string & file, std::vector<Diagnostic> * warnings)
{
  AnnotationContent content = ReadContent(file);
  if (warnings)
  {
    for (const auto & [remark, count] : content.remarks)
    {
      warnings->push_back(
        Diagnostic("W-ANNOTATION-SHAPE", std::to_string(count) + (count == 1 ? " shape is " : " shapes are ") + remark)
          .OfFile(file)
          .OfValue(std::to_string(count)));
    }
  }
  return std::move(content.annotations);
}

void
WriteAnnotations(const std::vector<Annotation> & annotations, const std::string & file, bool mayReplace)
{
  AtomicFile         output(file, mayReplace);
  std::ostringstream stream;
  stream.precision(12);
  stream << "{\n  \"type\": \"FeatureCollection\",\n  \"features\": [";
  const char * separator = "\n";
  for (const Annotation & annotation : annotations)
  {
    const bool areSeveral = !annotation.laterParts.empty();
    stream << separator << R"(    {"type": "Feature", "geometry": {"type": ")"
           << (areSeveral ? R"(MultiPolygon", "coordinates": [)" : R"(Polygon", "coordinates": )");
    std::vector<std::size_t> ends = annotation.laterParts;
    ends.push_back(annotation.rings.size());
    std::size_t ring = 0;
    for (const std::size_t end : ends)
    {
      stream << (ring > 0 ? ", [" : "[");
      for (const std::size_t begin = ring; ring < end; ++ring)
      {
        stream << (ring > begin ? ", " : "");
        WriteRing(annotation.rings[ring], stream);
      }
      stream << ']';
    }
    stream << (areSeveral ? "]" : "") << R"(}, "properties": {"objectType": "annotation")";
    if (!annotation.name.empty())
    {
      stream << R"(, "name": )" << JSON(annotation.name).dump();
    }
    if (!annotation.className.empty())
    {
      stream << R"(, "classification": {"name": )" << JSON(annotation.className).dump() << '}';
    }
    stream << "}}";
    separator = ",\n";
    output.Append(stream.str());
    stream.str({});
  }
  stream << "\n  ]\n}\n";
  output.Append(stream.str());
  output.Commit();
}

} // namespace gigapixel
