/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSegmentedStep.h"

#include <algorithm>

namespace gigapixel
{

std::vector<SegmentPass>
StreamedNetwork::SegmentedStep::MakeBackwardPasses() const
{
  std::vector<SegmentPass> passes{ { SegmentPass::Kind::Loss, m_Segments.size() - 1 } };
  for (std::size_t i = m_Segments.size() - 1; i-- > 0;)
  {
    if (m_Geometry->IsBehindTrained(m_Segments[i].operation))
    {
      passes.push_back({ SegmentPass::Kind::Gradient, i });
    }
  }
  return passes;
}

/** By one rank: maps of an image lie with one process. */
bool
StreamedNetwork::ComputeSegmentedGradient(PixelSource &    pixels,
                                          LabelSource &    labels,
                                          LossGradient &   sum,
                                          const Progress & progress,
                                          const RankTeam & team)
{
  CheckSizes(pixels, labels);
  return !team.IsThis(GetLastRank(pixels, team)) ||
         SegmentedStep(*this, Purpose::Training, pixels, &labels, progress, team).ComputeGradient(sum);
}

bool
StreamedNetwork::ComputeSegmentedScore(PixelSource &    pixels,
                                       LabelSource &    labels,
                                       Score &          sum,
                                       const Progress & progress,
                                       const RankTeam & team)
{
  CheckSizes(pixels, labels);
  const bool isClass = m_Network.objective.kind == Objective::Kind::Classes;
  LossTerms  terms = MakeLossTerms(m_Network);
  terms.image = m_Targets;
  const auto addScore = [&](TileData & data, Score & result) {
    std::vector<float> probabilities(m_Network.GetNumberOfOutputChannels());
    result.SetNumberOfChannels(probabilities.size());
    m_Tiles.AddScore(data, terms, result);
    if (!m_LabelsImage)
    {
      return;
    }
    m_Tiles.Predict(data,
                    isClass ? PixelValue::Probability : PixelValue::Logit, // of which Objective makes the prediction
                    probabilities.data(),
                    static_cast<std::ptrdiff_t>(probabilities.size()));
    result.probabilities.assign(probabilities.begin(), probabilities.end());
  };
  return !team.IsThis(GetLastRank(pixels, team)) ||
         SegmentedStep(*this, Purpose::Inference, pixels, &labels, progress, team).TakeOutput(sum, addScore);
}

bool
StreamedNetwork::KeepMaps(PixelSource & pixels, const Progress & progress, double & part)
{
  const Size size = pixels.GetSize();
  part = 0;
  if (!IsInSegments() || (m_KeptImage && m_KeptImage->IsOf(size)))
  {
    return true;
  }
  m_KeptImage.reset(); // its memory is given back before
  const RankTeam alone;
  double         ofOutput = 1;
  const Progress report = [&](double done) { return !progress || progress(ofOutput * done); };
  SegmentedStep  step(*this, Purpose::Inference, pixels, nullptr, report, alone);
  ofOutput = part = step.GetPartBeforeOutput();
  m_KeptImage = step.MakeKeptImage();
  return m_KeptImage != nullptr;
}

bool
StreamedNetwork::PredictImage(PixelSource & pixels, PixelValue value, float * values, const Progress & progress)
{
  m_Network.CheckChannels(pixels);
  const RankTeam alone;
  LossSum        none;
  return SegmentedStep(*this, Purpose::Inference, pixels, nullptr, progress, alone)
    .TakeOutput(none, [&](TileData & data, LossSum &) {
      m_Tiles.Predict(data, value, values, m_Network.GetNumberOfOutputChannels());
    });
}

bool
StreamedNetwork::ExplainImage(PixelSource &    pixels,
                              int              label,
                              float *          values,
                              ActivationMap &  map,
                              const Progress & progress)
{
  m_Network.CheckChannels(pixels);
  const RankTeam alone;
  return SegmentedStep(*this, Purpose::Training, pixels, nullptr, progress, alone).Explain(label, values, map);
}

bool
StreamedNetwork::ComputeFeatures(PixelSource &        pixels,
                                 const FeatureTaker & take,
                                 std::vector<float> & pooled,
                                 const Progress &     progress)
{
  m_Network.CheckChannels(pixels);
  const RankTeam alone;
  return SegmentedStep(*this, Purpose::Inference, pixels, nullptr, progress, alone).ComputeFeatures(take, pooled);
}

bool
StreamedNetwork::ComputeSums(PixelSource & pixels, std::vector<double> & sums, const Progress & progress)
{
  m_Network.CheckChannels(pixels);
  const RankTeam alone;
  return SegmentedStep(*this, Purpose::Inference, pixels, nullptr, progress, alone).ComputeSums(sums);
}

} // namespace gigapixel
