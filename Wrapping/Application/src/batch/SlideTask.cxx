/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideTask.h"

#include "ArgumentText.h"
#include "OutputCheck.h"
#include "VolumeFile.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelMaskName.h"
#include "gigapixelSession.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{

bool
MeansFolder(const std::string & output)
{
  return output.back() == '/' || fs::is_directory(output);
}

/** Whether the output is named as one file of the content is. */
bool
IsNamedAsFile(const std::string & output, const std::string & content)
{
  const auto & endings = GetEndings(content);
  return std::any_of(
    endings.begin(), endings.end(), [&output](const std::string & ending) { return EndsWith(output, ending); });
}

/** \throw UsageError the output is one file's name, and what is given is more than one slide, or a folder of slides,
 * which is to mean the same whatever the number of its slides is */
void
RefuseOneFile(const SlideList &   list,
              const std::string & output,
              const std::string & optionName,
              const std::string & content)
{
  const bool isThere = fs::exists(output);
  if (MeansFolder(output) || (!isThere && !IsNamedAsFile(output, content)))
  {
    return;
  }
  const std::string number = std::to_string(list.slides.size());
  throw UsageError(Diagnostic("E-OUTPUT-KIND",
                              optionName + ' ' + output +
                                (isThere ? " is one file, but " : " is named as one file is, but ") +
                                (list.slides.size() > 1 ? "there are " + number + ' ' : "a folder of ") + list.kind +
                                's' + (list.slides.size() > 1 ? "" : " is given"),
                              std::string("name a folder") + (isThere ? "" : ", or end it in / if it is one"))
                     .OfOption(optionName, output));
}

/** The file of a slide's name in the folder of all outputs. */
std::string
GetOutputInFolder(const std::string & folder, const std::string & slide, const std::string & content)
{
  if (content == "label")
  {
    return GetMaskInFolder(folder, slide);
  }
  const std::string name = content == "label volume" ? GetVolumeName(slide) : GetSlideName(slide);
  return (fs::path(folder) / (name + GetEndings(content).front())).string();
}

void
CheckTasks(const std::vector<SlideTask> & tasks)
{
  std::map<std::string, std::string> slideOfOutput;
  for (const SlideTask & task : tasks)
  {
    const auto [other, isNew] = slideOfOutput.emplace(task.output, task.slide);
    if (!isNew)
    {
      throw Refusal(Diagnostic("E-OUTPUT-TWICE",
                               other->second + " and " + task.slide + " would both be written to " + task.output,
                               "give them in two runs, with two folders")
                      .OfFile(task.output));
    }
  }
  std::vector<std::string> files, outputs;
  for (const SlideTask & task : tasks)
  {
    const auto own = itk::GigapixelSplitModalities(task.slide);
    files.insert(files.end(), own.begin(), own.end());
    outputs.push_back(task.output);
  }
  RefuseInputs(outputs, files);
}

} // namespace

std::vector<SlideTask>
AssignOutputs(const SlideList &   list,
              const std::string & output,
              const std::string & optionName,
              const std::string & content)
{
  std::vector<SlideTask> tasks;
  if (list.slides.size() == 1 && !list.isFolder && !MeansFolder(output))
  {
    CheckEnding(optionName, output, content, ", or in / if it is a folder");
    tasks.push_back({ list.slides.front(), output });
  }
  else
  {
    RefuseOneFile(list, output, optionName, content);
    MakeFolderWithFirstOutput(output);
    for (const std::string & slide : list.slides)
    {
      tasks.push_back({ slide, GetOutputInFolder(output, slide, content), output });
    }
  }
  CheckTasks(tasks);
  return tasks;
}

void
RefuseMasks(const std::vector<SlideTask> & tasks, const std::string & tissue)
{
  if (tissue.empty())
  {
    return;
  }
  std::vector<std::string> masks{ tissue };
  if (fs::is_directory(tissue))
  {
    masks.clear();
    for (const SlideTask & task : tasks)
    {
      masks.push_back(GetMaskInFolder(tissue, task.slide));
    }
  }
  std::vector<std::string> outputs;
  std::transform(
    tasks.begin(), tasks.end(), std::back_inserter(outputs), [](const SlideTask & task) { return task.output; });
  RefuseInputs(outputs, masks);
}

} // namespace gigapixel::application
