/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "ActivationOutput.h"
#include "ArgumentText.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "SlideBatch.h"
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
#include <sstream>

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

/** A field of a table (RFC 4180). */
std::string
ToField(const std::string & text)
{
  if (text.find_first_of(",\"\r\n") == std::string::npos)
  {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text)
  {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + '"';
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

std::string
MakeTable(const std::vector<Json> & rows, const NetworkDescription & network)
{
  std::ostringstream table;
  table.imbue(std::locale::classic());
  table.precision(9);
  table << "slide,predicted";
  for (const std::string & name : GetClassNames(network))
  {
    table << ',' << ToField("p_" + name);
  }
  table << '\n';
  for (const Json & row : rows)
  {
    table << ToField(row.at("slide")) << ',' << ToField(row.at("predicted"));
    for (const auto & item : row.at("probabilities").items())
    {
      table << ',' << item.value().get<double>();
    }
    table << '\n';
  }
  return table.str();
}

} // namespace

int
RunClassify(const ArgumentValues & values, const Session & session)
{
  BoundMemory(GetBudget(values));
  const std::string output = values.GetText("output");
  const auto        names = values.GetTexts("SLIDE");
  const auto        slides = FindSlides(names);
  CheckEnding("--output", output, "table");
  RefuseInput(output, slides);
  RefuseExisting(output, values.Has("overwrite"));
  CheckOutput(output, 0);
  const Model model = LoadModel(values);
  GetMapClass(model.network, values); // which throws now, and not behind the first slide
  const auto        maps = AssignMaps(slides, values);
  std::vector<Json> rows;
  std::string       text;
  bool              failed = false;
  for (std::size_t i = 0; i < slides.size(); ++i)
  {
    const std::string & slide = slides[i];
    ThrowIfInterrupted();
    try
    {
      rows.push_back(Classify(slide, maps[i], model, values, session));
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
    text += slide + ": " + row.at("predicted").get<std::string>() + " (" +
            FormatNumber(row.at("probabilities").at(row.at("predicted").get<std::string>()).get<double>(), 4) + ")" +
            FormatDamage(row.at("damagedTiles").get<std::int64_t>()) + '\n';
  }
  if (!rows.empty())
  {
    AtomicFile file(output, values.Has("overwrite"));
    file.Append(MakeTable(rows, model.network));
    file.Commit();
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
