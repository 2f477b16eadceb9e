/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBegunRun.h"
#include "gigapixelTrainingState.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Empty: there is no run. */
std::string
ReadSettings(const std::string & folder)
{
  const std::string file = folder + "/last.safetensors";
  std::error_code   error;
  if (folder.empty() || !std::filesystem::is_regular_file(file, error))
  {
    return {};
  }
  return GetSettings(SafeTensors::Load(file), file);
}

} // namespace

std::optional<BegunRun>
BegunRun::Find(const std::string & folder, Ranks * ranks)
{
  std::string text = ranks == nullptr || ranks->GetRank() == 0 ? ReadSettings(folder) : std::string();
  if (ranks != nullptr)
  {
    ranks->Broadcast(text);
  }
  if (text.empty())
  {
    return {};
  }
  try
  {
    const auto settings = nlohmann::ordered_json::parse(text);
    return BegunRun{ NetworkDescription::FromJSON(settings.at(NetworkSetting).dump()),
                     settings.value("precision", "fp32") };
  }
  catch (const std::exception & error)
  {
    throw std::runtime_error("the run in \"" + folder + "\" does not tell its network (" + error.what() +
                             "): name it (--network)");
  }
}

} // namespace gigapixel
