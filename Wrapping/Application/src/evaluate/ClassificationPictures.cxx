/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include "gigapixelSession.h"

#include <algorithm>
#include <cmath>

namespace gigapixel::application
{
namespace
{

constexpr Color  Black{ { 0, 0, 0 } };
constexpr Color  Gray{ { 200, 200, 200 } };
constexpr double Side = 360; ///< of the square of a diagram

/** Told apart by the color-blind as well: M. Okabe, K. Ito, Color Universal Design, 2008. */
const Color &
GetColor(std::size_t number)
{
  static const std::vector<Color> colors{ { { 0, 114, 178 } },   { { 213, 94, 0 } },   { { 0, 158, 115 } },
                                          { { 204, 121, 167 } }, { { 230, 159, 0 } },  { { 86, 180, 233 } },
                                          { { 120, 94, 240 } },  { { 110, 110, 110 } } };
  return colors[number % colors.size()];
}

/** A name that may be long, cut so that it does not run into something else. */
std::string
Shorten(std::string name, double size, double width)
{
  if (Drawing::GetTextWidth(name, size) <= width)
  {
    return name;
  }
  while (!name.empty() && Drawing::GetTextWidth(name + "..", size) > width)
  {
    name.pop_back();
    // Not within a character of several bytes.
    while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0xC0) == 0xC0)
    {
      name.pop_back();
    }
  }
  return name + "..";
}

/** A square from 0 to 1 both ways. */
class UnitSquare
{
public:
  UnitSquare(Drawing & drawing, const Point & corner)
    : m_Drawing(drawing)
    , m_Corner(corner)
  {}

  Point
  operator()(double x, double y) const
  {
    return { m_Corner[0] + Side * x, m_Corner[1] + Side * (1 - y) };
  }

  void
  AddAxes(const std::string & title, const std::string & ofX, const std::string & ofY) const
  {
    for (int i = 0; i <= 5; ++i)
    {
      const double      at = i / 5.0;
      const std::string text = FormatNumber(at, 1);
      m_Drawing.AddLine({ (*this)(at, 0), (*this)(at, 1) }, Gray, 0.5);
      m_Drawing.AddLine({ (*this)(0, at), (*this)(1, at) }, Gray, 0.5);
      m_Drawing.AddText({ (*this)(at, 0)[0], (*this)(at, 0)[1] + 17 }, text, 12, Drawing::Anchor::Middle);
      m_Drawing.AddText({ (*this)(0, at)[0] - 6, (*this)(0, at)[1] + 4 }, text, 12, Drawing::Anchor::End);
    }
    m_Drawing.AddLine({ (*this)(0, 0), (*this)(1, 1) }, Gray, 1, true);
    m_Drawing.AddLine({ (*this)(0, 0), (*this)(1, 0), (*this)(1, 1), (*this)(0, 1), (*this)(0, 0) }, Black, 1);
    m_Drawing.AddText({ m_Corner[0], m_Corner[1] - 28 }, title, 15);
    m_Drawing.AddText({ m_Corner[0] - 30, m_Corner[1] - 9 }, ofY, 12);
    m_Drawing.AddText({ (*this)(0.5, 0)[0], (*this)(0, 0)[1] + 36 }, ofX, 12, Drawing::Anchor::Middle);
  }

private:
  Drawing & m_Drawing;
  Point     m_Corner;
};

std::string
Describe(const ClassFigures & figures)
{
  return ": AUC " + FormatNumber(figures.area->area, 3) +
         (std::isnan(figures.area->lower)
            ? std::string()
            : " (" + FormatNumber(figures.area->lower, 3) + " to " + FormatNumber(figures.area->upper, 3) + ')');
}

/** Of two classes the positive one, of more those that occur. */
std::vector<const ClassFigures *>
GetShown(const ClassificationFigures & figures)
{
  std::vector<const ClassFigures *> shown;
  for (std::size_t c = 0; c < figures.classes.size(); ++c)
  {
    if (figures.classes[c].area && (figures.positive < 0 || figures.positive == static_cast<int>(c)))
    {
      shown.push_back(&figures.classes[c]);
    }
  }
  return shown;
}

} // namespace

Drawing
DrawROC(const ClassificationFigures & figures)
{
  const auto       shown = GetShown(figures);
  constexpr double row = 18;
  Drawing          drawing(450, 480 + row * static_cast<double>(shown.size()));
  const UnitSquare square(drawing, { 55, 60 });
  square.AddAxes("Receiver operating characteristic", "1 - specificity", "sensitivity");
  double y = 490;
  for (std::size_t i = 0; i < shown.size(); ++i)
  {
    std::vector<Point> points;
    for (const OperatingPoint & point : shown[i]->points)
    {
      points.push_back(square(point.falsePositiveRate, point.truePositiveRate));
    }
    const std::string text = Describe(*shown[i]);
    drawing.AddLine(std::move(points), GetColor(i), 2);
    drawing.AddLine({ { 55, y - 4 }, { 75, y - 4 } }, GetColor(i), 3);
    drawing.AddText({ 82, y }, Shorten(shown[i]->name, 12, 350 - Drawing::GetTextWidth(text, 12)) + text, 12);
    y += row;
  }
  return drawing;
}

