/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Drawing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <locale>
#include <sstream>
#include <utility>

namespace gigapixel::application
{
namespace
{

// Strokes of the characters from ! to ~: corners of a line as two digits, x from 0 to 4 and y from 0 to 8 upwards, of
// which 2 is the base line, 6 the height of small letters and 8 that of capitals; ";" begins another line.
constexpr const char * Strokes[] = {
  "08 04;02 02",                                     // !
  "08 06;28 26",                                     // "
  "12 18;32 38;04 44;06 46",                         // #
  "47 38 18 07 06 15 35 44 43 32 12 03;28 22",       // $
  "02 48;07 08 18 17 07;32 33 43 42 32",             // %
  "42 06 07 18 27 26 03 12 22 44",                   // &
  "08 06",                                           // '
  "18 06 04 12",                                     // (
  "08 16 14 02",                                     // )
  "23 27;04 46;06 44",                               // *
  "23 27;05 45",                                     // +
  "13 12 00",                                        // ,
  "05 35",                                           // -
  "02 02",                                           // .
  "02 48",                                           // /
  "12 03 07 18 38 47 43 32 12",                      // 0
  "07 28 22;02 42",                                  // 1
  "07 18 38 47 46 02 42",                            // 2
  "07 18 38 47 46 35 44 43 32 12 03;35 15",          // 3
  "32 38 04 44",                                     // 4
  "48 08 05 35 44 43 32 12 03",                      // 5
  "38 18 06 03 12 32 43 44 35 15 04",                // 6
  "08 48 12",                                        // 7
  "15 06 07 18 38 47 46 35 15 04 03 12 32 43 44 35", // 8
  "12 32 44 47 38 18 07 06 15 35 46",                // 9
  "03 03;05 05",                                     // :
  "15 15;13 12 00",                                  // ;
  "37 05 33",                                        // <
  "06 46;04 44",                                     // =
  "07 35 03",                                        // >
  "07 18 38 47 46 25 24;22 22",                      // ?
  "34 36 26 15 14 23 34 43 47 38 18 07 03 12 42",    // @
  "02 28 42;14 34",                                  // A
  "02 08 38 47 46 35 05;35 44 43 32 02",             // B
  "47 38 18 07 03 12 32 43",                         // C
  "02 08 28 46 44 22 02",                            // D
  "48 08 02 42;05 35",                               // E
  "48 08 02;05 35",                                  // F
  "47 38 18 07 03 12 32 43 45 25",                   // G
  "02 08;42 48;05 45",                               // H
  "02 08",                                           // I
  "48 43 32 12 03",                                  // J
  "02 08;48 05 42",                                  // K
  "08 02 42",                                        // L
  "02 08 25 48 42",                                  // M
  "02 08 42 48",                                     // N
  "12 03 07 18 38 47 43 32 12",                      // O
  "02 08 38 47 46 35 05",                            // P
  "12 03 07 18 38 47 43 32 12;24 42",                // Q
  "02 08 38 47 46 35 05;25 42",                      // R
  "47 38 18 07 06 15 35 44 43 32 12 03",             // S
  "08 48;28 22",                                     // T
  "08 03 12 32 43 48",                               // U
  "08 22 48",                                        // V
  "08 12 26 32 48",                                  // W
  "02 48;08 42",                                     // X
  "08 25 48;25 22",                                  // Y
  "08 48 02 42",                                     // Z
  "18 08 02 12",                                     // [
  "08 42",                                           // backslash
  "08 18 12 02",                                     // ]
  "06 28 46",                                        // ^
  "01 41",                                           // _
  "08 17",                                           // `
  "16 36 45 42;44 14 03 12 32 43",                   // a
  "08 02;05 16 36 45 43 32 12 03",                   // b
  "45 36 16 05 03 12 32 43",                         // c
  "48 42;45 36 16 05 03 12 32 43",                   // d
  "04 44 45 36 16 05 03 12 32",                      // e
  "38 28 17 12;06 36",                               // f
  "46 41 30 10;45 36 16 05 03 12 32 43",             // g
  "02 08;05 16 36 45 42",                            // h
  "02 06;08 08",                                     // i
  "26 21 10 00;28 28",                               // j
  "02 08;36 04 32",                                  // k
  "08 03 12",                                        // l
  "02 06;05 16 25 22;25 36 45 42",                   // m
  "02 06;05 16 36 45 42",                            // n
  "12 03 05 16 36 45 43 32 12",                      // o
  "00 06;05 16 36 45 43 32 12 03",                   // p
  "40 46;45 36 16 05 03 12 32 43",                   // q
  "02 06;04 26 36",                                  // r
  "46 16 05 14 34 43 32 02",                         // s
  "18 13 22 32;06 36",                               // t
  "06 03 12 32 43;46 42",                            // u
  "06 22 46",                                        // v
  "06 12 25 32 46",                                  // w
  "02 46;06 42",                                     // x
  "06 22;46 22 10 00",                               // y
  "06 46 02 42",                                     // z
  "28 17 16 05 14 13 22",                            // {
  "00 08",                                           // |
  "08 17 16 25 14 13 02",                            // }
  "04 16 34 46",                                     // ~
};
constexpr double SpaceWidth = 4;   // with the gap to the next character
constexpr double Gap = 1.8;        // between characters
constexpr double FontHeight = 8.6; // what the size of a font stands for: capitals are 6 high
constexpr double BaseLine = 2;

/** Null: it draws nothing. */
const char *
FindStrokes(char c)
{
  const auto code = static_cast<unsigned char>(c);
  if (code > 0x20 && code < 0x7f)
  {
    return Strokes[code - 0x21];
  }
  return code >= 0xC0 ? Strokes['?' - 0x21] : nullptr; // of several bytes of UTF-8 the first
}

/** Of a character in units of its strokes. */
double
GetWidth(char c)
{
  const char * strokes = FindStrokes(c);
  if (strokes == nullptr)
  {
    return c == ' ' ? SpaceWidth : 0;
  }
  double right = 0;
  for (; *strokes != 0; strokes += strokes[2] == 0 ? 2 : 3)
  {
    right = std::max(right, static_cast<double>(strokes[0] - '0'));
  }
  return right + Gap;
}

std::string
ToText(double number)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(6);
  text << number;
  return text.str();
}

std::string
ToText(const Color & color)
{
  const char * digits = "0123456789abcdef";
  std::string  text = "#";
  for (const unsigned char value : color)
  {
    text += { digits[value >> 4], digits[value & 15] };
  }
  return text;
}

std::string
Escape(const std::string & text)
{
  std::string escaped;
  for (const char c : text)
  {
    escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return escaped;
}

/** Pixels that shapes are drawn on. */
class Canvas
{
public:
  Canvas(double width, double height)
    : m_Picture{ static_cast<unsigned>(std::lround(width)), static_cast<unsigned>(std::lround(height)), {} }
  {
    m_Picture.pixels.assign(std::size_t{ 3 } * m_Picture.width * m_Picture.height, 255);
  }

  void
  Fill(const Point & corner, const Point & size, const Color & color)
  {
    this->ForEach(corner, { corner[0] + size[0], corner[1] + size[1] }, [&](double x, double y, unsigned char * pixel) {
      const bool inside = x >= corner[0] && x < corner[0] + size[0] && y >= corner[1] && y < corner[1] + size[1];
      std::copy_n(color.begin(), inside ? 3 : 0, pixel);
    });
  }

  /** With round ends; pixels at the edge get the color by the part that it covers of them. */
  void
  Stroke(const Point & a, const Point & b, const Color & color, double width)
  {
    const double reach = 0.5 * width + 1, dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
    this->ForEach({ std::min(a[0], b[0]) - reach, std::min(a[1], b[1]) - reach },
                  { std::max(a[0], b[0]) + reach, std::max(a[1], b[1]) + reach },
                  [&](double x, double y, unsigned char * pixel) {
                    const double along =
                      length2 > 0 ? std::clamp(((x - a[0]) * dx + (y - a[1]) * dy) / length2, 0.0, 1.0) : 0;
                    const double distance = std::hypot(x - a[0] - along * dx, y - a[1] - along * dy);
                    const double cover = std::clamp(0.5 * width + 0.5 - distance, 0.0, 1.0);
                    for (int i = 0; i < 3; ++i)
                    {
                      pixel[i] = static_cast<unsigned char>(std::lround(pixel[i] + cover * (color[i] - pixel[i])));
                    }
                  });
  }

  Picture &&
  Take()
  {
    return std::move(m_Picture);
  }

private:
  /** \param work gets the centers of pixels */
  template <typename TWork>
  void
  ForEach(const Point & from, const Point & to, const TWork & work)
  {
    const auto first = [](double value) { return std::max(0L, std::lround(std::floor(value))); };
    const auto end = [](double value, unsigned most) { return std::min<long>(most, std::lround(std::ceil(value))); };
    for (long y = first(from[1]); y < end(to[1], m_Picture.height); ++y)
    {
      for (long x = first(from[0]); x < end(to[0], m_Picture.width); ++x)
      {
        work(static_cast<double>(x) + 0.5,
             static_cast<double>(y) + 0.5,
             m_Picture.pixels.data() +
               3 * (static_cast<std::size_t>(y) * m_Picture.width + static_cast<std::size_t>(x)));
      }
    }
  }

  Picture m_Picture;
};

void
DrawLine(Canvas & canvas, const std::vector<Point> & points, const Color & color, double width, double dash)
{
  for (std::size_t i = 0; i + 1 < points.size(); ++i)
  {
    const Point &a = points[i], &b = points[i + 1];
    const double length = std::hypot(b[0] - a[0], b[1] - a[1]);
    const int    pieces = dash > 0 ? std::max(1, static_cast<int>(length / dash)) : 1;
    for (int piece = 0; piece < pieces; piece += 2)
    {
      const auto at = [&](int end) {
        const double t = static_cast<double>(end) / pieces;
        return Point{ a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]) };
      };
      canvas.Stroke(at(piece), at(piece + 1), color, width);
    }
  }
}

