/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideBatch.h"

#include "ITKMessages.h"
#include "NetworkModule.h"
#include "OutputCheck.h"

#include "gigapixelFileRefusal.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"

#include "itkGigapixelVolumeSource.h"
#include "itkMetaDataObject.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
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

/** Whether a file that is named as masks are is to be passed over. Pyramids of ours say what they are; what other
 * programs named so may be a slide or a mask, so that it is said. */
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
  std::string description;
  itk::ExposeMetaData(io->GetMetaDataDictionary(), "tiff.ImageDescription", description);
  const std::string madeBy = itk::PyramidTIFFImageIO::GetMadeByOfDescription(description);
  if (io->GetNumberOfComponents() != 1 || madeBy.rfind("convert ", 0) == 0)
  {
    return false;
  }
  if (madeBy.empty())
  {
    itkGenericOutputMacro(<< file << " is gray and named as masks are: it is passed over; name the file itself, or "
                          << "rename it, if it is a slide.");
  }
  return true;
}

std::string
GetLowerExtension(const std::string & file)
{
  std::string extension = fs::path(file).extension().string();
  std::transform(
    extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

/** Any file of a DICOM series opens the whole slide: the largest, which is its finest level, stands for all. Where a
 * folder is one such slide and nothing else, a file that cannot be read is a part of it, of which the slide tells, or
 * is refused where it is to be strict; else it may be a slide of its own, which is not to vanish. */
std::vector<std::string>
KeepOneOfEachSeries(const std::vector<std::string> & files)
{
  std::vector<std::string>           slides;
  std::map<std::string, std::size_t> places;
  for (const std::string & file : files)
  {
    const std::string series = FindSlideSeries(file);
    const auto        place = places.find(series);
    if (place == places.end())
    {
      if (!series.empty())
      {
        places[series] = slides.size();
      }
      slides.push_back(file);
    }
    else if (fs::file_size(file) > fs::file_size(slides[place->second]))
    {
      slides[place->second] = file;
    }
  }
  const auto isPart = [](const std::string & file) { return !FindDICOMDamage(file).empty(); };
  if (places.size() == 1 && std::count_if(slides.begin(), slides.end(), isPart) + 1 == std::ptrdiff_t(slides.size()))
  {
    return { slides[places.begin()->second] };
  }
  return slides;
}

/** Whether a file that the readers of slides do not claim is a slide by its name: it is to be reported, not passed
 * over. A TIFF that ITK reads is another program's picture that merely lies there, and so may a sound DICOM file be. */
bool
SeemsDamagedSlide(const itk::WholeSlideImageIO & io, const std::string & file)
{
  const std::string extension = GetLowerExtension(file);
  if (extension == ".tif" || extension == ".tiff")
  {
    return !itk::TIFFImageIO::New()->CanReadFile(file.c_str());
  }
  const auto & slides = io.GetSupportedReadExtensions();
  if (extension == ".dcm")
  {
    return !FindDICOMDamage(file).empty();
  }
  return std::find(slides.begin(), slides.end(), extension) != slides.end();
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
    throw std::runtime_error("The folder " + folder + " cannot be read: " + DescribeFileRefusal(error) + '.');
  }
  for (const fs::directory_entry & entry : entries)
  {
    const std::string file = entry.path().string();
    if (entry.is_regular_file(error) && entry.path().filename().string().front() != '.' &&
        (io->CanReadFile(file.c_str()) ? !IsMaskPyramid(file) : SeemsDamagedSlide(*io, file)))
    {
      slides.push_back(file);
    }
  }
  if (slides.empty())
  {
    throw std::runtime_error("The folder " + folder + " holds no slides.");
  }
  std::sort(slides.begin(), slides.end());
  return KeepOneOfEachSeries(slides);
}

bool
MeansFolder(const std::string & output)
{
  return output.back() == '/' || fs::is_directory(output);
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
    return DescribeReason(CleanMessage(error.GetDescription()));
  }
  catch (const std::bad_alloc &)
  {
    return TooLittleMemory;
  }
  catch (const fs::filesystem_error & error)
  {
    return DescribeFileError(error);
  }
  catch (const std::exception & error)
  {
    return DescribeReason(error.what());
  }
}

/** What became of one slide. */
struct Outcome
{
  nlohmann::ordered_json result;
  std::string            text;
  std::string            failure; ///< empty: none
};

using SlideWork = std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)>;

