/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideClassification_h
#define SlideClassification_h

#include "gigapixelPredictionTable.h"
#include "gigapixelRunCommand.h"

#include "gigapixelModel.h"

#include <nlohmann/json_fwd.hpp>

namespace gigapixel::application
{

/** Classifies one slide, with the level, resolution, tissue, device, tiles and memory of classify or train.
 * \return what --json tells of it */
nlohmann::ordered_json ClassifySlide(const std::string &    file,
                                     const Model &          model,
                                     const ArgumentValues & values,
                                     const Session &        session);

/** Takes its probabilities or values, in the order of the names. */
void TakeProbabilities(const nlohmann::ordered_json & told, Prediction & prediction);

/** Writes a table. \param overwrite see AtomicFile */
void WriteTable(const PredictionTable & table, const std::string & file, bool overwrite);

} // namespace gigapixel::application

#endif