constexpr Color Black{ { 0, 0, 0 } };

/** \param place where it begins \param size both in pixels */
void
DrawText(Canvas & canvas, const Point & place, const std::string & text, double size)
{
  const double unit = size / FontHeight;
  double       x = place[0];
  for (const char c : text)
  {
    std::vector<Point> line;
    const char *       strokes = FindStrokes(c);
    for (const char * at = strokes; at != nullptr && *at != 0; at += at[2] == 0 ? 2 : 3)
    {
      line.push_back({ x + unit * (at[0] - '0'), place[1] - unit * (at[1] - '0' - BaseLine) });
      if (at[2] != ' ')
      {
        DrawLine(canvas, line, Black, 0.11 * size, 0);
        line.clear();
      }
    }
    x += unit * GetWidth(c);
  }
}

} // namespace

Drawing::Drawing(double width, double height)
  : m_Width(width)
  , m_Height(height)
{}

void
Drawing::AddLine(std::vector<Point> points, const Color & color, double width, bool dashed)
{
  m_Shapes.emplace_back(Line{ std::move(points), color, width, dashed });
}

void
Drawing::AddRectangle(const Point & corner, const Point & size, const Color & color)
{
  m_Shapes.emplace_back(Rectangle{ corner, size, color });
}

void
Drawing::AddText(const Point & place, const std::string & text, double size, Anchor anchor)
{
  m_Shapes.emplace_back(Text{ place, text, size, anchor });
}

