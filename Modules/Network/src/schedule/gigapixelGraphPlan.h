/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphPlan_h
#define gigapixelGraphPlan_h

#include "gigapixelMemoryPlan.h"

#include <optional>

namespace gigapixel
{

/** LibTorch 1.13 and what it holds beside the maps, measured on x86-64. */
constexpr std::int64_t TorchBytes = std::int64_t{ 159 } << 20;

/** And, where a GPU computes, of CUDA's libraries and kernels (LibTorch 2.11, one H200). */
constexpr std::int64_t CudaBytes = std::int64_t{ 800 } << 20;

/** \throw std::runtime_error a graph is not computed with numbers that are kept like this */
GigapixelNetwork_EXPORT void CheckPrecision(const NetworkDescription & network, Precision precision);

/** MemoryPlan::Make() for a network that is a graph.
 *
 * The tile size, and the segments of training, follow from network, image, purpose, precision and a class of memory for
 * one tile: the fastest ones that stay within it. The class is 1 GiB, or as many times half of it as lets one tile, and
 * the maps that are kept in memory, fit the budget; where maps do not fit, the network goes over the image at once if
 * that is faster than what they are made small with. The plan's remark says both. Beyond that the budget only decides
 * how many tiles are computed at the same time, which changes no bit. What fits a budget fits every greater one.
 *
 * A GPU has the maps of one tile at a time, whose class of memory has to fit what is free there as well; meanwhile
 * other threads read the pixels of the next ones into the CPU's memory.
 * \param freeGpuBytes of the run's GPU; none: it is not known, or the CPU computes
 * \throw MemoryLimitError not one tile fits */
GigapixelNetwork_EXPORT MemoryPlan MakeGraphPlan(const PlannedRun & run, std::optional<std::int64_t> freeGpuBytes = {});

} // namespace gigapixel

#endif
