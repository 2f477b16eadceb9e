/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelReportPage.h"

#include "RefusalCode.h"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace fs = std::filesystem;
using gigapixel::ReportPage;

namespace
{
const char * const Data = "{}";

/** Pictures that do not fit into a page. */
void
AddPictures(ReportPage & page)
{
  for (char content = 'a'; content < 'e'; ++content)
  {
    page.AddPhotograph(std::string(10'000'000, content));
  }
}

std::set<std::string>
List(const std::string & folder)
{
  std::set<std::string> names;
  std::error_code       ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
  {
    names.insert(entry->path().filename().string());
  }
  return names;
}

struct ReportPageTest : testing::Test
{
  gigapixel::test::TemporaryFolder folder{ "report" };
  const std::string                file = folder.File("page.html");
  const std::string                pictures = folder.File("page-files");
};
} // namespace

TEST_F(ReportPageTest, NothingIsLeftOfAPageThatIsNotCompleted)
{
  {
    ReportPage page(file, false);
    AddPictures(page);
    EXPECT_EQ(List(pictures).size(), 4u);
  }
  EXPECT_FALSE(fs::exists(pictures));
}

TEST_F(ReportPageTest, PicturesOfAPageStayWhereANewOneIsNotCompleted)
{
  {
    ReportPage page(file, false);
    AddPictures(page);
    page.Commit("", Data);
  }
  const auto before = List(pictures);
  {
    ReportPage page(file, true);
    AddPictures(page); // the same ones
    page.AddPhotograph("another");
    EXPECT_EQ(List(pictures).size(), 5u);
  }
  EXPECT_EQ(List(pictures), before);
}

TEST_F(ReportPageTest, WhatAKilledReportLeftIsReplaced)
{
  fs::create_directory(pictures);
  std::ofstream(pictures + "/0123456789abcdef.webp") << "left";
  std::ofstream(pictures + "/.0123456789abcdee.webp.12-0.part") << "left";
  ReportPage page(file, false);
  AddPictures(page);
  page.Commit("", Data);
  EXPECT_EQ(List(pictures).size(), 4u);
  EXPECT_EQ(List(pictures).count("0123456789abcdef.webp"), 0u);
  EXPECT_EQ(page.GetUsedFolder(), pictures);
}

TEST_F(ReportPageTest, AFolderOfSomethingElseIsRefusedAtOnce)
{
  fs::create_directory(pictures);
  { // pictures of the page of the other ending
    const std::ofstream other(folder.File("page.htm"));
    EXPECT_REFUSAL(ReportPage(file, false), "E-OUTPUT-EXISTS");
  }
  fs::remove(folder.File("page.htm"));
  ReportPage(file, false);
  std::ofstream(pictures + "/mine.webp") << "mine";
  EXPECT_REFUSAL(ReportPage(file, false), "E-OUTPUT-EXISTS");
  ReportPage page(file, true);
  AddPictures(page);
  page.Commit("", Data);
  EXPECT_EQ(gigapixel::test::ReadAll(pictures + "/mine.webp"), "mine");
}
