/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelObjective_h
#define gigapixelObjective_h

#include "gigapixelOutputTargets.h"

#include <string>
#include <vector>

namespace gigapixel
{

struct ObjectiveKind;

/** What a network says of whole images: of which kind it is, and its names. */
struct GigapixelObjective_EXPORT Objective
{
  /** What images have for a truth. */
  enum class Kind
  {
    Classes,  ///< one of several classes, by its name
    Findings, ///< several, each of which is there or not, whatever the others are
    Grades,   ///< one of several ranks, which are whole numbers
    Values    ///< one or several numbers
  };

  Kind kind{ Kind::Classes }; ///< which truth images have
  /** For findings and values a name for each output, for grades each grade, rising. For classes none: the network has
   * them. */
  std::vector<std::string> names;
  // For each value: of the training images that have it.
  std::vector<double> means;      ///< in the unit of the value
  std::vector<double> deviations; ///< in the unit of the value

  const ObjectiveKind & GetKind() const; ///< the entry of its kind
};

/** All truths of one image, in the order of the columns: a number for each finding (0 or 1) or value, or the grade;
 * NaN: not known. */
using ImageTruth = std::vector<double>;

/** One kind of truth. Entries are made by gigapixelClasses.cxx and so on. Those functions that classes have none of are
 * null: their loss and prediction are those of pixels. */
struct GigapixelObjective_EXPORT ObjectiveKind
{
  Objective::Kind kind;        ///< the kind that this entry is of
  const char *    name;        ///< in options, models and tables' messages: "findings"
  const char *    column;      ///< of the truth in tables; behind a colon stands a name
  const char *    prediction;  ///< of predictions in tables; behind it stands a name
  const char *    found;       ///< the column of getFound(), where there is one; else empty
  const char *    numbers;     ///< what predictions are called: "probabilities" or "values"
  const char *    score;       ///< of a set of images, the more the better: "AUC"
  const char *    scoreColumn; ///< the same in history.csv

  /** Outputs of a network for so many names. */
  int (*countOutputs)(int names);

  /** A field of a column, which is not empty. \throw std::invalid_argument what is wrong, to be put behind the field */
  double (*readTruth)(const std::string & field);

  /** What is known of an image, each with its name: "tumor=1", "grade=2". */
  std::vector<std::string> (*describe)(const Objective & objective, const ImageTruth & truth);

  /** Completes the names, means and deviations of an objective from the truths of all images that are trained on or
   * validate. \param training those that are trained on \throw std::runtime_error there is nothing to learn */
  void (*learn)(Objective & objective, const std::vector<ImageTruth> & all, const std::vector<ImageTruth> & training);

  /** What each output should be, without weights. */
  OutputTargets (*makeTargets)(const Objective & objective, const ImageTruth & truth);

  /** What images have that have this target, of the logistic ones: "the finding tumor". */
  std::string (*describeTarget)(const Objective & objective, int output, bool target);

  /** A number for each name, from the outputs: the probability of each finding or grade, or the values. */
  std::vector<double> (*predict)(const Objective & objective, const std::vector<double> & outputs);

  /** What that comes to: the names that are found, or the grade; empty where numbers say it all. */
  std::vector<std::string> (*getFound)(const Objective & objective, const std::vector<double> & prediction);

  /** Number of the name that is to be explained: of findings the most probable, of grades the predicted one, of values
   * the first. */
  int (*choose)(const std::vector<double> & prediction);

  /** What speaks for a name, as its gradient for the outputs. */
  std::vector<double> (*explain)(const Objective & objective, int name);

  /** NaN: nothing can be judged. */
  double (*getScore)(const Objective &                        objective,
                     const std::vector<ImageTruth> &          truths,
                     const std::vector<std::vector<double>> & predictions);

  /** Whether columns have names, one for each name of the objective. */
  bool HasNames() const;

  static const std::vector<const ObjectiveKind *> & GetAll(); ///< in the order of Objective::Kind

  /** \return null: there is none of this name */
  static const ObjectiveKind * Find(const std::string & name);
};

/** A number in as few digits as bring it back. */
GigapixelObjective_EXPORT std::string FormatTruth(double value);

/** The number of the grade of the greatest rank that has a probability above 1/2 of being reached; the names' order. */
GigapixelObjective_EXPORT std::size_t GetGrade(const std::vector<double> & probabilities);

} // namespace gigapixel

#endif