Drawing
DrawConfusion(const ClassificationFigures & figures)
{
  const int    number = figures.confusion.GetNumberOfClasses();
  const double cell = std::clamp(Side / number, 48.0, 120.0), widest = 130;
  double       left = 60;
  for (const ClassFigures & ofClass : figures.classes)
  {
    left = std::max(left, 30 + std::min(widest, Drawing::GetTextWidth(ofClass.name, 12)));
  }
  const double top = 90;
  Drawing      drawing(std::max(left + cell * number + 20, 280.0), top + cell * number + 20);
  drawing.AddText({ 15, 24 }, "Cases by their class (rows) and", 15);
  drawing.AddText({ 15, 44 }, "the one they were taken for", 15);
  for (int truth = 0; truth < number; ++truth)
  {
    const std::string & name = figures.classes[static_cast<std::size_t>(truth)].name;
    const double        middle = cell * (truth + 0.5);
    drawing.AddText({ left - 8, top + middle + 4 }, Shorten(name, 12, widest), 12, Drawing::Anchor::End);
    drawing.AddText({ left + middle, top - 8 }, Shorten(name, 12, cell - 6), 12, Drawing::Anchor::Middle);
    for (int predicted = 0; predicted < number; ++predicted)
    {
      const auto   count = figures.confusion.GetCount(truth, predicted);
      const auto   all = figures.confusion.GetActual(truth);
      const double share = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
      const auto   shade = [share](int full) { return static_cast<unsigned char>(255 - share * (255 - full)); };
      const Point  corner{ left + cell * predicted, top + cell * truth };
      drawing.AddRectangle(corner, { cell, cell }, { { shade(120), shade(185), shade(225) } });
      drawing.AddText(
        { corner[0] + cell / 2, corner[1] + cell / 2 + 2 }, std::to_string(count), 16, Drawing::Anchor::Middle);
      drawing.AddText({ corner[0] + cell / 2, corner[1] + cell / 2 + 18 },
                      all > 0 ? FormatNumber(100 * share, 1) + " %" : "",
                      11,
                      Drawing::Anchor::Middle);
    }
  }
  for (int i = 0; i <= number; ++i)
  {
    drawing.AddLine({ { left, top + cell * i }, { left + cell * number, top + cell * i } }, Black);
    drawing.AddLine({ { left + cell * i, top }, { left + cell * i, top + cell * number } }, Black);
  }
  return drawing;
}

Drawing
DrawReliability(const ClassificationFigures & figures)
{
  Drawing          drawing(450, 500);
  const UnitSquare square(drawing, { 55, 60 });
  square.AddAxes("Reliability", "mean probability", "share that came true");
  std::vector<Point> points;
  for (const CalibrationBin & bin : figures.reliability)
  {
    if (bin.cases > 0)
    {
      points.push_back(square(bin.meanProbability, bin.share));
      drawing.AddRectangle({ points.back()[0] - 4, points.back()[1] - 4 }, { 8, 8 }, GetColor(0));
    }
  }
  drawing.AddLine(std::move(points), GetColor(0), 2);
  const std::string of =
    figures.positive >= 0 ? figures.classes[static_cast<std::size_t>(figures.positive)].name : "the predicted class";
  const std::string text = ": expected calibration error " + FormatNumber(figures.calibrationError, 3);
  drawing.AddText({ 55, 484 }, Shorten(of, 12, 370 - Drawing::GetTextWidth(text, 12)) + text, 12);
  return drawing;
}

Drawing
DrawScatter(const std::string & name, const std::vector<double> & truths, const std::vector<double> & predictions)
{
  const auto       ofTruths = std::minmax_element(truths.begin(), truths.end());
  const auto       ofPredictions = std::minmax_element(predictions.begin(), predictions.end());
  const double     least = std::min(*ofTruths.first, *ofPredictions.first);
  const double     greatest = std::max(*ofTruths.second, *ofPredictions.second);
  const double     range = greatest > least ? greatest - least : 1;
  constexpr double Margin = 0.05; // so that no point lies on the frame
  const auto       place = [&](double value) { return Margin + (1 - 2 * Margin) * (value - least) / range; };
  Drawing          drawing(480, 500);
  const UnitSquare square(drawing, { 85, 60 });
  const int        digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(range))), 0, 6);
  drawing.AddText({ 85, 32 }, Shorten(name, 15, 370), 15);
  drawing.AddText({ 85, 51 }, "predicted", 12);
  drawing.AddText({ square(0.5, 0)[0], square(0, 0)[1] + 36 }, "true", 12, Drawing::Anchor::Middle);
  for (int i = 0; i <= 4; ++i)
  {
    const double      at = place(least + range * i / 4);
    const std::string text = FormatNumber(least + range * i / 4, digits);
    drawing.AddLine({ square(at, 0), square(at, 1) }, Gray, 0.5);
    drawing.AddLine({ square(0, at), square(1, at) }, Gray, 0.5);
    drawing.AddText({ square(at, 0)[0], square(at, 0)[1] + 17 }, text, 12, Drawing::Anchor::Middle);
    drawing.AddText({ square(0, at)[0] - 6, square(0, at)[1] + 4 }, text, 12, Drawing::Anchor::End);
  }
  drawing.AddLine({ square(0, 0), square(1, 1) }, Gray, 1, true);
  drawing.AddLine({ square(0, 0), square(1, 0), square(1, 1), square(0, 1), square(0, 0) }, Black, 1);
  for (std::size_t i = 0; i < truths.size(); ++i)
  {
    const Point point = square(place(truths[i]), place(predictions[i]));
    drawing.AddRectangle({ point[0] - 3, point[1] - 3 }, { 6, 6 }, GetColor(0));
  }
  return drawing;
}

} // namespace gigapixel::application
