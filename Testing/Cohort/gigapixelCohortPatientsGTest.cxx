/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
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

  std::string
  GetRefusal(const std::string & text, bool needsSplit = true)
  {
    try
    {
      this->Load(text, needsSplit);
    }
    catch (const std::runtime_error & error)
    {
      return error.what();
    }
    return {};
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
  EXPECT_EQ(this->GetRefusal(header + "a.svs,x,train,P1\nb.svs,x,train,P2\nc.svs,y,test,P1\n"),
            m_Folder.File("cohort.csv") +
              ", line 4: the patient P1 is in the split test here, and in train on line 2; all slides of a patient "
              "belong into one split");
  EXPECT_NE(this->GetRefusal(header + "a.svs,x,validation,P1\nb.svs,x,train,\n").find("line 3: the patient is empty"),
            std::string::npos);
}

TEST_F(CohortPatients, SplitsMayBeMissingWhereFoldsTakeTheirPlace)
{
  const std::string text = "slide,label\na.svs,x\nb.svs,y\n";
  EXPECT_NE(this->GetRefusal(text).find("the column \"split\" is missing"), std::string::npos);
  for (const CohortEntry & entry : this->Load(text, false).entries)
  {
    EXPECT_EQ(entry.split, CohortEntry::Split::Training);
  }
  EXPECT_EQ(this->Load("slide,label,split\na.svs,x,test\n", false).entries[0].split, CohortEntry::Split::Test);
}

} // namespace
