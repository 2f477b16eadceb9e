/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphPasses_h
#define gigapixelGraphPasses_h

#include "gigapixelDiagnostic.h"
#include "gigapixelDevice.h"
#include "gigapixelFixedPointSum.h"
#include "objective/gigapixelScore.h"
#include "maps/gigapixelTileData.h"
#include "gigapixelWorkers.h"
#include "schedule/gigapixelTileProgram.h"

#include <optional>
#include <stdexcept>

namespace gigapixel
{

/** The logits of a tile are not all finite numbers. */
struct GigapixelNetwork_EXPORT NotFiniteError : Refusal
{
  using Refusal::Refusal;
};

/** \class GraphPasses
 * \brief What computes the tiles of a network that is a graph.
 *
 * All functions but SetParameters() and SetMaskSeed() may be called from several threads at once, each with a TileData
 * of its own, whose tile has the program that is to be run. A tile is computed by the calling thread alone. */
class GraphPasses
{
public:
  virtual ~GraphPasses() = default;

  /** \param parameters those of NetworkGraph::GetParameters(), one behind the other */
  virtual void SetParameters(const std::vector<double> & parameters) = 0;

  /** Of dropout: what is computed from now on is computed with the values that its masks leave; none, as in the
   * beginning: with all of them, as inference is. */
  virtual void SetMaskSeed(const std::optional<std::uint64_t> & seed) = 0;

  /** Sums that AddGradient() adds to. */
  virtual std::size_t GetNumberOfSums() const = 0;

  /** Gradient of the parameters from the tiles' sums; 0 for statistics, which are not trained.
   * \param workers threads that have nothing else to do */
  virtual std::vector<double> GetGradient(const FixedPointSum & sums, Workers & workers) const = 0;

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

  // The following throw NotFiniteError where they see logits that are none.

  /** Adds the loss of the core's pixels, and the tile's gradient `times` times; that of kept maps likewise. */
  virtual void AddGradient(TileData &        data,
                           const LossTerms & terms,
                           std::int64_t      times,
                           LossSum &         loss,
                           FixedPointSum &   gradient) const = 0;

  virtual void AddScore(TileData & data, const LossTerms & terms, Score & sum) const = 0;

  // As TileNetwork's functions promise.
  virtual void Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const = 0;
  virtual void PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const = 0;

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
