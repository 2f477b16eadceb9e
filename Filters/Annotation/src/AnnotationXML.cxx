/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Annotations of ASAP, ImageScope and HALO: XML whose attributes hold level-0 pixels.
#include "AnnotationFormat.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelXMLElements.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>
#include <locale>
#include <sstream>
#include <utility>
#include <vector>

namespace gigapixel
{
namespace
{

void
Read(const std::string & text, const std::function<void(const XMLElement &)> & visit)
{
  const std::string damage = ReadXML(text, [&visit](const XMLElement & element) {
    visit(element);
    return true;
  });
  if (!damage.empty())
  {
    throw Refusal(Diagnostic("E-ANNOTATION-FORMAT", "its XML is damaged: " + damage, "save the annotations again"));
  }
}

AnnotationPoint
ReadPoint(const XMLElement & element)
{
  const AnnotationPoint point{ ParseCoordinate(element.Get("X")), ParseCoordinate(element.Get("Y")) };
  CheckPosition(point);
  return point;
}

/** The ellipse around the center that two half axes, or any two conjugate ones, span. */
AnnotationRing
DrawEllipse(const AnnotationPoint & center, const AnnotationPoint & a, const AnnotationPoint & b)
{
  constexpr int  sides = 720; // less than 1/4 pixel off the ellipse, up to 40000 pixels wide
  AnnotationRing ring;
  const double   turn = 2 * std::acos(-1.0);
  for (int i = 0; i < sides; ++i)
  {
    const double c = std::cos(turn * i / sides);
    const double s = std::sin(turn * i / sides);
    ring.push_back({ center.x + a.x * c + b.x * s, center.y + a.y * c + b.y * s });
  }
  return ring;
}

AnnotationPoint
Halve(const AnnotationPoint & from, const AnnotationPoint & to)
{
  return { (to.x - from.x) / 2, (to.y - from.y) / 2 };
}

/** An ellipse as programs store it: two corners of its box, or four, or the four ends of its axes, or the four corners
 * of a box that is turned. Other points are the ellipse's outline itself. */
AnnotationRing
ReadEllipse(const AnnotationRing & points)
{
  if (points.size() != 2 && points.size() != 4)
  {
    return points;
  }
  const auto byX = [](const AnnotationPoint & one, const AnnotationPoint & other) { return one.x < other.x; };
  const auto byY = [](const AnnotationPoint & one, const AnnotationPoint & other) { return one.y < other.y; };
  const auto [left, right] = std::minmax_element(points.begin(), points.end(), byX);
  const auto [top, bottom] = std::minmax_element(points.begin(), points.end(), byY);
  const AnnotationPoint half = Halve({ left->x, top->y }, { right->x, bottom->y });
  const AnnotationPoint center{ left->x + half.x, top->y + half.y };
  // Positions may be rounded.
  const double slack = 1 + 0.01 * std::max(half.x, half.y);
  const auto   isAt = [slack](double value, double place) { return std::abs(std::abs(value) - place) <= slack; };
  const auto   areAll = [&](const auto & where) {
    return std::all_of(points.begin(), points.end(), [&](const AnnotationPoint & point) {
      return where(point.x - center.x, point.y - center.y);
    });
  };
  const bool areCorners = areAll([&](double x, double y) { return isAt(x, half.x) && isAt(y, half.y); });
  const bool areEnds =
    areAll([&](double x, double y) { return (isAt(x, half.x) && isAt(y, 0)) || (isAt(x, 0) && isAt(y, half.y)); });
  if (areCorners || areEnds)
  {
    return DrawEllipse(center, { half.x, 0 }, { 0, half.y });
  }
  const AnnotationPoint a = Halve(points[0], points[1]);
  const AnnotationPoint b = Halve(points[1], points[2]);
  const AnnotationPoint opposite = Halve(points[3], points[2]);
  const bool            isParallelogram = std::hypot(opposite.x - a.x, opposite.y - a.y) <= slack;
  const bool            isRectangle = std::abs(a.x * b.x + a.y * b.y) <= slack * std::max(half.x, half.y);
  if (isParallelogram && isRectangle)
  {
    return DrawEllipse({ points[0].x + a.x + b.x, points[0].y + a.y + b.y }, a, b);
  }
  return points;
}

/** The rectangle that two of its corners span. */
AnnotationRing
ReadRectangle(const AnnotationRing & corners)
{
  if (corners.size() != 2)
  {
    return corners;
  }
  const AnnotationPoint & a = corners[0];
  const AnnotationPoint & b = corners[1];
  return { a, { b.x, a.y }, b, { a.x, b.y } };
}

AnnotationRing
ReadPolygon(const AnnotationRing & corners)
{
  return corners;
}

/** A kind of region with an area, as ImageScope numbers it and HALO names it. */
struct RegionKind
{
  const char * number;
  const char * name;
  AnnotationRing (*read)(const AnnotationRing & points);
};

const RegionKind regionKinds[] = {
  { "0", "polygon", ReadPolygon },
  { "1", "rectangle", ReadRectangle },
  { "2", "ellipse", ReadEllipse },
  { "", "freehand", ReadPolygon },
};

std::string
ToLower(std::string text)
{
  std::transform(
    text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/** The outline of a region; empty where it has no area. */
AnnotationRing
ReadRegion(const std::string & type, const AnnotationRing & points)
{
  const std::string name = ToLower(type);
  const auto kind = std::find_if(std::begin(regionKinds), std::end(regionKinds), [&name](const RegionKind & each) {
    return name == each.number || name == each.name;
  });
  return kind == std::end(regionKinds) ? AnnotationRing() : kind->read(points);
}

bool
Contains(const AnnotationRing & ring, const AnnotationPoint & point)
{
  bool inside = false;
  for (std::size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++)
  {
    const AnnotationPoint & a = ring[i];
    const AnnotationPoint & b = ring[j];
    inside ^= (a.y > point.y) != (b.y > point.y) && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x;
  }
  return inside;
}

/** A region of ImageScope or HALO. */
struct ImageScopeRegion
{
  std::string    type;
  std::string    className;
  std::size_t    layer;
  bool           isHole;
  AnnotationRing ring;
};

/** Makes a hole of the first annotation [begin, end) in which most of its corners lie. \return whether there is one */
bool
MakeHole(const AnnotationRing & hole, std::vector<Annotation> & annotations, std::size_t begin)
{
  const auto found = std::find_if(
    annotations.begin() + static_cast<std::ptrdiff_t>(begin), annotations.end(), [&hole](const auto & each) {
      const auto inside = std::count_if(hole.begin(), hole.end(), [&each](const AnnotationPoint & point) {
        return Contains(each.rings.front(), point);
      });
      return 2 * static_cast<std::size_t>(inside) > hole.size();
    });
  if (found == annotations.end())
  {
    return false;
  }
  found->rings.push_back(hole);
  return true;
}

} // namespace

std::string
FindRootElement(const std::string & text)
{
  std::string       root;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '<')
  {
    ReadXML(text, [&root](const XMLElement & element) {
      root = element.name.substr(0, 60);
      return false;
    });
  }
  return root;
}

double
ParseCoordinate(const std::string & text)
{
  std::string number = text;
  std::replace(number.begin(), number.end(), ',', '.'); // programs in some languages write a comma
  std::istringstream stream(number);
  stream.imbue(std::locale::classic());
  double value = 0;
  if (!(stream >> value) || !stream.eof())
  {
    throw Refusal(Diagnostic("E-ANNOTATION-FORMAT", "a position is not a pair of numbers", "save the annotations again")
                    .OfValue(text.substr(0, 60)));
  }
  return value;
}

bool
IsASAP(const std::string & text)
{
  return FindRootElement(text) == "ASAP_Annotations";
}

AnnotationContent
ReadASAP(const std::string & text)
{
  AnnotationContent content;
  Annotation        current;
  std::string       type;

  std::vector<std::pair<double, AnnotationPoint>> points; // of the current one, with their places
  const auto                                      finish = [&] {
    if (type == "Spline")
    {
      ++content.remarks["drawn as the polygon of its points, not as a spline"];
    }
    if (!type.empty())
    {
      std::stable_sort(
        points.begin(), points.end(), [](const auto & one, const auto & other) { return one.first < other.first; });
      if (!current.rings.empty())
      {
        for (const auto & point : points)
        {
          current.rings.back().push_back(point.second);
        }
      }
      points.clear();
      AddWithArea(std::move(current), content);
    }
  };
  Read(text, [&](const XMLElement & element) {
    if (element.name == "Annotation")
    {
      finish();
      type = element.Get("Type");
      const std::string group = element.Get("PartOfGroup");
      const bool        hasArea = type == "Polygon" || type == "Rectangle" || type == "Spline";
      current = { group == "None" ? std::string() : group, {}, {} };
      current.rings.resize(hasArea ? 1 : 0);
      type = type.empty() ? "none" : type;
    }
    else if (element.name == "Coordinate" && !current.rings.empty())
    {
      const std::string order = element.Get("Order"); // which need not be that of the elements
      points.emplace_back(order.empty() ? static_cast<double>(points.size()) : ParseCoordinate(order),
                          ReadPoint(element));
    }
  });
  finish();
  return content;
}

bool
IsImageScope(const std::string & text)
{
  return FindRootElement(text) == "Annotations";
}

AnnotationContent
ReadImageScope(const std::string & text)
{
  std::vector<ImageScopeRegion> regions;
  std::string                   className;
  std::size_t                   layer = 0;
  Read(text, [&](const XMLElement & element) {
    if (element.name == "Annotation")
    {
      className = element.Get("Name");
      ++layer;
    }
    else if (element.name == "Attribute" && element.Get("Name") == "Description" && className.empty() &&
             (regions.empty() || regions.back().layer != layer)) // of the layer: ImageScope shows it as its name
    {
      className = element.Get("Value");
    }
    else if (element.name == "Region")
    {
      const std::string negative = ToLower(element.Get("NegativeROA"));
      const bool        isNegative = negative == "1" || negative == "true";
      regions.push_back({ element.Get("Type"), className, layer, isNegative, {} });
    }
    else if ((element.name == "Vertex" || element.name == "V") && !regions.empty())
    {
      regions.back().ring.push_back(ReadPoint(element));
    }
  });
  AnnotationContent content;
  for (std::size_t begin = 0, end = 0; begin < regions.size(); begin = end)
  {
    while (end < regions.size() && regions[end].layer == regions[begin].layer)
    {
      ++end;
    }
    const std::size_t firstOfLayer = content.annotations.size();
    for (const bool holes : { false, true }) // a hole may stand before what it is in
    {
      for (std::size_t i = begin; i < end; ++i)
      {
        ImageScopeRegion & region = regions[i];
        if (region.isHole != holes)
        {
          continue;
        }
        AnnotationRing ring = ReadRegion(region.type, region.ring);
        if (!holes)
        {
          AddWithArea({ region.className, { std::move(ring) }, {} }, content);
        }
        else if (!MakeHole(ring, content.annotations, firstOfLayer))
        {
          ++content.remarks["left out: a negative region outside the regions of its layer"];
        }
      }
    }
  }
  return content;
}

} // namespace gigapixel
