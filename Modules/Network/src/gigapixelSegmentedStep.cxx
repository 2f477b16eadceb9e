/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelEqualMaps.h"
#include "gigapixelLoss.h"
#include "gigapixelStreamedNetwork.h"
#include "gigapixelTurns.h"
#include "execute/gigapixelGraphPasses.h"
#include "execute/gigapixelKeptMaps.h"
#include "schedule/gigapixelSegment.h"
#include "schedule/gigapixelTileProgram.h"

#include <numeric>

namespace gigapixel
{

/** \class StreamedNetwork::SegmentedStep
 * \brief Gradient of one image in segments: forward through all but the last, which takes the loss and goes backward,
 * then backward through the others in reverse order. */
class StreamedNetwork::SegmentedStep
{
public:
  SegmentedStep(StreamedNetwork & streamed,
                PixelSource &     pixels,
                LabelSource &     labels,
                const Progress &  progress,
                const RankTeam &  team)
    : m_Streamed(streamed)
    , m_Passes(*streamed.m_Tiles.GetGraphPasses())
    , m_Pixels(pixels)
    , m_Labels(labels)
    , m_Progress(progress)
    , m_Team(team)
    , m_Geometry(std::make_shared<GraphGeometry>(streamed.m_Network.graph,
                                                 Extent{ pixels.GetSize().height, pixels.GetSize().width }))
    , m_Segments(MakeSegments(*m_Geometry, streamed.m_Segments))
    , m_Maps(*m_Geometry,
             m_Segments.back().kept,
             std::max(4, GetValueBytes(streamed.m_Device.precision)), // exact, whatever tiles compute in
             streamed.m_Scratch)
    , m_Gradient(m_Passes.GetNumberOfSums())
  {
    for (const Segment & segment : m_Segments)
    {
      m_Works.push_back(MakeWholeProgram(segment).GetOperations(m_Geometry->GetGraph()));
    }
  }

  bool
  Run(LossGradient & sum)
  {
    const NetworkDescription & network = m_Streamed.m_Network;
    const bool                 dice = MakeLossTerms(network).IsDice();
    const double               all = std::accumulate(m_Works.begin(), m_Works.end(), 0.0);
    m_AllWork = (1 + BackwardWork) * all + (dice ? 0 : -m_Works.back());
    LossTerms terms = MakeLossTerms(network);
    Score     score;
    score.SetNumberOfChannels(network.GetNumberOfOutputChannels());
    if (!ComputeMaps() || (dice && !ComputeScore(terms, score)))
    {
      return false;
    }
    if (dice)
    {
      TakeDiceLoss(network, score);
      terms = MakeDiceTerms(network, score);
    }
    const auto differentiate = [&](TileData & data, LossSum & result) {
      m_Passes.AddGradient(data, terms, 1, result, m_Gradient);
    };
    LossSum & loss = sum;
    if (!GoOver(m_Segments.size() - 1, true, BackwardWork, loss, differentiate) || !GoBackward())
    {
      return false;
    }
    sum.loss = dice ? score.loss : sum.loss;
    sum.gradient = m_Passes.GetGradient(m_Gradient);
    return true;
  }

private:
  static constexpr double BackwardWork = 3; ///< times the forward pass, which is computed again

  /** Of a pass that adds nothing up. */
  struct Nothing
  {
    void
    Add(const Nothing &)
    {}
  };

  /** Tiles have the maps of the step while it lasts, however it ends. */
  class PointToMaps
  {
  public:
    PointToMaps(std::vector<TileData> & tiles, KeptMaps & maps, Turns * turns)
      : m_Tiles(tiles)
    {
      Set(&maps, turns);
    }

    ~PointToMaps() { Set(nullptr, nullptr); }

    PointToMaps(const PointToMaps &) = delete;
    PointToMaps & operator=(const PointToMaps &) = delete;

  private:
    void
    Set(KeptMaps * maps, Turns * turns)
    {
      for (TileData & data : m_Tiles)
      {
        data.kept = maps;
        data.turns = turns;
      }
    }

    std::vector<TileData> & m_Tiles;
  };

  TileProgram
  MakeWholeProgram(const Segment & segment) const
  {
    return TileProgram::Make(
      *m_Geometry, segment.operation, segment.kept, m_Geometry->GetWhole(segment.operation), true);
  }

  bool
  ComputeMaps()
  {
    Nothing nothing;
    for (std::size_t i = 0; i + 1 < m_Segments.size(); ++i)
    {
      EqualMaps  equal;
      const auto compute = [&](TileData & data, Nothing &) {
        m_Streamed.m_HasMasks ? m_Passes.WriteMap(data)
                              : equal.Compute(data, m_Streamed.m_Network.channels, [&] { m_Passes.WriteMap(data); });
      };
      if (!GoOver(i, false, 1, nothing, compute))
      {
        return false;
      }
    }
    return true;
  }

