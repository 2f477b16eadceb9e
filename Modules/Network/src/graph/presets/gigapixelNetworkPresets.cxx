/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkPresets.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelClassifierPresets.h"
#include "graph/gigapixelExecutors.h"
#include "gigapixelPresets.h"
#include "gigapixelUNetPresets.h"
#include "gigapixelVolumePresets.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** The paper's 1e-3 learns as well, but takes twice as many steps from our initial weights; 1e-2 does not learn faster.
 * See Documentation/how-to/training-options.md. */
constexpr double LearningRateOfLayers = 3e-3;
constexpr double SafeLearningRate = 1e-4;

std::string
ListOptions(const std::vector<PresetOption> & options)
{
  std::string text;
  for (const PresetOption & option : options)
  {
    text += (text.empty() ? "" : ", ") + option.name + " (" + option.GetRange() + ')';
  }
  return text.empty() ? "it has none" : "it has: " + text;
}

void
CheckValue(const PresetOption & option, const std::string & value)
{
  bool known = std::find(option.words.begin(), option.words.end(), value) != option.words.end();
  if (option.words.empty())
  {
    std::int64_t number = 0;
    const auto   end = std::from_chars(value.data(), value.data() + value.size(), number);
    known =
      end.ec == std::errc{} && std::to_string(number) == value && number >= option.least && number <= option.greatest;
  }
  if (!known)
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "its option " + option.name + " is \"" + value + "\", not " + option.GetRange()));
  }
}

NetworkPreset
ReadPreset(const Preset & preset)
{
  NetworkDescription network = NetworkDescription::FromJSON(preset.json);
  return { preset.name,
           "chain of " + std::to_string(network.layers.size()) +
             " strided and transposed convolutions with additive skips",
           LearningRateOfLayers,
           {},
           [network](const PresetValues &) { return network; } };
}

} // namespace

std::string
PresetOption::GetRange() const
{
  if (words.empty())
  {
    return std::to_string(least) + " to " + std::to_string(greatest);
  }
  std::string text;
  for (const std::string & word : words)
  {
    text += (text.empty() ? "" : " or ") + word;
  }
  return text;
}

PresetValues::PresetValues(const std::vector<PresetOption> & options, const std::string & text)
{
  std::stringstream stream(text.empty() ? text : text + ','); // so that nothing behind a comma is an item, too
  for (std::string item; std::getline(stream, item, ',');)
  {
    const std::size_t sign = item.find('=');
    const std::string name = item.substr(0, sign);
    const auto        option =
      std::find_if(options.begin(), options.end(), [&](const PresetOption & o) { return o.name == name; });
    if (sign == std::string::npos || option == options.end())
    {
      throw InvalidArgument(
        Diagnostic("E-OPTION-VALUE", "\"" + item + "\" is none of its options with a value; " + ListOptions(options)));
    }
    CheckValue(*option, item.substr(sign + 1));
    if (!m_Values.emplace(name, item.substr(sign + 1)).second)
    {
      throw InvalidArgument(Diagnostic("E-OPTION-REPEATED", "its option " + name + " is given twice"));
    }
  }
  for (const PresetOption & option : options)
  {
    m_Values.emplace(option.name, option.defaultValue);
  }
}

int
PresetValues::GetInteger(const std::string & name) const
{
  return std::stoi(m_Values.at(name));
}

const std::string &
PresetValues::GetWord(const std::string & name) const
{
  return m_Values.at(name);
}

NetworkDescription
NetworkPreset::Make(const std::string & text) const
{
  try
  {
    if (text == name + ':')
    {
      throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "no option stands behind its colon; " + ListOptions(options)));
    }
    const PresetValues values(options, text.size() > name.size() ? text.substr(name.size() + 1) : "");
    NetworkDescription network = build(values);
    network.learningRate = learningRate;
    if (options.empty())
    {
      return network;
    }
    std::string given;
    for (const PresetOption & option : options)
    {
      const std::string & value = values.GetWord(option.name);
      given += value == option.defaultValue ? "" : (given.empty() ? ':' : ',') + option.name + '=' + value;
    }
    network.name = name + given;
    network.Validate();
    return network;
  }
  catch (const std::invalid_argument & error)
  {
    Diagnostic problem = Diagnostic::Of(error);
    problem.why = "network \"" + text + "\": " + problem.why;
    throw InvalidArgument(problem.OfValue(text));
  }
}

const std::vector<NetworkPreset> &
NetworkPreset::GetAll()
{
  static const std::vector<NetworkPreset> presets = [] {
    std::vector<NetworkPreset> all;
    for (const Preset & preset : GetEmbeddedPresets())
    {
      all.push_back(ReadPreset(preset));
    }
    all.push_back(MakeUNetPreset());
    all.push_back(MakeUNetOfVolumesPreset());
    all.push_back(MakeSegResNetPreset());
    all.push_back(MakeMeshNetPreset());
    for (const int depth : { 18, 34, 50 })
    {
      all.push_back(MakeResNetUNetPreset(depth));
    }
    for (const int depth : { 18, 34, 50 })
    {
      all.push_back(MakeResNetPreset(depth));
    }
    return all;
  }();
  return presets;
}

const NetworkPreset *
NetworkPreset::Find(const std::string & text)
{
  const std::string name = text.substr(0, text.find(':'));
  const auto &      all = GetAll();
  const auto found = std::find_if(all.begin(), all.end(), [&](const NetworkPreset & p) { return p.name == name; });
  return found == all.end() ? nullptr : &*found;
}

double
GetDefaultLearningRate(const NetworkDescription & network)
{
  return network.learningRate > 0 ? network.learningRate : Executor::Of(network).GetLearningRate();
}

double
FusedExecutor::GetLearningRate() const
{
  return LearningRateOfLayers;
}

double
TorchExecutor::GetLearningRate() const
{
  return SafeLearningRate;
}

} // namespace gigapixel
