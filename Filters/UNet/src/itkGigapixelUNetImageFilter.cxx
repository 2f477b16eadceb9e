/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelUNetImageFilter.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelGrid.h"
#include "gigapixelRequireAxes.h"
#include "gigapixelUsableCores.h"
#include "itkMultiThreaderBase.h"
#include "itkProcessObject.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace itk
{

ModifiedTimeType
GigapixelUpstreamMTime(const DataObject & image)
{
  const auto source = image.GetSource();
  if (!source)
  {
    return image.GetMTime();
  }
  ModifiedTimeType mTime = source->GetMTime();
  for (const DataObject * input : source->GetInputs())
  {
    if (input)
    {
      mTime = std::max(mTime, GigapixelUpstreamMTime(*input));
    }
  }
  return mTime;
}

int
GigapixelCountThreads(const ProcessObject & filter)
{
  return gigapixel::CountThreads(filter.GetNumberOfWorkUnits(), filter.GetMultiThreader()->GetMaximumNumberOfThreads());
}

std::function<bool(double)>
GigapixelAskWhetherToGoOn(ProcessObject & filter)
{
  return [&filter](double) {
    filter.UpdateProgress(filter.GetProgress()); // its observers are asked
    return !filter.GetAbortGenerateData();
  };
}

void
GigapixelCheckTakesImages(const gigapixel::Model & model)
{
  gigapixel::RequireAxes(model.network, 2);
}

void
GigapixelCheckTiling(bool hasPatches, std::int64_t tileSize, bool sharedMemory)
{
  if (hasPatches && (tileSize != 0 || sharedMemory))
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-CONFLICT",
                                                   "The network sees each patch by itself, in one piece: a tile size "
                                                   "and shared memory are of a network over the whole image"));
  }
}

void
GigapixelCheckThreshold(const gigapixel::Model & model, bool hasThreshold)
{
  if (const int channels = model.network.GetNumberOfOutputChannels(); hasThreshold && channels > 1)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-APPLIES",
                                                   "the network has an output for each of " + std::to_string(channels) +
                                                     " classes, the greatest of which decides",
                                                   "leave the threshold (--threshold) out"));
  }
}

gigapixel::Diagnostic
GigapixelCheckResolution(double modelMicronsPerPixel, double imageMicronsPerPixel)
{
  std::ostringstream text;
  if (modelMicronsPerPixel <= 0 || imageMicronsPerPixel <= 0)
  {
    const bool both = modelMicronsPerPixel <= 0 && imageMicronsPerPixel <= 0;
    text << "the micrometers per pixel of the "
         << (both                        ? "model and the image"
             : modelMicronsPerPixel <= 0 ? "model"
                                         : "image")
         << (both ? " are" : " is") << " unknown";
    if (modelMicronsPerPixel > 0)
    {
      text << " (the model was trained at " << modelMicronsPerPixel << ")";
    }
    else if (imageMicronsPerPixel > 0)
    {
      text << " (the image has " << imageMicronsPerPixel << ")";
    }
    text << ": the result is right only if they are the same";
    return gigapixel::Diagnostic(
             "W-SLIDE-RESOLUTION", text.str(), "state it (--slide-mpp, or the spacing of the image)")
      .OfValue("0");
  }
  if (std::abs(imageMicronsPerPixel / modelMicronsPerPixel - 1) > gigapixel::ResolutionTolerance)
  {
    text << "the model was trained at " << modelMicronsPerPixel << " micrometers per pixel, the image has "
         << imageMicronsPerPixel;
    throw gigapixel::Refusal(
      { "E-SLIDE-RESOLUTION",
        text.str(),
        "read the slide at the model's resolution (SetMicronsPerPixel() of the reader), resample "
        "it, or correct its spacing if that is wrong" });
  }
  return {};
}

} // namespace itk
