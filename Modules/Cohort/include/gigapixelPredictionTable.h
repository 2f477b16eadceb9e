/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPredictionTable_h
#define gigapixelPredictionTable_h

#include "GigapixelCohortExport.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelObjective.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** What was said of one slide, or of one patient. */
struct Prediction
{
  std::string         name;    ///< the slide's file as the table has it, or the patient
  std::string         patient; ///< empty: not known
  std::string         label;   ///< the truth; empty: not known. Of other objectives than classes it is told in words
  std::string         split;   ///< of the cohort; empty: not known
  std::vector<double> probabilities; ///< or values
  int                 fold{ 0 };     ///< that held the slide back from the training, from 1; 0: none
  int                 line{ 0 };     ///< of the table; of a patient that of the first slide
  ImageTruth          truth{};       ///< of other objectives than classes
};

/** A truth in words, by which it is compared; empty: nothing of it is known. */
GigapixelCohort_EXPORT std::string ToLabel(const ImageTruth & truth, const Objective & objective);

/** \class PredictionTable
 * \brief The table that classify writes: a row for each slide with the probability of each class (columns slide,
 * p_CLASS for each class and, if known, patient, label and fold); other columns are not read. Of other objectives with
 * the columns that ObjectiveKind says: the predictions', and those of truths in place of label. */
struct GigapixelCohort_EXPORT PredictionTable
{
  std::string              file;                                   ///< that it was read from
  std::vector<std::string> classes;                                ///< or the names of the objective
  const ObjectiveKind *    objective{ GetDefaultObjectiveKind() }; ///< what is predicted
  std::vector<Prediction>  cases;                                  ///< in the order of the table
  bool                     knowsPatients{ false };                 ///< whether cases have patients
  bool                     knowsLabels{ false };                   ///< whether cases have truths
  bool                     hasFolds{ false };                      ///< whether cases have folds
  bool                     arePatients{ false };                   ///< what cases are

  /** \throw std::runtime_error names file and line: no such column, a slide that is there twice, probabilities that are
   * none or that do not sum to 1 (0.01 allowed, for rounded ones) */
  static PredictionTable Load(const std::string & fileName);

  /** Takes labels and patients from a cohort's table, of which the columns slide, label, patient and split are read;
   * the slides need not be there. A slide is that of the row whose path ends as its own does, all of the shorter one of
   * both
   * ("slides/a.svs" is "/data/slides/a.svs"); of several such rows the one that has more in common.
   * \param needsLabels whether the column label has to be there
   * \throw std::runtime_error a slide is in no row, or in two that have as much in common; two slides are one row's;
   * the cohort gives a slide two labels or patients, or other ones than the predictions */
  void TakeCohort(const std::string & cohort, bool needsLabels = true);

  /** The objective with the names of the table. */
  Objective GetObjective() const;

  /** Of each patient the mean of the probabilities, or values, of all slides, in the order of the patients' names.
   * \throw std::runtime_error patients are not known, or one has slides of two labels */
  PredictionTable GetPatients() const;

  /** The text of the table, whose first column is called "slide", or "patient" of GetPatients(). */
  std::string ToCSV() const;
};

/** Refuses a row of a table as TableReader::Fail() does. \param line 0: none is named */
[[noreturn]] GigapixelCohort_EXPORT void RefuseRow(const std::string & file, int line, const Diagnostic & refusal);

} // namespace gigapixel

#endif
