/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWeightsSet.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <map>

namespace gigapixel
{
namespace
{

using Parameters = std::map<std::string_view, const ParameterDescription *>;

constexpr std::size_t MostNamed = 5;
constexpr const char  NoPrefix[] = ".";

std::vector<std::int64_t>
WithoutPixel(std::vector<std::int64_t> shape)
{
  const bool isOfOnePixel =
    shape.size() > 3 && std::all_of(shape.begin() + 2, shape.end(), [](std::int64_t side) { return side == 1; });
  shape.resize(isOfOnePixel ? 2 : shape.size());
  return shape;
}

std::string
Quote(const std::string & name)
{
  return '"' + GetPrintable(name).substr(0, 100) + '"';
}

/** The name of a set, as --weights-set takes it. */
std::string
GetName(const WeightsSet & set)
{
  return set.prefix.empty() ? NoPrefix : set.prefix.substr(0, set.prefix.size() - 1);
}

std::string
List(const std::vector<std::string> & names)
{
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < MostNamed; ++i)
  {
    list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + Quote(names[i]);
  }
  return list + (names.size() > MostNamed ? " ..." : "");
}

std::string
List(const std::vector<WeightsSet> & sets)
{
  std::vector<std::string> names(sets.size());
  std::transform(sets.begin(), sets.end(), names.begin(), GetName);
  return List(names);
}

/** Finds sets by each end of each name that begins behind a dot. */
std::vector<WeightsSet>
FindSets(const SafeTensors & file, const Parameters & parameters)
{
  std::size_t longest = 0;
  for (const auto & parameter : parameters)
  {
    longest = std::max(longest, parameter.first.size());
  }
  std::map<std::string_view, std::size_t> fitting;
  for (const auto & [name, tensor] : file.tensors)
  {
    const std::string_view whole = name;
    for (std::size_t place = 0; place != std::string_view::npos;)
    {
      const auto found = whole.size() - place > longest ? parameters.end() : parameters.find(whole.substr(place));
      if (found != parameters.end() && FitsParameter(tensor, *found->second))
      {
        ++fitting[whole.substr(0, place)];
      }
      const std::size_t dot = whole.find('.', place);
      place = dot == std::string_view::npos ? dot : dot + 1;
    }
  }
  std::vector<WeightsSet> sets;
  sets.reserve(fitting.size());
  for (const auto & [prefix, count] : fitting)
  {
    sets.push_back({ std::string(prefix), count, {}, {} });
  }
  std::stable_sort(
    sets.begin(), sets.end(), [](const auto & left, const auto & right) { return left.fitting > right.fitting; });
  return sets;
}

/** Whether two sets are one under two names. */
bool
AreSame(const SafeTensors & file, const Parameters & parameters, const WeightsSet & left, const WeightsSet & right)
{
  return std::all_of(parameters.begin(), parameters.end(), [&](const auto & parameter) {
    const auto one = file.tensors.find(left.prefix + std::string(parameter.first));
    const auto other = file.tensors.find(right.prefix + std::string(parameter.first));
    return one == file.tensors.end() ? other == file.tensors.end()
                                     : other != file.tensors.end() && one->second.type == other->second.type &&
                                         one->second.bytes == other->second.bytes;
  });
}

[[noreturn]] void
RefuseNames(const SafeTensors & file, const NetworkDescription & network, const Parameters & parameters)
{
  std::vector<std::string> there, needed;
  for (const auto & tensor : file.tensors)
  {
    there.push_back(tensor.first);
  }
  for (const auto & parameter : parameters)
  {
    needed.emplace_back(parameter.first);
  }
  throw InvalidArgument(Diagnostic("E-WEIGHTS-MISMATCH",
                                   "it holds no array of the name and shape that the network \"" + network.name +
                                     "\" needs (it has " + List(there) + ", the network " + List(needed) + ")"));
}

/** How exactly a prefix is the wanted one: 0: not at all, 1: a word of one of its parts, as of "ema_model.", 2: parts
 * of it, as of "state_dict.ema.module.", 3: its first parts. */
int
Match(const std::string & prefix, const std::string & wanted)
{
  if (wanted == NoPrefix || wanted.empty())
  {
    return prefix.empty() ? 3 : 0;
  }
  const std::string parts = wanted + '.';
  if (prefix.rfind(parts, 0) == 0)
  {
    return 3;
  }
  if (prefix.find('.' + parts) != std::string::npos)
  {
    return 2;
  }
  std::string words = '.' + prefix;
  std::replace_if(
    words.begin(), words.end(), [](char c) { return c == '_' || c == '-'; }, '.');
  return words.find('.' + parts) != std::string::npos ? 1 : 0;
}

std::vector<WeightsSet>
KeepWanted(const std::vector<WeightsSet> & sets, const std::string & wanted)
{
  int best = 1;
  for (const WeightsSet & set : sets)
  {
    best = std::max(best, Match(set.prefix, wanted));
  }
  std::vector<WeightsSet> kept;
  std::copy_if(sets.begin(), sets.end(), std::back_inserter(kept), [&](const WeightsSet & set) {
    return Match(set.prefix, wanted) == best;
  });
  if (kept.empty())
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-SET",
                                     "it holds no weights of this network under " + Quote(wanted),
                                     "choose one of its sets: " + List(sets))
                            .OfOption("--weights-set", wanted));
  }
  return kept;
}

