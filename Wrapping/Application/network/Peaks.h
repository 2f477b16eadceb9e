/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Peaks_h
#define Peaks_h

#include "gigapixelRunCommand.h"
#include "gigapixelMemoryPlan.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace gigapixel::application
{

/** What was planned, and what the process has taken until now, of its memory and of a GPU's where one computes. */
struct Peaks
{
  /** \param peakBefore that of the process when the work began that the plan is of: of a batch, what earlier slides
   * took */
  Peaks(const MemoryPlan &         plan,
        const NetworkDescription & network,
        const ArgumentValues &     values,
        std::int64_t               peakBefore = 0);

  /** "peak memory: estimated 1.2 GiB, measured 1.1 GiB; of the GPU estimated at most 3.0 GiB, measured 2.9 GiB". Where
   * the work took no more than the process had taken before, that is an upper bound, and called one. */
  std::string Format() const;

  /** Adds "estimatedPeakBytes" and "peakBytes", and with a GPU "estimatedGpuBytes" and "gpuBytes", null where nobody
   * knows it. */
  void AddTo(nlohmann::ordered_json & json) const;

  std::int64_t                planned;
  std::int64_t                measured;
  std::int64_t                before; ///< the peak of the process when the work began
  std::optional<std::int64_t> plannedOfGpu;
  std::optional<std::int64_t> measuredOfGpu;
};

} // namespace gigapixel::application

#endif
