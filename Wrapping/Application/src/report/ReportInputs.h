/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportInputs_h
#define ReportInputs_h

#include "ReportRows.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gigapixel::application
{

/** All that a report shows, but its pictures. */
struct ReportContent
{
  ReportRows             rows;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  nlohmann::ordered_json missing = nlohmann::ordered_json::array();
  nlohmann::ordered_json unfinished = nlohmann::ordered_json::array(); // batches
};

/** Takes a folder of masks and results, a run, a table, a mask or a result of --json. \throw Refusal it is none */
void TakeInput(const std::string & input, ReportContent & content);

/** Takes how results were made, and what that took. \param entries of a manifest, as ReadManifestEntries() has them
 * \param folder of the manifest */
void AddMakings(const nlohmann::ordered_json & entries, const std::string & folder, ReportRows & rows);

} // namespace gigapixel::application

#endif
