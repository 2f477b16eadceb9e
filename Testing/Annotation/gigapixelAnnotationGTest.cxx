/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAnnotation.h"
#include "TemporaryFolder.h"
#include "gigapixelMaskOutline.h"
#include "itkAnnotationImageSource.h"

#include "itkBinaryImageToLabelMapFilter.h"
#include "itkOutputWindow.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>

namespace
{
using Mask = itk::Image<unsigned char, 2>;
using Source = itk::AnnotationImageSource;
using gigapixel::Annotation;
using gigapixel::AnnotationRing;
using gigapixel::test::TemporaryFolder;

Source::Pointer
MakeSource(const std::vector<Annotation> & annotations, itk::SizeValueType width, itk::SizeValueType height)
{
  auto source = Source::New();
  for (const Annotation & annotation : annotations)
  {
    source->AddAnnotation(annotation, 255);
  }
  source->SetSize(width, height);
  return source;
}

/** Even-odd by a ray to the right (W. R. Franklin's test). */
bool
IsInside(const Annotation & annotation, double x, double y)
{
  bool inside = false;
  for (const AnnotationRing & ring : annotation.rings)
  {
    for (std::size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++)
    {
      const auto & a = ring[i];
      const auto & b = ring[j];
      inside ^= (a.y > y) != (b.y > y) && x < (b.x - a.x) * (y - a.y) / (b.y - a.y) + a.x;
    }
  }
  return inside;
}

Mask::Pointer
DrawRandomMask(itk::SizeValueType width, itk::SizeValueType height, double share, unsigned seed)
{
  auto mask = Mask::New();
  mask->SetRegions(Mask::SizeType{ { width, height } });
  mask->Allocate();
  std::mt19937                seeded(seed);
  std::bernoulli_distribution isForeground(share);
  for (itk::SizeValueType i = 0; i < width * height; ++i)
  {
    mask->GetBufferPointer()[i] = isForeground(seeded) ? 255 : 0;
  }
  return mask;
}

std::vector<Annotation>
Trace(const Mask * mask, double scaleX = 1.0, double scaleY = 1.0)
{
  const auto             size = mask->GetBufferedRegion().GetSize();
  gigapixel::MaskOutline outline(size[0]);
  for (itk::SizeValueType y = 0; y < size[1]; ++y)
  {
    outline.AppendRow(mask->GetBufferPointer() + y * size[0], 255);
  }
  return outline.Trace(scaleX, scaleY);
}

/** Twice the area, positive for rings that run clockwise as one sees them (y points down). */
double
GetTwiceTheArea(const AnnotationRing & ring)
{
  double area = 0.0;
  for (std::size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++)
  {
    area += ring[j].x * ring[i].y - ring[i].x * ring[j].y;
  }
  return area;
}

std::vector<Annotation>
Read(const std::string & text, std::vector<std::string> * warnings = nullptr)
{
  const TemporaryFolder folder("annotation");
  const std::string     file = folder.File("annotations.geojson");
  std::ofstream(file) << text;
  return gigapixel::ReadAnnotations(file, warnings);
}

std::string
GetError(const std::string & text)
{
  try
  {
    Read(text);
  }
  catch (const std::runtime_error & error)
  {
    return error.what();
  }
  return {};
}
} // namespace

TEST(AnnotationImageSource, PixelsAreInsideWhereTheirCentersAre)
{
  std::mt19937                           random(3);
  std::uniform_real_distribution<double> coordinate(-40.0, 440.0);
  for (const double downsample : { 1.0, 4.0, 2.5 })
  {
    Annotation star; // rings that cross themselves and each other
    for (int ring = 0; ring < 3; ++ring)
    {
      star.rings.emplace_back();
      for (int i = 0; i < 9; ++i)
      {
        star.rings.back().push_back({ coordinate(random), coordinate(random) });
      }
    }
    const auto source = MakeSource({ star }, 137, 95);
    source->SetDownsample(downsample);
    source->Update();
    for (long y = 0; y < 95; ++y)
    {
      for (long x = 0; x < 137; ++x)
      {
        const bool expected =
          IsInside(star, (static_cast<double>(x) + 0.5) * downsample, (static_cast<double>(y) + 0.5) * downsample);
        ASSERT_EQ(source->GetOutput()->GetPixel({ { x, y } }), expected ? 255 : 0) << x << ' ' << y;
      }
    }
  }
}

