/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"
#include "Peaks.h"

#include "Doubt.h"
#include "InputKind.h"
#include "ITKMessages.h"
#include "OutputCheck.h"
#include "ProbabilityOutput.h"
#include "PyramidOutput.h"
#include "RankBands.h"
#include "gigapixelReadingMemory.h"
#include "ResolutionJSON.h"
#include "SlideBatch.h"
#include "SlideFile.h"
#include "TableValues.h"

#include "gigapixelModel.h"

#include "itkGigapixelNetworkSource.h"
#include "itkSlideSegmentationImageSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <type_traits>

namespace gigapixel::application
{
namespace
{
using MaskType = itk::Image<unsigned char, 2>;
using ProbabilityType = itk::Image<float, 2>;
using Output = itk::GigapixelUNetOutput;

/** One for all slides, and for what computes them: of large networks a copy would be a good part of all memory. */
using SharedModel = std::shared_ptr<const Model>;

/** One slide, the model, and what is made of them. */
struct Segmentation
{
  const SlideTask &        task;
  std::string              probability; ///< file; empty: none
  const SharedModel &      model;
  itk::WholeSlideImageIO * slide;
  const ArgumentValues &   values;
  const Session &          session;
  Tiling                   tiling;
  std::shared_ptr<Ranks>   ranks; ///< that compute this slide together
};

template <typename TOutputImage>
using SourceType = itk::SlideSegmentationImageSource<TOutputImage>;

/** --region as the source takes it; of width 0 without it. */
Region
GetRegion(const ArgumentValues & values)
{
  const auto wanted = values.GetRegion("region");
  return { wanted[0], wanted[1], wanted[2], wanted[3] };
}

/** A region that reaches beyond the slide has a smaller mask than was asked for. */
void
WarnOfCutRegion(const Segmentation & segmentation)
{
  const Region region = GetRegion(segmentation.values);
  const auto   size = segmentation.slide->GetLevelSize(0);
  const auto   width = std::min(region.width, static_cast<std::int64_t>(size[0]) - region.x);
  const auto   height = std::min(region.height, static_cast<std::int64_t>(size[1]) - region.y);
  if (width == region.width && height == region.height)
  {
    return;
  }
  const std::string corner = std::to_string(region.x) + ',' + std::to_string(region.y) + ',';
  segmentation.session.Warn(Diagnostic("W-REGION",
                                       "the region " + corner + std::to_string(region.width) + ',' +
                                         std::to_string(region.height) + " reaches beyond " + segmentation.task.slide +
                                         ", which has " + std::to_string(size[0]) + " x " + std::to_string(size[1]) +
                                         " pixels: only " + corner + std::to_string(width) + ',' +
                                         std::to_string(height) + " of it is segmented")
                              .OfFile(segmentation.task.slide)
                              .OfOption("--region"));
}

Size
GetSize(const itk::ImageRegion<2> & region)
{
  return { static_cast<std::int64_t>(region.GetSize(0)), static_cast<std::int64_t>(region.GetSize(1)) };
}

double
CountPixels(const Size & size)
{
  return static_cast<double>(size.width) * static_cast<double>(size.height);
}

/** With the side of the tiles that the source will take, but for an image in one piece. */
template <typename TOutputImage>
Tiling
GetTiling(const Segmentation & segmentation, const SourceType<TOutputImage> & source)
{
  const Tiling & asked = segmentation.tiling;
  return { asked.tileSize == WholeImage ? WholeImage : source.GetEffectiveTileSize(),
           asked.sharedMemory,
           asked.patches };
}

ReadingMemory
CountReading(const Segmentation & segmentation, const itk::WholeSlideImageIO & read)
{
  ReadingMemory reading;
  reading.AddTiles(*segmentation.slide, segmentation.model->network.channels);
  reading.AddResampling(read);
  return reading;
}

/** As the engine plans, which sees the whole level. */
template <typename TOutputImage>
ImageRun
GetRun(const Segmentation & segmentation, const SourceType<TOutputImage> & source)
{
  const auto level = source.GetReadSlide()->GetLevelSize(source.GetLevel());
  return { segmentation.values,
           segmentation.model->network,
           { static_cast<std::int64_t>(level[0]), static_cast<std::int64_t>(level[1]) },
           Purpose::Inference,
           GetTiling(segmentation, source),
           GetSize(source.GetComputedRegion()),
           0,
           0,
           1,
           CountReading(segmentation, *source.GetReadSlide()) };
}

/** Along one axis, of those that hold a pixel of the region; of the plan's, which are those of the level. */
std::int64_t
CountPatches(const Patches & patches, std::int64_t begin, std::int64_t length, std::int64_t all)
{
  const std::int64_t step = patches.GetStep(), last = std::max<std::int64_t>(0, all - patches.side);
  std::int64_t       number = 0;
  for (std::int64_t first = 0;; first += step)
  {
    const std::int64_t place = std::min(first, last);
    number += place < begin + length && place + patches.side > begin ? 1 : 0;
    if (place == last)
    {
      return number;
    }
  }
}

/** What is computed of them for the region. */
template <typename TOutputImage>
std::int64_t
CountTiles(const ImageRun & run, const SourceType<TOutputImage> & source)
{
  if (const auto & patches = run.tiling.patches)
  {
    const auto & region = source.GetSlideRegion();
    const Size   size = GetSize(region);
    return CountPatches(*patches, region.GetIndex(0), size.width, run.image.width) *
           CountPatches(*patches, region.GetIndex(1), size.height, run.image.height);
  }
  const std::int64_t tile = source.GetEffectiveTileSize();
  return ((run.part->width + tile - 1) / tile) * ((run.part->height + tile - 1) / tile);
}

/** Slide -> network -> region, with all that the command was asked for. */
template <typename TOutputImage>
typename SourceType<TOutputImage>::Pointer
MakeSource(const Segmentation & segmentation)
{
  const ArgumentValues & values = segmentation.values;
  const auto             source = SourceType<TOutputImage>::New();
  source->SetSlide(segmentation.slide);
  source->SetSharedModel(segmentation.model);
  if (values.Has("level"))
  {
    source->SetLevel(static_cast<unsigned>(values.GetInteger("level")));
  }
  source->SetRegion(GetRegion(values));
  source->SetTissue(GetSlideOptions(values).tissue);
  source->SetSegmentationOptions(GetOptions<SegmentationOptions>(values));
  source->SetComputingOptions(GetComputing(values, segmentation.tiling));
  if (const auto & patches = segmentation.tiling.patches)
  {
    source->SetPatches(*patches);
  }
  source->SetRanks(segmentation.ranks);
  source->UpdateSlideInformation();
  source->SetMemoryLimit(static_cast<std::uint64_t>(GetBudget(values)));
  return source;
}

/** Stops the source when the user asks for that. Its progress runs anew for each strip, and is not shown. */
void
ListenForInterruption(itk::ProcessObject * source)
{
  source->AddObserver(itk::ProgressEvent(), [source](const itk::EventObject &) {
    if (IsInterruptionRequested())
    {
      source->AbortGenerateDataOn();
    }
  });
}

void
WriteLabel(const Segmentation &   segmentation,
           SourceType<MaskType> * source,
           DamageOverRanks &      damage,
           Progress &             progress)
{
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetMadeBy(source->GetMadeBy());
  io->SetSlide(segmentation.slide);
  damage.RecordIn(io);
  if (FindOptionOfMasks(GetOptions<SegmentationOptions>(segmentation.values)).empty())
  {
    return WritePyramid(source->GetOutput(), segmentation.task.output, io, progress);
  }
  // The whole mask is there before its first row is written: computing is nearly all of the work.
  Observe(source, progress, 0, 0.9);
  WritePyramid(source->GetOutput(), segmentation.task.output, io, progress, 0.9, 1);
}

/** Sees what values a mask or its probabilities have, piece by piece. */
template <typename TOutputImage>
class SeenValues
{
public:
  explicit SeenValues(SourceType<TOutputImage> * source)
  {
    source->AddObserver(itk::EndEvent(), [this, source](const itk::EventObject &) {
      const TOutputImage & image = *source->GetOutput();
      const auto * const   first = image.GetBufferPointer();
      const auto * const   end = first + image.GetBufferedRegion().GetNumberOfPixels();
      const double         threshold = source->GetThreshold();
      m_Pixels += static_cast<double>(end - first);
      m_Objects +=
        static_cast<double>(std::count_if(first, end, [threshold](auto value) { return IsObject(value, threshold); }));
    });
  }

