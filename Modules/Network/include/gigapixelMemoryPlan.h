/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMemoryPlan_h
#define gigapixelMemoryPlan_h

#include "gigapixelDiagnostic.h"
#include "gigapixelDevice.h"
#include "gigapixelPatches.h"

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gigapixel
{

/** As a tile size: each image in one piece, the way of the paper. */
constexpr std::int64_t WholeImage = -1;

/** What a plan is for. */
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
struct GigapixelNetwork_EXPORT MemoryLimitError : Refusal
{
  /** \param leastBytes see least \param scratchBytes see scratch */
  MemoryLimitError(const Diagnostic & diagnostic, std::int64_t leastBytes, std::int64_t scratchBytes = 0)
    : Refusal(diagnostic)
    , least(leastBytes)
    , scratch(scratchBytes)
  {}

  std::int64_t least;   ///< bytes that would do
  std::int64_t scratch; ///< of room in a scratch folder, with which less would do; 0: none would help
};

/** A part of a network that goes over the image by itself, because the map that it computes is kept whole: the halo of
 * its tiles is its own, not that of all that lies before it. */
struct GigapixelNetwork_EXPORT SegmentPlan
{
  std::string  operation;     ///< whose map it computes
  std::int64_t tileSize{ 0 }; ///< side of a tile's core, in pixels of that map

  /** Whether all fields are the same. */
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

/** Counts what of a process's limit pixels take on their way to the engine and from it. A larger limit may leave more
 * to them. */
using BesideBytes = std::function<std::int64_t(std::int64_t limit)>;

/** \return the least limit of a process that leaves so much to the engine: in whole MiB, as messages name it, where
 * something lies beside */
GigapixelNetwork_EXPORT std::int64_t FindLeastLimit(std::int64_t engineBytes, const BesideBytes & beside);

/** \class PlannedRun
 * \brief All that a plan depends on: equal ones have equal plans, whoever makes them. */
struct GigapixelNetwork_EXPORT PlannedRun
{
  PlannedRun(const NetworkDescription & network,
             Size                       image,
             Purpose                    purpose,
             const Device &             device); ///< without a limit of memory

  /** For a process that holds the network's weights already: a plan counts them with the network. */
  void LeaveOutWeights();

  /** The budget becomes what a limit of the process leaves to the engine. \param bytes 0: no limit */
  void SetLimit(std::int64_t bytes, const BesideBytes & takenBeside);

  NetworkDescription network; ///< with its loss and what is frozen in training
  Size               image;   ///< the largest
  Purpose            purpose; ///< training or inference
  /** Sizes that images of a training have, each counted once: for the tiles of each of them the library of operators
   * compiles code, and keeps it. */
  int sizes{ 1 };
  /** The device's precision is how maps are stored, by a GPU, or by the CPU of a graph; for a chain of layers the CPU
   * takes the same for all of them. If it shares memory, the same tiles, with the same bits, come from memory which CPU
   * and GPU share and which may be more than the GPU has: pixels and classes of a whole image, read once, in training;
   * in inference the pixels of those tiles that are computed next. On a CPU that is memory like any other. */
  Device       device;
  std::int64_t budget{ 0 }; ///< bytes; 0: no limit but the machine's
  /** The process's limit and what of it is not in the budget: for sentences alone. See SetLimit(). */
  std::int64_t limit{ 0 };
  BesideBytes  beside{};     ///< what of the limit others take
  int          threads{ 0 }; ///< 0: as many as the machine has cores
  /** 0: 2048 for a chain of layers, for a graph what is fast within 1 GiB for each tile; smaller where the budget
   * forces it, which the remark says; WholeImage: one tile */
  std::int64_t tileSize{ 0 };
  /** In inference: the source has the pixels in memory (PixelSource::FindRows()), so that only tiles which reach beyond
   * the image copy theirs. */
  bool inPlace{ false };
  /** Where neither it nor a tile size is given, training of a network that is a graph, and its inference of volumes,
   * take the segments that are the fastest with up to 1 GiB for each tile. */
  Segmentation segmentation{};
  /** Inference patch by patch, whose tiles are the patches: each is computed in one piece, and the sums of a row of
   * them are kept. */
  std::optional<Patches> patches{};
  /** The same of a volume. */
  std::optional<VolumePatches> volumePatches{};
  /** What the process holds beside the network and the library that computes it: what a program holds that has opened a
   * few images, unless what is resident now is far more. So a program's plan depends on what it is asked for, and not
   * on which of its first steps makes it, nor on which pages happen to be in memory then. */
  std::int64_t processBytes;
  /** What each tile in flight holds beside its maps, for whoever takes it, and whoever does once more. */
  std::int64_t handedOnBytes{ 0 };
};

/** \class MemoryPlan
 * \brief What an image will take, before it starts. Bytes are resident memory of the whole process: what it
 * holds when the plan is made, and what the network adds. */
struct GigapixelNetwork_EXPORT MemoryPlan
{
  /** Side of a tile's core, never WholeImage. Where there are segments of a training, that of validation and of
   * inference of slides, which take the network at once; of inference, that of the output. */
  std::int64_t tileSize{ 0 };
  int          tilesInFlight{ 1 };           ///< computed at the same time; never changes a result
  int          validationTilesInFlight{ 0 }; ///< of training in segments: of validation's tiles; 0: as many
  std::int64_t numberOfTiles{ 0 };           ///< of all segments, each once
  /** In the network's order, the output's last; none: the network at once. */
  std::vector<SegmentPlan> segments{};
  /** For inference: how often it goes over the image: once, or for a network that sees all of it once for each part
   * that ends in a reduction or in a map which is read again behind one, and once for the output. */
  int          passes{ 1 };
  std::int64_t keptBytes{ 0 }; ///< of maps between segments and their gradients, in memory or in files
  std::int64_t peakBytes{ 0 }; ///< estimate
  std::int64_t tileBytes{ 0 }; ///< of these, what each tile in flight takes
  /** The part that a training in segments takes only where it validates, or calibrates norms. */
  std::int64_t validationBytes{ 0 };
  std::int64_t deviceBytes{ 0 }; ///< estimate of what a GPU's memory holds, if one computes the tiles
  /** What cuDNN's algorithms take of it beside that, at most, where so much is free; they differ by precision. */
  std::int64_t deviceWorkspaceBytes{ 0 };
  /** Estimate for one step, or for the inference of the image, on one core of the machine that is described in
   * Documentation/evidence/index.md, without reading pixels and labels. Threads share it. */
  double coreSeconds{ 0 };
  /** A sentence where the budget has made tiles smaller than they would be, or divided the network in another way, so
   * that the last bits of results depend on it, and where this CPU is slow in the precision. Empty: neither. */
  std::string remark{};

  /** \throw MemoryLimitError when even one tile (or patch) does not fit; std::runtime_error a tile whose maps have more
   * values than operators take; std::invalid_argument an image without pixels, or too small for the network, a tile
   * size that is no multiple of its stride, patches or segments that do not suit it, and what CheckDevice() throws */
  static MemoryPlan Make(const PlannedRun & run);
};

} // namespace gigapixel

#endif
