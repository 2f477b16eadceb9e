/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Damaged JPEG tiles that readers get over: their pixels are libtiff's, they are named and counted, or refused.
#include "JPEGFixture.h"
#include "ReaderTesting.h"
#include "RefusalCode.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelSlidePixels.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMetaDataObject.h"
#include "itkOutputWindow.h"
#include "itkPyramidTIFFConverter.h"
#include "itkRGBPixel.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

constexpr std::uint32_t side = 64;
constexpr std::uint32_t across = 4;

/** Keeps what ITK's classes say. */
class KeepingWindow : public itk::OutputWindow
{
public:
  using Self = KeepingWindow;
  using Superclass = itk::OutputWindow;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(KeepingWindow, OutputWindow);

  void
  DisplayText(const char * text) override
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    texts.emplace_back(text);
  }
  std::vector<std::string> texts;

private:
  std::mutex m_Mutex;
};

JPEGStream
MakeStream(std::uint32_t tile, unsigned channels = 3)
{
  JPEGOptions options;
  options.ownHuffmanTables = true;
  options.restartInterval = 9;
  return EncodeJPEG(MakePicture(side, side, channels, tile), options);
}

/** The ways that a stream is damaged in, one of them for each number. */
JPEGStream
Damage(JPEGStream stream, std::uint32_t way)
{
  const std::size_t scan = FindScan(stream);
  const std::size_t middle = (scan + stream.size()) / 2;
  switch (way % 4)
  {
    case 0: // it ends early
      stream.resize(middle);
      break;
    case 1: // bytes where a marker is expected
      stream.insert(stream.begin() + 2, { 1, 2, 3 });
      break;
    case 2: // ones only, which is no code; they are stuffed, as no marker is meant
      for (std::size_t i = middle; i < middle + 20; i += 2)
      {
        stream[i] = 0xff;
        stream[i + 1] = 0;
      }
      break;
    default: // a restart marker is another one
      for (std::size_t i = scan; i + 1 < stream.size(); ++i)
      {
        if (stream[i] == 0xff && stream[i + 1] == 0xd1)
        {
          stream[i + 1] = 0xd4;
        }
      }
  }
  return stream;
}

/** Tiles, those from 2 to 2 + `damaged` - 1 of which are damaged, each in another way than the one before. */
std::string
WriteDamaged(const std::string & name, std::uint32_t damaged, unsigned channels = 3)
{
  std::vector<JPEGStream> tiles;
  for (std::uint32_t tile = 0; tile < 3 * across; ++tile)
  {
    const bool isDamaged = tile >= 2 && tile < 2 + damaged;
    tiles.push_back(isDamaged ? Damage(MakeStream(tile, channels), tile) : MakeStream(tile, channels));
  }
  const std::string path = TemporaryFile(name);
  WriteJPEGTiles(path, tiles, across, side, channels);
  return path;
}

std::string
GetText(itk::Object & object, const std::string & key)
{
  std::string text;
  itk::ExposeMetaData(object.GetMetaDataDictionary(), key, text);
  return text;
}

class DamagedTile : public testing::Test
{
protected:
  void
  SetUp() override
  {
    TIFFSetWarningHandler(nullptr);
    itk::OutputWindow::SetInstance(m_Window);
  }
  void
  TearDown() override
  {
    itk::OutputWindow::SetInstance(nullptr);
  }

  const KeepingWindow::Pointer m_Window{ KeepingWindow::New() };
};

TEST_F(DamagedTile, HasThePixelsOfLibTIFFAndCountsOnce)
{
  for (const unsigned channels : { 1u, 3u })
  {
    const std::string path = WriteDamaged("pixels-" + std::to_string(channels) + ".tif", 8, channels);
    const auto        io = OpenSlideFile(path);
    EXPECT_EQ(io->GetNumberOfDamagedTiles(), 0u); // nothing was read yet
    const Picture picture = ReadLevel(*io, 0, channels);
    EXPECT_TRUE(picture == ReadWithLibTIFF(path, 0)) << channels;
    EXPECT_EQ(io->GetNumberOfDamagedTiles(), 8u);
    ReadLevel(*io, 0, 1);
    ReadLevel(*io, 1, channels); // the same tiles, decoded smaller
    EXPECT_EQ(io->GetNumberOfDamagedTiles(), 8u);
    EXPECT_EQ(OpenSlideFile(path)->GetNumberOfDamagedTiles(), 8u); // the slide is open and shared
  }
}

