/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAnnotation.h"
#include "BasicObjectMethods.h"
#include "TemporaryFolder.h"
#include "gigapixelMaskOutline.h"
#include "itkAnnotationImageSource.h"
#include "itkGigapixelException.h"

#include "itkBinaryImageToLabelMapFilter.h"
#include "itkOutputWindow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <zlib.h>

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
Read(const std::string & text, std::vector<gigapixel::Diagnostic> * warnings = nullptr)
{
  const TemporaryFolder folder("annotation");
  const std::string     file = folder.File("annotations.geojson");
  std::ofstream(file) << text;
  return gigapixel::ReadAnnotations(file, warnings);
}

/** The code of the refusal; empty: it is read. */
std::string
GetError(const std::string & text)
{
  try
  {
    Read(text);
  }
  catch (const gigapixel::Refusal & error)
  {
    EXPECT_NE(error.GetDiagnostic().file, "");
    return error.GetDiagnostic().code;
  }
  return {};
}
} // namespace

TEST(AnnotationImageSource, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(AnnotationImageSource, ImageSource, itk::AnnotationImageSource);
}

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

TEST(AnnotationImageSource, LabelsOfMoreBitsAreDrawnWithoutAnImage)
{
  const auto source = Source::New();
  source->AddAnnotation({ "a", { { { 10, 10 }, { 90, 10 }, { 90, 90 }, { 10, 90 } } } }, 300);
  source->AddAnnotation({ "b", { { { 50, 50 }, { 150, 50 }, { 150, 160 }, { 50, 160 } } } }, 70000);
  source->SetSize(200, 180);
  const Mask::RegionType    region({ { 33, 41 } }, { { 70, 55 } });
  std::vector<unsigned int> labels(70 * 55, 1);
  source->DrawLabels(region, labels.data());
  for (std::size_t i = 0; i < labels.size(); ++i)
  {
    const std::size_t x = 33 + i % 70;
    const std::size_t y = 41 + i / 70;
    ASSERT_EQ(labels[i], x >= 50 && y >= 50 ? 70000U : x < 90 && y < 90 ? 300U : 0U) << x << ' ' << y;
  }
  try
  {
    source->Update();
    FAIL() << "labels above 255 do not fit";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_EQ(gigapixel::Diagnostic::Of(error).code, "E-LABEL-VALUE");
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
  const auto has = [&warn](const std::vector<Annotation> & annotations, const std::string & code) {
    return warn(annotations).find('[' + code + ']') != std::string::npos;
  };
  EXPECT_NE(warn({ inside, right, above }).find("2 of 3 outlines"), std::string::npos);
  EXPECT_TRUE(has({ inside, right, above }, "W-ANNOTATION-OUTSIDE"));
  EXPECT_TRUE(has({ inside, tiny }, "W-ANNOTATION-SMALL"));
  // Its box reaches to (60, 40) of the slide; its area does not. So does the frame's hole, but not the frame.
  const Annotation corner{ "", { { { -100, 40 }, { 60, -100 }, { -100, -100 } } } };
  const Annotation frame{ "", { MakeSquare(-50, -50, 2000).rings[0], MakeSquare(-20, -20, 1500).rings[0] } };
  const Annotation sliver{ "", { { { 100, 100 }, { 400, 401 }, { 400, 400 } } } };
  EXPECT_TRUE(has({ inside, corner }, "W-ANNOTATION-OUTSIDE"));
  EXPECT_TRUE(has({ inside, frame }, "W-ANNOTATION-OUTSIDE"));
  EXPECT_TRUE(has({ inside, sliver }, "W-ANNOTATION-SMALL"));
  EXPECT_THROW(warn({ corner }), itk::ExceptionObject);
  try
  {
    warn({ right, above });
    FAIL();
  }
  catch (const itk::GigapixelException & error)
  {
    EXPECT_EQ(error.GetDiagnostic().code, "E-ANNOTATION-EMPTY");
    EXPECT_NE(error.GetDiagnostic().why.find("from (10, -60) to (850, 60)"), std::string::npos);
  }
}

TEST(AnnotationImageSource, OutlinesMoveWithTheirOrigin)
{
  Source::Point2 origin;
  origin[0] = 20;
  origin[1] = 30;
  for (const bool isSetFirst : { true, false })
  {
    const auto source = Source::New();
    isSetFirst ? source->SetOutlineOrigin(origin) : source->AddAnnotation(MakeSquare(5, 6, 10), 1);
    isSetFirst ? source->AddAnnotation(MakeSquare(5, 6, 10), 1) : source->SetOutlineOrigin(origin);
    source->SetSize(60, 60);
    source->Update();
    for (long y = 0; y < 60; ++y)
    {
      for (long x = 0; x < 60; ++x)
      {
        ASSERT_EQ(source->GetOutput()->GetPixel({ { x, y } }), x >= 25 && x < 35 && y >= 36 && y < 46 ? 1 : 0);
      }
    }
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
  std::vector<gigapixel::Diagnostic> warnings;
  const auto                         read = Read(R"({"type": "FeatureCollection", "features": [
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
  std::multiset<std::string> counts;
  for (const auto & warning : warnings)
  {
    EXPECT_EQ(warning.code, "W-ANNOTATION-SHAPE");
    EXPECT_NE(warning.file, "");
    counts.insert(warning.value);
  }
  EXPECT_EQ(counts, (std::multiset<std::string>{ "2", "3" }));
}

TEST(Annotation, MeasurementsThatAreNoNumbers)
{
  const std::string before = R"({"type": "Feature", "properties": {"classification": {"name": "a NaN \\\" Infinity"},
    "measurements": {"NaN": NaN, "b": [Infinity, -Infinity ,1]}}, "geometry": {"type": "Polygon", "coordinates": [[)";
  const auto        read = Read(before + "[0, 0], [4, 0], [4, 4]]]}}");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].className, "a NaN \\\" Infinity");
  EXPECT_EQ(GetError(before + "[0, NaN], [4, 0], [4, 4]]]}}"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError(before + "[0, 0], [-Infinity, 0], [4, 4]]]}}"), "E-ANNOTATION-FORMAT");
}

TEST(Annotation, ClassesAndGeometriesOfOtherPrograms)
{
  const std::string ring = R"([[[0, 0], [4, 0], [4, 4], [0, 0]]])";
  const std::string polygon = R"({"type": "Polygon", "coordinates": )" + ring + "}";
  const auto        getClass = [&polygon](const std::string & classification) {
    const auto read = Read(R"({"type": "Feature", "geometry": )" + polygon + R"(, "properties": {"classification": )" +
                           classification + "}}");
    return read.size() == 1 ? read[0].className : "none";
  };
  EXPECT_EQ(getClass(R"("Tumor")"), "Tumor");
  EXPECT_EQ(getClass(R"("{\"name\": \"Tumor\", \"color\": [1, 2, 3]}")"), "Tumor");
  EXPECT_EQ(getClass(R"({"names": ["Tumor", "CD3"]})"), "Tumor: CD3");
  EXPECT_EQ(getClass(R"({"name": null, "names": ["Tumor", 3]})"), "Tumor");
  EXPECT_EQ(getClass("null"), "");
  EXPECT_EQ(Read(polygon).size(), 1u);
  EXPECT_EQ(Read('[' + polygon + ',' + polygon + ']').size(), 2u);
  const auto collection = Read(R"({"type": "GeometryCollection", "geometries": [)" + polygon + ',' + polygon + "]}");
  ASSERT_EQ(collection.size(), 1u);
  EXPECT_EQ(collection[0].rings.size(), 2u);
  EXPECT_EQ(Read("\xEF\xBB\xBF" + polygon).size(), 1u);
}

TEST(Annotation, XMLOfASAP)
{
  std::vector<gigapixel::Diagnostic> warnings;
  const auto                         read = Read(R"(<?xml version="1.0"?><ASAP_Annotations><Annotations>
    <Annotation Name="A" Type="Polygon" PartOfGroup="Tumor &amp; co"><Coordinates>
      <Coordinate Order="0" X="1.5" Y="2,5"/><Coordinate Order="1" X="9" Y="2"/><Coordinate Order="2" X="9" Y="8"/>
    </Coordinates></Annotation>
    <Annotation Name="B" Type="Rectangle" PartOfGroup="None"><Coordinates>
      <Coordinate X="0" Y="0"/><Coordinate X="4" Y="0"/><Coordinate X="4" Y="4"/><Coordinate X="0" Y="4"/>
    </Coordinates></Annotation>
    <Annotation Name="C" Type="Dot" PartOfGroup="Tumor"><Coordinates><Coordinate X="3" Y="3"/></Coordinates></Annotation>
    <Annotation Name="D" Type="Spline" PartOfGroup="Tumor"><Coordinates>
      <Coordinate X="0" Y="0"/><Coordinate X="4" Y="0"/><Coordinate X="4" Y="4"/></Coordinates></Annotation>
    </Annotations><AnnotationGroups><Group Name="Tumor" PartOfGroup="None"/></AnnotationGroups></ASAP_Annotations>)",
                         &warnings);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].className, "Tumor & co");
  EXPECT_EQ(read[0].rings.at(0).at(0).x, 1.5);
  EXPECT_EQ(read[0].rings.at(0).at(0).y, 2.5);
  EXPECT_EQ(read[1].className, "");
  EXPECT_EQ(read[1].rings.at(0).size(), 4u);
  EXPECT_EQ(warnings.size(), 2u); // the dot and the spline
  EXPECT_EQ(GetError("<ASAP_Annotations><Annotation"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError("<annotations><ndpviewstate/></annotations>"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(
    GetError(
      R"(<ASAP_Annotations><Annotation Type="Polygon"><Coordinate X="a" Y="1"/></Annotation></ASAP_Annotations>)"),
    "E-ANNOTATION-FORMAT");
}

TEST(Annotation, XMLOfImageScope)
{
  std::vector<gigapixel::Diagnostic> warnings;
  const auto                         square = [](int at, int side) {
    std::string vertices = "<Vertices>";
    for (const auto & [x, y] : { std::pair(0, 0), std::pair(1, 0), std::pair(1, 1), std::pair(0, 1) })
    {
      vertices +=
        "<Vertex X=\"" + std::to_string(at + x * side) + "\" Y=\"" + std::to_string(at + y * side) + "\" Z=\"0\"/>";
    }
    return vertices + "</Vertices></Region>";
  };
  const auto read =
    Read("<Annotations MicronsPerPixel=\"0.5\"><Annotation Id=\"1\" Name=\"Tumor\"><Regions>"
         "<Region Type=\"0\" NegativeROA=\"1\">" +
           square(30, 20) + "<Region Type=\"0\" NegativeROA=\"0\">" + square(10, 100) +
           "<Region Type=\"2\" NegativeROA=\"0\"><Vertices><Vertex X=\"200\" Y=\"100\"/><Vertex X=\"400\" "
           "Y=\"200\"/></Vertices></Region>"
           "<Region Type=\"4\" NegativeROA=\"0\">" +
           square(1, 2) + "</Regions></Annotation><Annotation Name=\"Stroma\"><Regions><Region NegativeROA=\"1\">" +
           square(40, 5) + "</Regions></Annotation></Annotations>",
         &warnings);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].className, "Tumor");
  ASSERT_EQ(read[0].rings.size(), 2u);
  const auto source = MakeSource(read, 420, 220);
  source->Update();
  const auto * const pixels = source->GetOutput()->GetBufferPointer();
  const auto         area = static_cast<double>(std::count(pixels, pixels + 420 * 220, 255));
  EXPECT_NEAR(area, 100 * 100 - 20 * 20 + std::acos(-1.0) * 100 * 50, 40);
  EXPECT_EQ(source->GetOutput()->GetPixel({ { 35, 35 } }), 0);
  EXPECT_EQ(source->GetOutput()->GetPixel({ { 60, 35 } }), 255);
  EXPECT_EQ(source->GetOutput()->GetPixel({ { 205, 105 } }), 0);
  EXPECT_EQ(warnings.size(), 2u); // the ruler, and the hole in nothing
}

TEST(Annotation, PackedByGzip)
{
  const std::string text =
    R"({"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]]]})" + std::string(100000, ' ');
  const auto pack = [](const std::string & plain) {
    const TemporaryFolder folder("packed");
    const std::string     file = folder.File("packed");
    const gzFile          packed = gzopen(file.c_str(), "wb1");
    for (std::size_t at = 0; at < plain.size(); at += 1 << 20)
    {
      gzwrite(packed, plain.data() + at, static_cast<unsigned>(std::min<std::size_t>(plain.size() - at, 1 << 20)));
    }
    gzclose(packed);
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string packed = pack(text);
  EXPECT_EQ(Read(packed).size(), 1u); // the file's name ends in .geojson
  EXPECT_EQ(Read(pack(text.substr(0, 20)) + pack(text.substr(20))).size(), 1u);
  EXPECT_EQ(GetError(packed.substr(0, packed.size() / 2)), "E-FILE-DAMAGED");
  EXPECT_EQ(GetError(packed + "more"), "E-FILE-DAMAGED");
  EXPECT_EQ(GetError(pack(std::string(std::size_t{ 80 } << 20, ' '))), "E-FILE-LIMIT");
  EXPECT_EQ(GetError(std::string("PK\x03\x04 and more")), "E-ANNOTATION-FORMAT");
}

TEST(Annotation, BadFilesAreSaidToBeBad)
{
  EXPECT_EQ(GetError("{\"type\": \"Fea"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError("{}"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError("{\"type\": \"FeatureCollection\"}"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError("{\"type\": \"Topology\"}"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError("{\"type\": 3}"), "E-ANNOTATION-FORMAT");
  const std::string feature = R"({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": )";
  EXPECT_EQ(GetError(feature + R"([[["a", 1]]]}})"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError(feature + R"([[[1e300, 1]]]}})"), "E-ANNOTATION-FORMAT");
  EXPECT_EQ(GetError(feature + "3}}"), "E-ANNOTATION-FORMAT");
  EXPECT_THROW(gigapixel::ReadAnnotations("/nowhere/there.geojson"), std::runtime_error);
}
