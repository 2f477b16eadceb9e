/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPresets_h
#define gigapixelPresets_h

#include <string>
#include <vector>

namespace gigapixel
{

struct Preset
{
  std::string name;
  std::string json;
};

/** The networks of the folder networks/, put into the library when it was built. */
const std::vector<Preset> & GetEmbeddedPresets();

struct ReadyModel
{
  std::string name;
  std::string content; ///< of the safetensors file
};

/** The models of the folder models/, likewise. */
const std::vector<ReadyModel> & GetReadyModels();

} // namespace gigapixel

#endif
