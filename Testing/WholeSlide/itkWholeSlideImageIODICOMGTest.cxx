/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// DICOM whole-slide images, written byte by byte here (PS3.5): lossless frames come back exactly, however they lie.
#include "JPEGFixture.h"
#include "ReaderTesting.h"

#include "TestData.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

std::string
Little(std::uint64_t value, unsigned size)
{
  std::string bytes;
  for (unsigned i = 0; i < size; ++i)
  {
    bytes += static_cast<char>(value >> 8 * i & 255);
  }
  return bytes;
}

std::string
Tag(std::uint32_t tag)
{
  return Little(tag >> 16, 2) + Little(tag & 0xffff, 2);
}

/** Whether elements are written without their representations: the transfer syntax of that name. */
bool isImplicit = false;

/** As it is, whatever its length. */
std::string
RawElement(std::uint32_t tag, const std::string & kind, const std::string & value)
{
  if (isImplicit && tag >> 16 != 2)
  {
    return Tag(tag) + Little(value.size(), 4) + value;
  }
  const bool isLong = kind == "OB" || kind == "OW" || kind == "SQ" || kind == "UN" || kind == "UV";
  return Tag(tag) + kind + (isLong ? Little(0, 2) + Little(value.size(), 4) : Little(value.size(), 2)) + value;
}

std::string
Element(std::uint32_t tag, const std::string & kind, std::string value)
{
  const bool isText = kind == "UI" || kind == "CS" || kind == "IS" || kind == "DS";
  if (value.size() % 2 != 0)
  {
    value += isText && kind != "UI" ? ' ' : '\0';
  }
  return RawElement(tag, kind, value);
}

/** A sequence of unknown length. */
std::string
UnendingSequence(std::uint32_t tag, const std::string & kind, const std::string & items)
{
  const std::string unknown = Little(0xffffffff, 4);
  return Tag(tag) + (isImplicit ? "" : kind + Little(0, 2)) + unknown + items + Tag(0xfffee0dd) + Little(0, 4);
}

std::string
UnendingItem(const std::string & content)
{
  return Tag(0xfffee000) + Little(0xffffffff, 4) + content + Tag(0xfffee00d) + Little(0, 4);
}

std::string
Item(const std::string & content)
{
  return Tag(0xfffee000) + Little(content.size() + content.size() % 2, 4) + content +
         std::string(content.size() % 2, '\0');
}

enum class Offsets
{
  None,
  Basic,
  Extended
};

struct Options
{
  Offsets     offsets = Offsets::Basic;
  bool        sparse = false; // frames in reverse order, the tile 1 left out
  bool        raw = false;    // uncompressed
  unsigned    first = 0;      // frames of a part
  unsigned    count = 1000;
  std::string concatenation;
  std::string type = "ORIGINAL\\PRIMARY\\VOLUME\\NONE";

  std::vector<JPEGStream> jpeg; // the frames, in the place of those of the picture

  bool                                 implicit = false; // of uncompressed frames
  std::map<std::uint32_t, std::string> elements;         // whole, in the place of those of their tags, or added
};

constexpr unsigned tileSide = 64;

Picture
CutTile(const Picture & picture, unsigned tile)
{
  const unsigned across = (picture.width + tileSide - 1) / tileSide;
  Picture        part{ tileSide, tileSide, picture.channels, {} };
  for (unsigned y = 0; y < tileSide; ++y)
  {
    for (unsigned x = 0; x < tileSide * picture.channels; ++x)
    {
      const unsigned row = tile / across * tileSide + y;
      const unsigned column = tile % across * tileSide * picture.channels + x;
      const bool     isInside = row < picture.height && column < picture.width * picture.channels;
      part.pixels.push_back(isInside ? picture.pixels[std::size_t{ row } * picture.width * picture.channels + column]
                                     : 7);
    }
  }
  return part;
}

