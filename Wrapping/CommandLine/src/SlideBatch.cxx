/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideBatch.h"

#include "ITKMessages.h"
#include "NetworkModule.h"
#include "OutputCheck.h"

#include "itkTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <new>
#include <set>

namespace fs = std::filesystem;

namespace gigapixel::commandline
{
namespace
{
const std::string PyramidEnding = ".pyramid.tif";

bool
EndsWith(const std::string & text, const std::string & ending)
{
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

bool
IsMaskPyramid(const std::string & file)
{
  if (!EndsWith(file, PyramidEnding))
  {
    return false;
  }
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  try
  {
    io->ReadImageInformation();
  }
  catch (const itk::ExceptionObject &)
  {
    return false;
  }
  return io->GetNumberOfComponents() == 1;
}

std::string
GetLowerExtension(const std::string & file)
{
  std::string extension = fs::path(file).extension().string();
  std::transform(
    extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

/** Whether a file that the readers of slides do not claim is a slide by its name: it is to be reported, not passed
 * over. A TIFF that ITK reads is another program's picture that merely lies there. */
bool
SeemsDamagedSlide(const std::string & file)
{
  static const std::set<std::string> slides{ ".svs", ".ndpi", ".mrxs", ".scn", ".vms", ".vmu", ".bif", ".svslide" };
  const std::string                  extension = GetLowerExtension(file);
  return slides.count(extension) > 0 ||
         ((extension == ".tif" || extension == ".tiff") && !itk::TIFFImageIO::New()->CanReadFile(file.c_str()));
}

std::vector<std::string>
FindSlidesInFolder(const std::string & folder)
{
  std::vector<std::string>     slides;
  const auto                   io = itk::WholeSlideImageIO::New();
  std::error_code              error;
  const fs::directory_iterator entries(folder, error);
  if (error)
  {
    throw std::runtime_error("The folder " + folder + " cannot be read: " + error.message() + '.');
  }
  for (const fs::directory_entry & entry : entries)
  {
    const std::string file = entry.path().string();
    if (entry.is_regular_file(error) && entry.path().filename().string().front() != '.' &&
        (io->CanReadFile(file.c_str()) ? !IsMaskPyramid(file) : SeemsDamagedSlide(file)))
    {
      slides.push_back(file);
    }
  }
  if (slides.empty())
  {
    throw std::runtime_error("The folder " + folder + " holds no slides.");
  }
  std::sort(slides.begin(), slides.end());
  return slides;
}

bool
MeansFolder(const std::string & output)
{
  return output.back() == '/' || fs::is_directory(output);
}

void
CheckFileName(const std::string & output, const std::string & optionName)
{
  const std::string extension = fs::path(output).extension().string();
  if (extension != ".tif" && extension != ".tiff")
  {
    throw UsageError(optionName + " " + output +
                     " is to be a pyramid TIFF: end it in .tif, or in / if it is a folder.");
  }
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
      throw std::runtime_error(other->second + " and " + task.slide + " would both be written to " + task.output +
                               "; give them in two runs, with two folders.");
    }
  }
  for (const SlideTask & task : tasks)
  {
    for (const SlideTask & other : tasks)
    {
      if (IsSameFile(task.output, other.slide))
      {
        throw std::runtime_error("The output " + task.output + " is the slide " + other.slide +
                                 " itself; choose another.");
      }
    }
  }
}

/** \return the sentence for what is being thrown; passes on what is not the slide's fault */
std::string
DescribeFailure()
{
  try
  {
    throw;
  }
  catch (const UsageError &)
  {
    throw;
  }
  catch (const itk::ExceptionObject & error)
  {
    return CleanMessage(error.GetDescription());
  }
  catch (const std::bad_alloc &)
  {
    return "There is not enough memory for this slide; try a coarser level, or --memory with less.";
  }
  catch (const std::exception & error)
  {
    return error.what();
  }
}
} // namespace

bool
IsList(const std::vector<std::string> & filesAndFolders)
{
  std::error_code ignored; // a loop of links, say: whoever opens it says so
  return filesAndFolders.size() > 1 || fs::is_directory(filesAndFolders.front(), ignored);
}

std::vector<std::string>
FindSlides(const std::vector<std::string> & filesAndFolders)
{
  std::vector<std::string> slides;
  std::set<std::string>    seen;
  for (const std::string & name : filesAndFolders)
  {
    std::error_code ignored;
    const auto found = fs::is_directory(name, ignored) ? FindSlidesInFolder(name) : std::vector<std::string>{ name };
    for (const std::string & slide : found)
    {
      if (seen.insert(slide).second)
      {
        slides.push_back(slide);
      }
    }
  }
  return slides;
}

std::string
GetSlideName(const std::string & file)
{
  const std::string name = fs::path(file).filename().string();
  return EndsWith(name, PyramidEnding) ? name.substr(0, name.size() - PyramidEnding.size())
                                       : fs::path(name).stem().string();
}

std::vector<SlideTask>
AssignOutputs(const std::vector<std::string> & slides, const std::string & output, const std::string & optionName)
{
  std::vector<SlideTask> tasks;
  if (slides.size() == 1 && !MeansFolder(output))
  {
    CheckFileName(output, optionName);
    tasks.push_back({ slides.front(), output });
  }
  else
  {
    if (fs::exists(output) && !fs::is_directory(output))
    {
      throw UsageError(optionName + " " + output + " is one file, but there are " + std::to_string(slides.size()) +
                       " slides: name a folder.");
    }
    std::error_code error;
    fs::create_directories(output, error);
    if (error)
    {
      throw std::runtime_error("The folder " + output + " cannot be made: " + error.message() + '.');
    }
    for (const std::string & slide : slides)
    {
      tasks.push_back({ slide, (fs::path(output) / (GetSlideName(slide) + PyramidEnding)).string() });
    }
  }
  CheckTasks(tasks);
  return tasks;
}

int
RunBatch(const Session &                                                                      session,
         const std::vector<SlideTask> &                                                       tasks,
         bool                                                                                 asList,
         const std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)> & work,
         const Launch &                                                                       launch)
{
  auto                     results = nlohmann::ordered_json::array();
  std::vector<std::string> failures;
  std::string              text;
  for (std::size_t i = launch.rank; i < tasks.size(); i += launch.ranks)
  {
    const SlideTask & task = tasks[i];
    ThrowIfInterrupted();
    try
    {
      results.push_back(work(task, text));
    }
    catch (const Interrupted &)
    {
      throw;
    }
    catch (...)
    {
      ThrowIfInterrupted();
      const std::string failure = DescribeFailure();
      const bool        namesSlide = failure.find(task.slide) != std::string::npos;
      failures.push_back(namesSlide ? failure : task.slide + ": " + failure);
      results.push_back({ { "slide", task.slide }, { "error", failures.back() } });
    }
  }
  const bool nothingToShow = failures.size() == results.size();
  if (!nothingToShow || (asList && launch.rank == 0))
  {
    session.PrintResult(text,
                        asList ? results.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                               : results.front().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  for (const std::string & failure : failures)
  {
    session.Warn("gigapixel: " + failure);
  }
  if (!failures.empty() && tasks.size() > 1)
  {
    session.Warn("gigapixel: " + std::to_string(failures.size()) + " of " + std::to_string(tasks.size()) +
                 " slides failed.");
  }
  return failures.empty() ? Success : Failure;
}

int
RunSharedBatch(
  const Session &                session,
  const std::vector<SlideTask> & tasks,
  bool                           asList,
  const std::function<nlohmann::ordered_json(const SlideTask &, const std::shared_ptr<Ranks> &, std::string &)> & work)
{
  const Launch launch = Launch::Find();
  const bool   together = tasks.size() < static_cast<std::size_t>(launch.ranks);
  const auto   ranks = JoinRanks(together ? launch : Launch());
  bool         ended = false;
  const auto   share = [&](const SlideTask & task, std::string & text) {
    if (ended)
    {
      throw std::runtime_error("Not begun, since the job of " + std::to_string(launch.ranks) + " ranks had ended.");
    }
    try
    {
      auto result = work(task, ranks, text);
      bool written = true;
      ranks->Broadcast(0, &written, sizeof(written)); // the others stay until rank 0 has the file
      return result;
    }
    catch (const Ranks::Stopped &)
    {
      throw Interrupted();
    }
    catch (...)
    {
      ended = together;
      if (IsInterruptionRequested())
      {
        ranks->Stop();
        throw Interrupted();
      }
      const std::string failure = DescribeFailure();
      ranks->Fail(failure);
      throw std::runtime_error(failure);
    }
  };
  if (ranks->GetRank() == 0)
  {
    return RunBatch(session, tasks, asList, share, together ? Launch() : launch);
  }
  std::string ignored;
  std::for_each(tasks.begin(), tasks.end(), [&](const SlideTask & task) { share(task, ignored); });
  return Success;
}

} // namespace gigapixel::commandline