TEST(AnnotationImageSource, NeighborsShareNoPixelAndLeaveNoneOut)
{
  // A slanted border through pixel centers.
  const Annotation left{ "", { { { 0, 0 }, { 10.5, 0.5 }, { 30.5, 40.5 }, { 0, 50 } } } };
  const Annotation right{ "", { { { 10.5, 0.5 }, { 60, 0 }, { 60, 50 }, { 0, 50 }, { 30.5, 40.5 } } } };
  const auto       a = MakeSource({ left }, 60, 50);
  const auto       b = MakeSource({ right }, 60, 50);
  const auto       both = MakeSource({ left, right }, 60, 50);
  a->Update();
  b->Update();
  both->Update();
  for (long y = 1; y < 50; ++y)
  {
    for (long x = 0; x < 60; ++x)
    {
      const Mask::IndexType at{ { x, y } };
      EXPECT_EQ(a->GetOutput()->GetPixel(at) + b->GetOutput()->GetPixel(at), both->GetOutput()->GetPixel(at));
    }
  }
}

TEST(AnnotationImageSource, LaterOutlinesCountAndRegionsAreCropsOfTheWhole)
{
  const auto source = Source::New();
  source->AddAnnotation({ "a", { { { 10, 10 }, { 90, 10 }, { 90, 90 }, { 10, 90 } } } }, 1);
  source->AddAnnotation({ "b", { { { 50, 50 }, { 150, 40 }, { 120, 160 } } } }, 2);
  source->SetSize(200, 180);
  source->SetSpacing(0.002);
  source->Update();
  EXPECT_EQ(source->GetOutput()->GetPixel({ { 20, 20 } }), 1);
  EXPECT_EQ(source->GetOutput()->GetPixel({ { 80, 60 } }), 2);
  EXPECT_DOUBLE_EQ(source->GetOutput()->GetSpacing()[1], 0.002);
  const Mask::Pointer whole = source->GetOutput();
  whole->DisconnectPipeline();
  source->UpdateOutputInformation();
  const Mask::RegionType region({ { 33, 41 } }, { { 70, 55 } });
  source->GetOutput()->SetRequestedRegion(region);
  source->GetOutput()->Update();
  ASSERT_EQ(source->GetOutput()->GetBufferedRegion(), region);
  for (long y = 41; y < 96; ++y)
  {
    for (long x = 33; x < 103; ++x)
    {
      ASSERT_EQ(source->GetOutput()->GetPixel({ { x, y } }), whole->GetPixel({ { x, y } }));
    }
  }
}

TEST(MaskOutline, FilledAgainGivesTheMask)
{
  for (const double share : { 0.05, 0.4, 0.6, 0.95 })
  {
    const auto mask = DrawRandomMask(83, 61, share, 7);
    const auto source = MakeSource(Trace(mask, 4.0, 4.0), 83, 61);
    source->SetDownsample(4.0);
    source->Update();
    EXPECT_TRUE(std::equal(
      mask->GetBufferPointer(), mask->GetBufferPointer() + 83 * 61, source->GetOutput()->GetBufferPointer()));
  }
}

/** Random masks have every way in which pixels can touch. Pieces are ITK's 4-connected objects; each is one outer ring,
 * holes run the other way, no ring meets itself, and areas are pixels. */
TEST(MaskOutline, PolygonsAreValidAndPiecesAreTheObjectsOfITK)
{
  for (const double share : { 0.3, 0.55, 0.7, 0.9 })
  {
    const auto mask = DrawRandomMask(120, 90, share, 11);
    auto       objects = itk::BinaryImageToLabelMapFilter<Mask>::New();
    objects->SetInput(mask);
    objects->SetInputForegroundValue(255);
    objects->SetFullyConnected(false);
    objects->Update();
    std::multiset<double> expected;
    for (unsigned i = 0; i < objects->GetOutput()->GetNumberOfLabelObjects(); ++i)
    {
      expected.insert(static_cast<double>(objects->GetOutput()->GetNthLabelObject(i)->Size()));
    }
    std::multiset<double> areas;
    for (const Annotation & piece : Trace(mask))
    {
      double area = 0.0;
      for (std::size_t i = 0; i < piece.rings.size(); ++i)
      {
        EXPECT_EQ(GetTwiceTheArea(piece.rings[i]) > 0.0, i == 0);
        area += 0.5 * GetTwiceTheArea(piece.rings[i]);
        std::set<std::pair<double, double>> corners;
        for (const auto & point : piece.rings[i])
        {
          EXPECT_TRUE(corners.emplace(point.x, point.y).second);
        }
      }
      areas.insert(area);
    }
    EXPECT_EQ(areas, expected);
  }
}

