/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMemoryPlan_h
#define gigapixelMemoryPlan_h

#include "gigapixelDevice.h"
#include "gigapixelPatches.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace gigapixel
{

/** As a tile size: each image in one piece, the way of the paper. */
constexpr std::int64_t WholeImage = -1;

enum class Purpose
{
  Training,
  Inference
};

/** Memory that this process frees goes back to the system or is the next to be given, as a plan's estimate assumes;
 * else the peak depends on which thread freed what, and when (measured: up to 25 MB more for tiles, 1.7 times for a
 * small whole image). It costs no measurable time. For programs, before they start threads: a library leaves it to
 * them. Does nothing where the C library is not glibc. */
GigapixelNetwork_EXPORT void ReturnFreedMemory();

/** A budget in which not even one tile fits. */
struct GigapixelNetwork_EXPORT MemoryLimitError : std::runtime_error
{
  MemoryLimitError(const std::string & message, std::int64_t leastBytes, std::int64_t keptBytes = 0)
    : std::runtime_error(message)
    , least(leastBytes)
    , kept(keptBytes)
  {}

  std::int64_t least; ///< bytes that would do
  std::int64_t kept;  ///< of these, maps that could lie in a scratch folder
};

/** A part of a network that goes over the image by itself in training, because the map that it computes is kept whole:
 * the halo of its tiles is its own, not that of all that lies before it. */
struct GigapixelNetwork_EXPORT SegmentPlan
{
  std::string  operation;     ///< whose map it computes
  std::int64_t tileSize{ 0 }; ///< side of a tile's core, in pixels of that map

  bool
  operator==(const SegmentPlan & other) const
  {
    return operation == other.operation && tileSize == other.tileSize;
  }
};

/** What is given of the segments. */
struct Segmentation
{
  std::vector<SegmentPlan> segments{};       ///< none: the plan's; of a run that goes on, those it began with
  bool                     inFiles{ false }; ///< whether maps between them lie in a scratch folder, not in memory
};

/** \class MemoryPlan
 * \brief What an image will take, before it starts. Bytes are resident memory of the whole process: what it
 * holds when the plan is made, and what the network adds. */
struct GigapixelNetwork_EXPORT MemoryPlan
{
  /** Side of a tile's core, never WholeImage. Where there are segments, that of validation and inference, which take
   * the network at once. */
  std::int64_t tileSize{ 0 };
  int          tilesInFlight{ 1 }; ///< computed at the same time; never changes a result
  std::int64_t numberOfTiles{ 0 }; ///< of all segments, each once
  /** Of training, in the network's order, the output's last; none: the network at once. */
  std::vector<SegmentPlan> segments{};
  std::int64_t             keptBytes{ 0 };   ///< of maps between segments and their gradients, in memory or in files
  std::int64_t             peakBytes{ 0 };   ///< estimate
  std::int64_t             tileBytes{ 0 };   ///< of these, what each tile in flight takes
  std::int64_t             deviceBytes{ 0 }; ///< estimate of what a GPU's memory holds, if one computes the tiles
  /** Estimate for one step, or for the inference of the image, on one core of the machine that is described in
   * Documentation/Performance.md, without reading pixels and labels. Threads share it. */
  double coreSeconds{ 0 };
  /** A sentence where the budget has made tiles smaller than they would be, so that the last bits of results depend on
   * it, and where this CPU is slow in the precision. Empty: neither. */
  std::string remark{};

  /** \param budget bytes; 0: no limit but the machine's.
   * \param tileSize 0: 2048 for a chain of layers, for a graph what is fast within 1 GiB for each tile; smaller where
   * the budget forces it, which the remark says; WholeImage: one tile
   * \param precision how maps are stored, by a GPU, or by the CPU of a graph; for a chain of layers the CPU takes the
   * same for all of them
   * \param inPlace for inference: the source has the pixels in memory (PixelSource::FindRows()), so that only tiles
   * which reach beyond the image copy theirs
   * \param sharedMemory the same tiles, with the same bits, from memory which CPU and GPU share and which may be more
   * than the GPU has: pixels and classes of a whole image, read once, in training; in inference the pixels of those
   * tiles that are computed next. On a CPU that is memory like any other.
   * \param segmentation of training; where neither it nor a tile size is given, a network that is a graph takes the
   * segments that are the fastest with up to 1 GiB for each tile
   * \throw MemoryLimitError when even one tile does not fit; std::runtime_error a tile whose maps have more values than
   * operators take */
  static MemoryPlan Make(const NetworkDescription & network,
                         Size                       image,
                         Purpose                    purpose,
                         std::int64_t               budget,
                         int                        threads,
                         std::int64_t               tileSize = 0,
                         Precision                  precision = Precision::Float,
                         bool                       inPlace = false,
                         bool                       sharedMemory = false,
                         const Segmentation &       segmentation = {});

  /** Of inference patch by patch, whose tiles are the patches: each is computed in one piece, and the sums of a row of
   * them are kept. \throw MemoryLimitError when not even one patch fits */
  static MemoryPlan MakeOfPatches(const NetworkDescription & network,
                                  Size                       image,
                                  const Patches &            patches,
                                  std::int64_t               budget,
                                  int                        threads,
                                  Precision                  precision);
};

} // namespace gigapixel

#endif