TEST_F(DamagedTile, IsNamedWithWhatLibjpegSays)
{
  const std::string path = WriteDamaged("named.tif", 3);
  ReadLevel(*OpenSlideFile(path), 0, 3);
  ASSERT_EQ(m_Window->texts.size(), 3u);
  const std::pair<const char *, const char *> expected[] = { { "2,0", "Corrupt JPEG data" },
                                                             { "3,0", "Corrupt JPEG data" },
                                                             { "0,1", "Premature end of JPEG file" } };
  for (std::size_t i = 0; i < 3; ++i)
  {
    const auto warning = gigapixel::Diagnostic::OfText(m_Window->texts[i], "");
    EXPECT_EQ(warning.code, "W-SLIDE-DAMAGED") << m_Window->texts[i];
    EXPECT_EQ(warning.file, path);
    EXPECT_NE(warning.why.find(std::string("tile at ") + expected[i].first + " of level 0"), std::string::npos)
      << warning.why;
    EXPECT_NE(warning.why.find(expected[i].second), std::string::npos) << warning.why; // libjpeg's words
  }
}

TEST_F(DamagedTile, WarningsAboutAFileAreGivenByEachObjectOnce)
{
  const std::string path = TemporaryFile("coarse.tif");
  PyramidOptions    options;
  options.pixelsPerCentimeter = 1000.0; // 10 micrometers
  WritePyramid(path, options);
  const auto first = OpenSlideFile(path);
  first->ReadImageInformation();
  ASSERT_EQ(m_Window->texts.size(), 1u);
  EXPECT_EQ(gigapixel::Diagnostic::OfText(m_Window->texts[0], "").code, "W-SLIDE-RESOLUTION-COARSE");
  OpenSlideFile(path); // while the slide is open and shared
  ASSERT_EQ(m_Window->texts.size(), 2u);
  EXPECT_EQ(m_Window->texts[1], m_Window->texts[0]);
  const auto further = itk::WholeSlideImageIO::New();
  further->SetFileName(path);
  further->GiveWarningsOff();
  further->ReadImageInformation();
  EXPECT_EQ(m_Window->texts.size(), 2u);
}

TEST_F(DamagedTile, OnlyFiveAreNamed)
{
  const std::string path = WriteDamaged("flood.tif", 9);
  const auto isLast = [](const std::string & text) { return text.find("Further damaged tiles") != std::string::npos; };
  {
    const auto io = OpenSlideFile(path);
    ReadLevel(*io, 0, 3);
    ReadLevel(*OpenSlideFile(path), 0, 3);
    ASSERT_EQ(m_Window->texts.size(), 5u);
    EXPECT_EQ(std::count_if(m_Window->texts.begin(), m_Window->texts.end(), isLast), 1);
    EXPECT_TRUE(isLast(m_Window->texts.back()));
  }
  ReadLevel(*OpenSlideFile(path), 0, 3); // the slide is opened again
  EXPECT_EQ(m_Window->texts.size(), 10u);
}

/** The places in warnings, or of the first sentence alone: "2,0". */
std::string
FindPlace(const std::string & sentence)
{
  const std::string before = "the tile at ";
  const std::size_t begin = sentence.find(before) + before.size();
  return sentence.substr(begin, sentence.find(" of level 0", begin) - begin);
}

