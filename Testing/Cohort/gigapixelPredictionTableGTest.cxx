/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Testing/CommandLine has many more refusals of such tables.
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "gigapixelPredictionTable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

using gigapixel::PredictionTable;
using gigapixel::test::TemporaryFolder;

namespace
{

PredictionTable
LoadTable(const TemporaryFolder & folder, const std::string & text)
{
  std::ofstream(folder.File("p.csv")) << text;
  return PredictionTable::Load(folder.File("p.csv"));
}

const std::string Classes = "slide,patient,label,p_no,p_yes\n"
                            "a/1.svs,Kim,yes,0.25,0.75\n"
                            "a/2.svs,Kim,yes,0.75,0.25\n"
                            "b/1.svs,Ann,no,0.5,0.5\n";

TEST(PredictionTable, IsWrittenAsItIsRead)
{
  const TemporaryFolder folder("predictions");
  const PredictionTable table = LoadTable(folder, Classes);
  ASSERT_EQ(table.cases.size(), 3u);
  EXPECT_EQ(table.classes, (std::vector<std::string>{ "no", "yes" }));
  const PredictionTable again = LoadTable(folder, table.ToCSV());
  EXPECT_EQ(again.ToCSV(), table.ToCSV());
  EXPECT_EQ(again.cases[1].probabilities, table.cases[1].probabilities);
}

TEST(PredictionTable, PatientsHaveTheMeanOfTheirSlides)
{
  const TemporaryFolder folder("predictions");
  const PredictionTable patients = LoadTable(folder, Classes).GetPatients();
  ASSERT_EQ(patients.cases.size(), 2u);
  EXPECT_EQ(patients.cases[0].name, "Ann");
  EXPECT_EQ(patients.cases[1].probabilities, (std::vector<double>{ 0.5, 0.5 }));
  EXPECT_EQ(patients.cases[1].label, "yes");
}

TEST(PredictionTable, TakesTheRowWhosePathEndsAlike)
{
  const TemporaryFolder folder("predictions");
  std::ofstream(folder.File("c.csv"))
    << "slide,label,split\n/data/b/1.svs,no,test\n/data/a/1.svs,yes,train\n2.svs,no,test\n";
  PredictionTable table = LoadTable(folder, "slide,p_no,p_yes\na/1.svs,0.2,0.8\nb/1.svs,0.5,0.5\na/2.svs,0.9,0.1\n");
  table.TakeCohort(folder.File("c.csv"));
  EXPECT_EQ(table.cases[0].label, "yes");
  EXPECT_EQ(table.cases[0].split, "train");
  EXPECT_EQ(table.cases[1].label, "no");
  EXPECT_EQ(table.cases[2].label, "no");
  PredictionTable unknown = LoadTable(folder, "slide,p_no,p_yes\n1.svs,0.2,0.8\n"); // may be either
  EXPECT_REFUSAL(unknown.TakeCohort(folder.File("c.csv")), "E-PREDICTIONS-MATCH");
  EXPECT_REFUSAL(LoadTable(folder, "slide,p_no,p_yes\n1.svs,0.2,0.7\n"), "E-PREDICTIONS-FORMAT");
}

TEST(PredictionTable, KnowsOfFindingsWhatIsThere)
{
  const TemporaryFolder folder("predictions");
  const PredictionTable table = LoadTable(folder, "slide,label:x,label:y,p_label:x,p_label:y\n1.svs,1,,0.9,0.8\n");
  EXPECT_EQ(table.objective->name, "findings");
  EXPECT_EQ(table.cases[0].truth.at(0), 1);
  EXPECT_TRUE(std::isnan(table.cases[0].truth.at(1)));
  EXPECT_EQ(LoadTable(folder, table.ToCSV()).ToCSV(), table.ToCSV());
}

} // namespace
