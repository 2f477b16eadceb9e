/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "ActivationOutput.h"
#include "ArgumentText.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "SlideBatch.h"
#include "SlideClassification.h"
#include "SlideFile.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelClassifier.h"
#include "gigapixelMaskName.h"
#include "gigapixelTissueSource.h"

#include "itkGigapixelFileSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

namespace gigapixel::commandline
{
namespace
{

using Json = nlohmann::ordered_json;

Model
LoadModel(const ArgumentValues & values)
{
  const std::string name = values.GetText("model");
  Model             model = Model::Load(name);
  if (!model.network.LabelsImage())
  {
    throw std::runtime_error("The model " + name + " labels pixels, and no slides: use segment.");
  }
  return model;
}

/** The level of the model's resolution. */
PhysicalImage
ReadSlide(const std::string & file, const Model & model, const ArgumentValues & values)
{
  itk::GigapixelResolution resolution;
  resolution.level = values.Has("level") ? static_cast<unsigned>(values.GetInteger("level")) : 0;
  resolution.micronsPerPixel = values.Has("level") ? 0 : model.micronsPerPixel;
  resolution.levelZeroMicronsPerPixel = values.Has("slide-mpp") ? values.GetNumber("slide-mpp") : 0;
  PhysicalImage image = itk::GigapixelFileSource(file, resolution, static_cast<unsigned>(model.network.channels));
  const double  mpp = image.grid.GetMicronsPerPixel();
  if (!values.Has("level") && model.micronsPerPixel > 0 &&
      !(std::abs(mpp / model.micronsPerPixel - 1) <= ResolutionTolerance))
  {
    throw std::runtime_error(file +
                             (mpp > 0 ? " has no level of " + FormatNumber(model.micronsPerPixel, 3) +
                                          " micrometers per pixel, which the model was trained at: choose one (--level)"
                                      : " has no known resolution: say it (--slide-mpp), or choose a level (--level)"));
  }
  image.pixels = AdaptChannels(image.pixels, static_cast<unsigned>(model.network.channels), image.name);
  if (values.Has("tissue"))
  {
    const std::string mask = FindMask(values.GetText("tissue"), file);
    image.pixels = MakeGlassWhite(
      image.pixels, std::make_shared<const TissueMask>(itk::GigapixelTissueSource(mask, file), image.grid, image.name));
  }
  return image;
}

/** The class that maps are of: of two the second one, which is the finding, of several the most probable one, unless
 * one is named. */
int
GetMapClass(const NetworkDescription & network, const ArgumentValues & values)
{
  const auto names = GetClassNames(network);
  if (!values.Has("map-class"))
  {
    return names.size() == 2 ? 1 : Classifier::MostProbable;
  }
  const std::string name = values.GetText("map-class");
  const auto        found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
  {
    throw std::runtime_error("The model has no class \"" + name + "\" (--map-class): it has " + JoinWithOr(names) +
                             '.');
  }
  return static_cast<int>(found - names.begin());
}

/** The picture beside the map's pyramid. */
std::string
GetPicture(const std::string & map)
{
  return (std::filesystem::path(map).parent_path() / (GetSlideName(map) + ".png")).string();
}

/** Writes the map of a slide and its picture. \return what the result says of them */
Json
WriteMap(const ActivationMap &          map,
         const Grid &                   image,
         const itk::WholeSlideImageIO & slide,
         const std::string &            file,
         const NetworkDescription &     network,
         const ArgumentValues &         values,
         const Session &                session)
{
  const std::string kind = map.isAttention ? "attention" : "activation";
  const std::string name = GetClassNames(network)[map.label];
  const std::string madeBy = "classify map=" + kind + (map.isAttention ? "" : " class=" + name);
  Progress          progress(session, "picture of " + file);
  WriteActivation(map, image, slide, file, madeBy);
  WritePNG(DrawActivation(map, image, slide, progress), GetPicture(file), madeBy, values.Has("overwrite"));
  Json json{ { "kind", kind }, { "file", file }, { "picture", GetPicture(file) } };
  json["class"] = map.isAttention ? Json() : Json(name);
  json["greatest"] = *std::max_element(map.values.begin(), map.values.end());
  return json;
}

/** The slides before anything is known of them but what --cohort tells. */
PredictionTable
MakeTable(const std::vector<std::string> & slides, const Model & model, const ArgumentValues & values)
{
  PredictionTable table;
  table.file = values.GetText("output");
  table.classes = GetClassNames(model.network);
  table.cases.reserve(slides.size());
  for (const std::string & slide : slides)
  {
    table.cases.emplace_back();
    table.cases.back().name = slide;
  }
  if (values.Has("cohort"))
  {
    table.TakeCohort(values.GetText("cohort"), false);
  }
  if (values.Has("per-patient") && !table.knowsPatients)
  {
    throw UsageError("--per-patient needs a table with the column patient: --cohort CSV.");
  }
  for (const Prediction & prediction : table.cases)
  {
    if (values.Has("per-patient") && prediction.patient.empty())
    {
      throw std::runtime_error("The patient of " + prediction.name + " is empty in " + values.GetText("cohort") + '.');
    }
  }
  return table;
}

/** The patients' predictions, whose slides may well have different labels. */
PredictionTable
GetPatients(PredictionTable table)
{
  table.knowsLabels = false;
  for (Prediction & prediction : table.cases)
  {
    prediction.label.clear();
  }
  return table.GetPatients();
}

void
CheckTable(const std::string & option, const ArgumentValues & values, const std::vector<std::string> & slides)
{
  const std::string & file = values.GetText(option);
  CheckEnding("--" + option, file, "table");
  RefuseInput(file, slides);
  if (values.Has("cohort"))
  {
    RefuseInput(file, { values.GetText("cohort") });
  }
  RefuseExisting(file, values.Has("overwrite"));
  CheckOutput(file, 0);
}

/** Of one slide, a row of the table. \param mapFile where its map goes; empty: none is made */
Json
Classify(const std::string &    file,
         const std::string &    mapFile,
         const Model &          model,
         const ArgumentValues & values,
         const Session &        session)
{
  const double        begin = GetCPUSeconds();
  const auto          slide = OpenSlide(file, values); // which counts damaged tiles
  const PhysicalImage image = ReadSlide(file, model, values);
  const Size          size = image.grid.size;
  model.network.CheckImage(size);
  Tiling tiling{ GetTileSize(values) };
  tiling.tileSize = tiling.tileSize == 0 ? model.tileSize : tiling.tileSize;
  const MemoryPlan plan =
    MakePlan({ values, model.network, size, Purpose::Inference, tiling }, session.GetThreads(), true);
  session.Say(file + ": " + std::to_string(size.width) + " x " + std::to_string(size.height) + "; " +
              FormatPlan(plan, tiling));
  const Device        device = Device::Find(values.GetText("device"), values.GetText("precision"));
  Classifier          classifier(model, plan.tilesInFlight, device, tiling.tileSize);
  std::vector<double> probabilities;
  Progress progress(session, "classify " + file, static_cast<double>(size.width) * static_cast<double>(size.height));
  ActivationMap map;
  const auto    report = [&](double done) {
    progress.Update(done);
    return !IsInterruptionRequested();
  };
  const bool finished =
    mapFile.empty() ? classifier.Classify(*image.pixels, probabilities, report)
                    : classifier.Explain(*image.pixels, GetMapClass(model.network, values), probabilities, map, report);
  if (!finished)
  {
    throw Interrupted();
  }
  progress.Finish();
  const auto   names = GetClassNames(model.network);
  const auto   greatest = std::max_element(probabilities.begin(), probabilities.end());
  const double mpp = image.grid.GetMicronsPerPixel();
  Json         json{ { "slide", file }, { "predicted", names[greatest - probabilities.begin()] } };
  for (std::size_t c = 0; c < names.size(); ++c)
  {
    json["probabilities"][names[c]] = probabilities[c];
  }
  json["width"] = size.width;
  json["height"] = size.height;
  json["mpp"] = mpp > 0 ? Json(mpp) : Json();
  if (!mapFile.empty())
  {
    json["map"] = WriteMap(map, image.grid, *slide, mapFile, model.network, values, session);
  }
  json["plan"] = DescribePlan(plan, model.network);
  json["estimatedPeakBytes"] = plan.peakBytes;
  json["peakBytes"] = GetPeakMemory();
  json["cpuSeconds"] = GetCPUSeconds() - begin;
  json["damagedTiles"] = slide->GetNumberOfDamagedTiles();
  return json;
}

/** Of each slide the file of its map; empty: none are made. Makes the folder. */
std::vector<std::string>
AssignMaps(const std::vector<std::string> & slides, const ArgumentValues & values)
{
  std::vector<std::string> maps(slides.size());
  if (values.Has("maps"))
  {
    const auto tasks = AssignOutputs(slides, values.GetText("maps") + '/', "--maps");
    std::transform(tasks.begin(), tasks.end(), maps.begin(), [](const SlideTask & task) { return task.output; });
  }
  for (const std::string & map : maps)
  {
    if (!map.empty())
    {
      RefuseExisting(map, values.Has("overwrite"));
      RefuseExisting(GetPicture(map), values.Has("overwrite"));
      CheckOutput(map, 0);
    }
  }
  return maps;
}

} // namespace

std::vector<std::string>
GetClassNames(const NetworkDescription & network)
{
  std::vector<std::string> names = network.classNames;
  while (static_cast<int>(names.size()) < network.GetNumberOfClasses()) // numbers, where there are no names
  {
    names.push_back(std::to_string(names.size()));
  }
  return names;
}

nlohmann::ordered_json
ClassifySlide(const std::string & file, const Model & model, const ArgumentValues & values, const Session & session)
{
  return Classify(file, "", model, values, session);
}

void
TakeProbabilities(const nlohmann::ordered_json & told, Prediction & prediction)
{
  prediction.probabilities.clear();
  for (const auto & item : told.at("probabilities").items())
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

int
RunClassify(const ArgumentValues & values, const Session & session)
{
  BoundMemory(GetBudget(values));
  const auto names = values.GetTexts("SLIDE");
  const auto slides = FindSlides(names);
  const bool overwrite = values.Has("overwrite");
  CheckTable("output", values, slides);
  if (values.Has("per-patient"))
  {
    CheckTable("per-patient", values, slides);
    RefuseInput(values.GetText("per-patient"), { values.GetText("output") });
  }
  const Model model = LoadModel(values);
  GetMapClass(model.network, values); // which throws now, and not behind the first slide
  const auto              maps = AssignMaps(slides, values);
  PredictionTable         table = MakeTable(slides, model, values);
  std::vector<Prediction> done;
  std::vector<Json>       rows;
  std::string             text;
  bool                    failed = false;
  for (std::size_t i = 0; i < slides.size(); ++i)
  {
    Prediction & prediction = table.cases[i];
    ThrowIfInterrupted();
    try
    {
      rows.push_back(Classify(slides[i], maps[i], model, values, session));
    }
    catch (const Interrupted &)
    {
      throw;
    }
    catch (const std::exception & error)
    {
      session.Warn(std::string("gigapixel: ") + error.what());
      failed = true;
      continue;
    }
    const Json & row = rows.back();
    TakeProbabilities(row, prediction);
    text += prediction.name + ": " + row.at("predicted").get<std::string>() + " (" +
            FormatNumber(row.at("probabilities").at(row.at("predicted").get<std::string>()).get<double>(), 4) + ")" +
            FormatDamage(row.at("damagedTiles").get<std::int64_t>()) + '\n';
    done.push_back(std::move(prediction));
  }
  table.cases = std::move(done);
  if (!rows.empty())
  {
    WriteTable(table, values.GetText("output"), overwrite);
  }
  if (!rows.empty() && values.Has("per-patient"))
  {
    WriteTable(GetPatients(table), values.GetText("per-patient"), overwrite);
  }
  const Json all = IsList(names) ? Json(rows) : rows.empty() ? Json() : rows.front();
  if (!text.empty())
  {
    text.pop_back();
    session.PrintResult(text, all.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  return failed ? Failure : Success;
}

} // namespace gigapixel::commandline
