/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMemoryPlan.h"
#include "gigapixelNetworkGeometry.h"
#include "gigapixelTileGrid.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

// Measured on x86-64 (Testing/Network/MeasureStep), rounded up: what is resident before the first tile (160 MiB with
// LibTorch 1.13, mostly its libraries) grows by 20 MiB with each tile of 2048 in flight in training.
constexpr std::int64_t StartBytes = 4 * MiB;   ///< the process' first allocations
constexpr std::int64_t WorkerBytes = 1 * MiB;  ///< stack, strips of the kernels and results of one worker
constexpr std::int64_t GraphBytes = 132 * MiB; ///< what LibTorch holds beside one large graph

constexpr std::int64_t DefaultTileSize = 2048;
constexpr std::int64_t LeastTileSize = 256;

/** What the process holds already: LibTorch's libraries, and pixels that the caller keeps in memory. */
std::int64_t
GetResidentBytes()
{
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t
GetMachineBytes()
{
  return std::int64_t{ sysconf(_SC_PHYS_PAGES) } * sysconf(_SC_PAGESIZE);
}

struct MapBytes
{
  double sum{ 0 };      ///< of all maps, per pixel
  double greatest{ 0 }; ///< of one layer's input and output, per pixel
};

/** Of the maps that exist as floats. \param fused the first layer's input and the last layer's output do not */
MapBytes
GetMapBytes(const NetworkDescription & network, bool fused)
{
  const std::vector<MapScale> scales = GetMapScales(network.layers);
  const bool                  fusedLast =
    fused && network.layers.back().kind == Layer::Kind::TransposedConvolution && network.layers.back().add.empty();
  MapBytes bytes;
  double   before = fused ? 0 : 4.0 * network.channels;
  bytes.sum = before;
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

double
GetTileBytesPerPixel(const NetworkDescription & network, Purpose purpose)
{
  const MapBytes maps = GetMapBytes(network, true);
  // Pixels and classes; all maps, and where the widest layer is, its gradients and those of the skip; without a
  // backward pass, the maps around the widest layer and of the skip.
  const double samples = network.channels + (purpose == Purpose::Training ? 1.0 : 0.0);
  return samples + (purpose == Purpose::Training ? maps.sum + 2 * maps.greatest : 2 * maps.greatest);
}

double
GetWholeBytesPerPixel(const NetworkDescription & network)
{
  const MapBytes maps = GetMapBytes(network, false);
  return network.channels + 1.0 + 3 * (maps.sum + maps.greatest);
}

std::string
InMegabytes(std::int64_t bytes)
{
  return std::to_string((bytes + MiB - 1) / MiB) + " MiB";
}

class Planner
{
public:
  Planner(const NetworkDescription & network, Size image, Purpose purpose)
    : m_Network(network)
    , m_Image(image)
    , m_Purpose(purpose)
    , m_Base(GetResidentBytes() + StartBytes)
  {}

  MemoryPlan
  Stream(std::int64_t tileSize, int threads, std::int64_t budget) const
  {
    const TileGrid     grid(m_Network, m_Image, tileSize);
    const std::int64_t tile = GetTileBytes(grid, tileSize);
    const std::int64_t fitting = std::max<std::int64_t>(1, (budget - m_Base) / tile);
    MemoryPlan         plan;
    plan.strategy = Strategy::Streamed;
    plan.tileSize = tileSize;
    plan.numberOfTiles = grid.GetNumberOfTiles();
    plan.tilesInFlight = static_cast<int>(std::min({ std::int64_t{ threads }, plan.numberOfTiles, fitting }));
    plan.peakBytes = m_Base + plan.tilesInFlight * tile;
    return plan;
  }

  MemoryPlan
  TakeWhole() const
  {
    const Size canvas = TileGrid(m_Network, m_Image, m_Network.GetStride()).GetCanvas();
    MemoryPlan plan;
    plan.strategy = Strategy::Whole;
    plan.numberOfTiles = 1;
    plan.peakBytes =
      m_Base + GraphBytes + static_cast<std::int64_t>(GetWholeBytesPerPixel(m_Network) * canvas.width * canvas.height);
    return plan;
  }

private:
  std::int64_t
  GetTileBytes(const TileGrid & grid, std::int64_t tileSize) const
  {
    const std::int64_t side = tileSize + 2 * m_Network.GetHalo();
    const Size         canvas = grid.GetCanvas();
    const double       pixels =
      static_cast<double>(std::min(side, canvas.width)) * static_cast<double>(std::min(side, canvas.height));
    const std::int64_t gradients = 8 * 3 * m_Network.GetNumberOfParameters(); // a sum and two waiting results
    return WorkerBytes + gradients + static_cast<std::int64_t>(GetTileBytesPerPixel(m_Network, m_Purpose) * pixels);
  }

  const NetworkDescription & m_Network;
  const Size                 m_Image;
  const Purpose              m_Purpose;
  const std::int64_t         m_Base;
};

[[noreturn]] void
Refuse(const MemoryPlan & least, std::int64_t budget)
{
  throw std::runtime_error("the memory limit of " + InMegabytes(budget) + " is too small: at least " +
                           InMegabytes(least.peakBytes) + " are needed" +
                           (least.strategy == Strategy::Whole ? " for the whole image in one piece" : ""));
}

} // namespace

MemoryPlan
MemoryPlan::Make(const NetworkDescription & network,
                 Size                       image,
                 Purpose                    purpose,
                 Strategy                   strategy,
                 std::int64_t               budget,
                 int                        threads,
                 std::int64_t               tileSize)
{
  const Planner      planner(network, image, purpose);
  const std::int64_t limit = budget > 0 ? budget : GetMachineBytes();
  if (strategy != Strategy::Streamed)
  {
    const MemoryPlan whole = planner.TakeWhole();
    if (whole.peakBytes <= limit)
    {
      return whole;
    }
    if (strategy == Strategy::Whole)
    {
      Refuse(whole, limit);
    }
  }
  const std::int64_t stride = network.GetStride();
  std::int64_t       size = tileSize > 0 ? tileSize : RoundUp(DefaultTileSize, stride);
  MemoryPlan         plan = planner.Stream(size, GetNumberOfThreads(threads), limit);
  while (tileSize <= 0 && plan.peakBytes > limit && size / 2 >= LeastTileSize)
  {
    size = RoundUp(size / 2, stride);
    plan = planner.Stream(size, GetNumberOfThreads(threads), limit);
  }
  if (plan.peakBytes > limit)
  {
    Refuse(plan, limit);
  }
  return plan;
}

} // namespace gigapixel