TEST_F(DamagedTile, ThoseNamedAreTheFirstWhateverThreadsComeFirst)
{
  const std::string        path = WriteDamaged("order.tif", 9);
  const auto               io = OpenSlideFile(path);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 4; ++i)
  {
    threads.emplace_back([&io, i] {
      std::vector<unsigned char> pixels(side * side * 3);
      for (std::uint32_t tile = 3 * across; tile-- > 0;) // from the last one
      {
        if (tile % 4 == i)
        {
          io->ReadRegion(0, tile % across * side, tile / across * side, side, side, 3, pixels.data());
        }
      }
    });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  EXPECT_TRUE(m_Window->texts.empty());
  io->ReportDamage();
  std::vector<std::string> places;
  std::transform(m_Window->texts.begin(), m_Window->texts.end(), std::back_inserter(places), FindPlace);
  EXPECT_EQ(places, (std::vector<std::string>{ "2,0", "3,0", "0,1", "1,1", "2,1" }));
}

TEST_F(DamagedTile, ReadByRegionsIsNamedWhenTheReaderGoes)
{
  const std::string          path = WriteDamaged("goes.tif", 2);
  auto                       io = OpenSlideFile(path);
  std::vector<unsigned char> pixels(std::size_t{ across } * side * side * 3);
  io->ReadRegion(0, 0, 0, across * side, side, 3, pixels.data());
  io = nullptr;
  EXPECT_EQ(m_Window->texts.size(), 2u);
}

TEST_F(DamagedTile, RefusedIsTheFirstWhateverThreadsComeFirst)
{
  for (int i = 0; i < 20; ++i)
  {
    const auto strict = OpenSlideFile(WriteDamaged("first-" + std::to_string(i) + ".tif", 9));
    strict->StrictOn();
    EXPECT_EQ(FindPlace(GetFailure([&] { ReadLevel(*strict, 0, 3); })), "2,0");
  }
}

TEST_F(DamagedTile, IsRefusedByTheStrictAlone)
{
  const std::string path = WriteDamaged("strict.tif", 1);
  const auto        strict = OpenSlideFile(path);
  strict->StrictOn();
  const std::string expected = path + ": the tile at 2,0 of level 0 is damaged: ";
  EXPECT_EQ(GetFailure([&] { ReadLevel(*strict, 0, 3); }).find(expected), 0u);
  EXPECT_EQ(GetFailure([&] { ReadLevel(*strict, 1, 1); }).find(expected), 0u); // decoded smaller
  EXPECT_TRUE(m_Window->texts.empty());
  std::vector<unsigned char> pixels(side * side * 3);
  strict->ReadRegion(0, 0, 0, side, side, 3, pixels.data()); // another tile

  // A part of the tile comes from the cache, where another reader has brought it.
  const auto tolerant = OpenSlideFile(path);
  tolerant->ReadRegion(0, 2 * side, 0, 10, 10, 3, pixels.data());
  tolerant->ReportDamage();
  EXPECT_EQ(m_Window->texts.size(), 1u);
  EXPECT_EQ(GetFailure([&] { strict->ReadRegion(0, 2 * side + 3, 3, 5, 5, 3, pixels.data()); }).find(expected), 0u);

  EXPECT_FALSE(itk::WholeSlideImageIO::New()->GetStrict());
  itk::WholeSlideImageIO::SetGlobalDefaultStrict(true);
  EXPECT_TRUE(itk::WholeSlideImageIO::New()->GetStrict());
  itk::WholeSlideImageIO::SetGlobalDefaultStrict(false);
}

using ReaderType = itk::ImageFileReader<itk::Image<itk::RGBPixel<unsigned char>, 2>>;

TEST_F(DamagedTile, ChangesNoImageThatWasHandedOut)
{
  const auto reader = ReaderType::New();
  const auto io = itk::WholeSlideImageIO::New();
  reader->SetImageIO(io);
  reader->SetFileName(WriteDamaged("dictionary.tif", 6));
  reader->UpdateOutputInformation();
  const auto getTexts = [&reader] {
    std::map<std::string, std::string> texts;
    for (const std::string & key : reader->GetOutput()->GetMetaDataDictionary().GetKeys())
    {
      texts[key] = GetText(*reader->GetOutput(), key);
    }
    return texts;
  };
  const auto before = getTexts();
  reader->Update();
  EXPECT_EQ(io->GetNumberOfDamagedTiles(), 6u);
  EXPECT_EQ(getTexts(), before);
}

