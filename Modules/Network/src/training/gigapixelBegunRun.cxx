/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBegunRun.h"
#include "gigapixelDevice.h"
#include "gigapixelRunFolder.h"
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
  try
  {
    return GetSettings(SafeTensors::LoadMetadata(file), file);
  }
  catch (const std::runtime_error & problem)
  {
    throw MakeLastFileError(folder, problem.what());
  }
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
    BegunRun   run{ NetworkDescription::FromJSON(settings.at(NetworkSetting).dump()),
                  settings.value("precision", "fp32"),
                  GetOptions(text) };
    FindPrecision(run.precision);
    return run;
  }
  catch (const std::exception &)
  {
    throw MakeLastFileError(folder, "checkpoint \"" + folder + "/last.safetensors\" does not tell how its run began");
  }
}

} // namespace gigapixel
