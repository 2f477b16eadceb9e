/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

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
  const std::string file = values.GetText(option);
  CheckEnding("--" + option, file, "table");
  RefuseInput(file, slides);
  if (values.Has("cohort"))
  {
    RefuseInput(file, { values.GetText("cohort") });
  }
  RefuseExisting(file, values.Has("overwrite"));
  CheckOutput(file, 0);
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
  if (!classifier.Classify(*image.pixels, probabilities, [&](double done) {
        progress.Update(done);
        return !IsInterruptionRequested();
      }))
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
  json["plan"] = DescribePlan(plan, model.network);
  json["estimatedPeakBytes"] = plan.peakBytes;
  json["peakBytes"] = GetPeakMemory();
  json["cpuSeconds"] = GetCPUSeconds() - begin;
  json["damagedTiles"] = slide->GetNumberOfDamagedTiles();
  return json;
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
  const Model             model = LoadModel(values);
  PredictionTable         table = MakeTable(slides, model, values);
  std::vector<Prediction> done;
  std::vector<Json>       rows;
  std::string             text;
  bool                    failed = false;
  for (Prediction & prediction : table.cases)
  {
    ThrowIfInterrupted();
    try
    {
      rows.push_back(ClassifySlide(prediction.name, model, values, session));
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