  bool
  ComputeScore(const LossTerms & terms, Score & score)
  {
    return GoOver(m_Segments.size() - 1, false, 1, score, [&](TileData & data, Score & result) {
      m_Passes.AddScore(data, terms, result);
    });
  }

  bool
  GoBackward()
  {
    Nothing nothing;
    for (std::size_t i = m_Segments.size() - 1; i-- > 0;)
    {
      const int operation = m_Segments[i].operation;
      if (m_Geometry->IsBehindTrained(operation) &&
          !GoOver(i, true, BackwardWork, nothing, [&](TileData & data, Nothing &) {
            m_Passes.AddGradientBehindMap(data, m_Gradient);
          }))
      {
        return false;
      }
      m_Maps.Drop(operation);
    }
    return true;
  }

  /** \param work of the pass, times the segment's forward pass
   * \param compute (data, result) \return false if it was stopped */
  template <typename TResult, typename TCompute>
  bool
  GoOver(std::size_t number, bool training, double work, TResult & sum, const TCompute & compute)
  {
    const Segment &      segment = m_Segments[number];
    const bool           labeled = segment.operation == m_Geometry->GetOutput();
    const TileGrid       grid(m_Geometry, segment, training);
    const std::int64_t   tiles = grid.GetNumberOfTiles();
    Workers &            workers = m_Streamed.m_Workers;
    std::vector<TResult> results(workers.GetNumberOfPlaces());
    Turns                turns;
    const PointToMaps    pointTo(m_Streamed.m_Data, m_Maps, training ? &turns : nullptr);
    const bool           finished = workers.Run(
      tiles,
      [&](int worker, std::int64_t index) {
        try
        {
          TileData & data = m_Streamed.m_Data[worker];
          TResult &  result = results[index % results.size()];
          result = TResult{};
          data.turn = index;
          if (Read(grid.GetTile(index), labeled, data))
          {
            m_Streamed.Measure(m_Streamed.m_NetworkTime, [&] { compute(data, result); });
          }
          else if (training)
          {
            turns.Take(index, [] {});
          }
        }
        catch (...)
        {
          turns.Break(std::current_exception());
          throw;
        }
      },
      [&](std::int64_t index) {
        m_Team.ReportProgress();
        sum.Add(results[index % results.size()]);
        const double part = static_cast<double>(index + 1) / static_cast<double>(tiles);
        return !m_Progress || m_Progress(std::min(1.0, (m_Done + part * work * m_Works[number]) / m_AllWork));
      });
    m_Done += work * m_Works[number];
    return finished;
  }

  /** \return false: no pixel of it takes part in the loss */
  bool
  Read(const Tile & tile, bool labeled, TileData & data)
  {
    data.tile = tile;
    data.rows = {};
    data.classes.clear();
    if (labeled)
    {
      m_Streamed.Measure(m_Streamed.m_LabelTime, [&] { ReadClasses(m_Labels, tile, m_Streamed.m_Network, data); });
      if (TakesNoPart(data.classes))
      {
        return false;
      }
    }
    if (tile.window.width > 0)
    {
      m_Streamed.Measure(m_Streamed.m_PixelTime, [&] { FindPixels(m_Pixels, tile, data); });
    }
    return true;
  }

  StreamedNetwork &                          m_Streamed;
  const GraphPasses &                        m_Passes;
  PixelSource &                              m_Pixels;
  LabelSource &                              m_Labels;
  const Progress &                           m_Progress;
  const RankTeam &                           m_Team;
  const std::shared_ptr<const GraphGeometry> m_Geometry;
  const std::vector<Segment>                 m_Segments;
  KeptMaps                                   m_Maps;
  FixedPointSum                              m_Gradient;
  std::vector<double>                        m_Works; ///< of each segment: operations of a forward pass
  double                                     m_AllWork{ 0 };
  double                                     m_Done{ 0 };
};

/** By one rank: maps of an image lie with one process. */
bool
StreamedNetwork::ComputeSegmentedGradient(PixelSource &    pixels,
                                          LabelSource &    labels,
                                          LossGradient &   sum,
                                          const Progress & progress,
                                          const RankTeam & team)
{
  CheckSizes(pixels, labels);
  return !team.IsThis(GetLastRank(pixels, team)) || SegmentedStep(*this, pixels, labels, progress, team).Run(sum);
}

} // namespace gigapixel
