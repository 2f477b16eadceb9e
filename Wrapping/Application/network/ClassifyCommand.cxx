/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"
#include "Peaks.h"

#include "ActivationOutput.h"
#include "ArgumentText.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "ResolutionJSON.h"
#include "SlideBatch.h"
#include "SlideClassification.h"
#include "SlideFile.h"
#include "SlideForModel.h"
#include "UnfinishedTable.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelClassificationOptions.h"
#include "gigapixelClassifier.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"

#include "itkGigapixelClassifier.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

constexpr const char * MapMaking = "classify map="; ///< how maps say that they were made begins so
constexpr const char * MapKey = "map identity";     ///< of what is kept of a batch

/** The class that maps are of: --map-class. */
int
GetMapClass(const Model & model, const ArgumentValues & values)
{
  return itk::GigapixelFindMapClass(model.network, GetOptions<ClassificationOptions>(values).mapClass);
}

/** The picture beside the map's pyramid. */
std::string
GetPicture(const std::string & map)
{
  return (std::filesystem::path(map).parent_path() / (GetSlideName(map) + ".png")).string();
}

/** Where the map of a slide goes; an empty file: none is made. */
struct MapTarget
{
  std::string file;
  bool        mayReplace{ false };
};

/** Writes the map of a slide and its picture. \return what the result says of them */
Json
WriteMap(const ActivationMap &      map,
         const SlideForModel &      slide,
         const MapTarget &          target,
         const NetworkDescription & network,
         const Session &            session)
{
  const std::string & file = target.file;
  const std::string   kind = map.isAttention ? "attention" : "activation";
  const std::string   name = Classifier::GetClassNames(network)[map.label];
  const std::string   madeBy = MapMaking + kind + (map.isAttention ? "" : " class=" + name);
  const Grid &        image = slide.image.grid;
  Progress            progress(session, "picture of " + file);
  const auto          pixels = itk::GigapixelMapImage(map, image);
  WriteActivation(pixels, *slide.file, file, madeBy);
  const std::string title = map.isAttention ? kind : kind + " of " + name;
  WritePNG(DrawActivation(map, title, image, *slide.file, progress), GetPicture(file), madeBy, target.mayReplace);
  Json json{ { "kind", kind }, { "file", file }, { "picture", GetPicture(file) } };
  json["class"] = map.isAttention ? Json() : Json(name);
  json["greatest"] = *std::max_element(map.values.begin(), map.values.end());
  json["downsample"] = map.step[0] * slide.image.downsamples[0];
  json["spacing"] = { pixels->GetSpacing()[0], pixels->GetSpacing()[1] };
  json["origin"] = { pixels->GetOrigin()[0], pixels->GetOrigin()[1] };
  return json;
}

/** The slides before anything is known of them but what --cohort tells. */
PredictionTable
MakeTable(const std::vector<std::string> & slides, const Model & model, const ArgumentValues & values)
{
  PredictionTable table;
  table.file = values.GetText("output");
  table.classes = Classifier::GetClassNames(model.network);
  table.objective = model.network.objective.kind;
  table.cases.reserve(slides.size());
  for (const std::string & slide : slides)
  {
    table.cases.emplace_back();
    table.cases.back().name = slide;
  }
  const std::string & cohort = values.GetText("cohort");
  const bool          needsPatients = values.Has("per-patient");
  if (!cohort.empty())
  {
    table.TakeCohort(cohort, false);
  }
  if (needsPatients && !table.knowsPatients)
  {
    throw UsageError(
      Diagnostic("E-OPTION-NEEDS", "--per-patient needs a table with the column patient", "give --cohort CSV with it")
        .OfOption("--per-patient", values.GetText("per-patient")));
  }
  for (const Prediction & prediction : table.cases)
  {
    if (needsPatients && prediction.patient.empty())
    {
      throw Refusal(Diagnostic("E-COHORT-FORMAT",
                               "the patient of " + prediction.name + " is empty in " + cohort,
                               "write it there, or leave --per-patient out")
                      .OfFile(cohort)
                      .OfOption("--per-patient"));
    }
  }
  return table;
}