void
WriteDICOM(const std::string & path, const Picture & picture, const Options & options)
{
  const unsigned        across = (picture.width + tileSide - 1) / tileSide;
  const unsigned        down = (picture.height + tileSide - 1) / tileSide;
  std::vector<unsigned> tiles;
  for (unsigned tile = options.first; tile < std::min(options.first + options.count, across * down); ++tile)
  {
    if (!options.sparse || tile != 1)
    {
      tiles.insert(options.sparse ? tiles.begin() : tiles.end(), tile);
    }
  }
  const std::string slideClass = "1.2.840.10008.5.1.4.1.1.77.1.6";
  const std::string encoding = !options.jpeg.empty() ? "1.2.840.10008.1.2.4.50"
                               : options.implicit    ? "1.2.840.10008.1.2"
                               : options.raw         ? "1.2.840.10008.1.2.1"
                                                     : "1.2.840.10008.1.2.4.90";
  const std::string colors = picture.channels == 1 ? "MONOCHROME2" : options.jpeg.empty() ? "RGB" : "YBR_FULL_422";
  std::string       file(128, '\0');
  file += "DICM" + Element(0x00020002, "UI", slideClass) + Element(0x00020010, "UI", encoding);
  isImplicit = options.implicit;
  std::map<std::uint32_t, std::string> elements; // in the order of their tags
  const auto add = [&elements](std::uint32_t tag, const std::string & kind, const std::string & value) {
    elements[tag] = Element(tag, kind, value);
  };
  add(0x00080008, "CS", options.type);
  add(0x00080016, "UI", slideClass);
  add(0x0020000e, "UI", "1.2.3.4");
  if (!options.concatenation.empty())
  {
    add(0x00209161, "UI", options.concatenation);
    add(0x00209228, "UL", Little(options.first, 4));
  }
  add(0x00209311, "CS", options.sparse ? "TILED_SPARSE" : "TILED_FULL");
  add(0x00280002, "US", Little(picture.channels, 2));
  add(0x00280004, "CS", colors);
  add(0x00280006, "US", Little(0, 2));
  add(0x00280008, "IS", std::to_string(tiles.size()));
  add(0x00280010, "US", Little(tileSide, 2));
  add(0x00280011, "US", Little(tileSide, 2));
  add(0x00280100, "US", Little(8, 2));
  add(0x00480006, "UL", Little(picture.width, 4));
  add(0x00480007, "UL", Little(picture.height, 4));
  add(0x52009229, "SQ", Item(Element(0x00289110, "SQ", Item(Element(0x00280030, "DS", "0.0005\\0.00025")))));
  std::string groups;
  for (const unsigned tile : tiles)
  {
    // A sequence and an item of unknown length, with their ends, as many writers have them.
    const std::string position = Element(0x0048021e, "SL", Little(tile % across * tileSide + 1, 4)) +
                                 Element(0x0048021f, "SL", Little(tile / across * tileSide + 1, 4));
    groups += Item(UnendingSequence(0x0048021a, "SQ", UnendingItem(position)));
  }
  if (options.sparse)
  {
    add(0x52009230, "SQ", groups);
  }
  for (const auto & element : options.elements)
  {
    elements[element.first] = element.second;
  }
  for (const auto & element : elements)
  {
    file += element.second;
  }
  std::string frames;
  std::string offsets;
  std::string lengths;
  std::string rawPixels;
  for (const unsigned tile : tiles)
  {
    const Picture                    part = CutTile(picture, tile);
    const std::vector<unsigned char> stream =
      options.jpeg.empty() ? EncodeJPEG2000(part, false) : options.jpeg.at(tile);
    offsets += Little(frames.size(), options.offsets == Offsets::Extended ? 8 : 4);
    lengths += Little(stream.size() + stream.size() % 2, 8);
    rawPixels.append(part.pixels.begin(), part.pixels.end());
    // With a table, a frame may have several fragments.
    const std::string bytes(stream.begin(), stream.end());
    const std::size_t half = options.offsets == Offsets::Basic ? bytes.size() / 4 * 2 : 0;
    frames += (half > 0 ? Item(bytes.substr(0, half)) : "") + Item(bytes.substr(half));
  }
  if (options.raw)
  {
    file += Element(0x7fe00010, "OB", rawPixels);
  }
  else
  {
    const bool isExtended = options.offsets == Offsets::Extended;
    // VR OV with a length of 32 bit.
    const auto table = [](std::uint32_t tag, const std::string & value) {
      return Tag(tag) + "OV" + Little(0, 2) + Little(value.size(), 4) + value;
    };
    file += isExtended ? table(0x7fe00001, offsets) + table(0x7fe00002, lengths) : "";
    file += Tag(0x7fe00010) + "OB" + Little(0, 2) + Little(0xffffffff, 4) +
            Item(options.offsets == Offsets::Basic ? offsets : "") + frames + Tag(0xfffee0dd) + Little(0, 4);
  }
  isImplicit = false;
  std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
}

