/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Ventana's TIFF and BIF, made with libtiff as OpenSlide's driver describes them, against OpenSlide: sizes, resolution
// and pixels of all levels. Exact. Where tiles overlap, or there are more areas, OpenSlide reads it.
#include "ReaderTesting.h"

#include <memory>

#include <gtest/gtest.h>
#include <openslide.h>

using namespace gigapixel_test;

namespace
{

using SlidePointer = std::unique_ptr<openslide_t, void (*)(openslide_t *)>;

/** What stands in the XML of BIF's level 0. */
struct Stitching
{
  std::string overlap = "0";
  std::string position = "0";
  bool        secondArea = false;
};

/** Tiles are numbered from the bottom, there and back: 8 is at the end of the lowest row of 8 x 6, 9 above it. */
std::string
MakeEncodeInfo(const Stitching & stitching)
{
  const std::string rest = " Confidence=\"90\" OverlapX=\"" + stitching.overlap + "\" OverlapY=\"0\"/>";
  const std::string area = "<ImageInfo AOIScanned=\"1\" Width=\"128\" Height=\"128\" NumRows=\"6\" NumCols=\"8\" "
                           "Pos-X=\"" +
                           stitching.position + "\" Pos-Y=\"0.0\">" +
                           "<TileJointInfo FlagJoined=\"1\" Direction=\"RIGHT\" Tile1=\"1\" Tile2=\"2\"" + rest +
                           "<TileJointInfo FlagJoined=\"1\" Direction=\"UP\" Tile1=\"8\" Tile2=\"9\"" + rest +
                           "</ImageInfo>";
  const std::string origin = " OriginX=\"0\" OriginY=\"0\"/>";
  return "<EncodeInfo Ver=\"2\"><SlideStitchInfo>" + area + (stitching.secondArea ? area : "") +
         "</SlideStitchInfo><AoiOrigin><AOI0" + origin + (stitching.secondArea ? "<AOI1" + origin : "") +
         "</AoiOrigin></EncodeInfo>";
}

/** The picture of the glass, then three levels of 20, 10 and 5 times; `xml` of the first of them. */
std::string
WriteVentana(const std::string & name, std::uint32_t width, const std::string & xml, bool separatePlanes = false)
{
  PyramidOptions macro;
  macro.width = 64;
  macro.height = 32;
  macro.levels = 1;
  macro.strips = true;
  macro.description = "Label Image";
  macro.xml = R"(<iScan Magnification="20" ScanRes="0.465" UnitNumber="7"></iScan>)";
  std::string path = TemporaryFile(name);
  WritePyramid(path, macro);
  PyramidOptions options;
  options.append = true;
  options.width = width;
  options.height = 768;
  options.levels = 1;
  options.compression = separatePlanes ? COMPRESSION_NONE : COMPRESSION_JPEG;
  options.photometric = separatePlanes ? PHOTOMETRIC_RGB : PHOTOMETRIC_YCBCR;
  options.planes = separatePlanes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG;
  options.xml = xml;
  for (const char * const description : { "level=0 mag=20", "level=1 mag=10", "level=2 mag=5" })
  {
    options.description = description;
    WritePyramid(path, options);
    options.width /= 2;
    options.height /= 2;
    options.xml.clear();
  }
  return path;
}

std::size_t
CountDifferences(openslide_t * slide, int level, const Picture & ours)
{
  std::vector<std::uint32_t> argb(std::size_t{ ours.width } * ours.height);
  openslide_read_region(slide, argb.data(), 0, 0, level, ours.width, ours.height);
  EXPECT_EQ(openslide_get_error(slide), nullptr);
  std::size_t different = 0;
  for (std::size_t i = 0; i < argb.size(); ++i)
  {
    for (unsigned channel = 0; channel < 3; ++channel)
    {
      different += ours.pixels[3 * i + channel] != (argb[i] >> (16 - 8 * channel) & 255u) ? 1 : 0;
    }
  }
  return different;
}

/** Of a file whose tiles are to be decoded directly. */
void
CompareWithOpenSlide(const std::string & path, const std::string & decoder = "tiles (JPEG)")
{
  const auto io = OpenSlideFile(path);
  EXPECT_EQ(io->GetVendor(), "ventana");
  EXPECT_EQ(io->GetDecoder(), decoder);
  EXPECT_TRUE(io->CanReadFile(path.c_str()));
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.465);
  EXPECT_EQ(io->GetAssociatedImageNames(), std::vector<std::string>{ "macro" });
  const SlidePointer slide(openslide_open(path.c_str()), openslide_close);
  ASSERT_NE(slide, nullptr);
  ASSERT_EQ(openslide_get_level_count(slide.get()), 3);
  ASSERT_EQ(io->GetNumberOfLevels(), 3u);
  for (int level = 0; level < 3; ++level)
  {
    const Picture ours = ReadLevel(*io, static_cast<unsigned>(level), 3);
    std::int64_t  width = 0;
    std::int64_t  height = 0;
    openslide_get_level_dimensions(slide.get(), level, &width, &height);
    EXPECT_EQ(ours.width, width);
    EXPECT_EQ(ours.height, height);
    EXPECT_DOUBLE_EQ(io->GetLevelDownsample(static_cast<unsigned>(level)),
                     openslide_get_level_downsample(slide.get(), level));
    EXPECT_EQ(CountDifferences(slide.get(), level, ours), 0u) << "level " << level;
  }
}

} // namespace