/** What --json tells of what was found: one name where they exclude each other, else a list. */
Json
DescribeFound(const std::vector<double> & numbers, const NetworkDescription & network)
{
  Objective objective = network.objective;
  objective.names = Classifier::GetClassNames(network);
  const auto found = objective.GetKind().getFound(objective, numbers);
  return objective.GetKind().isExclusive ? Json(found.front()) : Json(found);
}

/** The same for people, of what --json tells of a slide: names that were found with their probabilities, or values. */
std::string
FormatFound(const Json & told)
{
  const bool  areValues = !told.contains("predicted"); // of which each says something by itself
  const Json  numbers = told.at(told.contains("values") ? "values" : "probabilities");
  const Json  predicted = areValues ? Json() : told.at("predicted");
  std::string text;
  for (const auto & item : numbers.items())
  {
    const bool        isFound = predicted.is_array()
                                  ? std::find(predicted.begin(), predicted.end(), item.key()) != predicted.end()
                                  : predicted == item.key();
    const std::string number = FormatNumber(item.value().get<double>(), 4);
    text += areValues || isFound
              ? (text.empty() ? "" : ", ") + item.key() + (areValues ? " " + number : " (" + number + ")")
              : std::string();
  }
  return text.empty() ? "none of the findings" : text;
}

/** The patients' predictions, whose slides may well have different labels. */
PredictionTable
GetPatients(PredictionTable table)
{
  table.knowsLabels = false;
  for (Prediction & prediction : table.cases)
  {
    prediction.label.clear();
    prediction.truth.clear();
  }
  return table.GetPatients();
}

/** \throw std::runtime_error there is too little memory for the slide, and for its map if one is made */
MemoryPlan
PlanSlide(const SlideForModel &  slide,
          const MapTarget &      map,
          const Model &          model,
          const ArgumentValues & values,
          const Session &        session)
{
  const Size size = slide.image.grid.size;
  return slide.Plan(
    model, values, session, map.file.empty() ? 0 : Classifier::GetExplanationBytes(model.network, size));
}

/** \return what --json tells of a slide */
Json
Classify(const SlideForModel &  slide,
         const MemoryPlan &     plan,
         const MapTarget &      mapTarget,
         const Model &          model,
         const ArgumentValues & values,
         const Session &        session)
{
  const double        begin = GetCPUSeconds();
  const Size          size = slide.image.grid.size;
  const Device        device = FindDevice(values);
  Classifier          classifier(model, plan.tilesInFlight, device, slide.tiling.tileSize);
  std::vector<double> probabilities;
  Progress            progress(
    session, "classify " + slide.name, static_cast<double>(size.width) * static_cast<double>(size.height));
  ActivationMap map;
  const auto    report = [&](double done) {
    progress.Update(done);
    return !IsInterruptionRequested();
  };
  PixelSource & pixels = *slide.image.pixels;
  const bool    finished = mapTarget.file.empty()
                             ? classifier.Classify(pixels, probabilities, report)
                             : classifier.Explain(pixels, GetMapClass(model, values), probabilities, map, report);
  if (!finished)
  {
    throw Interrupted();
  }
  progress.Finish();
  const auto names = Classifier::GetClassNames(model.network);
  Json       json{ { "slide", slide.name } };
  if (const ObjectiveKind & kind = model.network.objective.GetKind(); kind.getFound != nullptr)
  {
    json["predicted"] = DescribeFound(probabilities, model.network);
  }
  for (std::size_t c = 0; c < names.size(); ++c)
  {
    json[model.network.objective.GetKind().numbers][names[c]] = probabilities[c];
  }
  json["width"] = size.width;
  json["height"] = size.height;
  AddResolution(json, slide.image.grid);
  json["content"] = IdentifySlide(*slide.file);
  if (!mapTarget.file.empty())
  {
    json["map"] = WriteMap(map, slide, mapTarget, model.network, session);
  }
  json["plan"] = DescribePlan(plan, model.network, Purpose::Inference);
  Peaks(plan, model.network, values).AddTo(json);
  json["cpuSeconds"] = GetCPUSeconds() - begin;
  json["damagedTiles"] = slide.file->GetNumberOfDamagedTiles();
  json["skipped"] = false;
  return json;
}

