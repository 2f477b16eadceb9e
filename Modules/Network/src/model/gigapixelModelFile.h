/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelModelFile_h
#define gigapixelModelFile_h

#include "gigapixelModel.h"
#include "gigapixelSafeTensors.h"

namespace gigapixel
{

/** Of a model: as much as a command may ask for. */
constexpr std::int64_t MaximumTileSize = 65536;

/** The text of Model::plane. */
constexpr const char * PlaneKey = "focal_plane";

/** Arrays and texts under this prefix belong to a training run, not to its model. */
constexpr const char * TrainingPrefix = "training.";

/** The file of a model, which may be given by its run's folder. \throw std::runtime_error the folder holds none */
GigapixelNetwork_EXPORT std::string FindModelFile(const std::string & path);

/** The bytes of the file of a ready model. \param name for which Model::IsReady() */
GigapixelNetwork_EXPORT const std::string & GetReadyContent(const std::string & name);

/** \throw std::runtime_error when the file holds no model, or one whose weights do not fit its network */
Model ToModel(const SafeTensors & file, const std::string & path);

/** The same of a model that has to be one of a network. \throw std::runtime_error it has other arrays */
Model ToModelOf(const NetworkDescription & network, const SafeTensors & file, const std::string & path);

SafeTensors FromModel(const Model & model);

/** \throw std::invalid_argument names the parameter that is missing, of a wrong shape or unknown, or holds numbers with
 * which no mask can be computed (see CheckValueRange()) */
GigapixelNetwork_EXPORT void CheckParameters(const Model & model);

} // namespace gigapixel

#endif