double
Drawing::GetTextWidth(const std::string & text, double size)
{
  double width = 0;
  for (const char c : text)
  {
    width += GetWidth(c);
  }
  return width * size / FontHeight;
}

std::string
Drawing::ToSVG() const
{
  const std::string width = ToText(m_Width), height = ToText(m_Height);
  std::string       svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
                    "\" viewBox=\"0 0 " + width + ' ' + height + "\" font-family=\"sans-serif\">\n<rect width=\"" +
                    width + "\" height=\"" + height + "\" fill=\"#ffffff\"/>\n";
  for (const auto & shape : m_Shapes)
  {
    if (const auto * line = std::get_if<Line>(&shape))
    {
      svg += "<polyline fill=\"none\" stroke=\"" + ToText(line->color) + "\" stroke-width=\"" + ToText(line->width) +
             (line->dashed ? "\" stroke-dasharray=\"4" : "") + "\" points=\"";
      for (const Point & point : line->points)
      {
        svg += ToText(point[0]) + ',' + ToText(point[1]) + ' ';
      }
      svg += "\"/>\n";
    }
    else if (const auto * rectangle = std::get_if<Rectangle>(&shape))
    {
      svg += "<rect x=\"" + ToText(rectangle->corner[0]) + "\" y=\"" + ToText(rectangle->corner[1]) + "\" width=\"" +
             ToText(rectangle->size[0]) + "\" height=\"" + ToText(rectangle->size[1]) + "\" fill=\"" +
             ToText(rectangle->color) + "\"/>\n";
    }
    else if (const auto * text = std::get_if<Text>(&shape))
    {
      constexpr const char * anchors[] = { "start", "middle", "end" };
      svg += "<text x=\"" + ToText(text->place[0]) + "\" y=\"" + ToText(text->place[1]) + "\" font-size=\"" +
             ToText(text->size) + "\" text-anchor=\"" + anchors[static_cast<int>(text->anchor)] + "\">" +
             Escape(text->text) + "</text>\n";
    }
  }
  return svg + "</svg>\n";
}

Picture
Drawing::Rasterize(double scale) const
{
  Canvas     canvas(m_Width * scale, m_Height * scale);
  const auto scaled = [scale](const Point & point) { return Point{ point[0] * scale, point[1] * scale }; };
  for (const auto & shape : m_Shapes)
  {
    if (const auto * line = std::get_if<Line>(&shape))
    {
      std::vector<Point> points;
      std::transform(line->points.begin(), line->points.end(), std::back_inserter(points), scaled);
      DrawLine(canvas, points, line->color, line->width * scale, line->dashed ? 4 * scale : 0);
    }
    else if (const auto * rectangle = std::get_if<Rectangle>(&shape))
    {
      canvas.Fill(scaled(rectangle->corner), scaled(rectangle->size), rectangle->color);
    }
    else if (const auto * text = std::get_if<Text>(&shape))
    {
      const double share = 0.5 * static_cast<int>(text->anchor);
      const Point  place{ text->place[0] - share * GetTextWidth(text->text, text->size), text->place[1] };
      DrawText(canvas, scaled(place), text->text, text->size * scale);
    }
  }
  return canvas.Take();
}

} // namespace gigapixel::application
