/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideForModel.h"

#include "ArgumentText.h"
#include "gigapixelReadingMemory.h"
#include "SlideFile.h"
#include "TableValues.h"

#include "gigapixelLabeling.h"
#include "gigapixelPrintable.h"
#include "gigapixelRequireAxes.h"

#include "itkGigapixelClassifier.h"
#include "itkGigapixelNetworkSource.h"

namespace gigapixel::application
{
namespace
{

PhysicalImage
OpenImage(const std::string & fileName, const Model & model, const ArgumentValues & values)
{
  return itk::GigapixelSlideForModel(
    fileName, model, { GetSlideOptions(values), false, [](double) { return !IsInterruptionRequested(); } });
}

Tiling
MakeTiling(const Model & model, const ArgumentValues & values)
{
  const std::int64_t asked = values.GetInteger("tile-size");
  return { asked == 0 ? model.tileSize : asked };
}

} // namespace

Model
LoadModelOfImages(const ArgumentValues & values, const Session & session)
{
  const std::string name = values.GetText("model");
  Model             model = Model::Load(name);
  Labeling::OfImages().Require(model.network, name);
  RequireAxes(model.network, 2, name);
  const bool hasTissue = values.Has("tissue");
  if (model.tissueOnly && *model.tissueOnly && !hasTissue)
  {
    session.Warn(Diagnostic("W-MODEL",
                            "the model " + name + " was trained on tissue alone",
                            "give the masks of these slides as well (--tissue)")
                   .OfFile(name)
                   .OfOption("--tissue"));
  }
  if (model.tissueOnly && !*model.tissueOnly && hasTissue)
  {
    session.Say("The model " + name + " was trained on whole slides, glass included, and labels tissue alone here.");
  }
  return model;
}

SlideForModel::SlideForModel(const std::string &    fileName,
                             const Model &          model,
                             const ArgumentValues & values,
                             const Session &        session)
  : name(fileName)
  , content(itk::GigapixelContentForModel(fileName, GetSlideOptions(values), model))
  , file(OpenSlide(fileName, content, session))
  , image(OpenImage(fileName, model, values))
  , tiling(MakeTiling(model, values))
{
  model.network.CheckImage(image.grid.size);
}

std::string
SlideForModel::DescribeMaking(const std::string & what, const Model & model, const ArgumentValues & values) const
{
  const std::string & precision = values.GetText("precision");
  return what + " model=" + model.GetIdentity() +
         (tiling.tileSize == model.tileSize ? "" : " tiles=" + std::to_string(tiling.tileSize)) +
         (precision == "fp32" ? "" : " precision=" + precision) +
         (values.Has("slide-mpp") ? " slide-mpp=" + FormatShortest(values.GetNumber("slide-mpp")) : "") +
         " downsample=" + FormatShortest(image.downsamples[0]) + ' ' + image.content;
}

MemoryPlan
SlideForModel::Plan(const Model &          model,
                    const ArgumentValues & values,
                    const Session &        session,
                    std::int64_t           keptBytes,
                    std::int64_t           handedOnBytes) const
{
  const Size    size = image.grid.size;
  ReadingMemory reading;
  reading.AddFile(name, model.network.channels, content, model.network.IsNormalized());
  reading.AddResampling(image);
  const int threads = reading.LimitThreads(session.GetThreads(), GetBudget(values));
  ImageRun  run{ values, model.network, size, Purpose::Inference, tiling };
  run.keptBytes = keptBytes;
  run.reading = reading;
  run.handedOnBytes = handedOnBytes;
  MemoryPlan plan = MakePlan(run, threads, true);
  session.Say(name + ": " + std::to_string(size.width) + " x " + std::to_string(size.height) + "; " +
              FormatPlan(plan, tiling));
  return plan;
}

} // namespace gigapixel::application