/** A folder of its own, since a series is the files of a folder. */
std::string
MakeFolder(const std::string & name)
{
  const std::string folder = TemporaryFile(name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder + '/';
}

TEST(DICOM, FramesComeBackHoweverTheyAreFound)
{
  for (const unsigned channels : { 1u, 3u })
  {
    const Picture picture = MakePicture(200, 150, channels, 3);
    for (const Offsets offsets : { Offsets::None, Offsets::Basic, Offsets::Extended })
    {
      for (const bool raw : { false, true })
      {
        const std::string path = MakeFolder("dicom") + "slide.dcm";
        Options           options;
        options.offsets = offsets;
        options.raw = raw;
        WriteDICOM(path, picture, options);
        const auto io = OpenSlideFile(path);
        EXPECT_TRUE(io->CanReadFile(path.c_str()));
        EXPECT_EQ(io->GetVendor(), "dicom");
        EXPECT_EQ(io->GetNumberOfComponents(), channels);
        EXPECT_DOUBLE_EQ(io->GetSpacing(0), 0.00025);
        EXPECT_DOUBLE_EQ(io->GetSpacing(1), 0.0005);
        EXPECT_TRUE(ReadLevel(*io, 0, channels) == picture);
      }
    }
  }
}

/** Without representations, elements are known by their tags: sequences, too. */
TEST(DICOM, RepresentationsMayBeLeftToTheStandard)
{
  const Picture picture = MakePicture(200, 150, 3, 3);
  for (const bool sparse : { false, true })
  {
    const std::string path = MakeFolder("implicit") + "slide.dcm";
    Options           options;
    options.raw = options.implicit = true;
    options.sparse = sparse;
    WriteDICOM(path, picture, options);
    const auto io = OpenSlideFile(path);
    EXPECT_DOUBLE_EQ(io->GetSpacing(0), 0.00025);
    EXPECT_DOUBLE_EQ(io->GetSpacing(1), 0.0005);
    std::vector<unsigned char> scanned(200 * 150);
    EXPECT_EQ(io->ReadScanned(0, 0, 0, 200, 150, scanned.data()), !sparse);
    EXPECT_TRUE(sparse || ReadLevel(*io, 0, 3) == picture);
  }
}

std::string
Bytes(double value)
{
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string
Bytes(float value)
{
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

constexpr std::uint32_t rowsTag = 0x00280010;

/** 64 rows, as many writers may have it, with odd lengths and padding among them. */
TEST(DICOM, NumbersAreReadByTheirRepresentation)
{
  const Picture     picture = MakePicture(200, 150, 3, 3);
  const std::string path = MakeFolder("numbers") + "slide.dcm";
  for (const std::string & rows : { RawElement(rowsTag, "US", Little(64, 2)),
                                    RawElement(rowsTag, "US", Little(64, 2) + Little(7, 2)), // the first counts
                                    RawElement(rowsTag, "SS", Little(64, 2)),
                                    RawElement(rowsTag, "UL", Little(64, 4)),
                                    RawElement(rowsTag, "SL", Little(64, 4)),
                                    RawElement(rowsTag, "UV", Little(64, 8)),
                                    RawElement(rowsTag, "FL", Bytes(64.0F)),
                                    RawElement(rowsTag, "FD", Bytes(64.0)),
                                    RawElement(rowsTag, "IS", "64"),
                                    RawElement(rowsTag, "IS", " 64"),
                                    RawElement(rowsTag, "IS", "+64 "),
                                    RawElement(rowsTag, "IS", std::string("64\0", 3)),
                                    RawElement(rowsTag, "DS", "6.4e1\\12"),
                                    RawElement(rowsTag, "UN", Little(64, 2)) })
  {
    Options options;
    options.raw = true;
    options.elements[rowsTag] = rows;
    WriteDICOM(path, picture, options);
    const auto io = OpenSlideFile(path);
    EXPECT_TRUE(ReadLevel(*io, 0, 3) == picture) << rows;
    EXPECT_DOUBLE_EQ(io->GetSpacing(0), 0.00025);
  }
}

TEST(DICOM, ValuesThatAreNotWhatTheyClaimEndInASentence)
{
  const struct
  {
    std::string element;
    std::string said;
  } cases[] = {
    { RawElement(rowsTag, "LO", "64"), "(0028,0010) has the value representation LO, where US is expected" },
    { RawElement(rowsTag, "OB", Little(64, 2)), "(0028,0010) has the value representation OB, where US is expected" },
    { RawElement(rowsTag, "SQ", ""), "(0028,0010) has the value representation SQ, where US is expected" },
    { RawElement(rowsTag, "US", Little(64, 3)), "(0028,0010) has 3 bytes, which are no values of US" },
    { RawElement(rowsTag, "IS", "many"), "(0028,0010) is no number" },
    { RawElement(rowsTag, "IS", "-64 "), "(0028,0010) is no whole number below 2^32" },
    { RawElement(rowsTag, "FL", Bytes(64.5F)), "(0028,0010) is no whole number below 2^32" },
    { RawElement(rowsTag, "FD", Bytes(1e300)), "(0028,0010) is no whole number below 2^32" },
    { RawElement(0x00080008, "US", Little(1, 2)), "(0008,0008) has the value representation US, where CS is expected" },
    { RawElement(0x52009229, "LO", "none"), "(5200,9229) has the value representation LO, where SQ is expected" },
  };
  const std::string path = MakeFolder("claims") + "slide.dcm";
  for (const auto & each : cases)
  {
    Options options;
    options.raw = true;
    const std::uint32_t tag = static_cast<unsigned char>(each.element[0]) | static_cast<unsigned char>(each.element[1])
                                                                              << 8;
    const std::uint32_t number =
      static_cast<unsigned char>(each.element[2]) | static_cast<unsigned char>(each.element[3]) << 8;
    options.elements[tag << 16 | number] = each.element;
    WriteDICOM(path, MakePicture(200, 150, 3, 3), options);
    const auto failure = gigapixel::Diagnostic::OfText(GetFailure([&path] { OpenSlideFile(path); }), "E-OTHER");
    EXPECT_EQ(failure.code, "E-FILE-DAMAGED") << each.said;
    EXPECT_EQ(failure.file, path);
    EXPECT_NE(failure.why.find(each.said), std::string::npos) << failure.why;
  }
  Options options;
  options.elements[rowsTag] = RawElement(rowsTag, "us", Little(64, 2));
  WriteDICOM(path, MakePicture(200, 150, 3, 3), options);
  EXPECT_NE(GetFailure([&path] { OpenSlideFile(path); }).find("[E-FILE-DAMAGED]"), std::string::npos);
}

constexpr std::uint32_t sharedGroupsTag = 0x52009229;

/** The size of the pixels of a level with half as many. */
std::string
MakeCoarseSpacing()
{
  return Element(
    sharedGroupsTag, "SQ", Item(Element(0x00289110, "SQ", Item(Element(0x00280030, "DS", "0.001\\0.0005")))));
}

/** What sequences say of other files and pictures is not said of the slide: series, sizes, pixels. */
TEST(DICOM, WhatTheFileItselfSaysCounts)
{
  const std::string coarseSpacing = MakeCoarseSpacing();
  const Picture     base = MakePicture(200, 150, 3, 3);
  const Picture     half = MakePicture(100, 75, 3, 5);
  const std::string folder = MakeFolder("inner");
  const std::string icon = Element(0x00280010, "US", Little(1, 2)) + Element(0x00280100, "US", Little(1, 2));
  const std::string fragments = Item("") + Item("pixels");
  unsigned          number = 0;
  for (const Picture & picture : { base, half })
  {
    Options options;
    options.elements[0x00081115] =
      Element(0x00081115, "SQ", Item(Element(0x0020000e, "UI", "9." + std::to_string(++number))));
    isImplicit = true; // inside of what is unknown
    const std::string inside = UnendingItem(Element(rowsTag, "US", Little(3, 2)));
    isImplicit = false;
    options.elements[0x00091001] = UnendingSequence(0x00091001, "UN", inside);
    options.elements[0x00880200] = Element(0x00880200,
                                           "SQ",
                                           Item(icon + Element(0x7fe00010, "OW", "ab")) +
                                             Item(icon + UnendingSequence(0x7fe00010, "OB", fragments)));
    if (number == 2)
    {
      options.elements[sharedGroupsTag] = coarseSpacing;
    }
    WriteDICOM(folder + std::to_string(number) + ".dcm", picture, options);
  }
  const auto io = OpenSlideFile(folder + "1.dcm");
  ASSERT_EQ(io->GetNumberOfLevels(), 2u);
  EXPECT_TRUE(ReadLevel(*io, 0, 3) == base);
  EXPECT_TRUE(ReadLevel(*io, 1, 3) == half);
}

/** What a stream's marker says of its colors counts for it alone, whatever the frame before it said. */
TEST(DICOM, FramesOfJPEGHaveTheColorsOfTheirOwnMarkers)
{
  const Picture picture = MakePicture(4 * tileSide, tileSide, 3, 3);
  Options       options;
  for (const Marker marker : { Marker::JFIF, Marker::AdobeRGB, Marker::AdobeYCbCr, Marker::AdobeRGB })
  {
    JPEGOptions kind;
    kind.marker = marker;
    kind.ownHuffmanTables = options.jpeg.size() == 3;
    options.jpeg.push_back(EncodeJPEG(CutTile(picture, static_cast<unsigned>(options.jpeg.size())), kind));
  }
  const std::string path = MakeFolder("marked") + "slide.dcm";
  WriteDICOM(path, picture, options);
  const auto limit = itk::WholeSlideImageIO::GetTileCacheLimit();
  itk::WholeSlideImageIO::SetTileCacheLimit(0);
  const auto               io = OpenSlideFile(path);
  std::vector<unsigned>    order{ 0, 1, 2, 3 };
  std::vector<std::string> differences;
  do
  {
    // A thread of its own begins with nothing decoded.
    std::thread([&] {
      for (const unsigned tile : order)
      {
        for (const unsigned channels : { 1u, 3u })
        {
          Picture frame{ tileSide, tileSide, channels, std::vector<unsigned char>(tileSide * tileSide * channels) };
          io->ReadRegion(0, tile * tileSide, 0, tileSide, tileSide, channels, frame.pixels.data());
          if (!(frame == DecodeWithLibJPEG(options.jpeg[tile], channels, 1, Colors::Marked)))
          {
            differences.push_back(std::to_string(tile) + " to " + std::to_string(channels) + " channels");
          }
        }
      }
    }).join();
  } while (std::next_permutation(order.begin(), order.end()));
  itk::WholeSlideImageIO::SetTileCacheLimit(limit);
  EXPECT_EQ(differences, std::vector<std::string>());
}

TEST(DICOM, SparseTilesAreWhereTheyBelongAndTheAbsentOneIsNotScanned)
{
  const Picture     picture = MakePicture(200, 150, 3, 3);
  const std::string path = MakeFolder("sparse") + "slide.dcm";
  Options           options;
  options.sparse = true;
  WriteDICOM(path, picture, options);
  const auto                 io = OpenSlideFile(path);
  const Picture              read = ReadLevel(*io, 0, 3);
  std::vector<unsigned char> scanned(200 * 150);
  EXPECT_FALSE(io->ReadScanned(0, 0, 0, 200, 150, scanned.data()));
  for (unsigned y = 0; y < 150; ++y)
  {
    for (unsigned x = 0; x < 200; ++x)
    {
      const bool        isAbsent = y < tileSide && x / tileSide == 1;
      const std::size_t at = std::size_t{ y } * 200 + x;
      ASSERT_EQ(scanned[at], isAbsent ? 0 : 255);
      for (unsigned c = 0; c < 3; ++c)
      {
        ASSERT_EQ(read.pixels[3 * at + c], isAbsent ? 255 : picture.pixels[3 * at + c]) << x << ',' << y;
      }
    }
  }
}

TEST(DICOM, FramesInOrderNeedNoPositions)
{
  const Picture     picture = MakePicture(200, 150, 3, 3);
  const std::string path = MakeFolder("unplaced") + "slide.dcm";
  Options           options;
  std::string       groups;
  for (unsigned tile = 0; tile < 12; ++tile)
  {
    groups += Item("");
  }
  options.elements[0x52009230] = Element(0x52009230, "SQ", groups);
  WriteDICOM(path, picture, options);
  EXPECT_TRUE(ReadLevel(*OpenSlideFile(path), 0, 3) == picture);
}

TEST(DICOM, LevelsPartsAndAssociatedImagesAreTheFilesOfTheSeries)
{
  const std::string coarseSpacing = MakeCoarseSpacing();
  const std::string folder = MakeFolder("series");
  const Picture     base = MakePicture(256, 192, 3, 1);
  const Picture     half = MakePicture(128, 96, 3, 2);
  const Picture     label = MakePicture(64, 40, 3, 4);
  Options           options;
  options.concatenation = "1.2.3.5";
  for (const unsigned first : { 0u, 5u, 10u })
  {
    options.first = first;
    options.count = 5;
    WriteDICOM(folder + "part" + std::to_string(first) + ".dcm", base, options);
  }
  options = Options();
  options.elements[0x52009229] =
    Element(0x52009229, "SQ", Item(Element(0x00289110, "SQ", Item(Element(0x00280030, "DS", "0.001\\0.0005")))));
  WriteDICOM(folder + "half.dcm", half, options);
  options = Options();
  options.type = "ORIGINAL\\PRIMARY\\LABEL\\NONE";
  WriteDICOM(folder + "label.dcm", label, options);
  // A link to one file of the slide, in another folder, stands for all of them, too.
  const std::string elsewhere = MakeFolder("series-elsewhere");
  std::filesystem::create_symlink(folder + "half.dcm", elsewhere + "link.dcm");
  for (const std::string & name :
       { folder + "part5.dcm", folder + "half.dcm", folder + "label.dcm", elsewhere + "link.dcm" })
  {
    const auto io = OpenSlideFile(name);
    ASSERT_EQ(io->GetNumberOfLevels(), 2u) << name;
    EXPECT_TRUE(ReadLevel(*io, 0, 3) == base) << name;
    EXPECT_TRUE(ReadLevel(*io, 1, 3) == half) << name;
    ASSERT_EQ(io->GetAssociatedImageNames(), std::vector<std::string>{ "label" });
    io->SetAssociatedImage("label");
    io->ReadImageInformation();
    std::vector<unsigned char> pixels(label.pixels.size());
    io->Read(pixels.data());
    EXPECT_EQ(pixels, label.pixels);
  }
}

/** A file for each optical path is a channel each, in the order of their identifiers. */
TEST(DICOM, ChannelsAreTheOpticalPaths)
{
  const std::string    folder = MakeFolder("channels");
  std::vector<Picture> gray;
  for (unsigned channel = 0; channel < 4; ++channel)
  {
    gray.push_back(MakePicture(200, 150, 1, channel + 1));
    Options options;
    options.raw = true;
    options.sparse = channel == 2; // without its tile 1
    options.elements[0x00480105] =
      Element(0x00480105, "SQ", Item(Element(0x00480106, "SH", std::to_string(channel + 8)))); // 8, 9, 10, 11
    WriteDICOM(folder + std::to_string(9 - channel) + ".dcm", gray.back(), options);
  }
  const auto io = OpenSlideFile(folder + "9.dcm");
  ASSERT_EQ(io->GetNumberOfComponents(), 4u);
  const Picture read = ReadLevel(*io, 0, 4);
  for (unsigned y = 0; y < 150; ++y)
  {
    for (unsigned x = 0; x < 200; ++x)
    {
      for (unsigned channel = 0; channel < 4; ++channel)
      {
        const std::size_t at = std::size_t{ y } * 200 + x;
        const bool        isAbsent = channel == 2 && y < tileSide && x / tileSide == 1;
        ASSERT_EQ(read.pixels[4 * at + channel], isAbsent ? 0 : gray[channel].pixels[at]) << x << ',' << y;
      }
    }
  }
}

TEST(DICOM, ADamagedFileBesideItIsNamedInWhatCanBePrinted)
{
  const std::string folder = MakeFolder("beside");
  const std::string path = folder + "slide.dcm";
  const std::string damaged = folder + "\x1b[31m\xc2\x9b.dcm";
  WriteDICOM(path, MakePicture(128, 96, 3, 2), Options());
  std::ifstream     file(path, std::ios::binary);
  const std::string whole{ std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
  std::ofstream(damaged, std::ios::binary) << whole.substr(0, whole.find("TILED_FULL"));
  testing::internal::CaptureStderr();
  OpenSlideFile(path);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("/\\x1b[31m\\xc2\\x9b.dcm"), std::string::npos) << said;
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
}

TEST(DICOM, DamagedFilesEndInASentence)
{
  const std::string path = MakeFolder("damaged") + "slide.dcm";
  Options           options;
  options.sparse = true;
  WriteDICOM(path, MakePicture(200, 150, 3, 3), options);
  std::ifstream     file(path, std::ios::binary);
  const std::string whole{ std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
  std::mt19937      random(11);
  unsigned          failures = 0;
  for (unsigned i = 0; i < 150; ++i)
  {
    std::string bytes = whole;
    if (i % 5 == 0)
    {
      bytes.resize(bytes.size() * (i / 5) / 30);
    }
    for (unsigned flip = 0; flip < i % 5; ++flip)
    {
      const std::size_t at = random() % (i % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1800));
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const std::string failure = GetFailure([&path] {
      const auto                 io = OpenSlideFile(path);
      std::vector<unsigned char> pixels(64 * 64 * 3);
      const auto                 size = io->GetLevelSize(0);
      io->ReadRegion(
        0, 0, 0, std::min<std::uint64_t>(64, size[0]), std::min<std::uint64_t>(64, size[1]), 3, pixels.data());
    });
    failures += failure.empty() ? 0 : 1;
    if (!failure.empty())
    {
      EXPECT_EQ(failure.find(path + ": "), 0u) << failure;
      EXPECT_EQ(failure.back(), ']') << failure;
    }
  }
  EXPECT_GT(failures, 30u);
}

/** The same tiles as the SVS's; its streams are marked as RGB, where DICOM's words say YCbCr. */
// A small file could otherwise ask for gigabytes.
TEST(DICOM, MoreTilesThanASlideHasAreRefused)
{
  const std::string path = MakeFolder("vast") + "slide.dcm";
  Options           options;
  options.sparse = true;
  WriteDICOM(path, MakePicture(200, 150, 3, 3), options);
  std::ifstream file(path, std::ios::binary);
  std::string   bytes{ std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
  for (const std::uint32_t tag : { 0x00480006u, 0x00480007u })
  {
    const std::size_t at = bytes.find(Tag(tag) + "UL" + Little(4, 2));
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at + 8, 4, Little(1 << 20, 4));
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc)
    .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_NE(GetFailure([&path] { OpenSlideFile(path); }).find("[E-FILE-DAMAGED]"), std::string::npos);
}

TEST(DICOM, ARealSlideIsTheOneThatItWasMadeOf)
{
  GIGAPIXEL_REAL_SLIDE(svs, "slides/cmu-1-small-region.svs");
  GIGAPIXEL_REAL_SLIDE(path,
                       "dicom/cmu-1-small-region/1.2.826.0.1.3680043.8.498.35220404935377466417110411569853018212.dcm");
  const auto io = OpenSlideFile(path);
  EXPECT_EQ(io->GetAssociatedImageNames(), (std::vector<std::string>{ "label", "macro" }));
  EXPECT_TRUE(ReadLevel(*io, 0, 3) == ReadLevel(*OpenSlideFile(svs), 0, 3));
}

} // namespace
