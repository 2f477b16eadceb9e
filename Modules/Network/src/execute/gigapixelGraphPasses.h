/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphPasses_h
#define gigapixelGraphPasses_h

#include "gigapixelDiagnostic.h"
#include "gigapixelTilePasses.h"
#include "schedule/gigapixelTileProgram.h"

namespace gigapixel
{

/** The logits of a tile are not all finite numbers. */
struct GigapixelNetwork_EXPORT NotFiniteError : Refusal
{
  using Refusal::Refusal;
};

/** \class GraphPasses
 * \brief What computes the tiles of a network that is a graph: also those of segments, which read and write maps that
 * are kept. A tile has the program that is to be run.
 *
 * Where they see logits that are no finite numbers, AddGradient(), AddScore(), Predict() and PredictLabels() throw
 * NotFiniteError. */
class GraphPasses : public TilePasses
{
public:
  /** Computes the core of a map that is kept and writes it there. */
  virtual void WriteMap(TileData & data) const = 0;

  /** Of an operation that reduces the image: sums of the tile's part, see ReductionSchema.
   * \param reduced gets the part of the map, row by row, channels beside each other; null: nobody asks */
  virtual std::vector<double> Reduce(TileData & data, std::vector<float> * reduced) const = 0;

  /** For each pixel of the core of a map, the sum over its channels, weighted. Row by row.
   * \param weights of the channels */
  virtual void WeighMap(TileData & data, const std::vector<double> & weights, float * values) const = 0;

  /** The backward pass from the logits of one pixel to kept maps; what it adds to the sums has no use.
   * \param ofLogits their gradient */
  virtual void DifferentiateLogits(TileData &                  data,
                                   const std::vector<double> & ofLogits,
                                   FixedPointSum &             gradient) const = 0;

  /** The backward pass from a map that is kept, whose gradient is complete: adds the tile's gradient to the sums
   * `times` times, and to gradients of the kept maps that it is computed from. */
  virtual void AddGradientBehindMap(TileData & data, std::int64_t times, FixedPointSum & gradient) const = 0;

  /** Most bytes that the maps of one tile have taken until now; what TileProgram::GetPeakBytes() estimates. 0: they lie
   * in a GPU's memory, which LibTorch manages. */
  virtual std::int64_t GetPeakBytes() const = 0;
};

/** LibTorch's operations, in float, bf16 or double, on the CPU or a GPU. \throw std::runtime_error LibTorch does not
 * load, cannot use the GPU, or has no bf16 for this CPU */
GigapixelNetwork_EXPORT std::unique_ptr<GraphPasses> MakeTorchGraphPasses(const NetworkDescription & network,
                                                                          const Device &             device);

/** Which of LibTorch's operators compute, and where. */
enum class GraphOperators
{
  OfDevice,         ///< on the CPU those that are the fastest there, on a GPU plain ones
  Plain,            ///< on the CPU those that compute on any device
  PlainOnTestDevice ///< on LibTorch's device for backends of other programs (PrivateUse1), which a test makes known
};

/** \class GraphOperatorsForTests
 * \brief While one lives, what MakeTorchGraphPasses() makes for the CPU has these operators: tests see what a GPU
 * computes, on machines without one. */
class GigapixelNetwork_EXPORT GraphOperatorsForTests
{
public:
  explicit GraphOperatorsForTests(GraphOperators operators);
  ~GraphOperatorsForTests();
  GraphOperatorsForTests(const GraphOperatorsForTests &) = delete;
  GraphOperatorsForTests & operator=(const GraphOperatorsForTests &) = delete;

private:
  const GraphOperators m_Before;
};

} // namespace gigapixel

#endif
