/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAnnotation.h"

#include "gigapixelAtomicFile.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{
using JSON = nlohmann::json;

/** What is wrong with a file, without its name. */
class NotGeoJSON : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

const JSON &
GetMember(const JSON & object, const char * name)
{
  const auto member = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || member == object.end())
  {
    throw NotGeoJSON(std::string("a part of it has no \"") + name + '"');
  }
  return *member;
}

/** What a sentence repeats of a file. */
std::string
Shorten(const std::string & text)
{
  constexpr std::size_t most = 60;
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

AnnotationRing
ReadRing(const JSON & positions)
{
  AnnotationRing ring;
  for (const JSON & position : positions)
  {
    if (!position.is_array() || position.size() < 2 || !position[0].is_number() || !position[1].is_number())
    {
      throw NotGeoJSON("a position is not a pair of numbers");
    }
    ring.push_back({ position[0].get<double>(), position[1].get<double>() });
    // Farther out a 32-bit pixel index ends, and an outline means another coordinate system.
    if (!(std::abs(ring.back().x) < 1e9 && std::abs(ring.back().y) < 1e9))
    {
      throw NotGeoJSON("a position lies beyond 1e9 pixels");
    }
  }
  if (ring.size() > 1 && ring.front().x == ring.back().x && ring.front().y == ring.back().y)
  {
    ring.pop_back();
  }
  return ring;
}

void
ReadGeometry(const JSON & geometry, Annotation & annotation)
{
  const JSON & type = GetMember(geometry, "type");
  const auto   readPolygon = [&annotation](const JSON & polygon) {
    if (!annotation.rings.empty())
    {
      annotation.laterParts.push_back(annotation.rings.size());
    }
    for (const JSON & ring : polygon)
    {
      annotation.rings.push_back(ReadRing(ring));
    }
  };
  if (type == "Polygon")
  {
    readPolygon(GetMember(geometry, "coordinates"));
  }
  else if (type == "MultiPolygon")
  {
    for (const JSON & polygon : GetMember(geometry, "coordinates"))
    {
      readPolygon(polygon);
    }
  }
  else if (type == "GeometryCollection")
  {
    for (const JSON & part : GetMember(geometry, "geometries"))
    {
      ReadGeometry(part, annotation);
    }
  }
  else if (type != "Point" && type != "MultiPoint" && type != "LineString" && type != "MultiLineString")
  {
    throw NotGeoJSON("a geometry is of the type " + Shorten(type.dump(-1, ' ', true, JSON::error_handler_t::replace)) +
                     ", which there is not");
  }
}

std::string
ReadClassName(const JSON & feature)
{
  const JSON classification = feature.value("/properties/classification"_json_pointer, JSON());
  if (!classification.is_object())
  {
    return {};
  }
  if (classification.contains("name") && classification["name"].is_string())
  {
    return classification["name"];
  }
  std::string joined;
  for (const JSON & name : classification.value("names", JSON::array()))
  {
    joined += (joined.empty() ? "" : ": ") + name.get<std::string>();
  }
  return joined;
}

/** What a file holds. */
struct Features
{
  std::vector<Annotation> annotations;
  std::size_t             withoutGeometry{ 0 };
  std::size_t             withoutArea{ 0 };
};

/** Also an empty list of coordinates may stand for no geometry (RFC 7946, 3.1). */
bool
HasGeometry(const JSON & geometry)
{
  if (geometry.is_null())
  {
    return false;
  }
  const auto coordinates = geometry.find("coordinates");
  const auto found = coordinates != geometry.end() ? coordinates : geometry.find("geometries");
  return found == geometry.end() || !found->empty();
}

void
ReadFeatures(const JSON & json, Features & features)
{
  if (json.is_array() || (json.is_object() && json.value("type", "") == "FeatureCollection"))
  {
    for (const JSON & feature : json.is_array() ? json : GetMember(json, "features"))
    {
      ReadFeatures(feature, features);
    }
    return;
  }
  if (GetMember(json, "type") != "Feature")
  {
    throw NotGeoJSON("it holds no features");
  }
  const JSON & geometry = GetMember(json, "geometry");
  if (!HasGeometry(geometry))
  {
    ++features.withoutGeometry;
    return;
  }
  Annotation annotation;
  ReadGeometry(geometry, annotation);
  annotation.className = ReadClassName(json);
  const bool hasArea = std::any_of(
    annotation.rings.begin(), annotation.rings.end(), [](const AnnotationRing & ring) { return ring.size() > 2; });
  if (!hasArea)
  {
    ++features.withoutArea;
    return;
  }
  features.annotations.push_back(std::move(annotation));
}

void
WarnOfPassedOver(const std::string & file, std::size_t count, const std::string & reason, std::vector<std::string> & to)
{
  if (count > 0)
  {
    to.push_back(file + ": " + std::to_string(count) + (count == 1 ? " feature " : " features ") + reason + '.');
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

std::vector<Annotation>
ReadAnnotations(const std::string & file, std::vector<std::string> * warnings)
{
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
  {
    throw std::runtime_error(file + " cannot be read; look at its name and permissions.");
  }
  Features features;
  try
  {
    constexpr int deepest = 64; // of a multipolygon in a collection it is 9
    const auto    isFlat = [](int depth, JSON::parse_event_t, const JSON &) {
      return depth <= deepest ? true : throw NotGeoJSON("it is nested deeper than outlines are");
    };
    ReadFeatures(JSON::parse(stream, isFlat), features);
  }
  catch (const NotGeoJSON & error)
  {
    throw std::runtime_error(file + " is no GeoJSON of annotations: " + error.what() + '.');
  }
  catch (const JSON::parse_error & error)
  {
    throw std::runtime_error(file + " is no JSON: it breaks off or goes wrong at byte " + std::to_string(error.byte) +
                             '.');
  }
  catch (const JSON::exception &)
  {
    throw std::runtime_error(file + " is no GeoJSON of annotations: a value in it is of another type than there.");
  }
  if (warnings)
  {
    WarnOfPassedOver(file, features.withoutGeometry, "without a geometry (null) passed over", *warnings);
    WarnOfPassedOver(file, features.withoutArea, "without an area (points, lines) passed over", *warnings);
  }
  return std::move(features.annotations);
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
    stream << separator << R"(    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [)";
    for (std::size_t i = 0; i < annotation.rings.size(); ++i)
    {
      stream << (i > 0 ? ", " : "");
      WriteRing(annotation.rings[i], stream);
    }
    stream << R"(]}, "properties": {"objectType": "annotation")";
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
