/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "HDF5File.h"
#include "gigapixelFormatCount.h"
#include "MadeBy.h"
#include "NetworkCommands.h"
#include "Peaks.h"
#include "OutputCheck.h"
#include "ResolutionJSON.h"
#include "SlideBatch.h"
#include "SlideFile.h"
#include "SlideForModel.h"

#include "gigapixelClassifier.h"
#include "gigapixelSlideFiles.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

// Of the file as a whole.
const char * const MadeByAttribute = "made_by";
const char * const DamageAttribute = "damaged_tiles"; ///< of the slide

/** Whether what is asked for stands there. \throw std::runtime_error something else does */
bool
HasFeatures(const std::string & file, const std::string & madeBy, bool strict)
{
  if (!std::filesystem::exists(file))
  {
    return false;
  }
  const std::string found = ReadHDF5Text(file, MadeByAttribute);
  if (found.empty())
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-EXISTS", file + " exists, but is no finished file of features", "--overwrite replaces it")
        .OfFile(file));
  }
  if (found != madeBy)
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             file + " exists, but was made in another way than is asked for (" +
                               DescribeOtherMaking(found, madeBy) + ')',
                             "--overwrite replaces it, another output name keeps it")
                    .OfFile(file));
  }
  const std::string damaged = ReadHDF5Text(file, DamageAttribute);
  if (strict && damaged != "0")
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             file + " exists, but was made of " + damaged + " damaged tiles, which --strict refuses",
                             "--overwrite replaces it")
                    .OfFile(file));
  }
  return true;
}

/** The squares that places stand for: the first pixel that is nearest to each, at level 0. Not cut where the slide
 * begins, so that they lie on one grid. */
void
AppendCorners(const Features & features, const std::array<double, 2> & downsamples, std::vector<std::int64_t> & corners)
{
  for (const auto & place : features.places)
  {
    for (std::size_t axis = 0; axis < place.size(); ++axis)
    {
      corners.push_back(std::llround(std::ceil(place[axis] - features.step[axis] / 2) * downsamples[axis]));
    }
  }
}

/** Coordinates of all positions, which are behind the vectors in the file: they are kept until those are written. */
std::int64_t
GetMostCoordinates(const SlideForModel & slide, const Model & model)
{
  return 2 * Classifier::CountFeatures(model.network, slide.image.grid.size);
}

/** What TRIDENT reads beside coordinates. It counts magnifications as 10x at 1 um, and finds the size of patches by
 * their ratio. */
HDF5Writer::Attributes
DescribePatches(const SlideForModel & slide, double step)
{
  const double           downsample = slide.image.downsamples[0];
  const double           mpp = slide.image.grid.GetMicronsPerPixel();
  const auto             size = slide.file->GetLevelSize(0);
  HDF5Writer::Attributes attributes{ { "patch_size", std::int64_t{ std::llround(step) } },
                                     { "patch_size_level0", std::int64_t{ std::llround(step * downsample) } },
                                     { "overlap", std::int64_t{ 0 } },
                                     { "mpp", mpp },
                                     { "level0_width", static_cast<std::int64_t>(size[0]) },
                                     { "level0_height", static_cast<std::int64_t>(size[1]) } };
  if (mpp > 0)
  {
    attributes.emplace_back("level0_magnification", 10 / mpp * downsample);
    attributes.emplace_back("target_magnification", 10 / mpp);
  }
  return attributes;
}

struct Made
{
  MemoryPlan    plan;
  std::uint64_t positions{ 0 };
  std::size_t   channels{ 0 };
  double        step{ 0 }; ///< from position to position, in pixels of the level
};

