/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelFolds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

using gigapixel::AssignFolds;
using gigapixel::Cohort;
using gigapixel::CohortEntry;

namespace
{

CohortEntry
MakeRow(const std::string & slide, const std::string & label, const std::string & patient = {})
{
  CohortEntry entry;
  entry.slide = slide;
  entry.label = label;
  entry.patient = patient;
  return entry;
}

/** Slides of a patient each, or of none; every third has the rare label. */
Cohort
MakeSlides(int number, bool withPatients)
{
  Cohort cohort;
  for (int i = 0; i < number; ++i)
  {
    const std::string name = "slide-" + std::to_string(100 + i);
    cohort.entries.push_back(MakeRow("s/" + name + ".svs", i % 3 == 0 ? "tumor" : "normal", withPatients ? name : ""));
  }
  return cohort;
}

/** Rows of a label in a fold. */
using Table = std::map<std::pair<int, std::string>, int>;

Table
Count(const Cohort & cohort, const std::vector<int> & folds)
{
  Table table;
  for (std::size_t i = 0; i < folds.size(); ++i)
  {
    ++table[{ folds[i], cohort.entries[i].label }];
  }
  return table;
}

TEST(Folds, HaveTheirShareOfEachLabel)
{
  for (const bool withPatients : { false, true })
  {
    for (const int number : { 12, 31, 100 })
    {
      for (const int folds : { 2, 3, 4 })
      {
        const Cohort cohort = MakeSlides(number, withPatients);
        const auto   assigned = AssignFolds(cohort, folds);
        ASSERT_EQ(assigned.size(), cohort.entries.size());
        Table table = Count(cohort, assigned);
        for (const std::string label : { "tumor", "normal" })
        {
          std::vector<int> counts, all;
          for (int fold = 1; fold <= folds; ++fold)
          {
            counts.push_back(table[{ fold, label }]);
            all.push_back(table[{ fold, "tumor" }] + table[{ fold, "normal" }]);
          }
          const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
          EXPECT_LE(*most - *least, 1) << label << ' ' << number << ' ' << folds;
          const auto [fewest, greatest] = std::minmax_element(all.begin(), all.end());
          EXPECT_LE(*greatest - *fewest, 1) << number << ' ' << folds;
        }
      }
    }
  }
}

TEST(Folds, DoNotDependOnTheOrderOfRows)
{
  Cohort       cohort = MakeSlides(40, false);
  std::mt19937 random(7);
  for (auto & entry : cohort.entries)
  {
    entry.patient = "P" + std::to_string(random() % 17);
  }
  std::map<std::string, int> foldOf;
  const auto                 before = AssignFolds(cohort, 4);
  for (std::size_t i = 0; i < before.size(); ++i)
  {
    foldOf[cohort.entries[i].slide] = before[i];
  }
  for (int turn = 0; turn < 20; ++turn)
  {
    std::shuffle(cohort.entries.begin(), cohort.entries.end(), random);
    const auto after = AssignFolds(cohort, 4);
    for (std::size_t i = 0; i < after.size(); ++i)
    {
      EXPECT_EQ(after[i], foldOf[cohort.entries[i].slide]);
    }
  }
}

TEST(Folds, NeverCutAPatient)
{
  std::mt19937 random(3);
  for (int turn = 0; turn < 50; ++turn)
  {
    Cohort cohort;
    for (int i = 0; i < 60; ++i)
    {
      const std::string patient = "P" + std::to_string(random() % 20);
      cohort.entries.push_back(MakeRow(std::to_string(i), "label " + std::to_string(random() % 3), patient));
    }
    const int                            folds = 2 + static_cast<int>(random() % 4);
    const auto                           assigned = AssignFolds(cohort, folds);
    std::map<std::string, std::set<int>> foldsOf;
    std::vector<int>                     rows(static_cast<std::size_t>(folds));
    for (std::size_t i = 0; i < assigned.size(); ++i)
    {
      ASSERT_GE(assigned[i], 1);
      ASSERT_LE(assigned[i], folds);
      foldsOf[cohort.entries[i].patient].insert(assigned[i]);
      ++rows[static_cast<std::size_t>(assigned[i]) - 1];
    }
    for (const auto & [patient, of] : foldsOf)
    {
      EXPECT_EQ(of.size(), 1u) << patient;
    }
    const auto [fewest, most] = std::minmax_element(rows.begin(), rows.end());
    EXPECT_LE(*most - *fewest, 10) << "patients have three slides on average";
  }
}

// By hand: P has two rows and comes first; then the slides by their names, each where its label is rarest.
TEST(Folds, AreDealtOutByTheRule)
{
  Cohort cohort;
  cohort.entries = { MakeRow("1", "b", "U"), MakeRow("2", "a", "Q"), MakeRow("3", "a", "P"),
                     MakeRow("4", "a", "P"), MakeRow("5", "b", "T"), MakeRow("6", "a", "R") };
  EXPECT_EQ(AssignFolds(cohort, 2), (std::vector<int>{ 2, 2, 1, 1, 1, 2 }));
}

TEST(Folds, TakeOnlyWhatIsTrainedOn)
{
  Cohort cohort = MakeSlides(12, false);
  cohort.entries[4].split = CohortEntry::Split::Validation;
  cohort.entries[7].split = CohortEntry::Split::Test;
  const auto folds = AssignFolds(cohort, 3);
  for (std::size_t i = 0; i < folds.size(); ++i)
  {
    EXPECT_EQ(folds[i] == 0, i == 4 || i == 7);
  }
}

TEST(Folds, RefuseWhatLeavesNothingToLearnFrom)
{
  Cohort cohort = MakeSlides(3, false);
  EXPECT_REFUSAL(AssignFolds(cohort, 4), "E-COHORT-LABELS");
  EXPECT_EQ(gigapixel_test::FindRefusal([&] { AssignFolds(cohort, 3); }).value, "tumor");
  cohort = MakeSlides(12, false);
  for (auto & entry : cohort.entries)
  {
    entry.patient = entry.label == "tumor" ? "one" : entry.slide;
  }
  EXPECT_EQ(gigapixel_test::FindRefusal([&] { AssignFolds(cohort, 3); }).value, "tumor");
}

} // namespace
