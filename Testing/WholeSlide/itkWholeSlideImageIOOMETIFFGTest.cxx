/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What OME-XML says of a page in color (700 x 500 pixels, three samples of 8 bit, 0.5 micrometers by its tags): in
// whichever form it says so, and what is refused where it cannot be true. Channels on pages of their own: see Samples.
#include "ReaderTesting.h"

#include "gigapixelDiagnostic.h"

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

std::string
WriteOME(const std::string & xml)
{
  PyramidOptions options;
  options.description = xml;
  std::string path = TemporaryFile("color.ome.tif");
  WritePyramid(path, options);
  return path;
}

/** With a Pixels element of these attributes. */
std::string
MakeOME(const std::string & pixels)
{
  return R"(<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" )" +
         pixels + R"(><Channel ID="c" SamplesPerPixel="3"/><TiffData/></Pixels></Image></OME>)";
}

const std::string size = R"(SizeX="700" SizeY="500" SizeC="3" SizeZ="1" SizeT="1" Type="uint8")";

std::string
GetRefusal(const std::string & xml)
{
  const std::string path = WriteOME(xml);
  EXPECT_FALSE(itk::WholeSlideImageIO::New()->CanReadFile(path.c_str()));
  try
  {
    OpenSlideFile(path);
  }
  catch (const itk::ExceptionObject & error)
  {
    const gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(error);
    EXPECT_EQ(diagnostic.file, path);
    return diagnostic.code;
  }
  return {};
}

} // namespace

TEST(WholeSlideImageIOOMETIFF, XMLIsReadInAnyOfItsForms)
{
  const std::string spacing = R"(PhysicalSizeX="0.25" PhysicalSizeY="0.25")";
  for (const std::string & xml :
       { MakeOME(size + ' ' + spacing),
         MakeOME(spacing + '\n' + size),
         "<?xml version='1.0' encoding='UTF-8'?>\n<!-- <Pixels SizeX=\"1\"/> -->" + MakeOME(size + ' ' + spacing),
         "<o:OME xmlns:o='http://www.openmicroscopy.org/Schemas/OME/2016-06'><o:Image><o:Description><![CDATA[<Pixels "
         "SizeX='2'>]]></o:Description><o:Pixels " +
           size + " PhysicalSizeX='&#48;.25' PhysicalSizeY='0.25'/></o:Image></o:OME>" })
  {
    const std::string path = WriteOME(xml);
    const auto        io = OpenSlideFile(path);
    EXPECT_TRUE(io->CanReadFile(path.c_str())) << xml;
    EXPECT_EQ(io->GetNumberOfLevels(), 3u) << xml;
    EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.25) << xml;
    EXPECT_TRUE(ReadLevel(*io, 0, 3) == MakePicture(700, 500, 3, 0)) << xml;
  }
}

TEST(WholeSlideImageIOOMETIFF, LengthsHaveUnits)
{
  const std::pair<std::string, std::string> units[] = {
    { "nm", "250" },       { "\xc2\xb5m", "0.25" }, { "\xce\xbcm", "0.25" }, { "\xb5m", "0.25" },
    { "&#181;m", "0.25" }, { "dm", "0.0000025" },   { "\xc3\x85", "2500" },  { "\xe2\x84\xab", "2500" },
  };
  for (const auto & [unit, value] : units)
  {
    const auto io =
      OpenSlideFile(WriteOME(MakeOME(size + " PhysicalSizeX='" + value + "' PhysicalSizeXUnit='" + unit +
                                     "' PhysicalSizeY='" + value + "' PhysicalSizeYUnit='" + unit + "'")));
    EXPECT_NEAR(io->GetMicronsPerPixel(), 0.25, 1e-12) << unit;
  }
  // A unit that is no length leaves it to the tags.
  const auto io = OpenSlideFile(WriteOME(
    MakeOME(size + " PhysicalSizeX='3' PhysicalSizeXUnit='pixel' PhysicalSizeY='3' PhysicalSizeYUnit='pixel'")));
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.5);
}

TEST(WholeSlideImageIOOMETIFF, DamagedXMLIsRefused)
{
  const std::string whole = MakeOME(size);
  EXPECT_EQ(GetRefusal(whole.substr(0, whole.find("</Image>"))), "E-OME-XML");
  EXPECT_EQ(GetRefusal(whole + "\n</OME>"), "E-OME-XML");
  EXPECT_EQ(GetRefusal(MakeOME(size + " Note='&undefined;'")), "E-OME-XML");
}

TEST(WholeSlideImageIOOMETIFF, WhatIsNotOfThePageIsRefused)
{
  const std::string rest = R"( SizeZ="1" SizeT="1" )";
  EXPECT_EQ(GetRefusal(MakeOME(R"(SizeX="701" SizeY="500" SizeC="3" Type="uint8")" + rest)), "E-OME-XML");
  EXPECT_EQ(GetRefusal(MakeOME(R"(SizeX="700" SizeY="250" SizeC="3" Type="uint8")" + rest)), "E-OME-XML");
  EXPECT_EQ(GetRefusal(MakeOME(R"(SizeX="700" SizeY="500" SizeC="3" Type="uint16")" + rest)), "E-OME-XML");
  EXPECT_EQ(GetRefusal(MakeOME(R"(SizeX="700" SizeY="500" SizeC="3" Type="int8")" + rest)), "E-OME-XML");
  EXPECT_EQ(GetRefusal(R"(<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"/>)"), "E-OME-XML");
  EXPECT_EQ(GetRefusal(R"(<OME><BinaryOnly MetadataFile="all.companion.ome" UUID="urn:uuid:1"/></OME>)"),
            "E-SLIDE-PARTS");
}

TEST(WholeSlideImageIOOMETIFF, NoChannelsAreRefused)
{
  EXPECT_EQ(GetRefusal(R"(<OME><Image><Pixels SizeX="700" SizeY="500" SizeC="0" SizeZ="1" SizeT="1"/></Image></OME>)"),
            "E-OME-XML");
}

/** Other descriptions that name OME are none. */
TEST(WholeSlideImageIOOMETIFF, OtherXMLIsNone)
{
  for (const char * const text : { "made of <OME> by hand", "<Note><OME/></Note>", "<OMEX/>" })
  {
    EXPECT_EQ(GetFailure([text] { OpenSlideFile(WriteOME(text)); }), "") << text;
  }
}
