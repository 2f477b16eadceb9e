/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelObjective_h
#define gigapixelObjective_h

#include "gigapixelOutputTargets.h"

#include <string>
#include <vector>

namespace gigapixel
{

struct ObjectiveKind;

/** \return that of classes */
GigapixelObjective_EXPORT const ObjectiveKind * GetDefaultObjectiveKind();

/** What a network says of whole images: of which kind it is, and its names. */
struct GigapixelObjective_EXPORT Objective
{
  const ObjectiveKind * kind{ GetDefaultObjectiveKind() }; ///< which truth images have
  /** For findings and values a name for each output, for grades each grade, for survival the end of each interval, both
   * rising. For classes none: the network has them. */
  std::vector<std::string> names{};
  // For each name of a kind with units: of the training images that have it.
  std::vector<double> means{};      ///< in the unit of the value
  std::vector<double> deviations{}; ///< in the unit of the value

  const ObjectiveKind & GetKind() const; ///< the entry of its kind

  /** Whether images have truths of their own (ImageTruth); else each has a class, as pixels have. */
  bool HasTargets() const;

  /** The columns of tables in which the truths stand, in their order: "label:tumor", "grade". */
  std::vector<std::string> GetColumns() const;

  /** Columns of an ImageTruth: none where an image has a class. */
  std::vector<std::string> GetTruthColumns() const;

  /** How many truths an image has; 0: it has a class. */
  std::size_t CountTruths() const;
};

/** All truths of one image, in the order of the columns: a number for each finding (0 or 1) or value, or the grade, or
 * time and event; NaN: not known. */
using ImageTruth = std::vector<double>;

/** One kind of truth, which a file of src/ makes. Those functions that classes have none of are null: their loss is
 * that of pixels. */
struct GigapixelObjective_EXPORT ObjectiveKind
{
  std::string name; ///< in options, models and tables' messages: "findings"
  /** The columns of truths in tables. One that ends in a colon stands for a column for each name, which is behind the
   * colon. */
  std::vector<std::string> columns;
  std::string              prediction;  ///< the column of predictions in tables; behind it stands a name
  std::string              found;       ///< the column of what is chosen, where there is one; else empty
  std::string              numbers;     ///< what predictions are called: "probabilities" or "values"
  std::string              score;       ///< of a set of images, the more the better: "AUC"
  std::string              scoreColumn; ///< the same in history.csv

  bool isExclusive{ false }; ///< whether an image has one of the names, so that probabilities sum to 1
  bool hasUnits{ false };   ///< whether it is measured: predictions are no probabilities, and have means and deviations
  bool isBalanced{ false }; ///< whether what is rare may count as much as what is frequent
  /** Whether predict() takes the probabilities that the engine makes of the outputs, else the outputs. */
  bool takesProbabilities{ false };

  /** Outputs of a network for so many names. */
  int (*countOutputs)(int names){ nullptr };

  /** A field of a column, which is not empty. \param column its number in Objective::GetColumns()
   * \throw std::invalid_argument what is wrong, to be put behind the field */
  double (*readTruth)(std::size_t column, const std::string & field){ nullptr };

  /** \throw std::invalid_argument the names are none of this kind, or not in their order; null: any names are good */
  void (*checkNames)(const std::vector<std::string> & names){ nullptr };

  /** What is known of an image, each with its name: "tumor=1", "grade=2". */
  std::vector<std::string> (*describe)(const Objective & objective, const ImageTruth & truth){ nullptr };

  /** Words that are dealt out evenly to the folds of a cross-validation, as describe(); none: there are too many of
   * them. \param label of an image that has a class */
  std::vector<std::string> (*getStrata)(const Objective &   objective,
                                        const ImageTruth &  truth,
                                        const std::string & label){ nullptr };

  /** Completes the names, means and deviations of an objective from the truths of all images that are trained on or
   * validate. Names that are there stay. \param training those that are trained on \throw std::runtime_error there is
   * nothing to learn */
  void (*learn)(Objective &                     objective,
                const std::vector<ImageTruth> & all,
                const std::vector<ImageTruth> & training){ nullptr };

  /** What each output should be, without weights. */
  OutputTargets (*makeTargets)(const Objective & objective, const ImageTruth & truth){ nullptr };

  /** What images have that have this target, of the logistic ones: "the finding tumor". */
  std::string (*describeTarget)(const Objective & objective, int output, bool target){ nullptr };

  /** Biases that training begins with: a network without knowledge predicts the shares.
   * \param shares of the images of each class, or for each output of those that have the target 1 */
  std::vector<double> (*getBiases)(int outputs, const std::vector<double> & shares){ nullptr };

  /** A number for each name, from the outputs: the probability of each finding or grade, or the values. */
  std::vector<double> (*predict)(const Objective & objective, const std::vector<double> & outputs){ nullptr };

  /** The outcome of that: the names that are found, or the grade; null where numbers say it all. Classes have the
   * names that the network has. */
  std::vector<std::string> (*getFound)(const Objective & objective, const std::vector<double> & prediction){ nullptr };

  /** Number of the name that is to be explained: of classes and findings the most probable, of grades the predicted
   * one, of values the first. */
  int (*choose)(const std::vector<double> & prediction){ nullptr };

  /** What speaks for a name, as its gradient for the outputs. */
  std::vector<double> (*explain)(int outputs, int name){ nullptr };

  /** NaN: nothing can be judged. The truth of an image of a class is its number. */
  double (*getScore)(const Objective &                        objective,
                     const std::vector<ImageTruth> &          truths,
                     const std::vector<std::vector<double>> & predictions){ nullptr };

  /** Whether columns have names, one for each name of the objective. */
  bool HasNames() const;

  /** "findings (label:NAME)", for help and messages */
  std::string Describe() const;

  static const std::vector<const ObjectiveKind *> & GetAll(); ///< in the order of the list

  /** \return null: there is none of this name */
  static const ObjectiveKind * Find(const std::string & name);

  /** "classes, findings, grades, values or survival" */
  static std::string NameAll();
};

/** A number in as few digits as bring it back. */
GigapixelObjective_EXPORT std::string FormatTruth(double value);

/** The number of the grade of the greatest rank that has a probability above 1/2 of being reached; the names' order. */
GigapixelObjective_EXPORT std::size_t GetGrade(const std::vector<double> & probabilities);

} // namespace gigapixel

#endif