  /** A mask that says nothing may be right, but seldom is what was wanted. */
  void
  Judge(const Segmentation & segmentation) const
  {
    if (m_Pixels == 0)
    {
      return;
    }
    if (segmentation.values.GetText("model") == "tissue")
    {
      DoubtTissue(segmentation.session, segmentation.task.slide, m_Objects / m_Pixels);
    }
    else
    {
      DoubtMask(segmentation.session, segmentation.task.output, "the mask", m_Objects / m_Pixels);
    }
  }

private:
  static bool
  IsObject(typename TOutputImage::PixelType value, double threshold)
  {
    return std::is_same_v<TOutputImage, MaskType> ? value != 0 : value >= threshold;
  }

  double m_Pixels{ 0 };
  double m_Objects{ 0 };
};

/** Whether the mask is made before the probability, by a pass of its own: of two classes that do not exclude each
 * other, the probability of one does not say which one is greater. */
bool
HasOwnMask(const Segmentation & segmentation)
{
  return !segmentation.probability.empty() &&
         segmentation.model->network.probabilities == NetworkDescription::Probabilities::Sigmoid;
}

/** What the source has come to. */
template <typename TOutputImage>
void
Segment(const Segmentation & segmentation, SourceType<TOutputImage> * source, DamageOverRanks & damage)
{
  ListenForInterruption(source);
  if (segmentation.ranks->GetRank() > 0)
  {
    return source->ComputeOwnRows(); // rank 0 gets them
  }
  const bool                     hasOwnMask = HasOwnMask(segmentation);
  const SeenValues<TOutputImage> seen(source);
  const Size                     size = GetSize(source->GetSlideRegion());
  Progress progress(segmentation.session, "segment " + segmentation.task.slide, CountPixels(size));
  if constexpr (std::is_same_v<TOutputImage, MaskType>)
  {
    WriteLabel(segmentation, source, damage, progress);
  }
  else
  {
    WriteLabelAndProbability(
      source->GetOutput(),
      *segmentation.slide,
      damage,
      source->GetThreshold(),
      { hasOwnMask ? std::string() : segmentation.task.output, source->GetMadeBy(Output::Label) },
      { segmentation.probability, source->GetMadeBy(Output::Probability) },
      progress);
  }
  progress.Finish();
  if (std::is_same_v<TOutputImage, MaskType> || !hasOwnMask)
  {
    seen.Judge(segmentation);
  }
}

template <typename TOutputImage>
bool
HasOutputs(const Segmentation & segmentation, const SourceType<TOutputImage> & source)
{
  const Size                        size = GetSize(source.GetSlideRegion());
  const std::array<std::int64_t, 2> wanted{ size.width, size.height };
  const bool hasMask = HasValidPyramid(segmentation.task.output, wanted, 1, source.GetMadeBy(Output::Label));
  const bool hasProbability =
    segmentation.probability.empty() ||
    HasValidPyramid(segmentation.probability, wanted, 1, source.GetMadeBy(Output::Probability));
  return hasMask && hasProbability;
}

template <typename TOutputImage>
nlohmann::ordered_json
SegmentSlide(const Segmentation & segmentation, std::string & text)
{
  const double           begin = GetCPUSeconds();
  const std::int64_t     peakBefore = GetPeakMemory();
  const auto             source = MakeSource<TOutputImage>(segmentation);
  const ArgumentValues & values = segmentation.values;
  const Session &        session = segmentation.session;
  const std::string &    slide = segmentation.task.slide;
  const std::string &    probability = segmentation.probability;
  const Size             size = GetSize(source->GetSlideRegion());
  Ranks &                ranks = *segmentation.ranks;
  ranks.CheckSame(source->GetMadeBy(Output::Label) + (probability.empty() ? "" : " probability"));
  if (ranks.GetRank() == 0)
  {
    WarnOfCutRegion(segmentation);
  }
  bool wasThere = ranks.GetRank() == 0 && !values.Has("overwrite") && HasOutputs(segmentation, *source);
  ranks.Broadcast(0, &wasThere, sizeof(wasThere));
  const ImageRun run = GetRun(segmentation, *source);
  const int      threads = run.reading.LimitThreads(session.GetThreads(), GetBudget(values));
  source->SetNumberOfWorkUnits(static_cast<itk::ThreadIdType>(std::max(1, threads)));
  MemoryPlan plan = MakePlan(run, threads, true);
  plan.numberOfTiles = CountTiles(run, *source);
  const itk::WholeSlideImageIO::ConstPointer opened = source->GetReadSlide(); // the source opens another one later
  DamageOverRanks                            damage(segmentation.slide, ranks);
  if (!wasThere)
  {
    CheckScratch(values, plan.keptBytes); // before a folder for the masks is made
    for (const std::string & output : { segmentation.task.output, probability })
    {
      if (ranks.GetRank() == 0 && !output.empty())
      {
        CheckOutput(output, CountPixels(size));
      }
    }
    session.Say(slide + (opened->IsResampled() ? ": resampled from level " : ": level ") +
                std::to_string(opened->GetSourceLevel()) + ", " + std::to_string(size.width) + " x " +
                std::to_string(size.height) + "; " + FormatPlan(plan, segmentation.tiling));
    if (values.Has("scratch") && plan.keptBytes == 0)
    {
      session.Say(IdleScratch);
    }
    Segment<TOutputImage>(segmentation, source, damage);
    session.Say(Peaks(plan, segmentation.model->network, values, peakBefore).Format());
    session.Say(FormatSeconds(source->GetSeconds(), GetCPUSeconds() - begin));
  }
  const auto read = damage.Get();
  if (ranks.GetRank() > 0)
  {
    return {};
  }
  const std::int64_t     damagedTiles = wasThere ? GetRecordedDamage(segmentation.task.output) : read;
  nlohmann::ordered_json json{ { "slide", slide }, { "mask", segmentation.task.output }, { "skipped", wasThere } };
  json["probability"] = probability.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(probability);
  AddLevel(json, *opened);
  json["downsamples"] = opened->GetLevelDownsamples(opened->GetLevel());
  AddResolution(json, *opened);
  AddChannels(json, *opened);
  const auto & first = source->GetSlideRegion().GetIndex();
  json["region"] = { first[0], first[1], size.width, size.height };
  json["width"] = size.width;
  json["height"] = size.height;
  json["plan"] = DescribePlan(plan, segmentation.model->network, Purpose::Inference);
  Peaks(plan, segmentation.model->network, values).AddTo(json);
  json["cpuSeconds"] = DescribeSeconds(source->GetSeconds(), GetCPUSeconds() - begin);
  json["damagedTiles"] = damagedTiles;
  text += segmentation.task.output + ": " + std::to_string(size.width) + " x " + std::to_string(size.height) +
          FormatDamage(damagedTiles) + (wasThere ? " (was there already)\n" : "\n");
  return json;
}

nlohmann::ordered_json
RunTask(const SlideTask &              task,
        const SharedModel &            model,
        const ArgumentValues &         values,
        const Session &                session,
        const Tiling &                 tiling,
        const std::shared_ptr<Ranks> & ranks,
        std::string &                  text)
{
  const std::string  probability = task.further.empty() ? std::string() : task.further.front();
  const auto         content = itk::GigapixelContentForModel(task.slide, GetSlideOptions(values), *model);
  const auto         slide = OpenSlide(task.slide, content, session);
  const Segmentation segmentation{ task, probability, model, slide, values, session, tiling, ranks };
  if (HasOwnMask(segmentation))
  {
    std::string ofMask;
    SegmentSlide<MaskType>(segmentation, ofMask);
  }
  return probability.empty() ? SegmentSlide<MaskType>(segmentation, text)
                             : SegmentSlide<ProbabilityType>(segmentation, text);
}

SharedModel
LoadModel(const ArgumentValues & values, const Session & session)
{
  const std::string name = values.GetText("model");
  SayIfModelHidesFile(name, session);
  auto model = std::make_shared<const Model>(Model::Load(name));
  try
  {
    itk::CheckSlideSegmentation(
      *model, values.Has("probability") ? Output::Probability : Output::Label, GetOptions<SegmentationOptions>(values));
  }
  catch (const std::exception &)
  {
    Diagnostic diagnostic = DiagnoseThrown();
    diagnostic.why = "the model " + name + " cannot be used here: " + diagnostic.why;
    throw Refusal(diagnostic.file.empty() ? diagnostic.OfFile(name) : diagnostic);
  }
  return model;
}
} // namespace

int
RunSegment(const ArgumentValues & values, const Session & session)
{
  const std::string ofMasks = FindOptionOfMasks(GetOptions<SegmentationOptions>(values));
  if (!ofMasks.empty() && values.Has("probability"))
  {
    throw UsageError(
      Diagnostic("E-OPTION-CONFLICT", ofMasks + " and --probability cannot be given together: it changes masks alone")
        .OfOption(ofMasks));
  }
  const TileCacheBound bound = BoundMemory(values, session);
  CheckScratch(values);
  const auto        model = LoadModel(values, session);
  const auto &      kind = InputKind::Of(model->network);
  const std::string what = "the model " + values.GetText("model");
  kind.CheckOptions(values, what);
  const SlideList list = kind.FindFiles(values.GetTexts("SLIDE"), session);
  for (const std::string & file : list.slides)
  {
    kind.RequireFile(file, what);
  }
  Tiling tiling = GetTiling(values, session);
  itk::GigapixelRefuseSharedMemory(tiling.sharedMemory, model->network);
  tiling.axes = model->network.graph.GetNumberOfAxes();
  kind.TakePatches(values, model->network, tiling);
  return kind.Segment(values, session, model, list, tiling);
}

int
SlideInput::Segment(const ArgumentValues & values,
                    const Session &        session,
                    const SharedModel &    model,
                    const SlideList &      list,
                    const Tiling &         tiling) const
{
  auto                   tasks = AssignOutputs(list, values.GetText("output"), "--output");
  const std::string &    tissue = values.GetText("tissue");
  const std::string &    ofProbabilities = values.GetText("probability");
  std::vector<SlideTask> probabilities;
  if (!ofProbabilities.empty())
  {
    probabilities = AssignOutputs(list, ofProbabilities, "--probability");
  }
  RefuseMasks(tasks, tissue);
  RefuseMasks(probabilities, tissue);
  for (std::size_t i = 0; i < probabilities.size(); ++i)
  {
    if (IsSameFile(probabilities[i].output, tasks[i].output))
    {
      throw UsageError(
        Diagnostic("E-OUTPUT-TWICE", "--output and --probability would write the same file " + tasks[i].output)
          .OfFile(tasks[i].output)
          .OfOption("--probability", ofProbabilities));
    }
    tasks[i].further = { probabilities[i].output };
  }
  return RunSharedBatch(values,
                        session,
                        tasks,
                        list,
                        [&](const SlideTask & task, const std::shared_ptr<Ranks> & ranks, std::string & text) {
                          return RunTask(task, model, values, session, tiling, ranks, text);
                        });
}

} // namespace gigapixel::application