TEST_F(DamagedTile, IsCountedInWhatIsWrittenOfTheSlide)
{
  for (const bool isToldOf : { true, false })
  {
    const std::string path = TemporaryFile("written.pyramid.tif");
    const auto        io = itk::WholeSlideImageIO::New();
    const auto        reader = ReaderType::New();
    reader->SetImageIO(io);
    reader->SetFileName(WriteDamaged("read.tif", 6));
    const auto pyramid = itk::PyramidTIFFImageIO::New();
    pyramid->SetSlide(isToldOf ? io.GetPointer() : nullptr);
    const auto writer = itk::ImageFileWriter<ReaderType::OutputImageType>::New();
    writer->SetInput(reader->GetOutput());
    writer->SetImageIO(pyramid);
    writer->SetFileName(path);
    writer->Update();
    EXPECT_EQ(GetText(*OpenSlideFile(path), gigapixel::RecordedDamageKey), isToldOf ? "6" : "");
  }
}

TEST_F(DamagedTile, IsNoneWhoseCodedPixelsAreSound)
{
  JPEGStream padded = MakeStream(1);
  padded.resize(padded.size() + 100);
  JPEGStream futureJFIF = MakeStream(2);
  ASSERT_EQ(std::string(futureJFIF.begin() + 6, futureJFIF.begin() + 10), "JFIF");
  futureJFIF[11] = 9;
  const std::string path = TemporaryFile("ends.tif");
  WriteJPEGTiles(path, { padded, futureJFIF }, 2, side, 3);
  const auto io = OpenSlideFile(path);
  EXPECT_TRUE(ReadLevel(*io, 0, 3) == ReadWithLibTIFF(path, 0));
  EXPECT_EQ(io->GetNumberOfDamagedTiles(), 0u);
  EXPECT_TRUE(m_Window->texts.empty());
}

itk::PyramidTIFFConverter::Pointer
MakeConverter(const std::string & path, const std::string & target)
{
  const auto converter = itk::PyramidTIFFConverter::New();
  const auto out = itk::PyramidTIFFImageIO::New();
  out->SetFileName(TemporaryFile(target));
  converter->SetSlide(OpenSlideFile(path));
  converter->SetImageIO(out);
  return converter;
}

TEST_F(DamagedTile, IsCountedInPyramids)
{
  const char * const key = gigapixel::RecordedDamageKey;
  const auto         sound = MakeConverter(WriteDamaged("sound.tif", 0), "sound.pyramid.tif");
  sound->CopyTilesOff();
  sound->Update();
  EXPECT_EQ(GetText(*OpenSlideFile(sound->GetImageIO()->GetFileName()), key), "");
  const auto converter = MakeConverter(WriteDamaged("source.tif", 7), "source.pyramid.tif");
  converter->CopyTilesOff();
  converter->Update();
  const std::string pyramid = converter->GetImageIO()->GetFileName();
  EXPECT_EQ(GetText(*OpenSlideFile(pyramid), key), "7");
  // What is written by the same ImageIO later is of something else.
  const auto image = itk::Image<itk::RGBPixel<unsigned char>, 2>::New();
  image->SetRegions(itk::Size<2>{ { 40, 30 } });
  image->Allocate(true);
  const auto writer = itk::ImageFileWriter<itk::Image<itk::RGBPixel<unsigned char>, 2>>::New();
  writer->SetInput(image);
  writer->SetFileName(TemporaryFile("other.pyramid.tif"));
  writer->SetImageIO(converter->GetModifiableImageIO());
  writer->Update();
  EXPECT_EQ(GetText(*OpenSlideFile(writer->GetFileName()), key), "");
  const auto again = MakeConverter(pyramid, "again.pyramid.tif"); // of sound tiles, made of damaged ones
  again->CopyTilesOff();
  again->Update();
  EXPECT_EQ(GetText(*OpenSlideFile(again->GetImageIO()->GetFileName()), key), "7");
}

