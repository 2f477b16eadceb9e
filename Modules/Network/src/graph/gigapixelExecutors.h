/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelExecutors_h
#define gigapixelExecutors_h

#include "gigapixelExecutor.h"

namespace gigapixel
{

/** \class FusedExecutor
 * \brief Our own kernels, for a CPU or a GPU, which compute NetworkDescription::layers. Each function stands with what
 * it is about: plans in schedule, weights in model. */
class FusedExecutor : public Executor
{
public:
  int                        GetStride(const NetworkDescription & network) const override;
  int                        GetHalo(const NetworkDescription & network) const override;
  double                     GetLearningRate() const override;
  std::map<std::string, int> CountSteps(const NetworkDescription & network) const override;
  void                       Summarize(const NetworkDescription & network, NetworkSummary & summary) const override;
  void                CheckSamples(const NetworkDescription & network, const PixelSource & pixels) const override;
  void                CheckMeans() const override;
  std::vector<double> DrawWeights(const NetworkDescription &  network,
                                  std::uint64_t               seed,
                                  const std::vector<double> & shares,
                                  int                         threads) const override;
  MemoryPlan          MakePlan(const PlannedRun & run) const override;
  std::shared_ptr<const TileWindows> MakeWindows(const NetworkDescription & network,
                                                 Size                       image,
                                                 std::int64_t               tileSize,
                                                 bool                       training) const override;
  std::int64_t                       GetLoadedBytes(const Device & device) const override;
  std::int64_t                       GetLaterBytes() const override;
  int                                CountOnDevice(int tilesInFlight) const override;
  MachinePace MeasurePace(const NetworkDescription & network, Precision precision, std::int64_t budget) const override;
  void        CheckDevice(const NetworkDescription & network, const Device & device) const override;
  std::unique_ptr<TilePasses> MakePasses(const NetworkDescription & network, const Device & device) const override;
  std::optional<std::int64_t> GetPeakBytes(const Device & device) const override;
};

/** \class TorchExecutor
 * \brief LibTorch's operators, which compute NetworkDescription::graph. */
class TorchExecutor : public Executor
{
public:
  int                        GetStride(const NetworkDescription & network) const override;
  int                        GetHalo(const NetworkDescription & network) const override;
  double                     GetLearningRate() const override;
  std::map<std::string, int> CountSteps(const NetworkDescription & network) const override;
  void                       Summarize(const NetworkDescription & network, NetworkSummary & summary) const override;
  void                CheckSamples(const NetworkDescription & network, const PixelSource & pixels) const override;
  void                CheckMeans() const override;
  std::vector<double> DrawWeights(const NetworkDescription &  network,
                                  std::uint64_t               seed,
                                  const std::vector<double> & shares,
                                  int                         threads) const override;
  MemoryPlan          MakePlan(const PlannedRun & run) const override;
  std::shared_ptr<const TileWindows> MakeWindows(const NetworkDescription & network,
                                                 Size                       image,
                                                 std::int64_t               tileSize,
                                                 bool                       training) const override;
  std::int64_t                       GetLoadedBytes(const Device & device) const override;
  std::int64_t                       GetLaterBytes() const override;
  int                                CountOnDevice(int tilesInFlight) const override;
  MachinePace MeasurePace(const NetworkDescription & network, Precision precision, std::int64_t budget) const override;
  void        CheckDevice(const NetworkDescription & network, const Device & device) const override;
  std::unique_ptr<TilePasses> MakePasses(const NetworkDescription & network, const Device & device) const override;
  std::optional<std::int64_t> GetPeakBytes(const Device & device) const override;
};

} // namespace gigapixel

#endif