/** What the filter warns of while its output's information is made. */
std::string
GetWarnings(Source & source)
{
  class Collector : public itk::OutputWindow
  {
  public:
    using Self = Collector;
    using Pointer = itk::SmartPointer<Self>;
    itkSimpleNewMacro(Self);
    void
    DisplayText(const char * text) override
    {
      m_Text += text;
    }
    std::string m_Text;
  };
  const itk::OutputWindow::Pointer before = itk::OutputWindow::GetInstance();
  const auto                       collector = Collector::New();
  itk::OutputWindow::SetInstance(collector);
  source.UpdateOutputInformation();
  itk::OutputWindow::SetInstance(before);
  return collector->m_Text;
}

Annotation
MakeSquare(double x, double y, double side)
{
  return { "", { { { x, y }, { x + side, y }, { x + side, y + side }, { x, y + side } } } };
}

TEST(AnnotationImageSource, SaysWhatLeavesNothingInTheMask)
{
  const auto inside = MakeSquare(100, 100, 50), partly = MakeSquare(-20, -20, 50), right = MakeSquare(800, 10, 50),
             above = MakeSquare(10, -60, 50), tiny = MakeSquare(101, 101, 2);
  const auto warn = [](const std::vector<Annotation> & annotations) {
    const auto source = MakeSource(annotations, 100, 80);
    source->SetDownsample(8);
    return GetWarnings(*source);
  };
  EXPECT_EQ(warn({ inside, partly }), "");
  EXPECT_EQ(warn({}), "");
  EXPECT_NE(warn({ inside, right, above }).find("2 of 3 outlines outside of the slide (800 x 640 pixels)"),
            std::string::npos);
  EXPECT_NE(warn({ inside, tiny }).find("1 of 2 outlines smaller than a pixel of the mask"), std::string::npos);
  // Its box reaches to (60, 40) of the slide; its area does not. So does the frame's hole, but not the frame.
  const Annotation corner{ "", { { { -100, 40 }, { 60, -100 }, { -100, -100 } } } };
  const Annotation frame{ "", { MakeSquare(-50, -50, 2000).rings[0], MakeSquare(-20, -20, 1500).rings[0] } };
  const Annotation sliver{ "", { { { 100, 100 }, { 400, 401 }, { 400, 400 } } } };
  EXPECT_NE(warn({ inside, corner }).find("1 of 2 outlines outside of the slide"), std::string::npos);
  EXPECT_NE(warn({ inside, frame }).find("1 of 2 outlines outside of the slide"), std::string::npos);
  EXPECT_NE(warn({ inside, sliver }).find("1 of 2 outlines smaller than a pixel of the mask"), std::string::npos);
  EXPECT_THROW(warn({ corner }), itk::ExceptionObject);
  try
  {
    warn({ right, above });
    FAIL();
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_NE(
      std::string(error.GetDescription())
        .find("all outlines (2) lie outside of the slide: they reach from (10, -60) to (850, 60), the slide's mask "
              "from (0, 0) to (800, 640)"),
      std::string::npos)
      << error.GetDescription();
  }
}

TEST(MaskOutline, EmptyAndFull)
{
  EXPECT_TRUE(Trace(DrawRandomMask(5, 4, 0.0, 1)).empty());
  const auto full = Trace(DrawRandomMask(5, 4, 1.0, 1));
  ASSERT_EQ(full.size(), 1u);
  ASSERT_EQ(full[0].rings.size(), 1u);
  EXPECT_EQ(full[0].rings[0].size(), 4u);
  EXPECT_EQ(GetTwiceTheArea(full[0].rings[0]), 40.0);
}

