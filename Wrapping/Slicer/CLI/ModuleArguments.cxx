/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"
#include "Module.h"
#include "OutputCheck.h"
#include "SlideFile.h"
#include "TableValues.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>

namespace fs = std::filesystem;

namespace gigapixel::slicer
{
namespace
{
std::string
Join(const std::array<std::int64_t, 4> & rectangle)
{
  return std::to_string(rectangle[0]) + ',' + std::to_string(rectangle[1]) + ',' + std::to_string(rectangle[2]) + ',' +
         std::to_string(rectangle[3]);
}

/** The pixels of level 0 that a box in mm touches, inside the slide. */
std::string
GetPixelsOfBox(const ArgumentValues & values, const std::vector<double> & box)
{
  const auto                  slide = OpenSlide(values);
  const auto                  size = slide->GetLevelSize(0);
  std::array<std::int64_t, 4> rectangle{};
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    // Level 0 is selected, and its first pixel's center is the origin: its edge lies half a pixel before.
    const double center = (box[axis] - slide->GetOrigin(axis)) / slide->GetSpacing(axis) + 0.5;
    const double half = std::abs(box[axis + 3]) / slide->GetSpacing(axis);
    const auto   limit = static_cast<double>(size[axis]);
    const auto   first = static_cast<std::int64_t>(std::clamp(std::floor(center - half + 1e-6), 0.0, limit));
    const auto   last = static_cast<std::int64_t>(std::clamp(std::ceil(center + half - 1e-6), 0.0, limit));
    if (first >= last)
    {
      throw Refusal(Diagnostic("E-REGION", "--region lies outside of the slide")
                      .OfFile(values.GetText("slide"))
                      .OfOption("--region", values.GetText("region")));
    }
    rectangle[axis] = first;
    rectangle[axis + 2] = last - first;
  }
  return Join(rectangle);
}

/** Whether a value is what the command does by itself: its default, the module's word for "not given", a switch that is
 * off. Numbers may be written in many ways. */
bool
SaysNothing(const Argument & argument, const Argument & original, const std::string & value)
{
  if (value.empty() || value == original.defaultValue)
  {
    return true;
  }
  if (original.type == ArgumentType::Switch)
  {
    return value == argument.defaultValue;
  }
  return argument.minimum && ReadNumber(value) == ReadNumber(argument.defaultValue);
}
} // namespace

itk::WholeSlideImageIO::Pointer
OpenSlide(const ArgumentValues & values)
{
  const std::string & file = values.GetText("slide");
  application::CheckInputFile(file);
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(file);
  slide->SetContent(application::GetSlideOptions(values, GetModuleName));
  slide->SetAsPicture(true); // of channels that are no picture
  slide->ReadImageInformation();
  return slide;
}

void
CheckOutputs(const Module & module, const ArgumentValues & values)
{
  std::vector<const Argument *> files; // inputs, then the outputs that were looked at
  std::vector<const Argument *> outputs;
  const Command                 command = module.GetCommand();
  for (const Argument & argument : command.arguments)
  {
    if (argument.type == ArgumentType::File && values.Has(argument.name) && argument.content != "folder")
    {
      (argument.channel == application::ArgumentChannel::Output ? outputs : files).push_back(&argument);
    }
  }
  for (const Argument * output : outputs)
  {
    const std::string & file = values.GetText(output->name);
    for (const Argument * other : files)
    {
      if (application::IsSameFile(file, values.GetText(other->name)))
      {
        const bool isOutput = other->channel == application::ArgumentChannel::Output;
        throw Refusal(Diagnostic(isOutput ? "E-OUTPUT-TWICE" : "E-OUTPUT-INPUT",
                                 file + " is the file of " + other->GetDisplayName(),
                                 "name another one for " + output->GetDisplayName())
                        .OfFile(file));
      }
    }
    files.push_back(output);
    // Results may go to a pipe or a terminal, into which they are written; all else takes the place of what is there.
    std::error_code ignored;
    const bool      isThere = fs::exists(file, ignored) && !fs::is_directory(file, ignored);
    const bool      isResults = output->name == "returnparameterfile";
    if (isThere && !isResults && !fs::is_regular_file(file, ignored))
    {
      throw Refusal(
        Diagnostic("E-OUTPUT-KIND", file + " is no file", "name one for " + output->GetDisplayName()).OfFile(file));
    }
    if (!isThere || !isResults)
    {
      application::CheckOutput(file, 0);
    }
  }
  // The command behind does not see the names: it writes into a work folder.
  for (const Argument * output : outputs)
  {
    application::CheckEnding(output->GetDisplayName(), values.GetText(output->name), output->content);
  }
}

std::string
GetRegionInPixels(const ArgumentValues & values)
{
  const std::string         text = values.GetText("region");
  const std::vector<double> numbers = application::ReadNumbers(text).value_or(std::vector<double>());
  if (numbers.size() == 6)
  {
    return GetPixelsOfBox(values, numbers);
  }
  if (numbers.size() != 4)
  {
    throw application::UsageError(
      Diagnostic("E-OPTION-VALUE",
                 "--region wants left,top,width,height in pixels of level 0, or six numbers in mm, not \"" + text + '"')
        .OfOption("--region", text));
  }
  if (std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == -1; }))
  {
    return {};
  }
  std::array<std::int64_t, 4> rectangle{};
  std::transform(numbers.begin(), numbers.end(), rectangle.begin(), [](double number) {
    constexpr double most = 1e15; // no slide has as many, and sums of two are still exact
    return std::llround(std::clamp(number, -most, most));
  });
  if (rectangle[0] < 0 || rectangle[1] < 0 || rectangle[2] < 1 || rectangle[3] < 1)
  {
    throw application::UsageError(Diagnostic("E-OPTION-VALUE",
                                             "--region " + text + " is no rectangle of the slide",
                                             "give left,top,width,height, or -1,-1,-1,-1 for all of it")
                                    .OfOption("--region", text));
  }
  return Join(rectangle);
}

std::vector<std::string>
MakeCommandLine(const Module &                             module,
                const ArgumentValues &                     values,
                const std::map<std::string, std::string> & replaced)
{
  const Command &          command = *application::FindCommand(module.commandName);
  std::vector<std::string> words;
  std::vector<std::string> positionals{ "--" };
  for (const ModuleArgument & each : module.arguments)
  {
    const Argument * original = command.Find(each.tableName);
    const auto       other = replaced.find(each.tableName);
    if (!original || (other == replaced.end() && !values.Has(each.argument.name)))
    {
      continue;
    }
    const std::string value = other != replaced.end()             ? other->second
                              : each.type == ArgumentType::Region ? GetRegionInPixels(values)
                                                                  : values.GetText(each.argument.name);
    if (SaysNothing(each.argument, *original, value))
    {
      continue;
    }
    if (original->IsPositional())
    {
      positionals.push_back(value);
      continue;
    }
    words.push_back(original->GetDisplayName());
    if (original->type != ArgumentType::Switch)
    {
      words.push_back(value);
    }
  }
  words.insert(words.end(), positionals.begin(), positionals.end());
  return words;
}

} // namespace gigapixel::slicer
