/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ActivationOutput.h"

#include "ArgumentText.h"
#include "SlideThumbnail.h"

#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace gigapixel::commandline
{
namespace
{

using Color = std::array<double, 3>;

constexpr std::int64_t LongerSide = 2048; ///< of the picture

/** \param value from 0 to 1, where the colors are those of heat on a pale ground */
Color
GetColor(double value)
{
  constexpr std::array<Color, 3> Colors{ { { 40, 60, 220 }, { 255, 215, 0 }, { 200, 0, 20 } } };
  const double                   place = 2 * std::clamp(value, 0.0, 1.0);
  const std::size_t              first = place < 1 ? 0 : 1;
  Color                          color{};
  for (std::size_t i = 0; i < color.size(); ++i)
  {
    color[i] = Colors[first][i] + (place - static_cast<double>(first)) * (Colors[first + 1][i] - Colors[first][i]);
  }
  return color;
}

/** Lays the value's color over a pixel: the less there is of it, the more one sees of the slide. */
void
Tint(double value, unsigned char * pixel)
{
  constexpr double Most = 0.6;
  const double     strength = Most * std::min(1.0, 2 * value);
  const Color      color = GetColor(value);
  for (std::size_t i = 0; i < color.size(); ++i)
  {
    pixel[i] = static_cast<unsigned char>(std::lround((1 - strength) * pixel[i] + strength * color[i]));
  }
}

/** Between the values around a place of the image, in its pixels; beyond the last ones those. */
double
Interpolate(const ActivationMap & map, double x, double y)
{
  struct Between
  {
    std::int64_t first, second;
    double       part;
  };
  const auto find = [&](double place, std::size_t axis, std::int64_t size) {
    const double at = std::clamp((place - map.first[axis]) / map.step[axis], 0.0, static_cast<double>(size - 1));
    const auto   first = static_cast<std::int64_t>(at);
    return Between{ first, std::min(first + 1, size - 1), at - static_cast<double>(first) };
  };
  const Between column = find(x, 0, map.size.width), row = find(y, 1, map.size.height);
  const auto    ofRow = [&](std::int64_t number) {
    const float * const values = map.values.data() + number * map.size.width;
    return (1 - column.part) * static_cast<double>(values[column.first]) +
           column.part * static_cast<double>(values[column.second]);
  };
  return (1 - row.part) * ofRow(row.first) + row.part * ofRow(row.second);
}

/** What numbers are written with, five by seven pixels each, a row from its upper bit on. */
const std::map<char, std::array<unsigned char, 7>> &
GetGlyphs()
{
  static const std::map<char, std::array<unsigned char, 7>> glyphs{
    { '0', { 14, 17, 19, 21, 25, 17, 14 } }, { '1', { 4, 12, 4, 4, 4, 4, 14 } },
    { '2', { 14, 17, 1, 2, 4, 8, 31 } },     { '3', { 31, 2, 4, 2, 1, 17, 14 } },
    { '4', { 2, 6, 10, 18, 31, 2, 2 } },     { '5', { 31, 16, 30, 1, 1, 17, 14 } },
    { '6', { 6, 8, 16, 30, 17, 17, 14 } },   { '7', { 31, 1, 2, 4, 8, 8, 8 } },
    { '8', { 14, 17, 17, 14, 17, 17, 14 } }, { '9', { 14, 17, 17, 15, 1, 2, 12 } },
    { '.', { 0, 0, 0, 0, 0, 12, 12 } },      { '-', { 0, 0, 0, 31, 0, 0, 0 } },
    { '+', { 0, 4, 4, 31, 4, 4, 0 } },       { 'e', { 0, 0, 14, 17, 31, 16, 14 } },
  };
  return glyphs;
}

constexpr unsigned GlyphScale = 2, GlyphWidth = 6 * GlyphScale, GlyphHeight = 7 * GlyphScale;

void
DrawNumber(const std::string & text, unsigned left, unsigned top, Picture & picture)
{
  for (const char character : text)
  {
    const auto glyph = GetGlyphs().find(character);
    for (unsigned y = 0; y < GlyphHeight && glyph != GetGlyphs().end(); ++y)
    {
      for (unsigned x = 0; x < 5 * GlyphScale && left + x < picture.width; ++x)
      {
        if ((glyph->second[y / GlyphScale] >> (4 - x / GlyphScale) & 1) != 0)
        {
          std::fill_n(picture.pixels.begin() + (std::size_t(top + y) * picture.width + left + x) * 3, 3, 0);
        }
      }
    }
    left += GlyphWidth;
  }
}

/** Adds a white strip with a bar of the colors, and 0 and the greatest value at its ends. */
void
AddLegend(double greatest, Picture & picture)
{
  constexpr unsigned Margin = 6, BarHeight = 16, WidestBar = 320;
  const unsigned     top = picture.height + Margin, textTop = top + BarHeight + Margin;
  const unsigned     bar = std::min(WidestBar, picture.width - std::min(picture.width - 1, 2 * Margin));
  const unsigned     left = std::min(Margin, picture.width - bar);
  picture.height = textTop + GlyphHeight + Margin;
  picture.pixels.resize(std::size_t(picture.width) * picture.height * 3, 255);
  for (unsigned y = top; y < top + BarHeight; ++y)
  {
    for (unsigned x = 0; x < bar; ++x)
    {
      Tint((x + 0.5) / bar, picture.pixels.data() + (std::size_t(y) * picture.width + left + x) * 3);
    }
  }
  const std::string text = FormatNumber(greatest, 3);
  const auto        length = static_cast<unsigned>(text.size()) * GlyphWidth;
  DrawNumber("0", left, textTop, picture);
  DrawNumber(text, left + bar - std::min(bar, length), textTop, picture);
}

} // namespace

void
WriteActivation(const itk::Image<float, 2> *   map,
                const itk::WholeSlideImageIO & slide,
                const std::string &            file,
                const std::string &            madeBy)
{
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetContent(itk::PyramidTIFFImageIO::Content::Picture);
  io->SetSlide(&slide);
  io->SetMadeBy(madeBy);
  const auto writer = itk::ImageFileWriter<itk::Image<float, 2>>::New();
  writer->SetImageIO(io);
  writer->SetFileName(file);
  writer->SetInput(map);
  writer->Update();
}

Picture
DrawActivation(const ActivationMap & map, const Grid & image, const itk::WholeSlideImageIO & slide, Progress & progress)
{
  Picture      picture = DrawThumbnail(slide, FitSize(slide.GetLevelSize(0), LongerSide), progress);
  const double greatest = static_cast<double>(*std::max_element(map.values.begin(), map.values.end()));
  for (unsigned y = 0; y < picture.height && greatest > 0; ++y)
  {
    for (unsigned x = 0; x < picture.width; ++x)
    {
      const double inX = (x + 0.5) / picture.width * static_cast<double>(image.size.width) - 0.5;
      const double inY = (y + 0.5) / picture.height * static_cast<double>(image.size.height) - 0.5;
      Tint(Interpolate(map, inX, inY) / greatest, &picture.pixels[(std::size_t(y) * picture.width + x) * 3]);
    }
  }
  AddLegend(greatest, picture);
  return picture;
}

} // namespace gigapixel::commandline
