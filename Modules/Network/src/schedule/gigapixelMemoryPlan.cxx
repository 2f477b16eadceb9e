/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMemoryPlan.h"
#include "gigapixelCanvasWindows.h"
#include "gigapixelGraphPlan.h"
#include "graph/gigapixelExecutors.h"
#include "graph/gigapixelNetworkGeometry.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPatchGrid.h"
#include "gigapixelVolumePatchGrid.h"
#include "gigapixelPlanSentences.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelSegment.h"
#include "gigapixelTileGrid.h"
#include "gigapixelTileProgram.h"
#include "gigapixelWorkers.h"

#include "kernels/gigapixelDeviceKernels.h"
#include "graph/gigapixelGraphGeometry.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#ifdef __GLIBC__
#  include <malloc.h>
#endif

namespace gigapixel
{
namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

// Measured on x86-64 (Testing/Network/MeasureStep).
/** The command line and what it links take 21 to 22 MiB until their peak, with a slide that is open. Another machine
 * may bring more pages of its libraries into memory. */
constexpr std::int64_t ProgramBytes = 24 * MiB;
/** When it makes a plan it holds 16 to 22 MiB, by how far it has come and which pages of its libraries are in memory:
 * it is counted alike, so that all commands plan alike. Who holds more than this beyond it has something else in
 * memory. */
constexpr std::int64_t SlackBytes = 8 * MiB;
/** The libraries of such a process, LibTorch aside, bring so much into memory only where a network is computed. */
constexpr std::int64_t LaterBytes = 8 * MiB;
constexpr std::int64_t StartBytes = 2 * MiB;  ///< the process' first allocations
constexpr std::int64_t WorkerBytes = MiB / 4; ///< stack and strips of the kernels of one worker
constexpr std::int64_t BandRows = 256;        ///< that a picture is turned by at a time
constexpr std::int64_t TrainingBytes = 80;    ///< for each weight: Adam's moments, models, their files
constexpr std::int64_t InferenceBytes = 12;   ///< for each weight: the model's, the kernels', and both in double before

// One core of the machine in Documentation/evidence/index.md: the kernels reach the same for training and inference.
constexpr double OperationsPerSecond = 47e9; // those of the halos counted

constexpr std::int64_t DefaultTileSize = 2048;
constexpr std::int64_t LeastTileSize = 256;

struct MapBytes
{
  double sum{ 0 };      ///< of all maps, per pixel
  double greatest{ 0 }; ///< of one layer's input and output, per pixel
};

/** Of the maps that exist as floats: the first layer's input does not, nor does the output of a fused last one. */
MapBytes
GetMapBytes(const NetworkDescription & network)
{
  const std::vector<MapScale> scales = GetMapScales(network.layers);
  const bool                  fusedLast = HasFusedLast(network);
  MapBytes                    bytes;
  double                      before = 0;
  for (std::size_t i = 0; i < scales.size(); ++i)
  {
    const Layer & layer = network.layers[i];
    const double  side = static_cast<double>(scales[i].numerator) / scales[i].denominator;
    const double  map = i + 1 == scales.size() && fusedLast ? 0 : 4.0 * layer.outputChannels * side * side;
    bytes.sum += map * (layer.add.empty() ? 1 : 2); // before and after the skip
    bytes.greatest = std::max(bytes.greatest, before + map);
    before = map;
  }
  return bytes;
}

/** Multiplications and additions of the layers, per pixel of the image. */
double
GetOperationsPerPixel(const NetworkDescription & network, Purpose purpose)
{
  const std::vector<MapScale> scales = GetMapScales(network.layers);
  double                      all = 0, first = 0;
  for (std::size_t i = 0; i < scales.size(); ++i)
  {
    const Layer & layer = network.layers[i];
    const double  side = static_cast<double>(scales[i].numerator) / scales[i].denominator;
    // Each pixel of the smaller map meets the whole kernel: that of the output, or of a transposed convolution's input.
    const bool   plain = layer.kind == Layer::Kind::Convolution;
    const double meeting = plain ? side : side / layer.stride;
    const double layerOperations =
      2.0 * layer.kernel * layer.kernel * layer.inputChannels * layer.outputChannels * meeting * meeting;
    all += layerOperations;
    first = i == 0 ? layerOperations : first;
  }
  // The backward pass has gradients for the weights and, but for the first layer, for the input.
  return purpose == Purpose::Training ? (network.TakesSumsFirst() ? 4 : 3) * all - first : all;
}

/** Without a copy of the pixels. */
double
GetTileBytesPerPixel(const NetworkDescription & network, Purpose purpose)
{
  const MapBytes maps = GetMapBytes(network);
  // Classes; all maps, and where the widest layer is, its gradients and those of the skip; without a backward pass, the
  // maps around the widest layer and of the skip.
  return purpose == Purpose::Training ? 1 + maps.sum + 2 * maps.greatest : 2 * maps.greatest;
}

/** Of the maps that a GPU stores, per pixel: those of the layers, before and after a skip, and their gradients. */
double
GetDeviceMapBytes(const NetworkDescription & network, Purpose purpose, Precision precision)
{
  const std::vector<MapScale> scales = GetMapScales(network.layers);
  const std::size_t           end = scales.size() - (HasFusedLast(network) ? 1 : 0);
  double                      values = 0;
  for (std::size_t i = 0; i < end; ++i)
  {
    const double side = static_cast<double>(scales[i].numerator) / scales[i].denominator;
    const int    maps = 1 + (network.layers[i].add.empty() ? 0 : 1) + (purpose == Purpose::Training ? 1 : 0);
    values += maps * network.layers[i].outputChannels * side * side;
  }
  return GetValueBytes(precision) * values;
}

/** Of the sums and partial sums of a GPU's threads for one tile, as DevicePasses takes them. */
std::int64_t
GetDeviceSumBytes(const NetworkDescription & network, std::int64_t windowHeight)
{
  const std::vector<MapScale>       scales = GetMapScales(network.layers);
  const std::vector<ParameterPlace> layout = GetParameterLayout(network);
  const bool                        fusedLast = HasFusedLast(network);
  std::int64_t                      weights = 0, biases = 0, before = windowHeight;
  for (std::size_t i = 0; i < scales.size(); ++i)
  {
    const Layer &      layer = network.layers[i];
    const std::int64_t height = windowHeight * scales[i].numerator / scales[i].denominator;
    const std::int64_t smaller = layer.kind == Layer::Kind::Convolution ? height : before;
    const std::int64_t slices = device::GetNumberOfSlices(smaller);
    const bool         withLoss = fusedLast && i + 1 == scales.size();
    weights = std::max(weights, slices * static_cast<std::int64_t>(layout[i].numberOfWeights));
    biases = std::max(biases, (withLoss ? slices * layer.stride * layer.stride : height) * layer.outputChannels);
    before = withLoss ? before : height; // of the logits' map, in the end
  }
  const std::int64_t slices = device::GetNumberOfSlices(before);
  const std::int64_t taps = fusedLast ? network.layers.back().stride * network.layers.back().stride : 1;
  const std::int64_t scores = 1 + 3 * network.GetNumberOfClasses() + 2 * network.GetNumberOfOutputChannels();
  return 4 * (weights + biases) + 8 * ((slices * taps + slices + 1) * scores + network.GetNumberOfParameters());
}

class Planner
{
public:
  explicit Planner(const PlannedRun & run)
    : m_Network(run.network)
    , m_Image(run.image)
    , m_Purpose(run.purpose)
    , m_Precision(run.device.precision)
    , m_Threads(GetNumberOfThreads(run.threads))
    , m_InPlace(run.inPlace)
    , m_SharedMemory(run.device.shared)
    , m_Base(run.processBytes + StartBytes +
             (m_Purpose == Purpose::Training ? TrainingBytes : InferenceBytes) * m_Network.GetNumberOfParameters())
  {}

