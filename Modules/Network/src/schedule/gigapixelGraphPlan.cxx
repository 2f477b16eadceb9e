/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphPlan.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelLabeling.h"
#include "gigapixelImageKind.h"
#include "gigapixelGraphTileCost.h"
#include "gigapixelPlanSentences.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelSegmentPlanner.h"
#include "gigapixelTileGrid.h"
#include "gigapixelTileProgram.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <limits>
#include <map>

namespace gigapixel
{
namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

// Measured on x86-64.
constexpr std::int64_t InferenceBytes = 12; ///< for each parameter: the model's, the executor's, and folded ones
constexpr std::int64_t LoadingBytes = 22;   ///< before there are tiles: all thrice in floats, and in double
constexpr std::int64_t TrainingBytes = 68;  ///< weights five times and in double, moments, sums, the gradient

// Measured with LibTorch 2.11 on one H200: of its memory what was taken beside weights and maps, at most, in fp32 and
// in tf32. In bf16 that was none.
constexpr std::int64_t FloatWorkspaceBytes = 2500 * MiB;
constexpr std::int64_t TensorFloatWorkspaceBytes = 600 * MiB;

constexpr std::int64_t GreatestClass = 1024 * MiB;
constexpr std::int64_t LeastClass = 16 * MiB;

/** With so many bytes for each parameter. */
std::int64_t
GetBaseBytes(const PlannedRun & run, std::int64_t parameterBytes)
{
  return run.processBytes + TorchBytes + (run.device.cuda >= 0 ? CudaBytes : 0) +
         run.network.GetNumberOfParameters() * parameterBytes;
}

std::int64_t
GetWorkspaceBytes(const Device & device)
{
  return device.cuda < 0                                ? 0
         : device.precision == Precision::Float         ? FloatWorkspaceBytes
         : device.precision == Precision::TensorFloat32 ? TensorFloatWorkspaceBytes
                                                        : 0;
}

std::int64_t
GetImageBytes(Size image, int bytesOfPixel)
{
  return GetNumberOfBytes(MakeWhole(ToExtent(image, PerAxis<int>::MostAxes)), bytesOfPixel, 1);
}

bool
IsByRow(const PlannedRun & run)
{
  return run.purpose == Purpose::Inference && run.network.GetImageKind().isByRow;
}

/** Pixels, and classes, of the whole image that are in memory while it is computed: shared ones, or those of a slide
 * that is segmented by a network of which each pixel depends on all of them, and is asked for at once. What holds a
 * volume counts it. */
std::int64_t
GetHeldImageBytes(const PlannedRun & run)
{
  const auto type = run.network.IsNormalized() ? SampleType::Float : SampleType::UInt8;
  const auto channels = run.network.channels * static_cast<int>(GetSampleBytes(type)); // in bytes
  const bool all = IsByRow(run) && Labeling::HasPixelsOfReductions(run.network.graph);
  return run.device.shared ? GetImageBytes(run.image, channels + 1) : all ? GetImageBytes(run.image, channels) : 0;
}

/** The fastest tile size within so many bytes; the smallest one where none is. */
std::int64_t
ChooseTileSize(const PlannedRun & run, Purpose purpose, std::int64_t bytes)
{
  const std::int64_t stride = run.network.GetStride();
  const auto &       sizes = run.network.GetImageKind().sides.tiles;
  std::int64_t       best = RoundUp(sizes.front(), stride);
  double             least = 0;
  for (const std::int64_t side : sizes)
  {
    const std::int64_t  tileSize = RoundUp(side, stride);
    const GraphTileCost cost = GraphTileCost::Make(run.network, run.image, purpose, tileSize, run.device.precision);
    if (cost.bytes > bytes)
    {
      break;
    }
    if (least == 0 || cost.seconds < least)
    {
      best = tileSize;
      least = cost.seconds;
    }
    if (cost.tiles == 1)
    {
      break;
    }
  }
  return best;
}

/** How an image is divided. */
struct Choice
{
  std::int64_t             tileSize{ 0 };
  std::vector<SegmentPlan> segments{};
  GraphTileCost            cost{};
  GraphTileCost            validation{}; ///< of a training in segments that validates at once, in tiles of that size
};

/** \class Choices
 * \brief What classes of memory for one tile lead to, each worked out once, and what of them fits a limit. */
class Choices
{
public:
  /** \param base,limit bytes of all but tiles and kept maps, and of all together
   * \param limitOfGpu of its memory */
  Choices(const PlannedRun & run, std::int64_t base, std::int64_t limit, std::int64_t limitOfGpu)
    : m_Run(run)
    , m_Base(base)
    , m_Limit(limit)
    , m_LimitOfGpu(limitOfGpu)
  {
    m_Given.segments = run.segmentation.segments;
    m_Given.tileSize = run.tileSize == 0 ? 0 : GetTileSide(run.tileSize, run.image, run.network.GetStride());
  }