TEST(WholeSlideImageIOVentana, TilesSideBySideAreAsOpenSlideReadsThem)
{
  CompareWithOpenSlide(WriteVentana("ventana.bif", 1024, MakeEncodeInfo({})));
}

TEST(WholeSlideImageIOVentana, TIFFIsAsOpenSlideReadsIt)
{
  CompareWithOpenSlide(WriteVentana("ventana.tif", 1000, ""));
}

TEST(WholeSlideImageIOVentana, SeparatePlanesAreAsOpenSlideReadsThem)
{
  CompareWithOpenSlide(WriteVentana("ventana-planes.bif", 1024, MakeEncodeInfo({}), true), "tiles (uncompressed)");
  CompareWithOpenSlide(WriteVentana("ventana-planes.tif", 1000, "", true), "tiles (uncompressed)");
}

TEST(WholeSlideImageIOVentana, OthersAreReadThroughOpenSlide)
{
  const std::string decoder = std::string("OpenSlide ") + openslide_get_version();
  for (const Stitching & stitching : { Stitching{ "8", "0", false }, { "0", "300", false }, { "0", "0", true } })
  {
    const std::string  path = WriteVentana("ventana-other.bif", 1024, MakeEncodeInfo(stitching));
    const auto         io = OpenSlideFile(path);
    const SlidePointer slide(openslide_open(path.c_str()), openslide_close);
    ASSERT_NE(slide, nullptr);
    EXPECT_EQ(io->GetDecoder(), decoder);
    const auto   size = io->GetLevelSize(0);
    std::int64_t width = 0;
    std::int64_t height = 0;
    openslide_get_level0_dimensions(slide.get(), &width, &height);
    EXPECT_EQ(size[0], static_cast<itk::SizeValueType>(width));
    EXPECT_EQ(size[1], static_cast<itk::SizeValueType>(height));
  }
}

TEST(WholeSlideImageIOVentana, TagsInCommentsAreNone)
{
  const std::string other = "<!-- <ImageInfo Pos-X=\"9\"><TileJointInfo OverlapX=\"8\"/></ImageInfo> -->";
  CompareWithOpenSlide(WriteVentana("ventana-comment.bif", 1024, other + MakeEncodeInfo({})));
}

TEST(WholeSlideImageIOVentana, XMLWhoseTagsDoNotEndIsReadOnce)
{
  // Read anew from each tag to the end of the text, these 4 MB would be 200 GB.
  std::string xml = "<EncodeInfo Ver=\"2\"><ImageInfo Pos-X=\"0\" Pos-Y=\"0\" OriginX=\"0\" OriginY=\"0\" ";
  for (int i = 0; i < 100000; ++i)
  {
    xml += "<TileJointInfo  OverlapX=\"0\" OverlapY=\"0\"";
  }
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(WriteVentana("ventana-endless.bif", 512, xml));
  EXPECT_THROW(io->ReadImageInformation(), itk::ExceptionObject);
}
