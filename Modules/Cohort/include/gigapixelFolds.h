/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFolds_h
#define gigapixelFolds_h

#include "gigapixelCohort.h"

namespace gigapixel
{

/** Deals the rows of the split train out to folds for cross-validation, in each of which others are held back: all of a
 * patient to one fold, the rows of each label, finding or grade as evenly as that allows. It depends on the table's
 * content alone, and not on the order of its rows; there is no chance in it.
 *
 * What belongs together, a patient or, where the table names none, a slide, is taken by the number of its rows, most
 * first, then by its name. It goes to the fold in which its labels are rarest so far: where the sum over the labels of
 * ((n + k)^2 - n^2) / N^2 is least, of n rows of the label in the fold, k that come, N in all; of equal ones to the
 * fold with fewest rows, then to the first. Where all have one row, each label's rows are dealt out one by one. \param
 * folds 2 or more \return for each row of the cohort its fold from 1 on; 0 of rows of another split \throw
 * std::runtime_error there are fewer patients (or slides) than folds, or all rows of a label are in one fold, so that
 * nothing is left to learn it from */
GigapixelCohort_EXPORT std::vector<int> AssignFolds(const Cohort & cohort, int folds);

} // namespace gigapixel

#endif
