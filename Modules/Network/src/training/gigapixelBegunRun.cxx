/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBegunRun.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelDevice.h"
#include "gigapixelPackedDiagnostic.h"
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
    throw MakeLastFileError(folder, Diagnostic::Of(problem));
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
    problem = PackDiagnostic(Diagnostic::Of(error));
  }
  if (ranks != nullptr)
  {
    ranks->Broadcast(problem);
    ranks->Broadcast(text);
  }
  if (!problem.empty())
  {
    throw Refusal(UnpackDiagnostic(problem, "E-RUN-FORMAT"));
  }
  if (text.empty())
  {
    return {};
  }
  try
  {
    using Json = nlohmann::ordered_json;
    const Json   settings = Json::parse(text);
    const Json & written = settings.at(NetworkSetting);
    BegunRun run{ NetworkDescription::FromJSON(written.dump()), settings.value("precision", "fp32"), GetOptions(text) };
    FindPrecision(run.precision);
    const Json read = Json::parse(run.network.ToJSON());
    run.hasOtherOutput = read.contains("output") && written.contains("output") && read["output"] != written["output"];
    return run;
  }
  catch (const std::exception &)
  {
    throw MakeLastFileError(
      folder, Diagnostic("E-RUN-FORMAT", "it does not tell how its run began").OfFile(folder + "/last.safetensors"));
  }
}

} // namespace gigapixel