  /** With one tile in flight. */
  std::int64_t
  GetNeed(const Choice & choice, bool inFiles) const
  {
    return this->GetNeedWithoutTiles(choice, inFiles) +
           std::max(this->GetHostBytes(choice.cost),
                    this->GetHostBytes(choice.validation) + this->GetValidationCodeBytes(choice));
  }

  /** Of the code that is compiled for validation's tiles: that for training's stays beside it. */
  std::int64_t
  GetValidationCodeBytes(const Choice & choice) const
  {
    return m_Run.device.cuda >= 0 ? 0 : choice.validation.GetPrimitiveBytes(m_Run.sizes, choice.cost.primitives);
  }

  std::int64_t
  GetNeedWithoutTiles(const Choice & choice, bool inFiles) const
  {
    return m_Base + (m_Run.device.cuda >= 0 ? 0 : choice.cost.GetPrimitiveBytes(m_Run.sizes)) +
           choice.cost.reducedBytes + (inFiles ? 0 : choice.cost.keptBytes);
  }

  /** Of the host's memory, for tiles that are computed at the same time. */
  std::int64_t
  GetHostBytes(const GraphTileCost & cost, int together = 1) const
  {
    return (m_Run.device.cuda >= 0 ? together * cost.hostBytes : cost.GetBytes(together)) +
           (together + 1) * m_Run.handedOnBytes;
  }

  /** As many tiles at the same time as fit beside all else, at least one. */
  int
  GetTilesInFlight(const GraphTileCost & cost, int threads, std::int64_t without) const
  {
    const auto most = static_cast<int>(std::min<std::int64_t>(threads, cost.GetMostTogether()));
    int        together = 1;
    while (together < most && without + this->GetHostBytes(cost, together + 1) <= m_Limit)
    {
      ++together;
    }
    return together;
  }

  /** Of a GPU's memory: the weights, folded, and their gradient. */
  std::int64_t
  GetGpuWeightBytes() const
  {
    return 2 * sizeof(float) * m_Run.network.GetNumberOfParameters();
  }

  /** The weights, the maps of one tile, and what the loss takes beside them (TakeLoss()). */
  std::int64_t
  GetNeedOfGpu(const Choice & choice) const
  {
    constexpr std::int64_t LossBytes = 40 * MiB;
    return m_Run.device.cuda < 0 ? 0
                                 : this->GetGpuWeightBytes() + (m_Run.purpose == Purpose::Training ? LossBytes : 0) +
                                     std::max(choice.cost.bytes, choice.validation.bytes);
  }

  bool
  Fits(const Choice & choice, bool inFiles) const
  {
    return GetNeed(choice, inFiles) <= m_Limit && GetNeedOfGpu(choice) <= m_LimitOfGpu;
  }

  /** What is chosen where there is memory enough. */
  const Choice &
  GetWanted()
  {
    return Get(GreatestClass, false);
  }

  std::int64_t
  GetWantedTileSize()
  {
    const Choice & wanted = this->GetWanted();
    return wanted.validation.tiles > 0 ? this->WithValidation(wanted, GreatestClass).tileSize : wanted.tileSize;
  }

  /** That of the greatest class with which it fits; where it fits with none, the one that needs least. */
  const Choice &
  FindGreatest(bool atOnce, bool inFiles)
  {
    const Choice * best = &Get(GreatestClass, atOnce);
    for (std::int64_t memoryClass = GreatestClass / 2;
         m_Given.tileSize == 0 && !Fits(*best, inFiles) && memoryClass >= LeastClass;
         memoryClass /= 2)
    {
      const Choice & next = Get(memoryClass, atOnce);
      const bool smaller = GetNeedOfGpu(next) < GetNeedOfGpu(*best) || GetNeed(next, inFiles) < GetNeed(*best, inFiles);
      best = smaller ? &next : best;
    }
    return *best;
  }