/** Which map and picture these are, by all their bytes; empty: one is missing. */
std::string
IdentifyMap(const std::string & map)
{
  const std::string picture = GetPicture(map);
  return std::filesystem::exists(map) && std::filesystem::exists(picture)
           ? IdentifyFile(map, HashedBytes::All) + ' ' + IdentifyFile(picture, HashedBytes::All)
           : std::string();
}

/** What was said of the slide before the batch was interrupted, if it was, and its map is as it was written; else what
 * is said now, which is kept until the batch is complete. */
Json
ClassifyOnce(const std::string &    file,
             const MapTarget &      map,
             const Model &          model,
             const ArgumentValues & values,
             const Session &        session,
             UnfinishedTable &      unfinished)
{
  const SlideForModel slide(file, model, values, session);
  const auto          options = GetOptions<ClassificationOptions>(values);
  const std::string   madeBy = slide.DescribeMaking("classify", model, values) +
                             (map.file.empty() ? "" : " map=" + map.file + " map-class=" + options.mapClass) +
                             DescribeOptions(options, { "map-class" });
  const auto said = unfinished.Find(madeBy);
  const bool isMapThere = said && (map.file.empty() || said->value(MapKey, "") == IdentifyMap(map.file));
  if (isMapThere && (!values.Has("strict") || said->at("damagedTiles") == 0)) // else it is refused
  {
    Json row = *said;
    row.erase(MapKey);
    row["slide"] = file;
    row["skipped"] = true;
    return row;
  }
  const MemoryPlan plan = PlanSlide(slide, map, model, values, session);
  if (!map.file.empty())
  {
    CheckOutput(map.file, 0); // which makes its folder: a slide that is refused before leaves none
    unfinished.Announce(map.file);
  }
  Json row = Classify(slide, plan, map, model, values, session);
  Json kept = row;
  if (!map.file.empty())
  {
    kept[MapKey] = IdentifyMap(map.file);
  }
  unfinished.Add(madeBy, kept);
  return row;
}

/** Whether it is not there, or a map of ours: what was announced may have been replaced by somebody since. */
bool
IsMap(const std::string & file)
{
  return !std::filesystem::exists(file) || FindMadeBy(file).rfind(MapMaking, 0) == 0;
}

/** The same of a map's picture. */
bool
IsPicture(const std::string & file)
{
  return !std::filesystem::exists(file) || FindMadeByOfPNG(file).rfind(MapMaking, 0) == 0;
}

/** Of each slide where its map goes, nowhere without --maps. Their folder is made with the first one. */
std::vector<SlideTask>
AssignMaps(const SlideList & list, const ArgumentValues & values)
{
  std::vector<SlideTask> none;
  for (const std::string & slide : list.slides)
  {
    none.push_back({ slide, "" });
  }
  const std::string & folder = values.GetText("maps");
  if (folder.empty())
  {
    return none;
  }
  auto                tasks = AssignOutputs(list, folder + '/', "--maps");
  const std::string & tissue = values.GetText("tissue");
  auto                pictures = tasks;
  for (SlideTask & picture : pictures)
  {
    picture.output = GetPicture(picture.output);
    RefuseInput(picture.output, list.slides);
  }
  RefuseMasks(tasks, tissue);
  RefuseMasks(pictures, tissue);
  return tasks;
}

/** \return for each file of a map whether it, and the picture beside it, may replace what is there
 * \throw std::runtime_error something is there, and may not be replaced */
std::map<std::string, bool>
CheckMaps(const std::vector<SlideTask> & tasks, const ArgumentValues & values, const UnfinishedTable & unfinished)
{
  std::map<std::string, bool> mayReplace;
  for (const SlideTask & task : tasks)
  {
    const std::string & map = task.output;
    if (!map.empty())
    {
      const bool isOwn = unfinished.HasMap(map) && IsMap(map) && IsPicture(GetPicture(map));
      mayReplace[map] = values.Has("overwrite") || isOwn;
      RefuseExisting(map, mayReplace[map]);
      RefuseExisting(GetPicture(map), mayReplace[map]);
    }
  }
  return mayReplace;
}

} // namespace

nlohmann::ordered_json
ClassifySlide(const std::string & file, const Model & model, const ArgumentValues & values, const Session & session)
{
  const SlideForModel slide(file, model, values, session);
  return Classify(slide, PlanSlide(slide, {}, model, values, session), {}, model, values, session);
}

