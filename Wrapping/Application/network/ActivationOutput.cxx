/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ActivationOutput.h"

#include "ArgumentText.h"
#include "Drawing.h"
#include "SlideThumbnail.h"

#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gigapixel::application
{
namespace
{

using HeatColor = std::array<double, 3>; ///< red, green and blue, from 0 to 255

constexpr std::int64_t LongerSide = 2048; ///< of the picture

/** \param value from 0 to 1, where the colors are those of heat on a pale ground */
HeatColor
GetColor(double value)
{
  constexpr std::array<HeatColor, 3> Colors{ { { 40, 60, 220 }, { 255, 215, 0 }, { 200, 0, 20 } } };
  const double                       place = 2 * std::clamp(value, 0.0, 1.0);
  const std::size_t                  first = place < 1 ? 0 : 1;
  HeatColor                          color{};
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
  const HeatColor  color = GetColor(value);
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

/** Adds a white strip with what the map is of, a bar of the colors, and 0 and the greatest value at its ends. */
void
AddLegend(const std::string & title, double greatest, Picture & picture)
{
  constexpr unsigned Margin = 6, BarHeight = 16, WidestBar = 320, LetterSize = 16;
  constexpr unsigned BarTop = Margin + LetterSize + Margin, Height = BarTop + BarHeight + LetterSize + 2 * Margin;
  const unsigned     bar = std::min(WidestBar, picture.width - std::min(picture.width - 1, 2 * Margin));
  const unsigned     left = std::min(Margin, picture.width - bar);
  Drawing            letters(picture.width, Height);
  letters.AddText({ static_cast<double>(left), Margin + LetterSize }, title, LetterSize);
  letters.AddText({ static_cast<double>(left), Height - Margin }, "0", LetterSize);
  letters.AddText(
    { static_cast<double>(left + bar), Height - Margin }, FormatNumber(greatest, 3), LetterSize, Drawing::Anchor::End);
  Picture strip = letters.Rasterize(1);
  for (unsigned y = BarTop; y < BarTop + BarHeight; ++y)
  {
    for (unsigned x = 0; x < bar; ++x)
    {
      Tint((x + 0.5) / bar, strip.pixels.data() + (std::size_t(y) * strip.width + left + x) * 3);
    }
  }
  picture.height += Height;
  picture.pixels.insert(picture.pixels.end(), strip.pixels.begin(), strip.pixels.end());
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
DrawActivation(const ActivationMap &          map,
               const std::string &            title,
               const Grid &                   image,
               const itk::WholeSlideImageIO & slide,
               Progress &                     progress)
{
  const auto shown = itk::WholeSlideImageIO::New(); // channels that the network saw are no picture yet
  shown->CopySettings(slide);
  shown->AsPictureOn();
  shown->ReadImageInformation();
  Picture      picture = DrawThumbnail(*shown, FitSize(slide.GetLevelSize(0), LongerSide), &progress);
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
  AddLegend(title, greatest, picture);
  return picture;
}

} // namespace gigapixel::application