  /** The same; where maps between segments do not fit the memory, the network at once may be faster than segments that
   * keep fewer, or the only one that fits. */
  const Choice &
  FindBest(bool inFiles)
  {
    const Choice & best = FindGreatest(false, inFiles);
    if (!this->IsFree() || Fits(GetWanted(), inFiles))
    {
      return best;
    }
    const Choice & atOnce = FindGreatest(true, inFiles);
    const bool     both = Fits(atOnce, inFiles) && Fits(best, inFiles);
    return both ? (atOnce.cost.seconds < best.cost.seconds ? atOnce : best)
                : (GetNeed(atOnce, inFiles) < GetNeed(best, inFiles) ? atOnce : best);
  }

  /** Of a training in segments. \param bytes for a tile; what sees the whole image validates in the same segments */
  Choice
  WithValidation(Choice choice, std::int64_t bytes) const
  {
    constexpr auto inference = Purpose::Inference;
    choice.tileSize = m_Given.tileSize != 0 ? m_Given.tileSize : ChooseTileSize(m_Run, inference, bytes);
    if (!m_Run.network.graph.SeesWholeImage())
    {
      choice.validation =
        GraphTileCost::Make(m_Run.network, m_Run.image, inference, choice.tileSize, m_Run.device.precision);
    }
    return choice;
  }

  /** What validates, and segments images later, takes the network at once, which is fast only in tiles that are wide
   * beside its halo: they may take what training leaves. */
  Choice
  WidenValidation(const Choice & choice, bool inFiles) const
  {
    const std::int64_t room = m_Run.device.cuda >= 0 ? m_LimitOfGpu - this->GetGpuWeightBytes()
                                                     : m_Limit - this->GetNeedWithoutTiles(choice, inFiles) -
                                                         this->GetValidationCodeBytes(choice);
    const std::int64_t bytes = std::min(GreatestClass, room);
    if (choice.validation.tiles == 0 || bytes <= choice.cost.bytes)
    {
      return choice;
    }
    Choice wider = this->WithValidation(choice, bytes);
    return Fits(wider, inFiles) ? wider : choice;
  }

private:
  /** Whether segments are chosen. In inference they are of volumes, which are asked for as a whole; a slide is asked
   * for region by region, and its maps would have to lie there before the first one is. What pays on a GPU, where maps
   * come and go, is not known. */
  bool
  IsFree() const
  {
    const NetworkGraph & graph = m_Run.network.graph;
    const bool           takesMaps = m_Run.purpose == Purpose::Training
                                       ? !m_Run.network.LabelsImage() || m_Run.segmentation.inFiles
                                       : !IsByRow(m_Run) && !graph.SeesWholeImage() && m_Run.device.cuda < 0;
    return m_Given.tileSize == 0 && m_Given.segments.empty() && takesMaps;
  }

  const Choice &
  Get(std::int64_t memoryClass, bool atOnce)
  {
    const auto [found, added] = m_Known.try_emplace({ memoryClass, atOnce });
    if (added)
    {
      found->second = Choose(memoryClass, atOnce);
    }
    return found->second;
  }

  Choice
  Choose(std::int64_t bytes, bool atOnce) const
  {
    const Precision precision = m_Run.device.precision;
    Choice          choice = m_Given;
    if ((!atOnce || Labeling::HasPixelsOfReductions(m_Run.network.graph)) && this->IsFree())
    {
      choice.segments = ChooseSegments(m_Run.network, m_Run.image, bytes, precision, m_Run.purpose, !atOnce);
    }
    if (!choice.segments.empty())
    {
      choice.cost = GraphTileCost::Make(m_Run.network, m_Run.image, choice.segments, m_Run.purpose, precision);
      choice.tileSize = choice.segments.back().tileSize; // of inference, the output's
      return m_Run.purpose == Purpose::Training ? this->WithValidation(choice, choice.cost.bytes) : choice;
    }
    if (choice.tileSize == 0)
    {
      choice.tileSize = ChooseTileSize(m_Run, m_Run.purpose, bytes);
    }
    const auto together = IsByRow(m_Run) ? GraphTileCost::Together::Row : GraphTileCost::Together::All;
    choice.cost = GraphTileCost::Make(m_Run.network, m_Run.image, m_Run.purpose, choice.tileSize, precision, together);
    return choice;
  }

