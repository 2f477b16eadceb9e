/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSettingsChange.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelSampleIdentity.h"
#include "gigapixelTrainingState.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace
{

using Json = nlohmann::ordered_json;

/** Samples are [name, width, height, identity]. Where both identities are known, they alone count: a file may be named
 * in many ways. */
bool
HaveIdentities(const Json & before, const Json & now)
{
  return before.is_array() && before.size() > 3 && before[3] != "" && now[3] != "";
}

bool
IsSameSample(const Json & before, const Json & now)
{
  const std::size_t told = HaveIdentities(before, now) ? 3 : 0;
  return before.is_array() && before.size() > 2 && before[1] == now[1] && before[2] == now[2] &&
         before[told] == now[told];
}

bool
AreSamples(const std::string & setting)
{
  return setting == "training samples" || setting == "validation samples";
}

/** The network as this version reads it. An earlier one took probabilities at the end for logits, for instance. */
Json
ReadAgain(const Json & network)
{
  try
  {
    return Json::parse(NetworkDescription::FromJSON(network.dump()).ToJSON());
  }
  catch (const std::logic_error &)
  {
    return network; // one that is read no more is another one
  }
}

/** Null: there is none. Loss and learning rate are settings of their own, and no parts of the network. */
Json
GetSetting(const Json & settings, const std::string & name)
{
  Json setting = settings.value(name, Json());
  if (name == NetworkSetting && setting.is_object())
  {
    setting = ReadAgain(setting);
    setting.erase("loss");
    setting.erase("learning rate");
  }
  return setting;
}

/** Whether a run has the same bits with the one and the other. */
bool
IsSame(const std::string & setting, const Json & before, const Json & now)
{
  if (AreSamples(setting))
  {
    return before.is_array() && std::equal(before.begin(), before.end(), now.begin(), now.end(), IsSameSample);
  }
  return before == now || setting == FirstWeightsSetting; // see KeepFirstWeights()
}

bool
AreObjects(const Json & value)
{
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json & item) { return item.is_object(); });
}

bool
AreNames(const Json & value)
{
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json & item) { return item.is_string(); });
}

/** Names of one list that another one lacks. */
Json
Without(const Json & names, const Json & others)
{
  Json left = Json::array();
  std::copy_if(names.begin(), names.end(), std::back_inserter(left), [&](const Json & name) {
    return std::find(others.begin(), others.end(), name) == others.end();
  });
  return left;
}

std::string
Show(const Json & value)
{
  constexpr std::size_t Most = 200;
  if (value.is_null() || value == Json::array())
  {
    return "none";
  }
  const std::string text = AreObjects(value) ? std::to_string(value.size()) : value.dump();
  return text.size() <= Most ? text : text.substr(0, text.find_last_of(", ", Most)) + " ...";
}

/** "another value of --seed", "other training samples". */
std::string
NameOther(const std::string & setting)
{
  for (const LearningOption & entry : GetOptionTable<LearningOptions>())
  {
    if (entry.option.GetSettingName() == setting)
    {
      return entry.option.TurnsOff() ? "another choice of " + setting
                                     : "another value of " + entry.option.GetDisplayName();
    }
  }
  static const std::map<std::string, std::string> others{ { "training samples", "other training samples" },
                                                          { "validation samples", "other validation samples" },
                                                          { SegmentsSetting, "other segments" },
                                                          { "microns per pixel", "another resolution" } };
  const auto                                      found = others.find(setting);
  return found == others.end() ? "another " + setting : found->second;
}

/** The first place that differs: "name \"unet\" then, \"remedios2023\" now". */
std::string
DescribeFirstChange(const Json & before, const Json & now)
{
  if (before.is_object() && now.is_object())
  {
    Json both = now;
    both.update(before);
    for (const auto & item : both.items())
    {
      const Json was = before.value(item.key(), Json()), is = now.value(item.key(), Json());
      if (was != is)
      {
        return item.key() + ' ' + DescribeFirstChange(was, is);
      }
    }
  }
  if (AreObjects(before) && AreObjects(now) && before.size() == now.size())
  {
    const auto first = std::mismatch(before.begin(), before.end(), now.begin());
    return "number " + std::to_string(first.first - before.begin() + 1) + ", " +
           DescribeFirstChange(*first.first, *first.second);
  }
  if (AreNames(before) && AreNames(now))
  {
    return Show(Without(before, now)) + " only then, " + Show(Without(now, before)) + " only now";
  }
  return Show(before) + " then, " + Show(now) + " now";
}

/** An identity and what it says of the tissue mask; nothing: there was none. */
std::pair<std::string, std::string>
SplitIdentity(const Json & sample)
{
  const std::string identity = sample.at(3).is_string() ? sample.at(3).get<std::string>() : sample.at(3).dump();
  const std::size_t tissue = std::min(identity.find(TissueIdentity), identity.size());
  return { identity.substr(0, tissue), identity.substr(tissue) };
}

/** Of samples of other identities. */
std::string
DescribeOtherContent(const Json & before, const Json & now)
{
  const auto [was, wasTissue] = SplitIdentity(before);
  const auto [is, isTissue] = SplitIdentity(now);
  if (was != is || before.at(1) != now.at(1) || before.at(2) != now.at(2))
  {
    return ", with another size, region or content of slide or mask";
  }
  return isTissue.empty()    ? ", with a tissue mask then and none now: give it as then (--tissue)"
         : wasTissue.empty() ? ", without a tissue mask then and with one now: leave it out (--tissue)"
                             : ", with another tissue mask now: give it as then (--tissue)";
}

/** "... then, ... now"; of samples the first that differ. */
std::string
DescribeChange(const std::string & setting, const Json & before, const Json & now)
{
  if (!AreSamples(setting) || !before.is_array())
  {
    return DescribeFirstChange(before, now);
  }
  if (before.size() != now.size())
  {
    return std::to_string(before.size()) + " then, " + std::to_string(now.size()) + " now";
  }
  std::size_t i = 0;
  while (IsSameSample(before[i], now[i]))
  {
    ++i;
  }
  const Json        was = before[i].is_array() && !before[i].empty() ? before[i][0] : Json(), is = now[i].at(0);
  const std::string names = "number " + std::to_string(i + 1) + ", " + was.dump() + " then, " + is.dump() + " now";
  return names + (HaveIdentities(before[i], now[i]) ? DescribeOtherContent(before[i], now[i])
                  : was == is                       ? ", with another size, region or content of slide or mask"
                                                    : "");
}

} // namespace

std::optional<SettingsChange>
FindSettingsChange(const Json & before, const Json & now)
{
  for (const auto & item : now.items())
  {
    const Json was = GetSetting(before, item.key()), is = GetSetting(now, item.key());
    if (!IsSame(item.key(), was, is))
    {
      return SettingsChange{ item.key(), NameOther(item.key()) + " (" + DescribeChange(item.key(), was, is) + ')' };
    }
  }
  return {};
}

} // namespace gigapixel
