/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileProgram_h
#define gigapixelTileProgram_h

#include "graph/gigapixelGraphGeometry.h"

namespace gigapixel
{

/** \class TileProgram
 * \brief What is computed for one tile: the operations that its part of the output needs, each with the part of its map
 * that is computed, in the order of the graph, and when maps are no longer needed.
 *
 * The plan estimates from the same program that an executor runs. */
struct GigapixelNetwork_EXPORT TileProgram
{
  struct Step
  {
    int operation;
    Box output; ///< the part of the operation's map that is computed
    std::vector<Box>
      inputs; ///< the part of each input's map that is read: within the one that was computed; empty: none
    std::vector<int> sources; ///< of each input, the step that computes it; -1: only its size counts
    std::array<AxisSizes, NetworkGraph::NumberOfAxes> sizes; ///< of the real maps
    std::vector<int> lastReaderOf;            ///< steps whose maps nobody reads in the forward pass after this step
    bool             folded{ false };         ///< a norm that an earlier step computes: see FindFolded()
    bool             inPlace{ false };        ///< the output may overwrite the first input, whose map nobody else needs
    bool             needsGradient{ false };  ///< behind a parameter that is trained
    Keeps            keeps{ Keeps::Nothing }; ///< for its backward pass, if there will be one
    int              keptFor{ -1 };           ///< the earliest step whose backward pass reads this step's map; -1: none
  };

  std::vector<Step> steps;  ///< the first one is the network's input
  Box               core;   ///< the part of the output
  Box               window; ///< the part of the image
  /** Programs of one graph, image size and purpose that have the same are the same computation, at whatever place in
   * the image. */
  std::vector<std::int64_t> signature;

  /** \param core a part of the output's map
   * \param training whether a backward pass follows, so that steps do not overwrite what it needs */
  static TileProgram Make(const GraphGeometry & geometry, const Box & core, bool training);

  /** Most bytes of maps (and, in training, of their gradients and of pooling's indices) at the same time, with
   * `valueBytes` bytes a value. */
  std::int64_t GetPeakBytes(const NetworkGraph & graph, bool training, int valueBytes) const;

  /** Multiplications and additions of the forward pass. */
  double GetOperations(const NetworkGraph & graph) const;
};

} // namespace gigapixel

#endif