Outcome
WorkOn(const SlideTask & task, const SlideWork & work)
{
  Outcome outcome;
  try
  {
    outcome.result = work(task, outcome.text);
    if (outcome.result.contains("error"))
    {
      outcome.failure = outcome.result["error"];
    }
  }
  catch (const Interrupted &)
  {
    throw;
  }
  catch (const Ranks::Stopped &)
  {
    throw;
  }
  catch (...)
  {
    ThrowIfInterrupted();
    const std::string failure = DescribeFailure();
    const bool        namesSlide = failure.find(task.slide) != std::string::npos;
    outcome.failure = namesSlide ? failure : task.slide + ": " + failure;
    outcome.result = { { "slide", task.slide }, { "error", outcome.failure } };
  }
  return outcome;
}

/** All outcomes for rank 0, in the order of the slides; the others keep their own. */
std::vector<Outcome>
Gather(std::vector<Outcome> own, std::size_t slides, Ranks & ranks)
{
  if (ranks.GetRank() > 0)
  {
    auto list = nlohmann::ordered_json::array();
    for (const Outcome & outcome : own)
    {
      list.push_back({ outcome.result, outcome.text, outcome.failure });
    }
    const std::vector<std::uint8_t> bytes = nlohmann::ordered_json::to_cbor(list);
    const std::uint64_t             size = bytes.size();
    ranks.Send(0, &size, sizeof(size));
    ranks.Send(0, bytes.data(), bytes.size());
    return own;
  }
  const auto           number = static_cast<std::size_t>(ranks.GetNumberOfRanks());
  std::vector<Outcome> all(slides);
  for (std::size_t i = 0; i < own.size(); ++i)
  {
    all[i * number] = std::move(own[i]);
  }
  for (std::size_t rank = 1; rank < number; ++rank)
  {
    std::uint64_t size = 0;
    ranks.Receive(static_cast<int>(rank), &size, sizeof(size));
    std::vector<std::uint8_t> bytes(size);
    ranks.Receive(static_cast<int>(rank), bytes.data(), size);
    std::size_t place = rank;
    for (const auto & entry : nlohmann::ordered_json::from_cbor(bytes))
    {
      all.at(place) = { entry[0], entry[1], entry[2] };
      place += number;
    }
  }
  return all;
}

void
Report(const Session & session, const std::vector<Outcome> & outcomes, bool asList)
{
  std::string text;
  auto        results = nlohmann::ordered_json::array();
  int         failures = 0;
  for (const Outcome & outcome : outcomes)
  {
    results.push_back(outcome.result);
    text += outcome.text;
    failures += outcome.failure.empty() ? 0 : 1;
  }
  if (asList || failures == 0 || !text.empty())
  {
    const auto & shown = asList ? results : results.front();
    session.PrintResult(text, shown.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  for (const Outcome & outcome : outcomes)
  {
    if (!outcome.failure.empty())
    {
      session.Warn("gigapixel: " + outcome.failure);
    }
  }
  if (failures > 0 && outcomes.size() > 1)
  {
    session.Warn("gigapixel: " + std::to_string(failures) + " of " + std::to_string(outcomes.size()) +
                 " slides failed.");
  }
}

/** What makes progress meanwhile shows the other ranks of the job that this one is alive. */
class Witness
{
public:
  explicit Witness(std::shared_ptr<Ranks> job)
  {
    Progress::SetWitness([job = std::move(job)] { job->ReportProgress(); });
  }
  ~Witness() { Progress::SetWitness({}); }
  Witness(const Witness &) = delete;
  Witness & operator=(const Witness &) = delete;
};

/** The rank's share of the slides. */
std::vector<Outcome>
DoShare(const std::vector<SlideTask> & tasks, const SlideWork & work, Ranks & ranks)
{
  std::vector<Outcome> outcomes;
  for (std::size_t i = ranks.GetRank(); i < tasks.size(); i += ranks.GetNumberOfRanks())
  {
    ThrowIfInterrupted();
    ranks.ReportProgress();
    outcomes.push_back(WorkOn(tasks[i], work));
  }
  return outcomes;
}

/** What works on a slide that was dealt to it: alone, but the others of its job see its progress. */
class AloneInJob : public Ranks
{
public:
  explicit AloneInJob(std::shared_ptr<Ranks> job)
    : m_Job(std::move(job))
  {}

  void
  ReportProgress() override
  {
    m_Job->ReportProgress();
  }

private:
  std::shared_ptr<Ranks> m_Job;
};

/** As RunBatch() says. */
int
DealSlides(const ArgumentValues &         values,
           const Session &                session,
           const std::vector<SlideTask> & tasks,
           bool                           asList,
           const SlideWork &              work,
           Ranks &                        ranks)
{
  try
  {
    std::string list = values.Describe();
    for (const SlideTask & task : tasks)
    {
      list += task.slide + '\n' + task.output + '\n';
    }
    ranks.CheckSame(list);
    bool agreed = true; // nobody writes anything before all have
    for (int rank = 1; rank < ranks.GetNumberOfRanks(); ++rank)
    {
      ranks.Broadcast(rank, &agreed, sizeof(agreed));
    }
    const auto outcomes = Gather(DoShare(tasks, work, ranks), tasks.size(), ranks);
    bool       failed =
      std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome & outcome) { return !outcome.failure.empty(); });
    ranks.Broadcast(0, &failed, sizeof(failed));
    if (ranks.GetRank() == 0)
    {
      Report(session, outcomes, asList);
    }
    return failed ? Failure : Success;
  }
  catch (const Ranks::Stopped &)
  {
    throw Interrupted();
  }
  catch (const Interrupted &)
  {
    ranks.Stop();
    throw;
  }
  catch (const std::exception & error)
  {
    ranks.Fail(error.what());
    throw;
  }
}
} // namespace

