/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileProgram_h
#define gigapixelTileProgram_h

#include "graph/gigapixelGraphGeometry.h"

namespace gigapixel
{

/** \class TileProgram
 * \brief What is computed for one tile: the operations that a part of the target's map needs, each with the part of its
 * map that is computed, in the order of the graph, and when maps are no longer needed.
 *
 * The target is the network's output, or an operation whose map is kept whole. Steps without sources are what a tile
 * begins with: the image, and maps that are kept.
 *
 * The plan estimates from the same program that an executor runs. */
struct GigapixelNetwork_EXPORT TileProgram
{
  struct Step
  {
    int operation;
    int channels; ///< of the operation's map
    Box output;   ///< the part of the operation's map that is computed
    std::vector<Box>
      inputs; ///< the part of each input's map that is read: within the one that was computed; empty: none
    std::vector<int> sources;                 ///< of each input, the step that has its map; -1: only its size counts
    MapSizes         sizes;                   ///< of the real maps
    std::vector<int> lastReaderOf;            ///< steps whose maps nobody reads in the forward pass after this step
    bool             folded{ false };         ///< a norm that an earlier step computes: see FindFolded()
    bool             inPlace{ false };        ///< the output may overwrite the first input, whose map nobody else needs
    bool             needsGradient{ false };  ///< of its map: behind a parameter that is trained
    Keeps            keeps{ Keeps::Nothing }; ///< for its backward pass, if there will be one
    int              keptFor{ -1 };           ///< the earliest step whose backward pass reads this step's map; -1: none
  };

  std::vector<Step> steps;  ///< the last one is the target
  Box               core;   ///< the part of the target's map
  Box               window; ///< the part of the image; empty: it is not read
  /** Programs of one graph, image size and purpose that have the same are the same computation, at whatever place in
   * the image. */
  std::vector<std::int64_t> signature;

  /** \param core a part of the target's map
   * \param kept operations whose maps are there
   * \param training whether a backward pass follows, so that steps do not overwrite what it needs */
  static TileProgram Make(const GraphGeometry &    geometry,
                          int                      target,
                          const std::vector<int> & kept,
                          const Box &              core,
                          bool                     training);

  /** Of the output, from the image alone. */
  static TileProgram Make(const GraphGeometry & geometry, const Box & core, bool training);

  /** Of any map that is computed or read, in pixels. */
  std::int64_t GetGreatestSide() const;

  /** Most bytes of maps (and, in training, of their gradients and of pooling's indices) at the same time, with
   * `valueBytes` bytes a value. */
  std::int64_t GetPeakBytes(const NetworkGraph & graph, bool training, int valueBytes) const;

  /** Of maps that are kept, what it reads, with `valueBytes` bytes a value. */
  std::int64_t GetReadBytes(const NetworkGraph & graph, int valueBytes) const;

  /** Operators of libraries, those of GPUs among them, count the values of a map in 32 bits, or have kernels that do.
   * \throw std::runtime_error a map that is computed or read has more */
  void CheckMaps(const NetworkGraph & graph) const;

  /** Multiplications and additions of the forward pass. */
  double GetOperations(const NetworkGraph & graph) const;
};

/** All of a step's real map. */
GigapixelNetwork_EXPORT Box GetWholeMap(const TileProgram::Step & step);

} // namespace gigapixel

#endif
