/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MadeBy.h"

#include "ArgumentText.h"

#include "gigapixelArgument.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gigapixel::application
{
namespace
{
/** The parts of the text that blanks divide, but those inside of parentheses. */
std::vector<std::string>
Split(const std::string & text)
{
  std::vector<std::string> parts{ "" };
  int                      depth = 0;
  for (const char c : text)
  {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ' ' && depth <= 0)
    {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

/** A way of making, taken apart. */
struct Making
{
  std::string                        command;
  std::map<std::string, std::string> values; // of a second file with the word that stands before it
  std::string                        words;  // of switches

  explicit Making(const std::string & text)
  {
    const std::vector<std::string> parts = Split(text);
    command = parts.front();
    std::string file;
    for (auto part = parts.begin() + 1; part != parts.end(); ++part)
    {
      const std::size_t equals = part->find('=');
      if (*part == "like" || *part == "mask:")
      {
        file = *part;
      }
      else if (equals == std::string::npos)
      {
        words += (words.empty() ? "" : " ") + *part;
      }
      else
      {
        values[file + part->substr(0, equals)] = part->substr(equals + 1);
      }
    }
  }

  /** Empty: it has none. */
  std::string
  Get(const std::string & key) const
  {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  }
};

/** What people call the file that a number stands for; empty: it is no such number. */
std::string
NameFile(const std::string & command, const std::string & key)
{
  const std::string                        slide = "another slide";
  const std::map<std::string, std::string> files{ { "hash", command == "rasterize" ? "other outlines" : slide },
                                                  { "likehash", slide },
                                                  { "mask:hash", "another mask" },
                                                  { "model", "another model" },
                                                  { "tissue", "another tissue mask" } };
  const auto                               found = files.find(key);
  return found == files.end() ? std::string() : found->second;
}

std::string
NameOption(const std::string & command, const std::string & key)
{
  const std::string     option = key == "tiles" ? "tile-size" : key == "mpp" ? "slide-mpp" : key; // of level 0
  const Command * const definition = FindCommand(command);
  const bool            isOption = definition != nullptr && definition->Find(option) != nullptr;
  return isOption ? "--" + option : key;
}

/** A number as people write it: records keep all its digits. */
std::string
Show(const std::string & value)
{
  const auto number = ReadNumber(value);
  return number && value.find('.') != std::string::npos ? FormatShortest(*number) : value;
}

std::string
DescribeChange(const std::string & name, const std::string & before, const std::string & now)
{
  return before.empty() ? "no " + name + " then, " + now + " now"
                        : name + ' ' + before + " then, " + (now.empty() ? "none" : now) + " now";
}
} // namespace

std::string
DescribeOtherMaking(const std::string & found, const std::string & wanted)
{
  const Making before(found);
  const Making now(wanted);
  if (before.command != now.command)
  {
    return found.empty() ? "it does not tell how" : "by \"gigapixel " + before.command + '"';
  }
  auto all = now.values;
  all.insert(before.values.begin(), before.values.end());
  std::string changes;
  const auto  add = [&changes](const std::string & change) { changes += (changes.empty() ? "" : "; ") + change; };
  for (const auto & [key, ignored] : all)
  {
    const std::string was = before.Get(key);
    const std::string is = now.Get(key);
    const std::string file = NameFile(now.command, key);
    const bool        isSize = key.size() >= 5 && key.compare(key.size() - 5, 5, "bytes") == 0; // its hash differs, too
    if (was == is || isSize)
    {
      continue;
    }
    add(file.empty() ? DescribeChange(NameOption(now.command, key), Show(was), Show(is))
                     : file + (was.empty() || is.empty() ? "" : ", or one that has changed since"));
  }
  if (before.words != now.words)
  {
    const auto quote = [](const std::string & words) { return words.empty() ? "nothing" : '"' + words + '"'; };
    add(quote(before.words) + " then, " + quote(now.words) + " now");
  }
  return changes.empty() ? "in another order" : changes;
}

SlideContent
FindContentOfMaking(const std::string & madeBy)
{
  const Making making(madeBy);
  SlideContent content;
  content.image = making.Get(making.command == "rasterize" ? "likeimage" : "image");
  if (const std::size_t colon = content.image.find(':'); colon != std::string::npos) // "max:1"
  {
    content.plane = content.image.substr(0, colon);
    content.image.erase(0, colon + 1);
  }
  for (const std::int64_t channel : ReadIntegers(making.Get("channels"), ","))
  {
    content.channels.push_back("number:" + std::to_string(channel));
  }
  return content;
}

} // namespace gigapixel::application
