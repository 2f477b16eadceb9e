/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportFigures_h
#define ReportFigures_h

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace gigapixel::application
{

/** What evaluate tells of a table of predictions that has the truth in it, and of each class the points of its ROC
 * ("roc"). Null: the table has no truth. \throw std::runtime_error there is nothing to judge */
nlohmann::ordered_json DescribePredictions(const std::string & file);

} // namespace gigapixel::application

#endif
