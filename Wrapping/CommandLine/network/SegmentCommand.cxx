/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "OutputCheck.h"
#include "ProbabilityOutput.h"
#include "PyramidOutput.h"
#include "RankBands.h"
#include "SlideBatch.h"
#include "SlideFile.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelModel.h"

#include "itkBinaryHoleFillImageFilter.h"
#include "itkExtractImageFilter.h"
#include "itkGigapixelUNetImageFilter.h"
#include "itkImageFileReader.h"
#include "itkRGBPixel.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <locale>
#include <sstream>

namespace gigapixel::commandline
{
namespace
{
using MaskType = itk::Image<unsigned char, 2>;
using ProbabilityType = itk::Image<float, 2>;

/** One slide, the model, and what is made of them. */
struct Segmentation
{
  const SlideTask &        task;
  std::string              probability; ///< file; empty: none
  const Model &            model;
  itk::WholeSlideImageIO * slide;
  itk::ImageRegion<2>      region; ///< of the level
  const ArgumentValues &   values;
  const Session &          session;
  Strategy                 strategy;
  std::shared_ptr<Ranks>   ranks; ///< that compute this slide together
  StageSeconds &           seconds;
};

/** Adds what the process spends while the filter computes; the filters of a pipeline take turns. */
void
Measure(itk::ProcessObject * filter, double & seconds)
{
  filter->AddObserver(itk::StartEvent(), [&seconds](const itk::EventObject &) { seconds -= GetCPUSeconds(); });
  filter->AddObserver(itk::EndEvent(), [&seconds](const itk::EventObject &) { seconds += GetCPUSeconds(); });
}

/** Opens the slide at the model's resolution. */
itk::WholeSlideImageIO::Pointer
OpenAtResolution(const std::string & file, const Model & model, const ArgumentValues & values)
{
  const auto   slide = OpenPicture(file, values);
  const double resolution = GetLevelZeroResolution(*slide);
  slide->SetGray(model.network.channels == 1);
  if (values.Has("level") || model.micronsPerPixel <= 0)
  {
    SelectLevel(*slide, values);
    return slide;
  }
  const std::string trained = "the model was trained at " + FormatNumber(model.micronsPerPixel, 3) + " µm/px";
  if (resolution <= 0)
  {
    throw std::runtime_error(file + " does not tell its resolution, but " + trained +
                             "; state the slide's with --slide-mpp, or choose a level with --level.");
  }
  slide->SetMicronsPerPixel(model.micronsPerPixel);
  slide->ReadImageInformation();
  if (std::abs(slide->GetMicronsPerPixel() / model.micronsPerPixel - 1) > ResolutionTolerance)
  {
    throw std::runtime_error(file + " has no level at the model's resolution: " + trained + ", the nearest level (" +
                             std::to_string(slide->GetLevel()) + ") has " +
                             FormatNumber(slide->GetMicronsPerPixel(), 3) + " µm/px.");
  }
  return slide;
}

/** --region in pixels of the level, grown to whole ones and clipped; all of the level without it. */
itk::ImageRegion<2>
GetRegion(const itk::WholeSlideImageIO & slide, const std::string & file, const ArgumentValues & values)
{
  const auto          size = slide.GetLevelSize(slide.GetLevel());
  itk::ImageRegion<2> region({ { 0, 0 } }, { { size[0], size[1] } });
  if (!values.Has("region"))
  {
    return region;
  }
  const auto   wanted = values.GetRegion("region");
  const double downsample = slide.GetLevelDownsample(slide.GetLevel());
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    const auto first = static_cast<itk::IndexValueType>(std::floor(static_cast<double>(wanted[axis]) / downsample));
    const auto last =
      static_cast<itk::IndexValueType>(std::ceil(static_cast<double>(wanted[axis] + wanted[axis + 2]) / downsample));
    const auto end = std::min(last, static_cast<itk::IndexValueType>(size[axis]));
    if (first >= end)
    {
      throw std::runtime_error("--region " + values.GetText("region") + " lies outside of " + file + '.');
    }
    region.SetIndex(axis, first);
    region.SetSize(axis, static_cast<itk::SizeValueType>(end - first));
  }
  return region;
}

/** FNV-1a over what the network computes with: other weights, another number. */
std::string
HashModel(const Model & model)
{
  std::uint64_t hash = 14695981039346656037ull;
  const auto    add = [&hash](const void * bytes, std::size_t count) {
    const auto * const from = static_cast<const unsigned char *>(bytes);
    for (std::size_t i = 0; i < count; ++i)
    {
      hash = (hash ^ from[i]) * 1099511628211ull;
    }
  };
  const std::string network = model.network.ToJSON();
  add(network.data(), network.size());
  for (const auto & [name, parameter] : model.parameters)
  {
    add(name.data(), name.size());
    add(parameter.values.data(), parameter.values.size() * sizeof(float));
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

/** All that decides on the output's pixels, as it is kept in it. The probability knows no threshold. */
std::string
DescribeMaking(const Segmentation & segmentation, bool isProbability)
{
  const auto &       region = segmentation.region;
  const auto         join = [](std::int64_t a, std::int64_t b) { return std::to_string(a) + ',' + std::to_string(b); };
  std::ostringstream threshold;
  threshold.imbue(std::locale::classic());
  threshold.precision(17);
  threshold << segmentation.values.GetNumber("threshold");
  const std::string precision = segmentation.values.GetText("precision");
  return "segment model=" + HashModel(segmentation.model) +
         (isProbability ? " probability" : " threshold=" + threshold.str()) +
         (segmentation.values.Has("fill-holes") ? " holes filled" : "") +
         (precision == "fp32" ? "" : " precision=" + precision) +
         " level=" + std::to_string(segmentation.slide->GetLevel()) +
         " region=" + join(region.GetIndex(0), region.GetIndex(1)) + ',' +
         join(static_cast<std::int64_t>(region.GetSize(0)), static_cast<std::int64_t>(region.GetSize(1))) + ' ' +
         IdentifyFile(segmentation.task.slide);
}

/** slide -> network -> region; the same bits as in the whole slide, since tiles lie on the slide's grid. Holds its
 * filters, because an image does not keep the filter that makes it. */
template <typename TPixel, typename TOutputImage>
struct Pipeline
{
  using ImageType = itk::Image<TPixel, 2>;
  using ReaderType = itk::ImageFileReader<ImageType>;
  using NetworkType = itk::GigapixelUNetImageFilter<ImageType, TOutputImage>;
  // Not RegionOfInterestImageFilter, which asks for all of its region at once.
  using RegionType = itk::ExtractImageFilter<TOutputImage, TOutputImage>;

  explicit Pipeline(const Segmentation & segmentation)
  {
    reader->SetImageIO(segmentation.slide);
    reader->SetFileName(segmentation.task.slide);
    network->SetInput(reader->GetOutput());
    Measure(reader, segmentation.seconds.pixels);
    Measure(network, segmentation.seconds.network);
    network->SetModel(segmentation.model);
    network->SetThreshold(segmentation.values.GetNumber("threshold"));
    network->SetDevice(segmentation.values.GetText("device"));
    network->SetPrecision(segmentation.values.GetText("precision"));
    network->SetStrategy(segmentation.strategy);
    network->SetRanks(segmentation.ranks);
    const auto size = segmentation.region.GetSize();
    network->SetMemoryLimit(static_cast<itk::SizeValueType>(
      GetEngineBudget(segmentation.values,
                      segmentation.model.network,
                      { static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) },
                      Purpose::Inference,
                      Strategy::Streamed,
                      segmentation.model.tileSize)));
    // Its own progress runs anew for each strip: it is only listened to so that it can be stopped.
    network->AddObserver(itk::ProgressEvent(), [this](const itk::EventObject &) {
      if (IsInterruptionRequested())
      {
        network->AbortGenerateDataOn();
      }
    });
    region->SetInput(network->GetOutput());
    region->SetDirectionCollapseToSubmatrix();
    region->SetExtractionRegion(segmentation.region);
    // Which copies what it takes.
    const auto all = segmentation.slide->GetLevelSize(segmentation.slide->GetLevel());
    output = size[0] == all[0] && size[1] == all[1] ? network->GetOutput() : region->GetOutput();
    LinkDamage(*segmentation.slide, *output);
  }
  Pipeline(const Pipeline &) = delete;
  Pipeline & operator=(const Pipeline &) = delete;

  typename ReaderType::Pointer  reader{ ReaderType::New() };
  typename NetworkType::Pointer network{ NetworkType::New() };
  typename RegionType::Pointer  region{ RegionType::New() };
  TOutputImage *                output{ nullptr }; ///< of the segmentation's region
};

/** What a rank does that writes nothing: rank 0 gets its rows. */
template <typename TPixel, typename TOutputImage>
void
ComputeOwnRows(const Segmentation & segmentation)
{
  const Pipeline<TPixel, TOutputImage> pipeline(segmentation);
  pipeline.network->UpdateOutputInformation();
  for (const itk::ImageRegion<2> & row : pipeline.network->GetOwnRows(segmentation.region))
  {
    pipeline.network->GetOutput()->SetRequestedRegion(row);
    pipeline.network->GetOutput()->Update();
  }
}

template <typename TPixel>
void
WriteLabel(const Segmentation & segmentation, Progress & progress)
{
  const Pipeline<TPixel, MaskType> pipeline(segmentation);
  const auto                       io = itk::PyramidTIFFImageIO::New();
  io->SetMadeBy(DescribeMaking(segmentation, false));
  if (!segmentation.values.Has("fill-holes"))
  {
    return WritePyramid(pipeline.output, segmentation.task.output, io, progress);
  }
  // It takes the whole mask before it gives the first row: computing is nearly all of the work.
  const auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
  fill->SetInput(pipeline.output);
  LinkDamage(*segmentation.slide, *fill->GetOutput());
  Observe(fill, progress, 0, 0.9);
  WritePyramid(fill->GetOutput(), segmentation.task.output, io, progress, 0.9, 1);
}

template <typename TPixel>
void
Segment(const Segmentation & segmentation)
{
  if (segmentation.ranks->GetRank() > 0)
  {
    return segmentation.probability.empty() ? ComputeOwnRows<TPixel, MaskType>(segmentation)
                                            : ComputeOwnRows<TPixel, ProbabilityType>(segmentation);
  }
  const auto size = segmentation.region.GetSize();
  Progress   progress(segmentation.session,
                    "segment " + segmentation.task.slide,
                    static_cast<double>(size[0]) * static_cast<double>(size[1]));
  if (segmentation.probability.empty())
  {
    WriteLabel<TPixel>(segmentation, progress);
  }
  else
  {
    const Pipeline<TPixel, ProbabilityType> pipeline(segmentation);
    WriteLabelAndProbability(pipeline.output,
                             segmentation.values.GetNumber("threshold"),
                             { segmentation.task.output, DescribeMaking(segmentation, false) },
                             { segmentation.probability, DescribeMaking(segmentation, true) },
                             progress);
  }
  progress.Finish();
}

bool
HasOutputs(const Segmentation & segmentation)
{
  const auto                        size = segmentation.region.GetSize();
  const std::array<std::int64_t, 2> wanted{ static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
  const bool hasMask = HasValidPyramid(segmentation.task.output, wanted, 1, DescribeMaking(segmentation, false));
  const bool hasProbability = segmentation.probability.empty() ||
                              HasValidPyramid(segmentation.probability, wanted, 1, DescribeMaking(segmentation, true));
  return hasMask && hasProbability;
}

nlohmann::ordered_json
RunTask(const SlideTask &              task,
        const std::string &            probability,
        const Model &                  model,
        const ArgumentValues &         values,
        const Session &                session,
        Strategy                       strategy,
        const std::shared_ptr<Ranks> & ranks,
        std::string &                  text)
{
  const auto         slide = OpenAtResolution(task.slide, model, values);
  const double       begin = GetCPUSeconds();
  StageSeconds       seconds;
  const Segmentation segmentation{ task,   probability, model,    slide, GetRegion(*slide, task.slide, values),
                                   values, session,     strategy, ranks, seconds };
  const auto         size = segmentation.region.GetSize();
  const double       pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
  ranks->CheckSame(DescribeMaking(segmentation, false) + (probability.empty() ? "" : " probability"));
  bool wasThere = ranks->GetRank() == 0 && !values.Has("overwrite") && HasOutputs(segmentation);
  ranks->Broadcast(0, &wasThere, sizeof(wasThere));
  const MemoryPlan plan = MakePlan(model.network,
                                   { static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) },
                                   Purpose::Inference,
                                   strategy,
                                   values,
                                   session.GetThreads(),
                                   model.tileSize);
  const unsigned   level = slide->GetLevel();
  const double     resolution = slide->GetMicronsPerPixel();
  if (!wasThere)
  {
    for (const std::string & output : { task.output, probability })
    {
      if (ranks->GetRank() == 0 && !output.empty())
      {
        CheckOutput(output, pixels);
      }
    }
    session.Say(task.slide + ": level " + std::to_string(level) + ", " + std::to_string(size[0]) + " x " +
                std::to_string(size[1]) + "; " + FormatPlan(plan));
    model.network.channels == 1 ? Segment<unsigned char>(segmentation)
                                : Segment<itk::RGBPixel<unsigned char>>(segmentation);
    session.Say("peak memory: estimated " + FormatBytes(static_cast<double>(plan.peakBytes)) + ", measured " +
                FormatBytes(static_cast<double>(GetPeakMemory())));
    session.Say(FormatSeconds(seconds, GetCPUSeconds() - begin));
  }
  const auto read = SumOverRanks(static_cast<std::int64_t>(slide->GetNumberOfDamagedTiles()), *ranks);
  if (ranks->GetRank() > 0)
  {
    return {};
  }
  const std::int64_t     damagedTiles = wasThere ? GetRecordedDamage(task.output) : read;
  nlohmann::ordered_json json{ { "slide", task.slide }, { "mask", task.output }, { "skipped", wasThere } };
  json["probability"] = probability.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(probability);
  json["level"] = level;
  json["mpp"] = resolution > 0 ? nlohmann::ordered_json(resolution) : nullptr;
  json["region"] = { segmentation.region.GetIndex(0), segmentation.region.GetIndex(1), size[0], size[1] };
  json["width"] = size[0];
  json["height"] = size[1];
  json["estimatedPeakBytes"] = plan.peakBytes;
  json["peakBytes"] = GetPeakMemory();
  json["cpuSeconds"] = DescribeSeconds(seconds, GetCPUSeconds() - begin);
  json["damagedTiles"] = damagedTiles;
  text += task.output + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + FormatDamage(damagedTiles) +
          (wasThere ? " (was there already)\n" : "\n");
  return json;
}

Model
LoadModel(const ArgumentValues & values)
{
  const std::string name = values.GetText("model");
  Model             model = Model::Load(name);
  if (model.network.channels != 1 && model.network.channels != 3)
  {
    throw std::runtime_error("The model " + name + " wants " + std::to_string(model.network.channels) +
                             " channels; slides have 1 (gray) or 3 (RGB).");
  }
  if (values.Has("probability") && model.network.GetNumberOfClasses() > 2)
  {
    throw std::runtime_error(
      "The model " + name + " tells " + std::to_string(model.network.GetNumberOfClasses()) +
      " classes apart, whose probabilities do not fit into one picture: leave --probability out.");
  }
  if (values.Has("fill-holes") && model.network.GetNumberOfClasses() > 2)
  {
    throw std::runtime_error("The model " + name + " tells " + std::to_string(model.network.GetNumberOfClasses()) +
                             " classes apart; holes are filled in the masks of two only: leave --fill-holes out.");
  }
  return model;
}
} // namespace

int
RunSegment(const ArgumentValues & values, const Session & session)
{
  if (values.Has("fill-holes") && values.Has("probability"))
  {
    throw UsageError("--fill-holes and --probability cannot be given together: a filled hole has no probability.");
  }
  const auto             names = values.GetTexts("SLIDE");
  const auto             slides = FindSlides(names);
  const Model            model = LoadModel(values);
  const auto             strategy = ChooseStrategy(values, session);
  const auto             tasks = AssignOutputs(slides, values.GetText("output"), "--output");
  std::vector<SlideTask> probabilities;
  if (values.Has("probability"))
  {
    probabilities = AssignOutputs(slides, values.GetText("probability"), "--probability");
  }
  for (std::size_t i = 0; i < probabilities.size(); ++i)
  {
    if (IsSameFile(probabilities[i].output, tasks[i].output))
    {
      throw UsageError("--output and --probability would write the same file " + tasks[i].output + '.');
    }
  }
  BoundMemory(GetBudget(values));
  return RunSharedBatch(values,
                        session,
                        tasks,
                        IsList(names),
                        [&](const SlideTask & task, const std::shared_ptr<Ranks> & ranks, std::string & text) {
                          const auto        index = static_cast<std::size_t>(&task - tasks.data());
                          const std::string probability =
                            probabilities.empty() ? std::string() : probabilities[index].output;
                          return RunTask(task, probability, model, values, session, strategy, ranks, text);
                        });
}

} // namespace gigapixel::commandline
