/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// GeoJSON (RFC 7946) as QuPath writes it, and what other programs make of that.
#include "AnnotationFormat.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json.hpp>

namespace gigapixel
{
namespace
{
using JSON = nlohmann::json;

Refusal
NotGeoJSON(const std::string & why)
{
  return Refusal(Diagnostic("E-ANNOTATION-FORMAT",
                            "its GeoJSON has no outlines as QuPath exports them: " + why,
                            "export the annotations again as GeoJSON"));
}

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
    CheckPosition(ring.back());
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
GetText(const JSON & object, const char * name)
{
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/** Class names of {"name": ...} or {"names": [...]}, as QuPath writes them, of plain text, or of such an object as
 * text, which tables of features make of it. */
std::string
ReadClassification(const JSON & classification)
{
  if (classification.is_string())
  {
    const auto & text = classification.get_ref<const std::string &>();
    const JSON   object = !text.empty() && text[0] == '{' ? JSON::parse(text, nullptr, false) : JSON();
    return object.is_object() ? ReadClassification(object) : text;
  }
  if (!classification.is_object())
  {
    return {};
  }
  std::string joined = GetText(classification, "name");
  const auto  names = classification.find("names");
  if (joined.empty() && names != classification.end() && names->is_array())
  {
    for (const JSON & name : *names)
    {
      joined += name.is_string() ? (joined.empty() ? "" : ": ") + name.get<std::string>() : "";
    }
  }
  return joined;
}

std::string
ReadClassName(const JSON & feature)
{
  const auto properties = feature.find("properties");
  return properties != feature.end() && properties->is_object()
           ? ReadClassification(properties->value("classification", JSON()))
           : std::string();
}

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
ReadFeatures(const JSON & json, AnnotationContent & content)
{
  if (json.is_array() || (json.is_object() && json.value("type", "") == "FeatureCollection"))
  {
    for (const JSON & feature : json.is_array() ? json : GetMember(json, "features"))
    {
      ReadFeatures(feature, content);
    }
    return;
  }
  const JSON & type = GetMember(json, "type");
  const bool   isFeature = type == "Feature";
  if (!isFeature && json.find("coordinates") == json.end() && json.find("geometries") == json.end())
  {
    throw NotGeoJSON("it holds no features");
  }
  const JSON & geometry = isFeature ? GetMember(json, "geometry") : json; // a geometry may stand alone
  if (!HasGeometry(geometry))
  {
    ++content.remarks["left out: without a geometry (null)"];
    return;
  }
  Annotation annotation;
  ReadGeometry(geometry, annotation);
  annotation.className = isFeature ? ReadClassName(json) : std::string();
  const JSON * const properties = isFeature && json.contains("properties") ? &json["properties"] : nullptr;
  if (properties != nullptr && properties->is_object() && properties->contains("name") &&
      (*properties)["name"].is_string())
  {
    annotation.name = (*properties)["name"].get<std::string>();
  }
  AddWithArea(std::move(annotation), content);
}

/** QuPath writes NaN and Infinity for measurements that it does not have, which is no JSON. They become empty texts of
 * the same length, so that no coordinate can be one and a parser's positions stay right. */
std::string
WithoutBareNumbers(std::string text)
{
  bool isInText = false;
  for (std::size_t i = 0; i < text.size(); ++i)
  {
    const char c = text[i];
    if (isInText)
    {
      i += c == '\\' ? 1 : 0;
      isInText = c != '"';
      continue;
    }
    isInText = c == '"';
    for (const char * const word : { "NaN", "Infinity", "-Infinity" })
    {
      const std::string token(word);
      if (c == token[0] && text.compare(i, token.size(), token) == 0)
      {
        text.replace(i, token.size(), "\"\"" + std::string(token.size() - 2, ' '));
        i += token.size() - 1;
        break;
      }
    }
  }
  return text;
}

} // namespace

bool
IsGeoJSON(const std::string & text)
{
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string::npos && (text[begin] == '{' || text[begin] == '[');
}

AnnotationContent
ReadGeoJSON(const std::string & text)
{
  AnnotationContent content;
  try
  {
    constexpr int deepest = 64; // of a multipolygon in a collection it is 9
    const auto    isFlat = [](int depth, JSON::parse_event_t, const JSON &) {
      return depth <= deepest ? true : throw NotGeoJSON("it is nested deeper than outlines are");
    };
    ReadFeatures(JSON::parse(WithoutBareNumbers(text), isFlat), content);
  }
  catch (const JSON::parse_error & error)
  {
    throw Refusal(Diagnostic("E-ANNOTATION-FORMAT",
                             "its JSON breaks off or goes wrong at byte " + std::to_string(error.byte),
                             "export the annotations again"));
  }
  catch (const JSON::exception &)
  {
    throw NotGeoJSON("a value in it is of another type than there");
  }
  return content;
}

} // namespace gigapixel
