/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSegmentedStep.h"

#include "gigapixelDiagnostic.h"
#include "graph/gigapixelLabelings.h"

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

bool
StreamedNetwork::SegmentedStep::Explain(int label, float * values, ActivationMap & map)
{
  const std::size_t        last = m_Segments.size() - 1; // behind the last pooling
  ActivationPass           pass(m_Geometry, m_Segments[last - 1]);
  const int                channels = m_Streamed.m_Network.GetNumberOfOutputChannels();
  std::vector<SegmentPass> passes = MakeForwardPasses();
  passes.push_back({ SegmentPass::Kind::Loss, last });
  m_AllWork = GetWork(passes) + m_Works[last - 1];
  LossSum    none;
  const auto differentiate = [&](TileData & data, LossSum &) {
    const Objective &     objective = m_Streamed.m_Network.objective;
    const ObjectiveKind & kind = objective.GetKind();
    m_Passes.Predict(data, GetPredictedValue(m_Streamed.m_Network), values, channels);
    label = label < 0 ? kind.choose(kind.predict(objective, { values, values + channels })) : label;
    m_Passes.DifferentiateLogits(data, kind.explain(channels, label), *m_Gradient);
  };
  const auto report = [&](double part) {
    return !m_Progress || m_Progress(std::min(1.0, (m_Done + part * m_Works[last - 1]) / m_AllWork));
  };
  const bool finished = GoOver(passes, none, differentiate) &&
                        pass.Run(m_Passes, *m_Maps, m_Pixels, m_Streamed.m_Workers, m_Streamed.m_Data, report, map);
  map.label = label;
  return finished;
}

bool
StreamedNetwork::SegmentedStep::ComputeFeatures(const FeatureTaker & take, std::vector<float> & pooled)
{
  const int pooling = m_Segments[m_Segments.size() - 2].operation; // the last segment is behind it
  if (m_Geometry->GetNumberOfAxes() > 2)
  {
    throw Refusal(
      Diagnostic("E-MODEL-OUTPUT", "vectors of an image's tiles are those of images of two axes, not of volumes"));
  }
  if (GetNumberOfPixels(m_Geometry->GetWhole(pooling)) > 1)
  {
    throw Refusal(Diagnostic("E-MODEL-OUTPUT",
                             "the network pools its last map to several cells, so that a slide has no one vector",
                             "take a network that pools it to one, such as resnet18"));
  }
  m_Take = &take;
  if (!MakeMaps())
  {
    return false;
  }
  const std::vector<double> values = m_Maps->ReadReduced(pooling);
  pooled.assign(values.begin(), values.end());
  return true;
}

bool
StreamedNetwork::SegmentedStep::ComputeSums(std::vector<double> & sums)
{
  if (!MakeMaps())
  {
    return false;
  }
  sums = m_Maps->GetSums(m_Segments[m_Segments.size() - 2].operation);
  return true;
}

void
StreamedNetwork::SegmentedStep::ShareResult(const SegmentPass & pass)
{
  const NetworkDescription & network = m_Streamed.m_Network;
  const int                  pooling = m_Segments.front().operation;
  if (pass.kind == SegmentPass::Kind::Map)
  {
    const auto tiles = SegmentPasses(m_Geometry, m_Segments, { pass }).GetNumberOfItems();
    const int  last = m_Dealt.GetRankOf(tiles - 1);
    m_Dealt.ShareSum(last, m_Maps->GetSums(pooling), network);
    m_Dealt.IsThis(last) ? void() : FinishReduction(pooling);
  }
  else if (pass.kind == SegmentPass::Kind::Loss) // of an image's label, which is one tile
  {
    std::vector<double> gradient = m_Maps->ReadReducedGradient(pooling);
    m_Dealt.ShareSum(m_Dealt.GetRankOf(0), gradient, network);
    m_Maps->WriteReducedGradient(pooling, gradient);
  }
}

void
StreamedNetwork::SegmentedStep::AddPartOfRanks(const Part & part, std::int64_t tile, std::int64_t tiles)
{
  std::vector<double> & sums = m_Maps->GetSums(part.target.operation);
  m_Dealt.TakeOver(tile, sums, m_Streamed.m_Network);
  TakePart(part);
  m_Dealt.HandOver(tile, tiles, sums, m_Streamed.m_Network);
}

void
StreamedNetwork::SegmentedStep::TakePart(const Part & part)
{
  const int             pooling = part.target.operation;
  const Box             whole = m_Geometry->GetTiled(pooling);
  std::vector<double> & sums = m_Maps->GetSums(pooling);
  if (!part.sums.empty())
  {
    const Operation & operation = m_Geometry->GetGraph().operations[pooling];
    m_Geometry->GetReduction(pooling)->add(operation, sums, part.sums, part.target.output);
  }
  const auto endsAlike = [](const Interval & a, const Interval & b) { return a.end == b.end; };
  if (std::equal(whole.begin(), whole.end(), part.target.output.begin(), endsAlike))
  {
    FinishReduction(pooling);
  }
}

