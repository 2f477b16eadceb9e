/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "gigapixelAtomicFile.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelFormatCount.h"
#include "gigapixelPackedDiagnostic.h"
#include "gigapixelWritableFolder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <regex>
#include <set>
#include <sstream>
#include <system_error>

#include <gtest/gtest.h>

namespace
{

using gigapixel::Diagnostic;
using gigapixel::Refusal;

Diagnostic
MakeDiagnostic()
{
  return Diagnostic("E-TIFF-CODEC", "its compression is not decoded", "convert it").OfFile("a.tif").OfValue("50002");
}

void
ExpectSame(const Diagnostic & is, const Diagnostic & expected)
{
  EXPECT_EQ(is.code, expected.code);
  EXPECT_EQ(is.file, expected.file);
  EXPECT_EQ(is.option, expected.option);
  EXPECT_EQ(is.value, expected.value);
  EXPECT_EQ(is.why, expected.why);
  EXPECT_EQ(is.remedy, expected.remedy);
}

} // namespace

TEST(FormatCount, OneIsSingular)
{
  EXPECT_EQ(gigapixel::FormatCount(0, "tile"), "0 tiles");
  EXPECT_EQ(gigapixel::FormatCount(1, "tile"), "1 tile");
  EXPECT_EQ(gigapixel::FormatCount(2, "tile"), "2 tiles");
}

TEST(Diagnostic, SentenceNamesTheFileAndTheOptionOnce)
{
  EXPECT_EQ(MakeDiagnostic().GetSentence(), "a.tif: its compression is not decoded; convert it.");
  EXPECT_EQ(Diagnostic("E-OTHER", "a.tif is cut short").OfFile("a.tif").GetSentence(), "a.tif is cut short.");
  EXPECT_EQ(Diagnostic("E-OPTION-VALUE", "it is too small").OfOption("--size", "0").GetSentence(),
            "--size: it is too small.");
  EXPECT_EQ(Diagnostic("E-OTHER", "a clause.", "do that.; ").GetSentence(), "a clause; do that.");
  EXPECT_EQ(Diagnostic("E-OTHER", "did you mean --level?").GetSentence(), "did you mean --level?");
}

TEST(Diagnostic, TextEndsWithTheCode)
{
  EXPECT_EQ(MakeDiagnostic().GetText(), "a.tif: its compression is not decoded; convert it. [E-TIFF-CODEC]");
  EXPECT_EQ(Refusal(MakeDiagnostic()).what(), MakeDiagnostic().GetText());
  EXPECT_TRUE(Diagnostic().IsEmpty());
  EXPECT_FALSE(MakeDiagnostic().IsEmpty());
}

TEST(Diagnostic, TextsThatWereCutSayIt)
{
  const Diagnostic cut("E-FILE-DAMAGED", "it holds aaaa ...");
  EXPECT_EQ(cut.GetText(), "it holds aaaa ... [E-FILE-DAMAGED]");
  EXPECT_EQ(Diagnostic::OfText(cut.GetText(), "E-OTHER").why, cut.why);
  EXPECT_EQ(Diagnostic("E-FILE-DAMAGED", "it is damaged. ").why, "it is damaged");
}

TEST(Diagnostic, ExceptionsKeepTheirFieldsAndTypes)
{
  ExpectSame(Diagnostic::Of(Refusal(MakeDiagnostic())), MakeDiagnostic());
  EXPECT_THROW(throw Refusal(MakeDiagnostic()), std::runtime_error);
  EXPECT_THROW(throw gigapixel::InvalidArgument(MakeDiagnostic()), std::invalid_argument);
  EXPECT_THROW(throw gigapixel::RefusalOf<std::length_error>(MakeDiagnostic()), gigapixel::Diagnosed);
}

TEST(Diagnostic, TextIsRecognizedWithForeignWordsAround)
{
  const std::string text = gigapixel::Remember(MakeDiagnostic());
  ExpectSame(Diagnostic::OfText("ITK ERROR: Filter(0x1234): " + text + "\nand more", "E-OTHER"), MakeDiagnostic());
  // A text that another process wrote has its code at the end.
  const Diagnostic parsed =
    Diagnostic::OfText("b.tif: the file ends early; get it again. [E-FILE-DAMAGED]\n", "E-OTHER");
  EXPECT_EQ(parsed.code, "E-FILE-DAMAGED");
  EXPECT_EQ(parsed.why, "b.tif: the file ends early; get it again");
  for (const std::string foreign : { "something else", "an array [3]", "a tag [e-lower]", "[E-]", "]" })
  {
    EXPECT_EQ(Diagnostic::OfText(foreign, "W-OTHER").code, "W-OTHER") << foreign;
    EXPECT_EQ(Diagnostic::OfText(foreign, "W-OTHER").why, foreign);
  }
}

TEST(Diagnostic, OnlyTheLatestAreRemembered)
{
  const auto make = [](int number) {
    return Diagnostic("E-OTHER", "number " + std::to_string(number) + " of many", "count").OfFile("many.tif");
  };
  constexpr int Number = 200;
  for (int i = 0; i < Number; ++i)
  {
    gigapixel::Remember(make(i));
  }
  ExpectSame(Diagnostic::OfText(make(Number - 1).GetText(), "W-OTHER"), make(Number - 1));
  const Diagnostic first = Diagnostic::OfText(make(0).GetText(), "W-OTHER");
  EXPECT_EQ(first.code, "E-OTHER"); // by the end of the text
  EXPECT_EQ(first.file, "");
}

