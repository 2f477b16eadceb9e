/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelExecutor_h
#define gigapixelExecutor_h

#include "gigapixelDevice.h"
#include "gigapixelSource.h"

#include <map>
#include <memory>

namespace gigapixel
{

class TilePasses;
class TileWindows;
struct MachinePace;
struct MemoryPlan;
struct NetworkSummary;
struct PlannedRun;

/** \class Executor
 * \brief What computes a network: our own kernels a graph that is a chain of layers, LibTorch every other one.
 *
 * Only Of() asks which. All that differs between both is a function here. What follows from the graph
 * alone is a function of NetworkDescription. */
class GigapixelNetwork_EXPORT Executor
{
public:
  virtual ~Executor() = default;

  /** \param network validated */
  static const Executor & Of(const NetworkDescription & network);

  // Networks ----------------------------------------------------------------------------------------------------------

  virtual int    GetStride(const NetworkDescription & network) const = 0; ///< NetworkDescription::GetStride()
  virtual int    GetHalo(const NetworkDescription & network) const = 0;   ///< NetworkDescription::GetHalo()
  virtual double GetLearningRate() const = 0;                             ///< that of networks which name none

  /** What it computes one after the other: how many of each type. */
  virtual std::map<std::string, int> CountSteps(const NetworkDescription & network) const = 0;

  /** Fills in what a network costs. */
  virtual void Summarize(const NetworkDescription & network, NetworkSummary & summary) const = 0;

  /** \throw std::invalid_argument it does not take samples of this type, or volumes */
  virtual void CheckSamples(const NetworkDescription & network, const PixelSource & pixels) const = 0;

  /** \throw std::invalid_argument it has no means and deviations of pixels */
  virtual void CheckMeans() const = 0;

  /** As MakeInitialWeights(). */
  virtual std::vector<double> DrawWeights(const NetworkDescription &  network,
                                          std::uint64_t               seed,
                                          const std::vector<double> & shares,
                                          int                         threads) const = 0;

  // Plans -------------------------------------------------------------------------------------------------------------

  /** As MemoryPlan::Make(), for a device that was checked. */
  virtual MemoryPlan MakePlan(const PlannedRun & run) const = 0;

  /** What tiles of an image see. */
  virtual std::shared_ptr<const TileWindows> MakeWindows(const NetworkDescription & network,
                                                         Size                       image,
                                                         std::int64_t               tileSize,
                                                         bool                       training) const = 0;

  /** Bytes of the libraries that compute, as far as they are loaded. */
  virtual std::int64_t GetLoadedBytes(const Device & device) const = 0;

  /** Bytes that libraries which are loaded take only when they compute. */
  virtual std::int64_t GetLaterBytes() const = 0;

  /** How many of the tiles in flight have their maps on a GPU at the same time. */
  virtual int CountOnDevice(int tilesInFlight) const = 0;

  /** As MachinePace::Measure(). */
  virtual MachinePace MeasurePace(const NetworkDescription & network,
                                  Precision                  precision,
                                  std::int64_t               budget) const = 0;

  // Devices -----------------------------------------------------------------------------------------------------------

  /** As CheckDevice(). */
  virtual void CheckDevice(const NetworkDescription & network, const Device & device) const = 0;

  /** What computes tiles. \throw std::exception the network is not valid, or the device cannot compute it */
  virtual std::unique_ptr<TilePasses> MakePasses(const NetworkDescription & network, const Device & device) const = 0;

  /** Most bytes of the GPU's memory that were taken; none: it is the CPU, or nobody knows. */
  virtual std::optional<std::int64_t> GetPeakBytes(const Device & device) const = 0;
};

} // namespace gigapixel

#endif