  MemoryPlan
  MakePlan(std::int64_t tileSize, std::int64_t budget) const
  {
    const TileGrid      grid(m_Network, m_Image, tileSize);
    const CanvasWindows windows(m_Network, m_Image, tileSize);
    const std::int64_t  image = m_SharedMemory ? GetSharedBytes(tileSize) : 0;
    const std::int64_t  tile = GetTileBytes(windows, tileSize);
    const std::int64_t  copy = ToBytes(m_Network.channels * GetTilePixels(windows));
    const std::int64_t  copies = GetMostCopies(windows, m_Threads);
    const std::int64_t  left = budget - m_Base - image;
    const std::int64_t  fitting =
      std::max<std::int64_t>(1, copies > 1 ? left / (tile + copy) : (left - copies * copy) / tile);
    MemoryPlan plan;
    plan.tileSize = tileSize;
    plan.numberOfTiles = grid.GetNumberOfTiles();
    // Inference goes row by row.
    const std::int64_t together =
      m_Purpose == Purpose::Training ? plan.numberOfTiles : (m_Image.width + tileSize - 1) / tileSize;
    plan.tilesInFlight = static_cast<int>(std::min({ std::int64_t{ m_Threads }, together, fitting }));
    plan.peakBytes =
      m_Base + image + plan.tilesInFlight * tile + std::min<std::int64_t>(plan.tilesInFlight, copies) * copy;
    plan.tileBytes = tile + (copies > 0 ? copy : 0);
    plan.deviceBytes =
      4 * m_Network.GetNumberOfParameters() + plan.tilesInFlight * GetDeviceTileBytes(windows, tileSize);
    plan.coreSeconds = GetOperations() * GetComputedPart(tileSize) / OperationsPerSecond;
    return plan;
  }

private:
  double
  GetOperations() const
  {
    return GetOperationsPerPixel(m_Network, m_Purpose) * static_cast<double>(m_Image.width) *
           static_cast<double>(m_Image.height);
  }