void
TakeProbabilities(const nlohmann::ordered_json & told, Prediction & prediction)
{
  prediction.probabilities.clear();
  for (const auto & item : told.at(told.contains("values") ? "values" : "probabilities").items())
  {
    prediction.probabilities.push_back(item.value().get<double>());
  }
}

void
WriteTable(const PredictionTable & table, const std::string & file, bool overwrite)
{
  AtomicFile output(file, overwrite);
  output.Append(table.ToCSV());
  output.Commit();
}

namespace
{
/** Whether the file holds this text and nothing else. */
bool
HasContent(const std::string & file, const std::string & text)
{
  std::error_code ignored;
  std::ifstream   stream(file, std::ios::binary);
  return std::filesystem::file_size(file, ignored) == text.size() &&
         std::equal(text.begin(), text.end(), std::istreambuf_iterator<char>(stream));
}

/** Writes the table of all slides. */
void
WriteWholeTable(const PredictionTable & table,
                const std::string &     file,
                bool                    overwrite,
                const UnfinishedTable & unfinished)
{
  try
  {
    WriteTable(table, file, overwrite);
  }
  catch (const std::exception &)
  {
    // Another process may have been asked for the same: where it has written this table, nothing is left to go on with.
    if (HasContent(file, table.ToCSV()))
    {
      unfinished.Remove();
    }
    throw;
  }
}
} // namespace

int
RunClassify(const ArgumentValues & values, const Session & session)
{
  const TileCacheBound bound = BoundMemory(values, session);
  const auto           list = FindSlides(values.GetTexts("SLIDE"), session);
  const auto &         slides = list.slides;
  const bool           overwrite = values.Has("overwrite");
  const std::string &  ofPatients = values.GetText("per-patient");
  const bool           severalFiles = slides.size() > 1 || values.Has("maps");
  UnfinishedTable      unfinished(values.GetText("output"), severalFiles);
  if (!overwrite && severalFiles && unfinished.HasAny() && std::filesystem::exists(values.GetText("output")))
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             values.GetText("output") + " exists already, and what was said since is kept beside it",
                             "--overwrite goes on from there, with the slides that failed or are missing")
                    .OfFile(values.GetText("output")));
  }
  CheckOutputFile(values, "output", slides);
  if (!ofPatients.empty())
  {
    CheckOutputFile(values, "per-patient", slides);
  }
  const Model model = LoadModelOfImages(values, session);
  GetMapClass(model, values); // which throws now, and not behind the first slide
  const auto      tasks = AssignMaps(list, values);
  auto            mayReplace = CheckMaps(tasks, values, unfinished);
  PredictionTable table = MakeTable(slides, model, values);
  const auto      work = [&](const SlideTask & task, std::string & text) {
    const MapTarget map{ task.output, mayReplace[task.output] };
    Json            row = ClassifyOnce(task.slide, map, model, values, session, unfinished);
    text += task.slide + ": " + FormatFound(row) + FormatDamage(row.at("damagedTiles").get<std::int64_t>()) +
            (row.at("skipped").get<bool>() ? " (was said already)\n" : "\n");
    return row;
  };
  const auto finish = [&](const std::vector<SlideOutcome> & outcomes) {
    std::vector<Prediction> done;
    for (std::size_t i = 0; i < outcomes.size(); ++i)
    {
      if (outcomes[i].failure.IsEmpty())
      {
        TakeProbabilities(outcomes[i].result, table.cases[i]);
        done.push_back(std::move(table.cases[i]));
      }
    }
    const bool isComplete = done.size() == outcomes.size();
    table.cases = std::move(done);
    if (!table.cases.empty())
    {
      WriteWholeTable(table, values.GetText("output"), overwrite, unfinished);
    }
    if (!table.cases.empty() && !ofPatients.empty())
    {
      WriteTable(GetPatients(table), ofPatients, overwrite);
    }
    if (isComplete)
    {
      unfinished.Remove();
    }
  };
  try
  {
    return RunBatch(values, session, tasks, list, work, finish);
  }
  catch (const Interrupted &)
  {
    throw unfinished.HasAny() && severalFiles
      ? Interrupted("What was said of slides so far is kept: the same command goes on from there.")
      : Interrupted();
  }
}

} // namespace gigapixel::application
