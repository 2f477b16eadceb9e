/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTrainingSettings_h
#define gigapixelTrainingSettings_h

#include "gigapixelTrainer.h"

#include <vector>

namespace gigapixel
{

/** \throw std::invalid_argument names the option or the sample that cannot be */
void CheckTraining(const NetworkDescription &  network,
                   const TrainingOptions &     options,
                   const std::vector<Sample> & training,
                   const std::vector<Sample> & validation);

/** \param counts pixels of each label, those that no class has among them
 * \throw std::runtime_error names the sample and the label that is none of the network's classes */
void CheckLabels(const Sample & sample, const std::vector<std::int64_t> & counts, const NetworkDescription & network);

/** Of DescribeTraining() the network alone: it can be compared before a plan is made, which another one may spoil. */
std::string DescribeNetwork(const NetworkDescription & network);

/** All that decides over the bits of a run, as a JSON object: what CheckSettings() compares. */
std::string DescribeTraining(const NetworkDescription &  network,
                             const TrainingOptions &     options,
                             const MemoryPlan &          plan,
                             double                      micronsPerPixel,
                             const std::vector<Sample> & training,
                             const std::vector<Sample> & validation);

} // namespace gigapixel

#endif
