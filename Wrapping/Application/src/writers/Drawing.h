/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Drawing_h
#define Drawing_h

#include "GigapixelApplicationExport.h"

#include "PictureFile.h"

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace gigapixel::application
{

using Color = std::array<unsigned char, 3>;
using Point = std::array<double, 2>; ///< x to the right and y down

/** \class Drawing
 * \brief Lines, rectangles and words on white, for diagrams: one description, written as SVG and as pixels.
 *
 * In pixels letters are drawn with a font of lines; of what is no ASCII a question mark is left. */
class GigapixelApplication_EXPORT Drawing
{
public:
  enum class Anchor
  {
    Start,
    Middle,
    End
  };

  Drawing(double width, double height);

  void AddLine(std::vector<Point> points, const Color & color, double width = 1, bool dashed = false);

  void AddRectangle(const Point & corner, const Point & size, const Color & color);

  /** \param place on the base line, where the text begins, has its middle or ends
   * \param size of the font: capitals are about 0.7 of it high */
  void AddText(const Point & place, const std::string & text, double size = 12, Anchor anchor = Anchor::Start);

  std::string ToSVG() const;

  /** \param scale pixels for each unit */
  Picture Rasterize(double scale) const;

  /** Width of a text in pixels of a drawing, for planning; that of SVG depends on the viewer's font. */
  static double GetTextWidth(const std::string & text, double size);

private:
  struct Line
  {
    std::vector<Point> points;
    Color              color;
    double             width;
    bool               dashed;
  };

  struct Rectangle
  {
    Point corner;
    Point size;
    Color color;
  };

  struct Text
  {
    Point       place;
    std::string text;
    double      size;
    Anchor      anchor;
  };

  double                                           m_Width;
  double                                           m_Height;
  std::vector<std::variant<Line, Rectangle, Text>> m_Shapes; ///< the later ones lie above
};

} // namespace gigapixel::application

#endif