TEST(Diagnostic, ExceptionsOfTheStandardLibraryHaveCodes)
{
  EXPECT_EQ(Diagnostic::Of(std::bad_alloc()).code, "E-MEMORY");
  EXPECT_EQ(Diagnostic::Of(std::runtime_error("std::bad_alloc")).why, Diagnostic::Of(std::bad_alloc()).why);
  EXPECT_EQ(Diagnostic::Of(std::runtime_error("what")).code, "E-OTHER");
  const auto ofSystem = [](std::errc error) {
    return Diagnostic::Of(std::system_error(std::make_error_code(error), "open")).code;
  };
  EXPECT_EQ(ofSystem(std::errc::no_such_file_or_directory), "E-FILE-MISSING");
  EXPECT_EQ(ofSystem(std::errc::permission_denied), "E-FILE-ACCESS");
  EXPECT_EQ(ofSystem(std::errc::no_space_on_device), "E-DISK-FULL");
  EXPECT_EQ(ofSystem(std::errc::filename_too_long), "E-FILE-NAME");
  const Diagnostic ofFile = Diagnostic::Of(std::filesystem::filesystem_error(
    "status", "a.tif", std::make_error_code(std::errc::too_many_symbolic_link_levels)));
  EXPECT_EQ(ofFile.code, "E-FILE-NAME");
  EXPECT_EQ(ofFile.file, "a.tif");
}

TEST(Diagnostic, EachCodeIsExplainedOnceAndInOrder)
{
  const auto &          codes = gigapixel::GetCodes();
  const std::regex      form("[EW](-[A-Z0-9]+)+");
  std::set<std::string> all;
  for (const auto & entry : codes)
  {
    EXPECT_TRUE(std::regex_match(entry.code, form)) << entry.code;
    EXPECT_TRUE(all.empty() || *all.rbegin() < entry.code) << entry.code;
    all.insert(entry.code);
    // In the page that DescribeCodes() makes they stand in backticks.
    for (const std::string example : { entry.wrong, entry.right })
    {
      EXPECT_FALSE(example.empty() || example.find_first_of("`\n") != std::string::npos) << entry.code;
    }
    EXPECT_STRNE(entry.wrong, entry.right) << entry.code;
    for (const std::string sentences : { entry.meaning, entry.remedy })
    {
      ASSERT_FALSE(sentences.empty()) << entry.code;
      EXPECT_EQ(sentences.back(), '.') << entry.code;
      // One sentence or two, each of 20 words at most.
      std::istringstream words(sentences);
      int                count = 0;
      for (std::string word; words >> word;)
      {
        ++count;
        EXPECT_LE(count, 20) << entry.code;
        count = word.back() == '.' ? 0 : count;
      }
      EXPECT_NE(gigapixel::DescribeCodes().find(sentences), std::string::npos) << entry.code;
    }
  }
  EXPECT_EQ(all.size(), codes.size());
}

TEST(Files, AreRefusedWithCodeAndName)
{
  const gigapixel::test::TemporaryFolder folder{ "system" };
  const auto expect = [](const Diagnostic & is, const std::string & code, const std::string & file) {
    EXPECT_EQ(is.code, code) << is.GetText();
    EXPECT_EQ(is.file, file);
  };
  using gigapixel_test::FindRefusal;
  const std::string none = folder.File("none.tif");
  expect(gigapixel_test::FindRefusal([&] { gigapixel::RequireReadable(none); }), "E-FILE-MISSING", none);
  expect(gigapixel_test::FindRefusal([&] { gigapixel::IdentifyFile(none, gigapixel::HashedBytes::All); }),
         "E-FILE-MISSING",
         none);
  const std::string deep = folder.File("none/a.tif");
  expect(gigapixel_test::FindRefusal([&] { gigapixel::AtomicFile(deep, false); }), "E-OUTPUT-WRITE", deep);
  const std::string inside = folder.File("folder");
  std::filesystem::create_directory(inside);
  expect(gigapixel_test::FindRefusal([&] { gigapixel::AtomicFile(inside, false); }), "E-OUTPUT-WRITE", inside);
  const std::string twice = folder.File("twice.tif");
  expect(gigapixel_test::FindRefusal([&] {
           gigapixel::AtomicFile file(twice, false);
           std::ofstream(twice) << "another process";
           file.Commit();
         }),
         "E-OUTPUT-EXISTS",
         twice);
  expect(gigapixel_test::FindRefusal([&] { gigapixel::CheckScratchFolder(none, 1); }), "E-FILE-MISSING", none);
  expect(gigapixel_test::FindRefusal([&] { gigapixel::CheckScratchFolder(twice, 1); }), "E-FILE-KIND", twice);
  constexpr std::int64_t huge = std::int64_t{ 1 } << 60;
  expect(gigapixel_test::FindRefusal([&] { gigapixel::CheckScratchFolder(inside, huge); }), "E-DISK-FULL", inside);
}

TEST(Diagnostic, KeepsItsFieldsOnTheWayToAnotherProcess)
{
  const Diagnostic problem =
    Diagnostic("E-FILE-DAMAGED", "it is truncated", "copy it anew").OfFile("a.tif").OfValue("7");
  const Diagnostic other = gigapixel::UnpackDiagnostic(gigapixel::PackDiagnostic(problem), "E-OTHER");
  EXPECT_EQ(other.code, problem.code);
  EXPECT_EQ(other.file, problem.file);
  EXPECT_EQ(other.option, "");
  EXPECT_EQ(other.value, problem.value);
  EXPECT_EQ(other.why, problem.why);
  EXPECT_EQ(other.remedy, problem.remedy);
  EXPECT_EQ(gigapixel::PackDiagnostic({}), "");
  EXPECT_EQ(gigapixel::UnpackDiagnostic("rank 1 died", "E-RANK-LOST").code, "E-RANK-LOST");
}
