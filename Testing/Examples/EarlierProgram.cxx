/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// All that programs could set in the version whose runs are in Testing/CommandLine/runs: they still compile, and find
// what they have set.
#include "itkGigapixelClassifier.h"
#include "itkGigapixelUNetTrainer.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSlideSegmentationImageSource.h"
#include "itkSlideTissueImageSource.h"
#include "itkWholeSlideImageIO.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace
{

int failures = 0;

template <typename TObject, typename TSet, typename TGet, typename TValue>
void
Keep(const char * name, TObject & object, TSet set, TGet get, const TValue & value)
{
  set(object, value);
  if (!(get(object) == value))
  {
    std::cerr << object.GetNameOfClass() << " has lost " << name << std::endl;
    ++failures;
  }
}

// Texts come back as pointers.
#define KEEP(object, Name, ...)                                                                                        \
  Keep(                                                                                                                \
    #Name,                                                                                                             \
    *(object),                                                                                                         \
    [](auto & o, const auto & value) { o.Set##Name(value); },                                                          \
    [](const auto & o) { return o.Get##Name(); },                                                                      \
    __VA_ARGS__)

using Text = std::string;
using Mask = itk::Image<unsigned char, 2>;

template <typename TObject>
void
KeepComputing(TObject & object)
{
  KEEP(&object, Device, Text("cpu"));
  KEEP(&object, Precision, Text("fp32"));
  KEEP(&object, TileSize, std::int64_t{ 512 });
  KEEP(&object, MemoryLimit, itk::SizeValueType{ 1 } << 30);
}

void
KeepTraining()
{
  const auto trainer = itk::GigapixelUNetTrainer::New();
  KeepComputing(*trainer);
  KEEP(trainer, ScratchFolder, Text("scratch"));
  KEEP(trainer, SharedMemory, true);
  KEEP(trainer, Network, Text("remedios2023"));
  KEEP(trainer, Weights, Text("weights.safetensors"));
  KEEP(trainer, PartialWeights, true);
  KEEP(trainer, Calibrate, 1);
  KEEP(trainer, Freeze, std::vector<Text>{ "L1" });
  KEEP(trainer, Loss, Text("dice"));
  KEEP(trainer, ClassWeights, std::vector<double>{ 1, 2 });
  KEEP(trainer, IgnoredLabel, 254);
  KEEP(trainer, RunFolder, Text("run"));
  KEEP(trainer, Tissue, Text("tissue.tif"));
  KEEP(trainer, Level, 1u);
  KEEP(trainer, MicronsPerPixel, 0.5);
  KEEP(trainer, LevelZeroMicronsPerPixel, 0.25);
  KEEP(trainer, Epochs, 3);
  KEEP(trainer, Optimizer, Text("sgd"));
  KEEP(trainer, Momentum, 0.8);
  KEEP(trainer, WeightDecay, 0.01);
  KEEP(trainer, ClipGradient, 0.5);
  KEEP(trainer, LearningRate, 0.1);
  KEEP(trainer, LearningRateSchedule, Text("plateau"));
  KEEP(trainer, LearningRateDecay, 0.5);
  KEEP(trainer, PlateauPatience, 2);
  KEEP(trainer, Warmup, std::int64_t{ 1 });
  KEEP(trainer, ImagesPerStep, 2);
  KEEP(trainer, EarlyStopping, 4);
  KEEP(trainer, Augment, false);
  KEEP(trainer, Jitter, 0.1);
  KEEP(trainer, Balance, true);
  KEEP(trainer, Seed, std::uint64_t{ 7 });
  KEEP(trainer, Resume, true);
  trainer->AugmentOn();
  trainer->BalanceOff();
  trainer->SetObjective(gigapixel::Objective());
}

void
KeepApplying()
{
  const auto segmentation = itk::SlideSegmentationImageSource<Mask>::New();
  KeepComputing(*segmentation);
  KEEP(segmentation, ScratchFolder, Text("scratch"));
  KEEP(segmentation, SharedMemory, true);
  KEEP(segmentation, Tissue, Text("tissue.tif"));
  KEEP(segmentation, OutputMode, itk::GigapixelUNetOutput::Probability);
  KEEP(segmentation, FillHoles, true);
  segmentation->SetThreshold(0.25);
  segmentation->SetLevel(1);
  segmentation->SetRegion({ 0, 0, 64, 64 });
  segmentation->SetPatches(gigapixel::Patches());

  const auto classifier = itk::GigapixelClassifier::New();
  KeepComputing(*classifier);
  KEEP(classifier, ModelFileName, Text("model.safetensors"));
  KEEP(classifier, LevelZeroMicronsPerPixel, 0.25);
  KEEP(classifier, Tissue, Text("tissue.tif"));
  KEEP(classifier, ComputeMap, true);
  KEEP(classifier, MapClass, Text("tumor"));
}

void
KeepReadingAndWriting()
{
  const auto slide = itk::WholeSlideImageIO::New();
  KEEP(slide, LevelZeroMicronsPerPixel, 0.25);
  KEEP(slide, Gray, true);
  KEEP(slide, GrayFromRGB, true);
  KEEP(slide, ConvertToSRGB, true);
  KEEP(slide, Strict, true);
  KEEP(slide, AssociatedImage, Text("macro"));

  const auto tissue = itk::SlideTissueImageSource::New();
  KEEP(tissue, Preset, Text("remedios2023"));
  KEEP(tissue, Model, Text("model.safetensors"));
  KEEP(tissue, OutputClasses, true);
  KEEP(tissue, Downsample, 4u);
  KEEP(tissue, FullResolution, true);

  const auto pyramid = itk::PyramidTIFFImageIO::New();
  KEEP(pyramid, TileSize, 512u);
  KEEP(pyramid, MadeBy, Text("somebody"));
  KEEP(pyramid, ChromaSubsampling, Text("4:4:4"));
  KEEP(pyramid, Bilevel, true);
}

} // namespace

int
main()
{
  KeepTraining();
  KeepApplying();
  KeepReadingAndWriting();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