  /** Pixels that tiles compute, halos included, over those of the image. */
  double
  GetComputedPart(std::int64_t tileSize) const
  {
    const auto along = [this, tileSize](std::int64_t side) {
      const std::int64_t seams = (side - 1) / tileSize;
      return 1 + 2.0 * static_cast<double>(seams * m_Network.GetHalo()) / static_cast<double>(side);
    };
    return along(m_Image.width) * along(m_Image.height);
  }

  static double
  GetTilePixels(const CanvasWindows & windows)
  {
    const Size window = windows.GetGreatestWindow();
    return static_cast<double>(window.width) * static_cast<double>(window.height);
  }

  std::int64_t
  GetTileBytes(const CanvasWindows & windows, std::int64_t tileSize) const
  {
    const std::int64_t window = ToBytes(GetTileBytesPerPixel(m_Network, m_Purpose) * GetTilePixels(windows));
    if (m_Purpose == Purpose::Inference)
    {
      return WorkerBytes + window;
    }
    const std::int64_t gradients =
      8 * 9 * m_Network.GetNumberOfParameters(); // the tile's, and sums of tiles that are equal
    return WorkerBytes + window + gradients +
           BandRows * std::min(tileSize, windows.GetCanvas().width) * m_Network.channels;
  }

  /** Of the tiles in flight, how many may hold a copy of their pixels: all, or those that reach beyond the image, of
   * which a row of tiles has one and the last row nothing else. */
  std::int64_t
  GetMostCopies(const CanvasWindows & windows, std::int64_t tiles) const
  {
    const Size canvas = windows.GetCanvas();
    const bool all = !m_InPlace || m_Purpose == Purpose::Training || canvas.height > m_Image.height;
    return all ? tiles : canvas.width > m_Image.width ? 1 : 0;
  }

  /** Pixels and classes of the image; in inference the pixels of a row of tiles (TilePrediction). */
  std::int64_t
  GetSharedBytes(std::int64_t tileSize) const
  {
    const bool         training = m_Purpose == Purpose::Training;
    const std::int64_t rows = training ? m_Image.height : std::min(m_Image.height, tileSize + 2 * m_Network.GetHalo());
    return ToBytes((m_Network.channels + (training ? 1.0 : 0.0)) * static_cast<double>(m_Image.width) *
                   static_cast<double>(rows));
  }

  std::int64_t
  GetDeviceTileBytes(const CanvasWindows & windows, std::int64_t tileSize) const
  {
    const double maps = m_Network.channels + GetDeviceMapBytes(m_Network, m_Purpose, m_Precision);
    const auto   ofWindow = ToBytes(maps * GetTilePixels(windows));
    const auto   ofCore = ToBytes(static_cast<double>(std::min(tileSize, m_Image.width)) *
                                static_cast<double>(std::min(tileSize, m_Image.height))); // classes or labels
    const auto   sums =
      m_Purpose == Purpose::Training ? GetDeviceSumBytes(m_Network, windows.GetGreatestWindow().height) : 0;
    return ofWindow + ofCore + sums;
  }

  const NetworkDescription & m_Network;
  const Size                 m_Image;
  const Purpose              m_Purpose;
  const Precision            m_Precision;
  const int                  m_Threads;
  const bool                 m_InPlace;
  const bool                 m_SharedMemory;
  const std::int64_t         m_Base;
};

/** \throw std::runtime_error if maps of a tile of this size, in the middle of the image, have more values than
 * operators take. Tile sizes that the plan chooses are far smaller. */
void
CheckGivenTileSize(const PlannedRun & run, const MemoryPlan & plan)
{
  const bool           training = run.purpose == Purpose::Training;
  const NetworkGraph & graph = run.network.graph;
  const auto           check = [&](const TileGrid & grid) {
    grid.GetTile(grid.GetNumberOfRows() / 2 * grid.GetNumberOfColumns() + grid.GetNumberOfColumns() / 2)
      .program->CheckMaps(graph);
  };
  if (!graph.SeesWholeImage())
  {
    return check(TileGrid(run.network, run.image, plan.tileSize, training));
  }
  const auto geometry = std::make_shared<GraphGeometry>(graph, ToExtent(run.image, graph.GetNumberOfAxes()));
  for (const Segment & segment : MakeSegments(*geometry, MakeReducingSegments(*geometry, plan.tileSize)))
  {
    check(TileGrid(geometry, segment, training));
  }
}

/** What the heap holds of what was freed, as of a model that was read for its network alone, is used again: it is given
 * back before pages are counted. What is counted with the network, such as LibTorch where it is loaded already, by
 * whomever, is an estimate as well.
 * \param counted bytes of it that the process holds */
std::int64_t
GetProcessBytes(const NetworkDescription & network, const Device & device, std::int64_t counted)
{
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  const Executor & executor = Executor::Of(network);
  counted += executor.GetLoadedBytes(device);
  const std::int64_t held = GetResidentBytes() - counted;
  return held <= ProgramBytes + SlackBytes + counted / 8 ? ProgramBytes : held + LaterBytes + executor.GetLaterBytes();
}

} // namespace

