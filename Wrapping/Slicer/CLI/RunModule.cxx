/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MapVolume.h"
#include "Module.h"
#include "ModuleResults.h"
#include "SegmentationFile.h"
#include "SlideFile.h"
#include "WorkFolder.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelJoinNames.h"
#include "gigapixelPrintable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::slicer
{
namespace
{
using JSON = nlohmann::ordered_json;

/** Tells Slicer how far the work is, in the lines that it reads on the standard output. */
class SlicerFrontEnd : public application::FrontEnd
{
public:
  /** \param outer shows errors and warnings */
  SlicerFrontEnd(const Module & module, FrontEnd & outer)
    : m_Outer(outer)
    , m_Name(module.title)
  {
    std::printf("<filter-start>\n<filter-name>%s</filter-name>\n<filter-comment>%s</filter-comment>\n</filter-start>\n",
                m_Name.c_str(),
                m_Name.c_str());
    std::fflush(stdout);
  }

  ~SlicerFrontEnd() override
  {
    std::printf("<filter-end>\n<filter-name>%s</filter-name>\n</filter-end>\n", m_Name.c_str());
    std::fflush(stdout);
  }

  void
  ShowProgress(double fraction, const std::string &) override
  {
    // Filters that stream begin anew for a strip; a bar that goes back tells nothing.
    m_Fraction = std::max(m_Fraction, fraction);
    std::printf("<filter-progress>%.4f</filter-progress>\n", m_Fraction);
    std::fflush(stdout);
  }

  bool
  OwnsProcess() const override
  {
    return m_Outer.OwnsProcess();
  }

  void
  ShowMessage(const std::string & sentence) override
  {
    std::printf("%s\n", GetPrintable(sentence).c_str());
    std::fflush(stdout);
  }

  void
  ShowDiagnostic(const Diagnostic & diagnostic) override
  {
    m_Outer.ShowDiagnostic(diagnostic);
  }

  void
  ShowFailures(const std::string & sentence) override
  {
    m_Outer.ShowFailures(sentence);
  }

  void
  ShowResult(const std::string &, const std::string & json) override
  {
    result = JSON::parse(json);
  }

  JSON result;

private:
  FrontEnd &  m_Outer;
  std::string m_Name;
  double      m_Fraction{ 0 };
};

/** Runs the command behind a module; \return its JSON result, nothing where it failed and has said so */
std::optional<JSON>
RunCommandBehind(const Module &                             module,
                 const ArgumentValues &                     values,
                 const Session &                            session,
                 const std::map<std::string, std::string> & replaced)
{
  const Command &      command = *application::FindCommand(module.commandName);
  const ArgumentValues words = ArgumentValues::Parse(command, MakeCommandLine(module, values, replaced));
  SlicerFrontEnd       frontEnd(module, session.GetFrontEnd());
  const Session        told(frontEnd, session.GetThreads());
  const int            code = application::FindCommandFunction(command)(words, told);
  return code == application::Success ? std::optional<JSON>(frontEnd.result) : std::nullopt;
}

/** Level 0 of the slide in mm. */
MaskPlace
FindPlace(const ArgumentValues & values)
{
  const auto slide = OpenSlide(values);
  return { { { slide->GetSpacing(0), slide->GetSpacing(1) } },
           { { slide->GetOrigin(0), slide->GetOrigin(1) } },
           { { 1, 1 } },
           {} };
}

using Placing = std::function<void(MaskPlace & place, const JSON & result)>;

/** The command makes the mask pyramid in a work folder; the segmentation is made from it; then both get their names. */
int
MakeSegmentation(const Module &         module,
                 const ArgumentValues & values,
                 const Session &        session,
                 const std::string &    objectName,
                 const Placing &        placing)
{
  if (!values.Has("outputSegmentation") && !values.Has("mask"))
  {
    throw application::UsageError(
      Diagnostic("E-OPTION-MISSING", module.name + " needs --outputSegmentation or --mask").OfOption("--mask"));
  }
  CheckOutputs(module, values);
  const auto folder = [&values](const std::string & name) {
    return values.Has(name) ? std::make_unique<WorkFolder>(values.GetText(name)) : nullptr;
  };
  const auto        maskFolder = folder("mask");
  const auto        segmentationFolder = folder("outputSegmentation");
  const std::string mask = (maskFolder ? maskFolder : segmentationFolder)->GetPath(".tif");
  auto              result = RunCommandBehind(module, values, session, { { "output", mask } });
  if (!result)
  {
    return application::Failure;
  }
  MaskPlace place = FindPlace(values);
  placing(place, *result);
  const auto pyramid = itk::WholeSlideImageIO::New();
  pyramid->SetFileName(mask);
  pyramid->ReadImageInformation();
  if (segmentationFolder)
  {
    const SegmentationResult made = WriteSegmentation(
      *pyramid, place, values.GetInteger("segmentationLevel"), objectName, segmentationFolder->GetPath(".seg.nrrd"));
    // The mean of x and y, which differ where pixels of level 0 are not square.
    const double mpp = 1000 * made.downsample *
                       (place.spacing[0] * place.downsamples[0] + place.spacing[1] * place.downsamples[1]) /
                       (place.downsamples[0] + place.downsamples[1]);
    const bool isKnown = result->value("/mpp"_json_pointer, JSON()).is_number();
    (*result)["objectFraction"] = made.objectFraction;
    (*result)["objectMm2"] = isKnown ? JSON(made.objectMm2) : JSON();
    (*result)["segmentationDownsample"] = made.downsample;
    (*result)["segmentationMpp"] = isKnown ? JSON(mpp) : JSON();
    application::ThrowIfInterrupted();
    segmentationFolder->Publish(".seg.nrrd");
  }
  if (maskFolder)
  {
    maskFolder->Publish(".tif");
  }
  WriteResults(module, values, *result);
  return application::Success;
}
} // namespace

int
RunSlideInfo(const ArgumentValues & values, const Session & session)
{
  const Module & module = *FindModule("SlideInfo");
  CheckOutputs(module, values);
  auto result = RunCommandBehind(module, values, session, {});
  if (!result)
  {
    return application::Failure;
  }
  const auto slide = OpenSlide(values);
  (*result)["spacingX"] = slide->GetSpacing(0);
  (*result)["spacingY"] = slide->GetSpacing(1);
  if (values.Has("thumbnail"))
  {
    WriteThumbnail(values, values.GetText("thumbnail"));
  }
  WriteResults(module, values, *result);
  return application::Success;
}

int
RunTissueLabel(const ArgumentValues & values, const Session & session)
{
  const bool isFull = values.GetText("fullResolution") == "yes";
  return MakeSegmentation(
    *FindModule("TissueLabel"), values, session, "Tissue", [isFull](MaskPlace & place, const JSON & result) {
      for (unsigned axis = 0; axis < 2; ++axis)
      {
        place.downsamples[axis] = isFull ? 1 : result["downsamples"][axis].get<double>();
      }
    });
}

int
RunSegment(const ArgumentValues & values, const Session & session)
{
  return MakeSegmentation(
    *FindModule("GigapixelUNetSegment"), values, session, "Object", [](MaskPlace & place, const JSON & result) {
      for (unsigned axis = 0; axis < 2; ++axis)
      {
        place.downsamples[axis] = result["downsamples"][axis].get<double>();
        place.corner[axis] = result["region"][axis].get<double>() * place.downsamples[axis];
      }
    });
}

int
RunSegmentVolume(const ArgumentValues & values, const Session & session)
{
  const Module & module = *FindModule("GigapixelVolumeSegment");
  std::string    volumes;
  for (int number = 1; number <= MostModalities; ++number)
  {
    const std::string name = "volume" + (number == 1 ? "" : std::to_string(number));
    if (values.Has(name))
    {
      application::CheckInputFile(values.GetText(name));
      volumes += (volumes.empty() ? "" : ",") + values.GetText(name);
    }
  }
  CheckOutputs(module, values);
  const WorkFolder  folder(values.GetText("outputSegmentation"));
  const std::string labels = folder.GetPath(".nrrd");
  auto              result = RunCommandBehind(module, values, session, { { "SLIDE", volumes }, { "output", labels } });
  if (!result)
  {
    return application::Failure;
  }
  const auto milliliters = WriteVolumeSegmentation(
    labels, result->at("classNames").get<std::vector<std::string>>(), folder.GetPath(".seg.nrrd"));
  JSON classes = JSON::object();
  for (const auto & [name, volume] : milliliters)
  {
    classes[name] = volume;
  }
  (*result)["classes"] = classes.dump();
  application::ThrowIfInterrupted();
  folder.Publish(".seg.nrrd");
  WriteResults(module, values, *result);
  return application::Success;
}

int
RunTrain(const ArgumentValues & values, const Session & session)
{
  const Module & module = *FindModule("GigapixelUNetTrain");
  CheckOutputs(module, values);
  const std::string run = values.GetText("run");
  const bool        isNew = !fs::exists(run);
  // A run that was stopped can go on; what is not a run yet, and files that were being written, are nothing to keep.
  const Janitor janitor([run, isNew] {
    std::error_code ignored;
    if (isNew && !fs::exists(run + "/last.safetensors", ignored))
    {
      fs::remove_all(run, ignored);
      return;
    }
    for (const char * const file : { "/last.safetensors", "/best.safetensors", "/history.csv" })
    {
      AtomicFile::RemoveUnfinished(run + file);
    }
  });
  const auto    result = RunCommandBehind(module, values, session, {});
  if (!result)
  {
    return application::Failure;
  }
  WriteResults(module, values, *result);
  return application::Success;
}

namespace
{

/** Of findings a list becomes one text; values, of which nothing is predicted by name, stand where probabilities do. */
void
TakeFound(JSON & result)
{
  if (result.contains("values"))
  {
    result["probabilities"] = result.at("values");
  }
  else if (result.at("predicted").is_array())
  {
    const auto names = result.at("predicted").get<std::vector<std::string>>();
    result["predicted"] = names.empty() ? "none of the findings" : JoinNames(names);
  }
  else
  {
    result["probability"] = result.at("probabilities").at(result.at("predicted").get<std::string>());
  }
}

} // namespace

int
RunClassify(const ArgumentValues & values, const Session & session)
{
  const Module & module = *FindModule("GigapixelClassify");
  application::CheckInputFile(values.GetText("slide"));
  CheckOutputs(module, values);
  const auto folder = [&values](const std::string & name) {
    return values.Has(name) ? std::make_unique<WorkFolder>(values.GetText(name)) : nullptr;
  };
  const auto mapFolder = folder("map"), tableFolder = folder("table");
  // The command writes a table in any case.
  const WorkFolder  other((fs::temp_directory_path() / "classification").string());
  const std::string table = (tableFolder ? *tableFolder : other).GetPath(".csv");
  auto              result = RunCommandBehind(
    module, values, session, { { "output", table }, { "maps", mapFolder ? mapFolder->GetPath("") : "" } });
  if (!result)
  {
    return application::Failure;
  }
  TakeFound(*result);
  if (mapFolder)
  {
    const JSON map = result->at("map");
    WriteMapVolume(map.at("file").get<std::string>(),
                   map.at("spacing").get<std::array<double, 2>>(),
                   map.at("origin").get<std::array<double, 2>>(),
                   *mapFolder);
    (*result)["mapKind"] = map.at("kind");
    (*result)["activatedClass"] = map.at("class");
    (*result)["mapGreatest"] = map.at("greatest");
    (*result)["mapDownsample"] = map.at("downsample");
    application::ThrowIfInterrupted();
    mapFolder->Publish(".nrrd");
  }
  if (tableFolder)
  {
    tableFolder->Publish(".csv");
  }
  WriteResults(module, values, *result);
  return application::Success;
}

int
RunModule(const std::string & name, const std::vector<std::string> & words)
{
  const Module * module = FindModule(name);
  if (!module)
  {
    std::fprintf(stderr, "There is no module %s.\n", name.c_str());
    return application::WrongUsage;
  }
  if (words.size() == 1 && words.front() == "--xml")
  {
    std::printf("%s", GetXML(*module).c_str());
    return application::Success;
  }
  // Errors of the arguments themselves are shown so, too.
  const std::array<std::string, 2> asked{ { "--messages", "json" } };
  const bool isJSON = std::search(words.begin(), words.end(), asked.begin(), asked.end()) != words.end();
  return commandline::RunProgram(module->GetCommand(), words, module->function, isJSON);
}

} // namespace gigapixel::slicer
