/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportRuns_h
#define ReportRuns_h

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace gigapixel::application
{

/** Whether a folder is one that train has written, with a run or with folds. */
bool IsRun(const std::string & folder);

/** What a training's folder holds: its curves, model and settings, and the same of each fold. Files that are not there
 * or cannot be read are named under "missing". */
nlohmann::ordered_json DescribeRun(const std::string & folder);

/** The curves of a history.csv: {"columns": [...], "rows": [[...], ...]}. \throw Refusal it cannot be read */
nlohmann::ordered_json ReadHistory(const std::string & file);

} // namespace gigapixel::application

#endif