bool
IsList(const std::vector<std::string> & filesAndFolders)
{
  std::error_code     ignored; // a loop of links, say: whoever opens it says so
  const std::string & first = filesAndFolders.front();
  return filesAndFolders.size() > 1 || (fs::is_directory(first, ignored) && !itk::GigapixelIsDicomFolder(first));
}

std::vector<std::string>
FindSlides(const std::vector<std::string> & filesAndFolders)
{
  std::vector<std::string> slides;
  std::set<fs::path>       seen;
  // However it is spelled: a link to a file has a name, and thus an output, of its own; one to its folder has not.
  const auto getEntry = [](const std::string & file) {
    std::error_code error;
    const fs::path  path = fs::absolute(file);
    const fs::path  folder = fs::canonical(path.parent_path(), error);
    return error ? path : folder / path.filename();
  };
  for (const std::string & name : filesAndFolders)
  {
    std::error_code ignored;
    const auto found = fs::is_directory(name, ignored) ? FindSlidesInFolder(name) : std::vector<std::string>{ name };
    for (const std::string & slide : found)
    {
      if (seen.insert(getEntry(slide)).second)
      {
        slides.push_back(slide);
      }
    }
  }
  return slides;
}

std::vector<SlideTask>
AssignOutputs(const std::vector<std::string> & slides,
              const std::string &              output,
              const std::string &              optionName,
              const std::string &              content)
{
  std::vector<SlideTask> tasks;
  if (slides.size() == 1 && !MeansFolder(output))
  {
    CheckEnding(optionName, output, content, ", or in / if it is a folder");
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
      const std::string name = GetSlideName(slide) + GetEndings(content).front();
      tasks.push_back(
        { slide, content == "label" ? GetMaskInFolder(output, slide) : (fs::path(output) / name).string() });
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
  for (const SlideTask & task : tasks)
  {
    RefuseInput(task.output, masks);
  }
}

int
RunBatch(const ArgumentValues &                                                               values,
         const Session &                                                                      session,
         const std::vector<SlideTask> &                                                       tasks,
         bool                                                                                 asList,
         const std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)> & work)
{
  const auto    ranks = JoinRanks(Launch::Find());
  const Witness witness(ranks);
  return DealSlides(values, session, tasks, asList, work, *ranks);
}

int
RunSharedBatch(
  const ArgumentValues &         values,
  const Session &                session,
  const std::vector<SlideTask> & tasks,
  bool                           asList,
  const std::function<nlohmann::ordered_json(const SlideTask &, const std::shared_ptr<Ranks> &, std::string &)> & work)
{
  const auto    ranks = JoinRanks(Launch::Find());
  const Witness witness(ranks);
  if (tasks.size() >= static_cast<std::size_t>(ranks->GetNumberOfRanks()))
  {
    const auto alone = std::make_shared<AloneInJob>(ranks);
    const auto workAlone = [&](const SlideTask & task, std::string & text) { return work(task, alone, text); };
    return DealSlides(values, session, tasks, asList, workAlone, *ranks);
  }
  bool       ended = false;
  const auto share = [&](const SlideTask & task, std::string & text) {
    if (ended)
    {
      throw std::runtime_error("Not begun, since the job of " + std::to_string(ranks->GetNumberOfRanks()) +
                               " ranks had ended.");
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
      ended = true;
      ThrowIfInterrupted();
      const std::string failure = DescribeFailure();
      ranks->Fail(failure);
      throw std::runtime_error(failure);
    }
  };
  try
  {
    if (ranks->GetRank() == 0)
    {
      Ranks alone;
      return DealSlides(values, session, tasks, asList, share, alone);
    }
    std::string ignored;
    std::for_each(tasks.begin(), tasks.end(), [&](const SlideTask & task) { share(task, ignored); });
    return Success;
  }
  catch (const Interrupted &)
  {
    ranks->Stop();
    throw;
  }
}

} // namespace gigapixel::commandline
