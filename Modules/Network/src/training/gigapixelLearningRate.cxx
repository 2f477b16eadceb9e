/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLearningRate.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"

#include <cmath>
#include <stdexcept>

namespace gigapixel
{

LearningRate::LearningRate(const TrainingOptions & options, int stepsPerEpoch)
  : m_Schedule(options.learningRateSchedule)
  , m_Factor(options.learningRateDecay)
  , m_Minimum(options.minimumLearningRate)
  , m_Patience(options.plateauPatience)
  , m_Warmup(options.warmup)
  , m_Steps(std::int64_t{ options.epochs } * stepsPerEpoch)
{
  const auto refuse = [](const std::string & what) { throw InvalidArgument(Diagnostic("E-OPTION-VALUE", what)); };
  if ((m_Schedule == "plateau") != (m_Factor < 1))
  {
    refuse(m_Factor < 1 ? "a learning-rate decay is of the learning-rate schedule plateau: choose that, or no decay"
                        : "the learning-rate schedule plateau needs a learning-rate decay below 1, such as 0.1");
  }
  if (m_Schedule == "cosine" && m_Warmup >= m_Steps)
  {
    refuse("a warmup of " + FormatCount(m_Warmup, "step") + " leaves none of the run's " + std::to_string(m_Steps) +
           " to the learning-rate schedule cosine");
  }
}

double
LearningRate::Get(double plateau, std::int64_t step) const
{
  if (step < m_Warmup)
  {
    return plateau * static_cast<double>(step + 1) / static_cast<double>(m_Warmup);
  }
  if (m_Schedule != "cosine")
  {
    return plateau;
  }
  constexpr double Pi = 3.14159265358979323846;
  const double     passed = static_cast<double>(step - m_Warmup) / static_cast<double>(m_Steps - m_Warmup);
  return m_Minimum + (plateau - m_Minimum) * (1 + std::cos(Pi * passed)) / 2;
}

double
LearningRate::Lower(double plateau, int epochsWithoutBetter) const
{
  const bool lower = m_Schedule == "plateau" && epochsWithoutBetter > 0 && epochsWithoutBetter % (m_Patience + 1) == 0;
  return lower ? plateau * m_Factor : plateau;
}

} // namespace gigapixel