std::int64_t
FusedExecutor::GetLoadedBytes(const Device &) const
{
  return 0;
}

std::int64_t
TorchExecutor::GetLoadedBytes(const Device & device) const
{
  return (IsLibraryLoaded("libtorch_cpu") ? TorchBytes : 0) +
         (device.cuda >= 0 && IsLibraryLoaded("libtorch_cuda") ? CudaBytes : 0);
}

std::int64_t
FusedExecutor::GetLaterBytes() const
{
  return 0;
}

/** A fifth of LibTorch is not in memory before it has computed something. */
std::int64_t
TorchExecutor::GetLaterBytes() const
{
  return (IsLibraryLoaded("libtorch_cpu") ? TorchBytes : 0) / 5;
}

PlannedRun::PlannedRun(const NetworkDescription & whichNetwork, Size ofImage, Purpose forWhat, const Device & onDevice)
  : network(whichNetwork)
  , image(ofImage)
  , purpose(forWhat)
  , device(onDevice)
  , processBytes(GetProcessBytes(network, device, 0))
{}

void
PlannedRun::LeaveOutWeights()
{
  constexpr std::int64_t BytesOfWeight = 4;
  processBytes = GetProcessBytes(network, device, BytesOfWeight * network.GetNumberOfParameters());
}

void
PlannedRun::SetLimit(std::int64_t bytes, const BesideBytes & takenBeside)
{
  limit = bytes;
  beside = takenBeside;
  budget = limit > 0 && beside ? std::max<std::int64_t>(1, limit - beside(limit)) : limit;
}

std::int64_t
FindLeastLimit(std::int64_t engineBytes, const BesideBytes & beside)
{
  if (!beside)
  {
    return engineBytes;
  }
  std::int64_t least = 0;
  for (std::int64_t next = engineBytes; next > least; next = engineBytes + beside(least))
  {
    least = RoundUp(next, MiB);
  }
  return least;
}

void
ReturnFreedMemory()
{
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(MiB));
#endif
}

MemoryPlan
MemoryPlan::Make(const PlannedRun & run)
{
  CheckDevice(run.network, run.device);
  if (run.patches)
  {
    return MakePatchPlan(run);
  }
  if (run.volumePatches)
  {
    return MakeVolumePatchPlan(run);
  }
  return Executor::Of(run.network).MakePlan(run);
}

MemoryPlan
FusedExecutor::MakePlan(const PlannedRun & run) const
{
  const Planner      planner(run);
  const std::int64_t limit = run.budget > 0 ? run.budget : GetMachineBytes();
  const std::int64_t stride = run.network.GetStride();
  const std::int64_t wanted =
    run.tileSize == 0 ? RoundUp(DefaultTileSize, stride) : GetTileSide(run.tileSize, run.image, stride);
  std::int64_t size = wanted;
  MemoryPlan   plan = planner.MakePlan(size, limit);
  while (run.tileSize == 0 && plan.peakBytes > limit && size / 2 >= LeastTileSize)
  {
    size = RoundUp(size / 2, stride);
    plan = planner.MakePlan(size, limit);
  }
  plan.remark = DescribeSmallerTiles(wanted, size);
  if (plan.peakBytes > limit)
  {
    throw MakeMemoryLimitError(run, plan.peakBytes, DescribeNeed(run));
  }
  return plan;
}

MemoryPlan
TorchExecutor::MakePlan(const PlannedRun & run) const
{
  MemoryPlan plan = MakeGraphPlan(run, run.device.GetFreeBytes());
  if (run.tileSize != 0)
  {
    CheckGivenTileSize(run, plan);
  }
  return plan;
}

} // namespace gigapixel
