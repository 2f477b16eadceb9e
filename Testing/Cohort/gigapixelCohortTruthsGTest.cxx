/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "gigapixelCohort.h"
#include "gigapixelFolds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace gigapixel;
using gigapixel::test::TemporaryFolder;

namespace
{

class CohortTruths : public testing::Test
{
protected:
  void
  SetUp() override
  {
    for (const char * name : { "a.svs", "b.svs" })
    {
      std::ofstream(m_Folder.File(name)) << "x";
    }
  }

  Cohort
  Load(const std::string & text, const std::string & objective = {})
  {
    std::ofstream(m_Folder.File("cohort.csv"), std::ios::binary) << text;
    return Cohort::Load(m_Folder.File("cohort.csv"), false, objective);
  }

  Diagnostic
  GetRefusal(const std::string & text, const std::string & objective = {})
  {
    return gigapixel_test::FindRefusal([&] { this->Load(text, objective); });
  }

  TemporaryFolder m_Folder{ "cohort" };
};

// Predictions have columns p_CLASS: these would be read as those of findings and grades.
TEST_F(CohortTruths, ClassesAreNotNamedAsColumns)
{
  for (const std::string prefix : { "label:", "grade:" })
  {
    const Diagnostic refusal = this->GetRefusal("slide,label\na.svs,ok\nb.svs," + prefix + "x\n");
    EXPECT_EQ(refusal.code, "E-COHORT-FORMAT");
    EXPECT_EQ(refusal.file, m_Folder.File("cohort.csv"));
    EXPECT_EQ(refusal.value, "3"); // the line
  }
}

TEST_F(CohortTruths, FindingsStandInColumnsOfTheirNames)
{
  const Cohort cohort = this->Load("label:tumor,slide,\"label:lymph, node\"\n1,a.svs,\n0,b.svs,1\n");
  EXPECT_TRUE(cohort.warnings.empty());
  EXPECT_EQ(cohort.objective.kind, ObjectiveKind::Find("findings"));
  EXPECT_EQ(cohort.objective.names, (std::vector<std::string>{ "tumor", "lymph, node" }));
  EXPECT_EQ(cohort.entries[0].truth[0], 1);
  EXPECT_TRUE(std::isnan(cohort.entries[0].truth[1]));
  EXPECT_EQ(cohort.entries[1].truth, (ImageTruth{ 0, 1 }));
  EXPECT_TRUE(cohort.classes.empty());
}

TEST_F(CohortTruths, GradesAndValuesAreNumbers)
{
  const Cohort grades = this->Load("slide,grade\na.svs,3\nb.svs,0\n");
  EXPECT_EQ(grades.objective.kind, ObjectiveKind::Find("grades"));
  EXPECT_EQ(grades.entries[0].truth, ImageTruth{ 3 });
  const Cohort values = this->Load("slide,value:TIL (%)\na.svs,12.5\nb.svs,-1e-3\n");
  EXPECT_EQ(values.objective.kind, ObjectiveKind::Find("values"));
  EXPECT_EQ(values.objective.names, std::vector<std::string>{ "TIL (%)" });
  EXPECT_EQ(values.entries[1].truth, ImageTruth{ -1e-3 });
}

/** What a table has been read for stays so, whatever else it has. */
TEST_F(CohortTruths, LabelsAndMasksGoBefore)
{
  const std::string labels = "slide,label,label:x,grade\na.svs,normal,1,2\nb.svs,tumor,0,high\n";
  const Cohort      cohort = this->Load(labels);
  EXPECT_EQ(cohort.objective.kind, ObjectiveKind::Find("classes"));
  EXPECT_TRUE(cohort.objective.names.empty());
  EXPECT_EQ(cohort.warnings.size(), 2u);
  EXPECT_EQ(cohort.classes.size(), 2u);
  const Cohort findings = this->Load(labels, "findings");
  EXPECT_EQ(findings.entries[0].truth, ImageTruth{ 1 });
  EXPECT_EQ(findings.entries[0].label, "normal");
  EXPECT_EQ(this->Load("slide,mask,grade\na.svs,b.svs,high\n").objective.kind, ObjectiveKind::Find("classes"));
}

TEST_F(CohortTruths, OfSeveralKindsOneIsToBeNamed)
{
  const std::string several = "slide,grade,value:x\na.svs,1,2\nb.svs,2,3\n";
  EXPECT_EQ(this->GetRefusal(several).code, "E-COHORT-FORMAT");
  EXPECT_EQ(this->Load(several, "values").entries[1].truth, ImageTruth{ 3 });
  const Diagnostic unknown = this->GetRefusal(several, "ranks");
  EXPECT_EQ(unknown.code, "E-OPTION-VALUE");
  EXPECT_EQ(unknown.value, "ranks");
}

/** In whatever order they stand; one of them alone is something else. */
TEST_F(CohortTruths, SurvivalHasTwoColumns)
{
  const Cohort survival = this->Load("slide,event,time\na.svs,1,2.5\nb.svs,0,31\n");
  EXPECT_EQ(survival.objective.kind, ObjectiveKind::Find("survival"));
  EXPECT_EQ(survival.entries[0].truth, (ImageTruth{ 2.5, 1 }));
  EXPECT_EQ(survival.entries[1].truth, (ImageTruth{ 31, 0 }));
  const Cohort grades = this->Load("slide,time,grade\na.svs,5,1\nb.svs,6,2\n");
  EXPECT_EQ(grades.objective.kind, ObjectiveKind::Find("grades"));
  EXPECT_EQ(this->GetRefusal("slide,time,event\na.svs,,1\n").code, "E-COHORT-FORMAT");
  EXPECT_EQ(this->GetRefusal("slide,time\na.svs,3\n", "survival").code, "E-COHORT-FORMAT");
}

TEST_F(CohortTruths, TruthsAreDealtOutEvenly)
{
  Cohort cohort;
  cohort.objective = { ObjectiveKind::Find("findings"), { "common", "rare" }, {}, {} };
  for (int i = 0; i < 40; ++i)
  {
    CohortEntry entry;
    entry.slide = "s" + std::to_string(100 + i);
    entry.truth = { i % 2 == 0 ? 1.0 : 0.0, i % 10 == 0 ? 1.0 : 0.0 };
    cohort.entries.push_back(entry);
  }
  const std::vector<int>                     folds = AssignFolds(cohort, 4);
  std::map<std::pair<int, std::size_t>, int> there;
  for (std::size_t i = 0; i < folds.size(); ++i)
  {
    for (std::size_t k = 0; k < 2; ++k)
    {
      there[{ folds[i], k }] += static_cast<int>(cohort.entries[i].truth[k]);
    }
  }
  for (int fold = 1; fold <= 4; ++fold)
  {
    EXPECT_EQ((there[{ fold, 0 }]), 5);
    EXPECT_EQ((there[{ fold, 1 }]), 1);
  }
}

/** By their numbers alone. */
TEST_F(CohortTruths, ValuesAreDealtOut)
{
  Cohort cohort;
  cohort.objective = { ObjectiveKind::Find("values"), { "x" }, {}, {} };
  for (int i = 0; i < 9; ++i)
  {
    CohortEntry entry;
    entry.slide = "s" + std::to_string(i);
    entry.truth = { 0.1 * i };
    cohort.entries.push_back(entry);
  }
  const std::vector<int> folds = AssignFolds(cohort, 3);
  for (int fold = 1; fold <= 3; ++fold)
  {
    EXPECT_EQ(std::count(folds.begin(), folds.end(), fold), 3);
  }
}

} // namespace