  const PlannedRun &                              m_Run;
  const std::int64_t                              m_Base;
  const std::int64_t                              m_Limit;
  const std::int64_t                              m_LimitOfGpu;
  Choice                                          m_Given; ///< a tile size, or segments; 0 and none: chosen
  std::map<std::pair<std::int64_t, bool>, Choice> m_Known;
};

/** What is to be said of it. */
std::string
DescribeChoice(const PlannedRun & run, Choices & choices, const Choice & choice)
{
  constexpr double         MuchFaster = 0.8;
  const Choice &           wanted = choices.GetWanted();
  const Choice &           inFiles = choices.FindBest(true);
  std::vector<std::string> sentences{ choice.segments == wanted.segments
                                        ? DescribeSmallerTiles(choices.GetWantedTileSize(), choice.tileSize)
                                        : DescribeOtherSegments(run.purpose),
                                      run.device.cuda < 0 ? GetPrecisionProblem(run.device.precision) : "" };
  if (!run.segmentation.inFiles && choices.Fits(inFiles, true) &&
      inFiles.cost.seconds < MuchFaster * choice.cost.seconds)
  {
    sentences.push_back(DescribeScratchFolder(inFiles.cost.seconds / choice.cost.seconds, inFiles.cost.scratchBytes));
  }
  std::string remark;
  for (const std::string & sentence : sentences)
  {
    remark += (remark.empty() || sentence.empty() ? "" : "; ") + sentence;
  }
  return remark;
}

} // namespace

void
CheckPrecision(const NetworkDescription & network, Precision precision)
{
  if (precision == Precision::BFloat16 && !network.GetImageKind().takesBFloat16)
  {
    throw Refusal(
      Diagnostic("E-PRECISION", "networks for volumes are not computed in bf16", "choose the precision fp32"));
  }
}

MemoryPlan
MakeGraphPlan(const PlannedRun & run, std::optional<std::int64_t> freeGpuBytes)
{
  CheckPrecision(run.network, run.device.precision);
  const bool         inFiles = run.segmentation.inFiles;
  const std::int64_t limit = run.budget > 0 ? run.budget : GetMachineBytes();
  const std::int64_t base =
    GetBaseBytes(run, run.purpose == Purpose::Training ? TrainingBytes : InferenceBytes) + GetHeldImageBytes(run);
  const std::int64_t    loading = GetBaseBytes(run, LoadingBytes);
  const std::int64_t    limitOfGpu = freeGpuBytes.value_or(std::numeric_limits<std::int64_t>::max());
  Choices               choices(run, base, limit, limitOfGpu);
  const Choice          choice = choices.WidenValidation(choices.FindBest(inFiles), inFiles);
  const GraphTileCost & cost = choice.cost;
  const std::int64_t    least = std::max(choices.GetNeed(choice, inFiles), loading);
  if (least > limit)
  {
    constexpr std::int64_t WorthSaying = 1 << 20; // what is needed is said in these
    const Choice &         elsewhere = choices.FindBest(true);
    const bool             helps = std::max(choices.GetNeed(elsewhere, true), loading) + WorthSaying <= least;
    throw MakeMemoryLimitError(run, least, DescribeNeed(run), helps ? elsewhere.cost.scratchBytes : 0);
  }
  if (choices.GetNeedOfGpu(choice) > limitOfGpu)
  {
    throw MakeGpuMemoryError(run, choices.GetNeedOfGpu(choice), limitOfGpu);
  }
  const std::int64_t without = choices.GetNeedWithoutTiles(choice, inFiles);
  MemoryPlan         plan;
  plan.tileSize = choice.tileSize;
  plan.segments = choice.segments;
  plan.keptBytes = inFiles ? cost.scratchBytes : cost.keptBytes;
  plan.numberOfTiles = cost.tiles;
  plan.passes = cost.passes;
  plan.tilesInFlight = choices.GetTilesInFlight(cost, GetNumberOfThreads(run.threads), without);
  const std::int64_t training = choices.GetHostBytes(cost, plan.tilesInFlight);
  std::int64_t       tiles = training;
  if (choice.validation.tiles > 0)
  {
    const std::int64_t code = choices.GetValidationCodeBytes(choice);
    plan.validationTilesInFlight = choices.GetTilesInFlight(choice.validation, plan.tilesInFlight, without + code);
    tiles = std::max(tiles, code + choices.GetHostBytes(choice.validation, plan.validationTilesInFlight));
  }
  plan.peakBytes = std::max(without + tiles, loading);
  plan.validationBytes = plan.peakBytes - std::max(without + training, loading);
  plan.tileBytes = choices.GetHostBytes(cost);
  plan.deviceBytes = choices.GetNeedOfGpu(choice);
  plan.deviceWorkspaceBytes = GetWorkspaceBytes(run.device);
  plan.coreSeconds = cost.seconds;
  plan.remark = DescribeChoice(run, choices, choice);
  return plan;
}

} // namespace gigapixel