/** Writes vectors as they come, and their places behind them. */
Made
WriteFeatures(const SlideForModel &  slide,
              const Model &          model,
              const std::string &    output,
              const std::string &    madeBy,
              const ArgumentValues & values,
              const Session &        session)
{
  const std::int64_t coordinates = GetMostCoordinates(slide, model);
  const MemoryPlan   plan =
    slide.Plan(model,
               values,
               session,
               coordinates * static_cast<std::int64_t>(sizeof(std::int64_t)),
               Classifier::GetFeatureBytes(model.network, slide.image.grid.size, slide.tiling.tileSize));
  CheckOutput(output, 0); // which makes its folder: a slide that is refused before leaves none
  const Device device = FindDevice(values);
  const Size   size = slide.image.grid.size;
  Classifier   classifier(model, plan.tilesInFlight, device, slide.tiling.tileSize);
  HDF5Writer   writer(output, values.Has("overwrite"));
  Progress     progress(
    session, "features of " + slide.name, static_cast<double>(size.width) * static_cast<double>(size.height));
  std::vector<std::int64_t> corners;
  std::vector<float>        pooled;
  Made                      made;
  made.plan = plan;
  corners.reserve(coordinates); // memory that is not written to is not taken
  const auto take = [&](const Features & features) {
    if (made.positions == 0)
    {
      made.channels = features.vectors.size() / features.places.size();
      made.step = features.step[0];
      writer.BeginArray("features", HDF5Writer::Type::Float32, made.channels);
    }
    made.positions += features.places.size();
    writer.Append(features.vectors);
    AppendCorners(features, slide.image.downsamples, corners);
  };
  const auto report = [&](double done) {
    progress.Update(done);
    return !IsInterruptionRequested();
  };
  if (!classifier.ComputeFeatures(*slide.image.pixels, take, pooled, report))
  {
    throw Interrupted();
  }
  writer.BeginArray("coords", HDF5Writer::Type::Int64, 2, DescribePatches(slide, made.step));
  writer.Append(corners);
  writer.BeginArray("slide_features", HDF5Writer::Type::Float32, 0);
  writer.Append(pooled);
  writer.Commit(
    { { MadeByAttribute, madeBy }, { DamageAttribute, std::to_string(slide.file->GetNumberOfDamagedTiles()) } });
  progress.Finish();
  return made;
}

Json
RunTask(const SlideTask &      task,
        const Model &          model,
        const ArgumentValues & values,
        const Session &        session,
        std::string &          text)
{
  const double        begin = GetCPUSeconds();
  const SlideForModel slide(task.slide, model, values, session);
  const std::string   madeBy = slide.DescribeMaking("features", model, values);
  const Size          size = slide.image.grid.size;
  const bool          wasThere = !values.Has("overwrite") && HasFeatures(task.output, madeBy, values.Has("strict"));
  Json                json{ { "slide", task.slide }, { "features", task.output }, { "skipped", wasThere } };
  std::string         said = "was there already";
  if (!wasThere)
  {
    const Made made = WriteFeatures(slide, model, task.output, madeBy, values, session);
    json["positions"] = made.positions;
    json["channels"] = made.channels;
    json["step"] = made.step;
    Peaks(made.plan, model.network, values).AddTo(json);
    said = FormatCount(made.positions, "position") + ", " + FormatCount(made.channels, "channel") +
           FormatDamage(slide.file->GetNumberOfDamagedTiles());
  }
  json["width"] = size.width;
  json["height"] = size.height;
  AddResolution(json, slide.image.grid);
  json["content"] = IdentifySlide(*slide.file);
  json["peakBytes"] = GetPeakMemory();
  json["cpuSeconds"] = GetCPUSeconds() - begin;
  json["damagedTiles"] = wasThere ? std::stoll(ReadHDF5Text(task.output, DamageAttribute))
                                  : std::int64_t(slide.file->GetNumberOfDamagedTiles());
  text += task.output + ": " + said + '\n';
  return json;
}

} // namespace

int
RunFeatures(const ArgumentValues & values, const Session & session)
{
  const TileCacheBound bound = BoundMemory(values, session);
  const auto           list = FindSlides(values.GetTexts("SLIDE"), session);
  const Model          model = LoadModelOfImages(values, session);
  const auto           tasks = AssignOutputs(list, values.GetText("output"), "--output", "features");
  RefuseMasks(tasks, values.GetText("tissue"));
  return RunBatch(values, session, tasks, list, [&](const SlideTask & task, std::string & text) {
    return RunTask(task, model, values, session, text);
  });
}

} // namespace gigapixel::application
