/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOutputTargets.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gigapixel
{

double
OutputTargets::TakeLoss(std::vector<double> & outputs) const
{
  double loss = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i)
  {
    const double z = outputs[i], target = targets[i];
    if (std::isnan(target))
    {
      outputs[i] = 0;
    }
    else if (isLogistic)
    {
      const double e = std::exp(-std::abs(z)); // which cannot overflow
      loss += weights[i] * (std::max(z, 0.0) - target * z + std::log1p(e));
      outputs[i] = weights[i] * ((z >= 0 ? 1 : e) / (1 + e) - target);
    }
    else
    {
      loss += weights[i] * (z - target) * (z - target);
      outputs[i] = weights[i] * 2 * (z - target);
    }
  }
  return loss;
}

void
WeighTargets(std::vector<OutputTargets> & images, bool balance)
{
  std::vector<std::map<double, double>> counts; ///< of each output: images with each target
  double                                known = 0;
  for (const OutputTargets & image : images)
  {
    counts.resize(image.targets.size());
    for (std::size_t i = 0; i < image.targets.size(); ++i)
    {
      if (!std::isnan(image.targets[i]))
      {
        ++counts[i][image.targets[i]];
        ++known;
      }
    }
  }
  for (OutputTargets & image : images)
  {
    image.weights.assign(image.targets.size(), static_cast<double>(images.size()) / std::max(1.0, known));
    for (std::size_t i = 0; balance && i < image.targets.size(); ++i)
    {
      if (!std::isnan(image.targets[i]))
      {
        double ofOutput = 0;
        for (const auto & [target, count] : counts[i])
        {
          ofOutput += count;
        }
        image.weights[i] *= ofOutput / (static_cast<double>(counts[i].size()) * counts[i].at(image.targets[i]));
      }
    }
  }
}

} // namespace gigapixel
