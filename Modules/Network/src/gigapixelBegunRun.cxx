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
  std::string text;
  std::string problem; // told to all ranks, which wait for the settings
  try
  {
    text = ranks == nullptr || ranks->GetRank() == 0 ? ReadSettings(folder) : std::string();
  }
  catch (const std::exception & error)
  {
    problem = error.what();
  }
  if (ranks != nullptr)
  {
    ranks->Broadcast(problem);
    ranks->Broadcast(text);
  }
  if (!problem.empty())
  {
    throw std::runtime_error(problem);
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
  catch (const std::exception &)
  {
    throw std::runtime_error("checkpoint \"" + folder +
                             "/last.safetensors\" does not tell the network of its run: begin in another folder");
  }
}

} // namespace gigapixel