/** As WriteDamaged(), but `undecodable` tiles from 2 on are not JPEG at all. */
std::string
WriteUndecodable(const std::string & name, std::uint32_t undecodable)
{
  std::vector<JPEGStream> tiles;
  for (std::uint32_t tile = 0; tile < 3 * across; ++tile)
  {
    tiles.push_back(tile >= 2 && tile < 2 + undecodable ? JPEGStream(500, 7) : MakeStream(tile));
  }
  const std::string path = TemporaryFile(name);
  WriteJPEGTiles(path, tiles, across, side, 3);
  return path;
}

TEST_F(DamagedTile, AllThatCannotBeDecodedAreFound)
{
  const auto io = OpenSlideFile(WriteUndecodable("undecodable.tif", 5));
  const auto all = io->FindUndecodableTiles(0, 0, 3 * side);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(FindPlace(all[0].why), "2,0");
  EXPECT_EQ(FindPlace(all[4].why), "2,1");
  EXPECT_EQ(all[0].file, io->GetFileName());
  EXPECT_NE(all[0].remedy, "");
  std::size_t inBands = 0;
  for (itk::SizeValueType y = 0; y < 3 * side; y += 10) // bands of any height look at each tile once
  {
    const auto band = io->FindUndecodableTiles(0, y, std::min<itk::SizeValueType>(10, 3 * side - y));
    for (std::size_t i = 0; i < band.size() && inBands < all.size(); ++i, ++inBands)
    {
      EXPECT_EQ(band[i].GetText(), all[inBands].GetText());
    }
  }
  EXPECT_EQ(inBands, all.size());
  EXPECT_EQ(io->GetNumberOfDamagedTiles(), 0u);

  const std::string damaged = WriteDamaged("only-damaged.tif", 5);
  EXPECT_TRUE(OpenSlideFile(damaged)->FindUndecodableTiles(0, 0, 3 * side).empty());
  const auto strict = OpenSlideFile(damaged);
  strict->StrictOn();
  EXPECT_EQ(strict->FindUndecodableTiles(0, 0, 3 * side).size(), 5u);
}

TEST_F(DamagedTile, ThatNobodyCanDecodeIsNotCopiedByTheStrict)
{
  const std::string path = WriteUndecodable("copied-undecodable.tif", 1);
  const auto        converter = MakeConverter(path, "copied-undecodable.pyramid.tif");
  const std::string pyramid = converter->GetImageIO()->GetFileName();
  const auto        strict = OpenSlideFile(path);
  strict->StrictOn();
  converter->SetSlide(strict);
  const gigapixel::Diagnostic refusal = FindRefusal([&] { converter->Update(); });
  EXPECT_EQ(refusal.code, "E-CODEC-DATA");
  EXPECT_EQ(FindPlace(refusal.why), "2,0");
  EXPECT_FALSE(std::filesystem::exists(pyramid));
}

TEST_F(DamagedTile, IsCopiedAsItIsUnlessStrict)
{
  const std::string path = WriteDamaged("copied.tif", 1);
  const auto        converter = MakeConverter(path, "copied.pyramid.tif");
  const std::string pyramid = converter->GetImageIO()->GetFileName();
  const auto        strict = OpenSlideFile(path);
  strict->StrictOn();
  converter->SetSlide(strict);
  const gigapixel::Diagnostic refusal = FindRefusal([&] { converter->Update(); });
  EXPECT_EQ(refusal.code, "E-SLIDE-DAMAGED");
  EXPECT_EQ(FindPlace(refusal.why), "2,0");
  EXPECT_FALSE(std::filesystem::exists(pyramid));
  converter->SetSlide(OpenSlideFile(path));
  converter->Update();
  EXPECT_EQ(converter->GetNumberOfCopiedTiles(), 12u);
  EXPECT_TRUE(ReadLevel(*OpenSlideFile(pyramid), 0, 3) == ReadLevel(*OpenSlideFile(path), 0, 3));
}

} // namespace
