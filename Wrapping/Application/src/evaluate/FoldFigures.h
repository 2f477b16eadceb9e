/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FoldFigures_h
#define FoldFigures_h

#include "PredictionTable.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace gigapixel::application
{

/** How much figures differ from fold to fold: "perFold", a list with each fold's number, its cases and its figures, and
 * "overFolds", of each figure the mean, the standard deviation (of a sample: divided by the folds less one; null of one
 * fold) and of how many folds they are, those in which it is known. Nothing, of a table without folds.
 * \param judge gives the figures of a part of the table by name, null for what is not known;
 * std::runtime_error: none is, as where all cases of the part are of one class */
nlohmann::ordered_json DescribeFolds(const PredictionTable &                                                table,
                                     const std::function<nlohmann::ordered_json(const PredictionTable &)> & judge);

/** That of DescribeFolds() for people, a line for each figure, which begins with a line break; empty: nothing. */
std::string FormatFolds(const nlohmann::ordered_json & folds);

} // namespace gigapixel::application

#endif
