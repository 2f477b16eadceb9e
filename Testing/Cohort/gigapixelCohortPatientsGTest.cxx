/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "gigapixelCohort.h"

#include <gtest/gtest.h>

using gigapixel::Cohort;
using gigapixel::CohortEntry;
using gigapixel::test::TemporaryFolder;

namespace
{

class CohortPatients : public testing::Test
{
protected:
  void
  SetUp() override
  {
    for (const char * name : { "a.svs", "b.svs", "c.svs" })
    {
      std::ofstream(m_Folder.File(name)) << "x";
    }
  }

  Cohort
  Load(const std::string & text, bool needsSplit = true)
  {
    std::ofstream(m_Folder.File("cohort.csv"), std::ios::binary) << text;
    return Cohort::Load(m_Folder.File("cohort.csv"), needsSplit);
  }

  gigapixel::Diagnostic
  GetRefusal(const std::string & text, bool needsSplit = true)
  {
    return gigapixel_test::FindRefusal([&] { this->Load(text, needsSplit); });
  }

  TemporaryFolder m_Folder{ "cohort" };
};

TEST_F(CohortPatients, AreRead)
{
  const Cohort cohort = this->Load("patient,slide,label,split\nP1,a.svs,x,train\nP1,b.svs,y,train\nP2,c.svs,x,test\n");
  EXPECT_TRUE(cohort.warnings.empty());
  ASSERT_EQ(cohort.entries.size(), 3u);
  EXPECT_EQ(cohort.entries[1].patient, "P1");
  EXPECT_EQ(cohort.entries[2].patient, "P2");
  EXPECT_EQ(this->Load("slide,label,split\na.svs,x,train\n").entries[0].patient, "");
}

TEST_F(CohortPatients, AreInOneSplitOnly)
{
  const std::string header = "slide,label,split,patient\n";
  const auto        both = this->GetRefusal(header + "a.svs,x,train,P1\nb.svs,x,train,P2\nc.svs,y,test,P1\n");
  EXPECT_EQ(both.code, "E-COHORT-CONFLICT");
  EXPECT_EQ(both.file, m_Folder.File("cohort.csv"));
  EXPECT_EQ(both.value, "4"); // the line
  const auto empty = this->GetRefusal(header + "a.svs,x,validation,P1\nb.svs,x,train,\n");
  EXPECT_EQ(empty.code, "E-COHORT-FORMAT");
  EXPECT_EQ(empty.value, "3");
}

TEST_F(CohortPatients, SplitsMayBeMissingWhereFoldsTakeTheirPlace)
{
  const std::string text = "slide,label\na.svs,x\nb.svs,y\n";
  EXPECT_EQ(this->GetRefusal(text).code, "E-COHORT-FORMAT");
  for (const CohortEntry & entry : this->Load(text, false).entries)
  {
    EXPECT_EQ(entry.split, CohortEntry::Split::Training);
  }
  EXPECT_EQ(this->Load("slide,label,split\na.svs,x,test\n", false).entries[0].split, CohortEntry::Split::Test);
}

} // namespace
