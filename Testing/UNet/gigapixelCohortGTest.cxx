/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelCohort.h"

#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "UNetTestImages.h"

using gigapixel::Cohort;
using gigapixel::CohortEntry;
using gigapixel::test::TemporaryFolder;

namespace
{

class CohortTest : public ::testing::Test
{
protected:
  void
  SetUp() override
  {
    for (const char * name : { "a.svs", "b.svs", "c, d.svs", "m.tif" })
    {
      std::ofstream(m_Folder.File(name)) << "x";
    }
  }

  Cohort
  Load(const std::string & text)
  {
    std::ofstream(m_Folder.File("cohort.csv"), std::ios::binary) << text;
    return Cohort::Load(m_Folder.File("cohort.csv"));
  }

  TemporaryFolder m_Folder{ "unet" };
};

TEST_F(CohortTest, ReadsColumnsInAnyOrderWithPathsOfItsFolder)
{
  const Cohort cohort = this->Load("split,region,slide,mask\n"
                                   "train,,a.svs,m.tif\n"
                                   "validation,\"1,2,30,40\",b.svs,m.tif\n"
                                   "\n"
                                   "test,5 6;70  80,\"c, d.svs\"," +
                                   m_Folder.File("m.tif") + "\n");
  ASSERT_EQ(cohort.entries.size(), 3u);
  EXPECT_TRUE(cohort.warnings.empty());
  EXPECT_EQ(cohort.entries[0].slide, m_Folder.File("a.svs"));
  EXPECT_EQ(cohort.entries[0].mask, m_Folder.File("m.tif"));
  EXPECT_EQ(cohort.entries[0].split, CohortEntry::Split::Training);
  EXPECT_EQ(cohort.entries[0].region.width, 0);
  EXPECT_EQ(cohort.entries[1].split, CohortEntry::Split::Validation);
  EXPECT_EQ(cohort.entries[1].region.y, 2);
  EXPECT_EQ(cohort.entries[1].region.height, 40);
  EXPECT_EQ(cohort.entries[2].split, CohortEntry::Split::Test);
  EXPECT_EQ(cohort.entries[2].slide, m_Folder.File("c, d.svs"));
  EXPECT_EQ(cohort.entries[2].mask, m_Folder.File("m.tif"));
  EXPECT_EQ(cohort.entries[2].region.x, 5);
  EXPECT_EQ(cohort.entries[2].region.width, 70);
  EXPECT_EQ(cohort.entries[2].line, 5);
}

TEST_F(CohortTest, ReadsByteOrderMarkCarriageReturnsAndQuotesOfRFC4180)
{
  std::ofstream(m_Folder.File("say \"hi\".svs")) << "x";
  const Cohort cohort = this->Load("\xEF\xBB\xBFslide,mask,\"split\"\r\n"
                                   "\"say \"\"hi\"\".svs\",m.tif,train\r\n"
                                   "b.svs, m.tif ,\"validation\"");
  ASSERT_EQ(cohort.entries.size(), 2u);
  EXPECT_EQ(cohort.entries[0].slide, m_Folder.File("say \"hi\".svs"));
  EXPECT_EQ(cohort.entries[1].mask, m_Folder.File("m.tif"));
}

TEST_F(CohortTest, CountsLinesThroughQuotedLineBreaks)
{
  const auto refusal = gigapixel_test::FindRefusal(
    [&] { this->Load("slide,mask,split,note\na.svs,m.tif,train,\"two\nlines\"\nb.svs,m.tif,tests,\n"); });
  EXPECT_EQ(refusal.code, "E-COHORT-FORMAT");
  EXPECT_EQ(refusal.value, "4");
}

TEST_F(CohortTest, WarnsOfColumnsThatItDoesNotRead)
{
  const Cohort cohort = this->Load("slide,mask,split,regoin\na.svs,m.tif,train,\n");
  ASSERT_EQ(cohort.warnings.size(), 1u);
  EXPECT_EQ(cohort.warnings[0].code, "W-COHORT");
  EXPECT_EQ(cohort.warnings[0].value, "regoin");
}

TEST_F(CohortTest, NamesFileAndLineOfEveryError)
{
  const std::string header = "slide,mask,split,region\n";
  const std::string format = "E-COHORT-FORMAT";
  const struct
  {
    std::string text, code, line;
    std::string words; // of the table, or what is counted in it
  } cases[] = {
    { "", format, "1", "empty" },
    { header, format, "1", "no slides" },
    { "slide,mask\na.svs,m.tif\n", format, "1", "\"split\"" },
    { "slide;mask;split\na.svs;m.tif;train\n", format, "1", "semicolons" },
    { "slide\tmask\n", format, "1", "tabs" },
    { "slide,mask,split,mask\n", format, "1", "\"mask\"" },
    { header + "a.svs,m.tif,train\n", format, "2", "3 fields for 4 columns" },
    { header + "a.svs,m.tif,train,1,2,3,4\n", format, "2", "7 fields for 4 columns" },
    { header + "a.svs,m.tif,Training,\n", format, "2", "\"Training\"" },
    { header + "no.svs,m.tif,train,\n", "E-FILE-MISSING", "2", "slide " + m_Folder.File("no.svs") },
    { header + "a.svs,no.tif,train,\n", "E-FILE-MISSING", "2", "mask " + m_Folder.File("no.tif") },
    { header + ",m.tif,train,\n", format, "2", "the slide is empty" },
    { header + "a.svs,m.tif,train,1 2 3\n", format, "2", "\"1 2 3\"" },
    { header + "a.svs,m.tif,train,1 2 0 4\n", format, "2", "\"1 2 0 4\"" },
    { header + "a.svs,m.tif,train,1 2 3 4 5\n", format, "2", "\"1 2 3 4 5\"" },
    { header + "a.svs,m.tif,train,1.5 2 3 4\n", format, "2", "\"1.5 2 3 4\"" },
    { header + "a.svs,m.tif,train,\"1,2\n", format, "2", "never closed" },
    { header + "\"a.svs\"x,m.tif,train,\n", format, "2", "closing quote" },
    { header + "a.s\"vs,m.tif,train,\n", format, "2", "inside a field" },
    { header + "a.svs,m.tif,train,\n./a.svs,m.tif,train,\n", "E-COHORT-CONFLICT", "3", "a.svs" },
    { header + "a.svs,m.tif,train,\na.svs,m.tif,test,1 2 3 4\n", "E-COHORT-CONFLICT", "3", "a.svs" },
  };
  for (const auto & each : cases)
  {
    const auto refusal = gigapixel_test::FindRefusal([&] { this->Load(each.text); });
    EXPECT_EQ(refusal.code, each.code) << each.text;
    EXPECT_EQ(refusal.file, m_Folder.File("cohort.csv"));
    EXPECT_EQ(refusal.value, each.line) << each.text;
    EXPECT_NE(refusal.why.find(each.words), std::string::npos) << refusal.why;
  }
  const auto missing = gigapixel_test::FindRefusal([&] { Cohort::Load(m_Folder.File("none.csv")); });
  EXPECT_EQ(missing.code, "E-FILE-MISSING");
  EXPECT_EQ(missing.file, m_Folder.File("none.csv"));
}

// "link/.." is where the file system says it is, not where the text says.
TEST_F(CohortTest, FollowsLinksAsTheFileSystemDoes)
{
  namespace fs = std::filesystem;
  fs::create_directories(m_Folder.File("study/lists"));
  fs::create_directories(m_Folder.File("study/step"));
  std::ofstream(m_Folder.File("study/step/giga.tif")) << "right";
  fs::create_directories(m_Folder.File("step"));
  std::ofstream(m_Folder.File("step/giga.tif")) << "wrong";
  fs::create_directory_symlink(m_Folder.File("study/lists"), m_Folder.File("link"));
  const auto isRight = [&](const std::string & path) {
    return fs::equivalent(path, m_Folder.File("study/step/giga.tif"));
  };

  // The table is reached through the link,
  std::ofstream(m_Folder.File("study/lists/cohort.csv"))
    << "slide,mask,split\n../step/giga.tif,../step/giga.tif,train\n";
  EXPECT_TRUE(isRight(Cohort::Load(m_Folder.File("link/cohort.csv")).entries.at(0).slide));
  // or its entries are.
  const Cohort cohort = this->Load("slide,mask,split\nlink/../step/giga.tif,m.tif,train\n");
  EXPECT_TRUE(isRight(cohort.entries.at(0).slide));
  fs::remove_all(m_Folder.File("step"));
  EXPECT_TRUE(isRight(Cohort::Load(m_Folder.File("link/cohort.csv")).entries.at(0).mask));
}

TEST_F(CohortTest, TableThatIsALinkMayBeBesideItsSlidesOrLeadThere)
{
  namespace fs = std::filesystem;
  const std::string text = "slide,mask,split\na.svs,m.tif,train\n";
  fs::create_directories(m_Folder.File("work"));
  this->Load(text);
  fs::create_symlink(m_Folder.File("cohort.csv"), m_Folder.File("work/cohort.csv"));
  const auto load = [&] { return Cohort::Load(m_Folder.File("work/cohort.csv")).entries.at(0).slide; };
  EXPECT_TRUE(fs::equivalent(load(), m_Folder.File("a.svs")));
  fs::create_symlink(m_Folder.File("a.svs"), m_Folder.File("work/a.svs"));
  EXPECT_EQ(load(), m_Folder.File("work/a.svs"));
  fs::remove(m_Folder.File("work/a.svs"));
  std::ofstream(m_Folder.File("work/a.svs")) << "another";
  EXPECT_MESSAGE(load(), "line 2: the slide a.svs is there twice");
}

TEST_F(CohortTest, TellsPixelsInTwoSplitsFromNeighbors)
{
  const std::string first = "slide,mask,split,region\na.svs,m.tif,train,0 0 100 100\n";
  EXPECT_MESSAGE(this->Load(first + "a.svs,m.tif,validation,99 99 10 10\n"), "in another split already, on line 2");
  const Cohort neighbors = this->Load(first + "a.svs,m.tif,validation,100 0 10 10\n");
  EXPECT_EQ(neighbors.entries.size(), 2u);
  ASSERT_EQ(neighbors.warnings.size(), 1u);
  EXPECT_EQ(neighbors.warnings[0].code, "W-COHORT");
  EXPECT_EQ(neighbors.warnings[0].value, "3"); // the line
  EXPECT_TRUE(this->Load(first + "a.svs,m.tif,train,50 0 10 10\n").warnings.empty());
}

TEST_F(CohortTest, KnowsASlideByAnyPath)
{
  std::filesystem::create_symlink("a.svs", m_Folder.File("link.svs"));
  std::filesystem::create_hard_link(m_Folder.File("a.svs"), m_Folder.File("hard.svs"));
  const std::string first = "slide,mask,split\na.svs,m.tif,train\nb.svs,m.tif,validation\n";
  for (const char * const name : { "a.svs", "./a.svs", "link.svs", "hard.svs" })
  {
    EXPECT_MESSAGE(this->Load(first + name + ",m.tif,validation\n"), "line 4: the slide");
    EXPECT_MESSAGE(this->Load(first + name + ",m.tif,validation\n"), "in another split already, on line 2");
    EXPECT_MESSAGE(this->Load(first + name + ",m.tif,train\n"), "is there already, on line 2");
  }
}

TEST_F(CohortTest, KnowsAVolumeByAnyOfItsModalities)
{
  const std::string first = "slide,mask,split\n\"a.svs,b.svs\",m.tif,train\n";
  for (const char * const name : { "a.svs", "b.svs", "\"m.tif,b.svs\"", "\"b.svs,a.svs\"" })
  {
    EXPECT_MESSAGE(this->Load(first + name + ",m.tif,validation\n"), "in another split already, on line 2");
    EXPECT_MESSAGE(this->Load(first + name + ",m.tif,train\n"), "is there already, on line 2");
  }
  EXPECT_EQ(this->Load(first + "\"c, d.svs\",m.tif,validation\n").entries.size(), 2u);
}

} // namespace
