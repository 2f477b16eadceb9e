/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFolds.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelTableReader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <tuple>

namespace gigapixel
{
namespace
{

using Counts = std::map<std::string, double>; ///< rows of each label

/** Rows that stay together. */
struct Group
{
  std::string              name;
  std::vector<std::size_t> rows;
  Counts                   labels;
};

bool
IsDealt(const CohortEntry & entry)
{
  return entry.split == CohortEntry::Split::Training;
}

std::string
GetGroupName(const CohortEntry & entry)
{
  return entry.patient.empty() ? std::filesystem::path(entry.slide).lexically_normal().string() : entry.patient;
}

/** What is dealt out evenly of a row: its label, each finding and its grade; nothing of what is measured. */
std::vector<std::string>
GetLabels(const CohortEntry & entry, const Objective & objective)
{
  return objective.GetKind().getStrata(objective, entry.truth, entry.label);
}

std::vector<Group>
MakeGroups(const Cohort & cohort)
{
  std::map<std::string, Group> groups;
  for (std::size_t row = 0; row < cohort.entries.size(); ++row)
  {
    const CohortEntry & entry = cohort.entries[row];
    if (IsDealt(entry))
    {
      Group & group = groups[GetGroupName(entry)];
      group.name = GetGroupName(entry);
      group.rows.push_back(row);
      for (const std::string & label : GetLabels(entry, cohort.objective))
      {
        ++group.labels[label];
      }
    }
  }
  std::vector<Group> sorted;
  sorted.reserve(groups.size());
  for (auto & [name, group] : groups)
  {
    sorted.push_back(std::move(group));
  }
  // They come by their names.
  std::stable_sort(
    sorted.begin(), sorted.end(), [](const Group & a, const Group & b) { return a.rows.size() > b.rows.size(); });
  return sorted;
}

double
GetCrowd(const Group & group, Counts & ofFold, const Counts & all)
{
  double sum = 0;
  for (const auto & [label, count] : group.labels)
  {
    const double there = ofFold[label];
    sum += ((there + count) * (there + count) - there * there) / (all.at(label) * all.at(label));
  }
  return sum;
}

} // namespace

std::vector<int>
AssignFolds(const Cohort & cohort, int folds)
{
  const std::vector<Group> groups = MakeGroups(cohort);
  const bool               knowsPatients = std::any_of(
    cohort.entries.begin(), cohort.entries.end(), [](const CohortEntry & entry) { return !entry.patient.empty(); });
  if (static_cast<int>(groups.size()) < folds)
  {
    throw Refusal(Diagnostic("E-COHORT-LABELS",
                             std::to_string(folds) + " folds need as many " + (knowsPatients ? "patients" : "slides") +
                               " with the split train, and there are " + std::to_string(groups.size()),
                             "take fewer folds")
                    .OfValue(std::to_string(folds)));
  }
  Counts all;
  for (const Group & group : groups)
  {
    for (const auto & [label, count] : group.labels)
    {
      all[label] += count;
    }
  }
  std::vector<Counts>      labels(static_cast<std::size_t>(folds));
  std::vector<std::size_t> rows(labels.size());
  std::vector<int>         result(cohort.entries.size());
  for (const Group & group : groups)
  {
    using Rank = std::tuple<double, std::size_t, std::size_t>; ///< crowd, rows, number of the fold
    Rank best{ 0, 0, labels.size() };
    for (std::size_t fold = 0; fold < labels.size(); ++fold)
    {
      const Rank rank{ GetCrowd(group, labels[fold], all), rows[fold], fold };
      best = fold == 0 ? rank : std::min(best, rank);
    }
    const std::size_t fold = std::get<2>(best);
    rows[fold] += group.rows.size();
    for (const auto & [label, count] : group.labels)
    {
      labels[fold][label] += count;
    }
    for (const std::size_t row : group.rows)
    {
      result[row] = static_cast<int>(fold) + 1;
    }
  }
  for (std::size_t fold = 0; fold < labels.size(); ++fold)
  {
    for (const auto & [label, count] : labels[fold])
    {
      if (count == all.at(label))
      {
        throw Refusal(Diagnostic("E-COHORT-LABELS",
                                 "all slides of the label " + ToMessage(label) + " are in fold " +
                                   std::to_string(fold + 1) +
                                   ", so that nothing would be left to learn it from: it needs two " +
                                   (knowsPatients ? "patients" : "slides") + " at least")
                        .OfValue(label));
      }
    }
  }
  return result;
}

} // namespace gigapixel