void
StreamedNetwork::SegmentedStep::FinishReduction(int operation)
{
  const std::vector<double> & sums = m_Maps->GetSums(operation);
  if (sums.empty())
  {
    throw Refusal(Diagnostic("E-MASK-EMPTY",
                             "nothing of the image is tissue, so that there is nothing to label",
                             "give the right tissue mask, or none"));
  }
  const Operation & of = m_Geometry->GetGraph().operations[operation];
  m_Maps->WriteReduced(operation, m_Geometry->GetReduction(operation)->finish(of, sums));
}

void
StreamedNetwork::SegmentedStep::Reduce(TileData & data, EqualSums & equal)
{
  const auto reduce = [this](TileData & tile, std::vector<double> & sums) { sums = m_Passes.Reduce(tile, nullptr); };
  std::vector<double> part;
  const bool dependsOnPlace = m_Geometry->GetReduction(data.tile.program->steps.back().operation)->dependsOnPlace;
  m_Streamed.m_HasMasks || dependsOnPlace ? reduce(data, part)
                                          : equal.Compute(data, m_Streamed.m_Network.channels, part, reduce);
  AddPart(data, part);
}

void
StreamedNetwork::SegmentedStep::ReduceAndTake(TileData & data, EqualTiles<PooledTile> & equal)
{
  const auto key = FindTileKey(data, m_Streamed.m_Network.channels);
  PooledTile tile;
  if (!key || !equal.Repeat(*key, tile))
  {
    tile.sums = m_Passes.Reduce(data, &tile.vectors);
    if (key && tile.KeepOne(GetNumberOfPixels(data.tile.program->core)))
    {
      equal.Remember(*key, data.tile, tile);
    }
  }
  const int pooling = data.tile.program->steps.back().operation;
  AddPart(data, tile.sums, [&] { (*m_Take)(tile.GetFeatures(*m_Geometry, pooling, data)); });
}

void
StreamedNetwork::SegmentedStep::AddGradient(TileData & data, const SegmentPass & pass, EqualSums & equal)
{
  const ReductionSchema * const reduction = m_Geometry->GetReduction(m_Segments[pass.segment].operation);
  const auto &                  steps = data.tile.program->steps;
  const bool                    givesToMaps = std::any_of(
    steps.begin(), steps.end(), [](const auto & step) { return step.sources.empty() && step.needsGradient; });
  const bool alike =
    reduction && !reduction->hasGradient && !reduction->dependsOnPlace && !givesToMaps && !m_Streamed.m_HasMasks;
  if (alike && equal.Postpone(data, m_Streamed.m_Network.channels))
  {
    return data.turns->Finish(data.turn); // there is nothing to be done in its turn
  }
  m_Passes.AddGradientBehindMap(data, 1, *m_Gradient);
}

/** All ranks of the team do, or where they cannot share the image the one that has the sum in the end. */
bool
StreamedNetwork::TakesPart(const PixelSource & pixels, const RankTeam & team) const
{
  return team.IsThis(GetLastRank(pixels, team)) || (team.Shares() && SegmentedStep::MayShare(*this, pixels.GetSize()));
}

bool
StreamedNetwork::ComputeSegmentedGradient(PixelSource &    pixels,
                                          LabelSource &    labels,
                                          LossGradient &   sum,
                                          const Progress & progress,
                                          const RankTeam & team)
{
  CheckSizes(pixels, labels);
  return !TakesPart(pixels, team) ||
         SegmentedStep(*this, Purpose::Training, pixels, &labels, progress, team).ComputeGradient(sum);
}

void
PixelLabeling::AddProbabilities(const NetworkDescription &, const TilePasses &, TileData &, Score &) const
{}

void
ImageLabeling::AddProbabilities(const NetworkDescription & network,
                                const TilePasses &         tiles,
                                TileData &                 data,
                                Score &                    sum) const
{
  std::vector<float> probabilities(network.GetNumberOfOutputChannels());
  tiles.Predict(
    data, GetPredictedValue(network), probabilities.data(), static_cast<std::ptrdiff_t>(probabilities.size()));
  sum.probabilities.assign(probabilities.begin(), probabilities.end());
}

bool
StreamedNetwork::ComputeSegmentedScore(PixelSource &    pixels,
                                       LabelSource &    labels,
                                       Score &          sum,
                                       const Progress & progress,
                                       const RankTeam & team)
{
  CheckSizes(pixels, labels);
  LossTerms terms = MakeLossTerms(m_Network);
  terms.image = m_Targets;
  const auto addScore = [&](TileData & data, Score & result) {
    result.SetNumberOfChannels(m_Network.GetNumberOfOutputChannels());
    m_Tiles->AddScore(data, terms, result);
    Labeling::Of(m_Network.graph).AddProbabilities(m_Network, *m_Tiles, data, result);
  };
  return !TakesPart(pixels, team) ||
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
      m_Tiles->Predict(data, value, values, m_Network.GetNumberOfOutputChannels());
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
