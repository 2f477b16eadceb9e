/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPlanSentences_h
#define gigapixelPlanSentences_h

#include "gigapixelMemoryPlan.h"

namespace gigapixel
{

/** That the run's budget, or the machine's memory where there is none, is too small, and what would do. \param what
 * " for ...", and what would need less */
MemoryLimitError MakeMemoryLimitError(const PlannedRun &  run,
                                      std::int64_t        leastBytes,
                                      const std::string & what,
                                      std::int64_t        scratchBytes = 0);

/** That what is free of a GPU's memory is too little, and what would do. */
MemoryLimitError MakeGpuMemoryError(const PlannedRun & run, std::int64_t leastBytes, std::int64_t freeBytes);

/** " for ...": what a budget has no room for, and what would need less. */
std::string DescribeNeed(const PlannedRun & run);

/** For MemoryPlan::remark; empty where no other tile size was taken. */
std::string DescribeSmallerTiles(std::int64_t wanted, std::int64_t taken);

/** For MemoryPlan::remark, where the network is not divided into the segments that it would have with more memory. */
std::string DescribeOtherSegments(Purpose purpose);

/** For MemoryPlan::remark. \param part of the time that is planned \param bytes of room */
std::string DescribeScratchFolder(double part, std::int64_t bytes);

} // namespace gigapixel

#endif
