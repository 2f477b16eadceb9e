/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelCohort_h
#define gigapixelCohort_h

#include "GigapixelCohortExport.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelObjective.h"
#include "gigapixelSource.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** One row of a cohort: a slide, its truth, and what it is used for. */
struct CohortEntry
{
  /** What a slide is used for. */
  enum class Split
  {
    Training,
    Validation,
    Test
  };

  std::string slide;                    ///< path, absolute or relative to the working directory
  std::string mask;                     ///< empty: the table has no masks
  std::string label;                    ///< of the whole slide or region; empty: the table has no labels
  std::string patient;                  ///< whose slide it is; empty: the table does not say
  Split       split{ Split::Training }; ///< what the slide is used for
  Region      region;                   ///< level-0 pixels; width 0: the whole slide
  int         line{ 0 };                ///< of the table, from 1
  ImageTruth  truth{}; ///< of the whole slide or region, in the order of Cohort::objective's names; empty: see label
};

/** \class Cohort
 * \brief The slides of a study, from a CSV file (RFC 4180).
 *
 * The first line names the columns, in any order: slide, split, mask or label (the class of the whole slide) or both,
 * and optionally region and patient. In place of label, other truths of whole slides: label:NAME for each finding (1,
 * 0, or empty: not known), grade (a whole number), or value:NAME for each value (a number, or empty); see Objective.
 * Others are left unread, with a warning. Split is train, validation or test. Region is x,y,width,height in level-0
 * pixels: quoted, or with spaces or semicolons between the numbers; empty: the whole slide. Paths are relative to the
 * CSV's folder, and follow links as the file system does ("link/../a.svs" is beside the folder that the link leads to);
 * the files of a volume's modalities are joined by commas. Where the CSV itself is a link, they are relative to the
 * link's folder, or to that of the file it leads to; files in both are refused. Empty lines are skipped. A slide may
 * come several times with regions, but what is in one split is in no other; nor is a patient, by whatever name the
 * table calls them.
 *
 * \par Example
 * \code
 * slide,mask,split,region
 * a.svs,a-mask.pyramid.tif,train,
 * b.svs,b-mask.pyramid.tif,validation,"1024,2048,8192,8192"
 * \endcode */
struct GigapixelCohort_EXPORT Cohort
{
  std::vector<CohortEntry> entries; ///< in the order of the table
  /** Names of the classes that the table has labels of, sorted; empty: it has none. */
  std::vector<std::string> classes;
  /** What else than a class the slides' truths are, with its names but for those of grades. */
  Objective               objective;
  std::vector<Diagnostic> warnings; ///< unread columns, disjoint regions of one slide in two splits

  /** \param needsSplit false: of a table without the column split, all rows are for training
   * \param objective the kind of truths that are read, by its name (see ObjectiveKind), where the table may have
   * columns of several; empty: classes, where there are labels or masks, else the only one that there are columns of
   * \throw std::runtime_error names file and line: no such column, no such split, a malformed region or quote, a file
   * that is not there or that may be two, a row that repeats another, pixels that are in two splits. */
  static Cohort Load(const std::string & fileName, bool needsSplit = true, const std::string & objective = {});
};

/** The files in one column of a CSV file, in the order of its rows, with paths as a Cohort has them. Files that are not
 * there are named, too: whoever opens them says so.
 * \throw Refusal there is no such column, no row, or an empty field */
GigapixelCohort_EXPORT std::vector<std::string> ReadFileColumn(const std::string & fileName,
                                                               const std::string & column);

} // namespace gigapixel

#endif
