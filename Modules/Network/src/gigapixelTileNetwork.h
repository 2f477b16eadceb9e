/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileNetwork_h
#define gigapixelTileNetwork_h

#include "gigapixelTileData.h"

#include <memory>

namespace gigapixel
{

/** Double is for tests: every layer through LibTorch's own operations. */
enum class Precision
{
  Float,
  Double
};

/** Which operations compute the layers that touch full resolution. */
enum class Path
{
  Fused, ///< our kernels where they know the layer's shape and the precision is Float, else LibTorch's
  Stock  ///< LibTorch's operations everywhere: the reference
};

/** Sums over pixels; the mean loss and its gradient are these divided by the number of pixels. */
struct LossGradient
{
  double              loss{ 0 };
  std::int64_t        pixels{ 0 }; ///< that took part
  std::vector<double> gradient;    ///< as in ParameterLayout

  void Add(const LossGradient & other);
};

/** How well the labels at probability 0.5 (or of the most probable class) meet the truth, in pixels. */
struct Score
{
  double                    loss{ 0 };
  std::int64_t              pixels{ 0 };
  std::vector<std::int64_t> both;      ///< per class: labeled so, and truly so
  std::vector<std::int64_t> predicted; ///< labeled so
  std::vector<std::int64_t> actual;    ///< truly so

  void Add(const Score & other);

  double GetMeanLoss() const;

  /** 2 both / (predicted + actual) of class 1, or its mean over the classes 1, 2, ... that occur; 1 where none does. */
  double GetDice() const;
};

/** \class TileNetwork
 * \brief Forward and backward pass of a network through one tile, in the calling thread.
 *
 * All functions but SetParameters() may be called from several threads at once. */
class GigapixelNetwork_EXPORT TileNetwork
{
public:
  TileNetwork(const NetworkDescription & network, Precision precision = Precision::Float, Path path = Path::Fused);
  ~TileNetwork();

  /** \param parameters as in ParameterLayout */
  void SetParameters(const std::vector<double> & parameters);

  void AddGradient(const TileData & data, LossGradient & sum) const;

  void AddScore(const TileData & data, Score & sum) const;

  /** Writes the core's probabilities: interleaved channels, from row to row `pitch` floats. */
  void Predict(const TileData & data, float * probabilities, std::ptrdiff_t pitch) const;

  /** Makes LibTorch compute with the calling thread alone, in this thread only. */
  static void ComputeInThisThreadAlone();

  class Passes;

private:
  std::unique_ptr<Passes> m_Passes;
};

/** Keeps LibTorch's process-wide number of threads for the host program while ComputeInThisThreadAlone() is called in
 * new threads. */
class GigapixelNetwork_EXPORT KeepTorchThreads
{
public:
  KeepTorchThreads();
  ~KeepTorchThreads();

private:
  int m_Threads;
};

/** Bytes that one tile in flight takes at most, with what it is computed from. */
std::int64_t EstimateTileBytes(const NetworkDescription & network, std::int64_t tileSize, bool training);

} // namespace gigapixel

#endif