TEST(Annotation, GeoJSONThereAndBack)
{
  const std::vector<Annotation> written{ { "Tumor \"x\"",
                                           { { { 0, 0 }, { 10.25, 0 }, { 9, 8 } }, { { 2, 1 }, { 3, 1 }, { 3, 2 } } } },
                                         { "", { { { 100000.5, 7 }, { 5, 6 }, { 7, 9 } } } } };
  const TemporaryFolder         folder("annotation");
  const std::string             file = folder.File("back.geojson");
  gigapixel::WriteAnnotations(written, file);
  const auto read = gigapixel::ReadAnnotations(file);
  ASSERT_EQ(read.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
  {
    EXPECT_EQ(read[i].className, written[i].className);
    ASSERT_EQ(read[i].rings.size(), written[i].rings.size());
    for (std::size_t ring = 0; ring < read[i].rings.size(); ++ring)
    {
      ASSERT_EQ(read[i].rings[ring].size(), 3u);
      EXPECT_EQ(read[i].rings[ring][0].x, written[i].rings[ring][0].x);
    }
  }
  EXPECT_THROW(gigapixel::WriteAnnotations(written, "/nowhere/there.geojson"), std::runtime_error);
}

TEST(Annotation, WhatQuPathWrites)
{
  const auto read = Read(R"({"type": "FeatureCollection", "features": [
    {"type": "Feature", "id": "PathRootObject", "geometry": {"type": "MultiPolygon", "coordinates":
      [[[[0, 0], [4, 0], [4, 4], [0, 0]]], [[[10, 10], [14, 10], [14, 14], [10, 10]], [[12, 11], [13, 11], [13, 12], [12, 11]]]]},
      "properties": {"objectType": "annotation", "classification": {"name": "Stroma", "color": [1, 2, 3]}}},
    {"type": "Feature", "geometry": {"type": "Point", "coordinates": [3, 4]}, "properties": {}},
    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]]]},
      "properties": {"classification": {"names": ["Tumor", "Positive"]}}},
    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[0, 0, 1], [4, 0, 1], [4, 4, 1]]]}, "properties": null}
  ]})");
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].className, "Stroma");
  EXPECT_EQ(read[0].rings.size(), 3u);
  EXPECT_EQ(read[0].rings[0].size(), 3u);
  EXPECT_EQ(read[1].className, "Tumor: Positive");
  EXPECT_EQ(read[2].className, "");
}

TEST(Annotation, FeaturesWithoutAreaArePassedOverAndCounted)
{
  std::vector<std::string> warnings;
  const auto               read = Read(R"({"type": "FeatureCollection", "features": [
    {"type": "Feature", "geometry": null, "properties": {"classification": {"name": "Tumor"}}},
    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}, "properties": null},
    {"type": "Feature", "geometry": {"type": "GeometryCollection", "geometries": []}, "properties": null},
    {"type": "Feature", "geometry": {"type": "LineString", "coordinates": [[0, 0], [4, 0]]}, "properties": null},
    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [0, 0]]]}, "properties": null},
    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]]]},
      "properties": null}
  ]})",
                         &warnings);
  EXPECT_EQ(read.size(), 1u);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("3 features without a geometry"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("2 features without an area"), std::string::npos) << warnings[1];
}

TEST(Annotation, BadFilesAreSaidToBeBad)
{
  EXPECT_NE(GetError("{\"type\": \"Fea").find("breaks off or goes wrong"), std::string::npos);
  EXPECT_NE(GetError("{}").find("has no \"type\""), std::string::npos);
  EXPECT_NE(GetError("{\"type\": \"FeatureCollection\"}").find("has no \"features\""), std::string::npos);
  EXPECT_NE(GetError("{\"type\": \"Topology\"}").find("holds no features"), std::string::npos);
  EXPECT_NE(GetError("{\"type\": 3}").find("no GeoJSON"), std::string::npos);
  const std::string feature = R"({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": )";
  EXPECT_NE(GetError(feature + R"([[["a", 1]]]}})").find("pair of numbers"), std::string::npos);
  EXPECT_NE(GetError(feature + R"([[[1e300, 1]]]}})").find("beyond"), std::string::npos);
  EXPECT_NE(GetError(feature + "3}}").find("pair of numbers"), std::string::npos);
  EXPECT_THROW(gigapixel::ReadAnnotations("/nowhere/there.geojson"), std::runtime_error);
}