/** What stands before the names, behind the dictionaries that they are in. */
std::string
GetPrefixOfNames(const std::string & prefix, const std::set<std::string> & dictionaries)
{
  std::string rest = prefix;
  for (const std::string & dictionary : dictionaries)
  {
    const bool isBefore = prefix.rfind(dictionary, 0) == 0 && prefix.size() - dictionary.size() < rest.size();
    rest = isBefore ? prefix.substr(dictionary.size()) : rest;
  }
  return rest;
}

} // namespace

bool
FitsParameter(const SafeTensors::Tensor & tensor, const ParameterDescription & parameter)
{
  const bool isOfFloats = tensor.type == "F32" || tensor.type == "F64" || tensor.type == "F16" || tensor.type == "BF16";
  return isOfFloats && !tensor.bytes.empty() &&
         (tensor.shape == parameter.shape || tensor.shape == WithoutPixel(parameter.shape));
}

WeightsSet
ChooseWeightsSet(const SafeTensors &           file,
                 const std::set<std::string> & dictionaries,
                 const NetworkDescription &    network,
                 const std::string &           wanted)
{
  const std::vector<ParameterDescription> all = network.GetParameters();
  Parameters                              parameters;
  for (const ParameterDescription & parameter : all)
  {
    parameters[parameter.name] = &parameter;
  }
  std::vector<WeightsSet> sets = FindSets(file, parameters);
  if (sets.empty())
  {
    RefuseNames(file, network, parameters);
  }
  sets = wanted.empty() ? std::move(sets) : KeepWanted(sets, wanted);
  WeightsSet              chosen = sets.front();
  std::vector<WeightsSet> rivals{ chosen }, others;
  for (auto set = sets.begin() + 1; set != sets.end(); ++set)
  {
    if (2 * set->fitting >= std::min(2 * chosen.fitting, parameters.size()) && !AreSame(file, parameters, chosen, *set))
    {
      (set->fitting == chosen.fitting ? rivals : others).push_back(*set);
    }
  }
  if (rivals.size() > 1)
  {
    throw InvalidArgument(
      Diagnostic("E-WEIGHTS-SET",
                 "it holds several sets of weights that fit the network \"" + network.name + "\": " + List(rivals),
                 "choose one, such as --weights-set " + GetPrintable(GetName(rivals.front()))));
  }
  if (!others.empty() && wanted.empty())
  {
    chosen.warning = "its weights " + Quote(GetName(chosen)) + " are taken, and not " + List(others) +
                     ", which fit fewer of the network's arrays";
    chosen.remedy = "choose another set of weights with --weights-set if it is wanted";
  }
  else if (const std::string rest = GetPrefixOfNames(chosen.prefix, dictionaries); !rest.empty() && wanted.empty())
  {
    chosen.warning = "its names begin with " + Quote(rest) + ", which is left out";
  }
  return chosen;
}

} // namespace gigapixel
