/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSegmentedStep_h
#define gigapixelSegmentedStep_h

#include "gigapixelActivationPass.h"
#include "gigapixelLabeling.h"
#include "objective/gigapixelCountedPixels.h"
#include "objective/gigapixelLoss.h"
#include "maps/gigapixelPooledTile.h"
#include "gigapixelStreamedNetwork.h"
#include "gigapixelTurns.h"
#include "gigapixelGraphPasses.h"
#include "gigapixelReadAhead.h"
#include "maps/gigapixelKeptMaps.h"
#include "schedule/gigapixelSegmentPasses.h"
#include "schedule/gigapixelTileProgram.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{

/** \class StreamedNetwork::SegmentedStep
 * \brief One image in segments: forward through all but the last, which takes the output; for the gradient it takes the
 * loss and goes backward, then backward through the others in reverse order. Tiles of a pass begin as soon as what they
 * read is there.
 *
 * A team of several ranks shares the tiles of an image that is only reduced to few numbers, see MayShare(): each pass
 * ends before the next one then, and what it leaves goes to all ranks. */
class StreamedNetwork::SegmentedStep
{
public:
  /** \param purpose of training, gradients are kept as well */
  SegmentedStep(StreamedNetwork & streamed,
                Purpose           purpose,
                PixelSource &     pixels,
                LabelSource *     labels,
                const Progress &  progress,
                const RankTeam &  team)
    : m_Streamed(streamed)
    , m_Purpose(purpose)
    , m_Passes(static_cast<const GraphPasses &>(*streamed.m_Tiles)) // segments are those of graphs
    , m_Pixels(pixels)
    , m_Labels(labels)
    , m_Progress(progress)
    , m_Team(team)
    , m_Geometry(MakeGeometry(streamed, pixels.GetSize()))
    , m_Segments(MakeSegmentsOf(streamed, *m_Geometry, pixels.GetSize()))
    , m_LastReaders(FindLastReaders(*m_Geometry, m_Segments))
    , m_Maps(std::make_shared<KeptMaps>(
        *m_Geometry,
        m_Segments,
        std::max(4, GetValueBytes(streamed.m_Device.precision)), // exact, whatever tiles compute in
        streamed.m_Scratch,
        purpose == Purpose::Training))
    , m_Gradient(purpose == Purpose::Training ? &streamed.BeginSums() : nullptr)
    , m_Dealt(team.Shares() && MayShare(streamed, pixels.GetSize()) ? team : RankTeam())
  {
    for (const Segment & segment : m_Segments)
    {
      m_Works.push_back(MakeWholeProgram(segment).GetOperations(m_Geometry->GetGraph()));
    }
  }

  /** \param compute (data, result) is for a tile of the output, of which the results are added up
   * \return false if it was stopped */
  template <typename TResult, typename TCompute>
  bool
  TakeOutput(TResult & sum, const TCompute & compute)
  {
    std::vector<SegmentPass> passes = MakeForwardPasses();
    passes.push_back({ SegmentPass::Kind::Output, m_Segments.size() - 1 });
    m_AllWork = GetWork(passes);
    return GoOver(passes, sum, compute);
  }

  bool
  ComputeGradient(LossGradient & sum)
  {
    const NetworkDescription & network = m_Streamed.m_Network;
    LossTerms                  terms = MakeLossTerms(network);
    terms.image = m_Streamed.m_Targets;
    const bool               hasSums = terms.HasSums();
    std::vector<SegmentPass> forward = MakeForwardPasses(), backward = MakeBackwardPasses();
    LossSum &                loss = sum;
    Score                    score;
    const auto               differentiate = [&](TileData & data, LossSum & result) {
      m_Passes.AddGradient(data, terms, 1, result, *m_Gradient);
    };
    if (hasSums) // the loss is made of sums over the whole image
    {
      score.SetNumberOfChannels(network.GetNumberOfOutputChannels());
      forward.push_back({ SegmentPass::Kind::Output, m_Segments.size() - 1 });
      const auto addScore = [&](TileData & data, Score & result) { m_Passes.AddScore(data, terms, result); };
      m_AllWork = GetWork(forward) + GetWork(backward);
      if (!GoOver(forward, score, addScore))
      {
        return false;
      }
      TakeSumLoss(network, score);
      terms = MakeSumTerms(network, score);
    }
    else
    {
      backward.insert(backward.begin(), forward.begin(), forward.end());
      m_AllWork = GetWork(backward);
    }
    if (!GoOver(backward, loss, differentiate))
    {
      return false;
    }
    sum.loss = hasSums ? score.loss : sum.loss;
    const int last = m_Dealt.GetRankOf(0);
    m_Dealt.AddAll(last, *m_Gradient);
    if (m_Dealt.IsThis(last))
    {
      sum.gradient = m_Passes.GetGradient(*m_Gradient, m_Streamed.m_Workers);
    }
    return true;
  }

  /** Maps that the last segment reads. \return null if it was stopped */
  std::shared_ptr<const KeptImage>
  MakeKeptImage()
  {
    return MakeMaps() ? std::make_shared<const KeptImage>(KeptImage{ m_Geometry, m_Segments.back(), m_Maps }) : nullptr;
  }

  /** Whether ranks may share the tiles of an image: where all that there is between it and its label is one reduction.
   * Maps that are kept lie with one process, and one rank does it all. */
  static bool
  MayShare(const StreamedNetwork & streamed, Size size)
  {
    const auto geometry = MakeGeometry(streamed, size);
    const auto segments = MakeSegmentsOf(streamed, *geometry, size);
    const int  tiled = Labeling::Of(streamed.m_Network.graph).FindTiled(*geometry);
    return segments.size() == 2 && segments.front().operation == tiled && geometry->GetReduction(tiled);
  }

  /** What part of all work it is to make what the last segment reads. */
  double
  GetPartBeforeOutput() const
  {
    const double all = std::accumulate(m_Works.begin(), m_Works.end(), 0.0);
    return all > 0 ? 1 - m_Works.back() / all : 0;
  }

  /** Of a network that labels images, what it says of this one and what that comes from.
   * \param label the class, or the name of another objective; negative: the most probable one
   * \param values what PredictImage() gives: probabilities of classes, else the outputs */
  bool Explain(int label, float * values, ActivationMap & map);

  /** Of a network that labels images, what is pooled last. */
  bool ComputeFeatures(const FeatureTaker & take, std::vector<float> & pooled);

  /** Of a network that labels images, what the last reduction has added up. */
  bool ComputeSums(std::vector<double> & sums);

private:
  /** What a tile adds to what the image is reduced to. */
  struct Part
  {
    TileProgram::Step   target;
    std::vector<double> sums; ///< none where nothing of the tile counts
  };

  /** Of operations that reduce the image: sums of their tiles, or tiles whose gradients are left for the end. */
  using EqualSums = EqualTiles<std::vector<double>>;

  static constexpr double BackwardWork = 3; ///< times the forward pass, which is computed again

  /** Tiles have the maps of the step while it lasts, however it ends. */
  class PointToMaps
  {
  public:
    PointToMaps(std::vector<TileData> & tiles, KeptMaps & maps, Turns & turns)
      : m_Tiles(tiles)
    {
      Set(&maps, &turns);
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
      *m_Geometry, segment.operation, segment.kept, m_Geometry->GetTiled(segment.operation), true);
  }

  /** All that the last segment reads. \return false if it was stopped */
  bool
  MakeMaps()
  {
    const std::vector<SegmentPass> passes = MakeForwardPasses();
    LossSum                        none;
    m_AllWork = GetWork(passes);
    return GoOver(passes, none, [](TileData &, LossSum &) {});
  }

  static std::shared_ptr<const GraphGeometry>
  MakeGeometry(const StreamedNetwork & streamed, Size size)
  {
    const NetworkGraph & graph = streamed.m_Network.graph;
    return std::make_shared<GraphGeometry>(graph, ToExtent(size, graph.GetNumberOfAxes()));
  }

  static std::vector<Segment>
  MakeSegmentsOf(const StreamedNetwork & streamed, const GraphGeometry & geometry, Size size)
  {
    const std::int64_t side = GetTileSide(streamed.m_TileSize, size, streamed.m_Network.GetStride());
    return MakeSegments(geometry,
                        streamed.m_Segments.empty() ? MakeReducingSegments(geometry, side) : streamed.m_Segments);
  }

  /** Whether ranks share the tiles. */
  bool
  Shares() const
  {
    return m_Dealt.Shares();
  }

  /** Of the maps that are kept. */
  std::vector<SegmentPass>
  MakeForwardPasses() const
  {
    std::vector<SegmentPass> passes;
    for (std::size_t i = 0; i + 1 < m_Segments.size(); ++i)
    {
      passes.push_back({ SegmentPass::Kind::Map, i });
    }
    return passes;
  }

  std::vector<SegmentPass> MakeBackwardPasses() const;

  double
  GetWork(const SegmentPass & pass) const
  {
    return (pass.IsBackward() ? BackwardWork : 1) * m_Works[pass.segment];
  }

  double
  GetWork(const std::vector<SegmentPass> & passes) const
  {
    return std::accumulate(
      passes.begin(), passes.end(), 0.0, [this](double sum, const SegmentPass & pass) { return sum + GetWork(pass); });
  }

  /** \param sum of the pass over the last segment; where ranks share the tiles, the first one has it
   * \param compute (data, result) is for a tile of that pass
   * \return false if it was stopped */
  template <typename TResult, typename TCompute>
  bool
  GoOver(const std::vector<SegmentPass> & list, TResult & sum, const TCompute & compute)
  {
    if (!Shares())
    {
      return GoOverOwn(list, sum, compute);
    }
    for (const SegmentPass & pass : list)
    {
      if (!GoOverOwn({ pass }, sum, compute))
      {
        return false;
      }
      ShareResult(pass);
    }
    return true;
  }

  /** Ends an item of the passes; called in their order. \param index among this rank's items
   * \param done of its pass */
  bool
  Settle(const SegmentPasses & passes, std::int64_t item, std::int64_t index, double done)
  {
    const SegmentPass & pass = passes.GetPass(item);
    if (!IsLast(pass) && Shares() && pass.kind == SegmentPass::Kind::Map)
    {
      AddPartOfRanks(m_Parts[index % m_Parts.size()], item, passes.GetNumberOfItems());
    }
    if (done == 1)
    {
      DropAfter(pass);
    }
    return Report(pass, done);
  }

  /** What was computed of tiles, for others that are equal. */
  struct EqualItems
  {
    std::vector<EqualTiles<Box>> maps; ///< of each segment
    EqualSums                    sums, gradients;
    EqualTiles<PooledTile>       pooled;
  };

  /** A tile of a pass. \param compute that of the last pass */
  template <typename TResult, typename TCompute>
  void
  ComputeItem(const SegmentPass & pass, TileData & data, EqualItems & equal, TResult & result, const TCompute & compute)
  {
    switch (pass.kind)
    {
      case SegmentPass::Kind::Map:
        return !Reduces(pass)   ? WriteMap(data, equal.maps[pass.segment])
               : AreTaken(pass) ? ReduceAndTake(data, equal.pooled)
                                : Reduce(data, equal.sums);
      case SegmentPass::Kind::Gradient:
        return AddGradient(data, pass, equal.gradients);
      default:
        return compute(data, result);
    }
  }

  /** This rank's tiles of the passes. */
  template <typename TResult, typename TCompute>
  bool
  GoOverOwn(const std::vector<SegmentPass> & list, TResult & sum, const TCompute & compute)
  {
    const SegmentPasses  passes(m_Geometry, m_Segments, list);
    const std::int64_t   own = m_Dealt.GetNumberOfOwn(passes.GetNumberOfItems());
    Workers &            workers = m_Streamed.m_Workers;
    std::vector<TResult> results(workers.GetNumberOfPlaces());
    EqualItems           equal{ std::vector<EqualTiles<Box>>(m_Segments.size()), {}, {}, {} };
    Turns                turns;
    const PointToMaps    pointTo(m_Streamed.m_Data, *m_Maps, turns);
    m_Parts.resize(results.size());
    const bool finished = workers.Run(
      own,
      [&](int worker, std::int64_t index) {
        try
        {
          const std::int64_t  item = m_Dealt.GetOwn(index);
          const SegmentPass & pass = passes.GetPass(item);
          TileData &          data = m_Streamed.m_Data[worker];
          TResult &           result = results[index % results.size()];
          result = TResult{};
          data.turn = index;
          const Tile tile = passes.GetTile(item);
          ReadAhead(m_Pixels, index, own, workers.GetNumberOfThreads(), [&](std::int64_t number) {
            const std::int64_t coming = m_Dealt.GetOwn(number);
            return IsChosen(passes.GetPass(coming)) ? Region{} : passes.GetInputOf(coming);
          });
          const auto wait = [&] { turns.WaitFor(passes.GetNeeded(item, *tile.program)); };
          const bool takesPart =
            Counts(tile, data) && HasGradient(pass, *tile.program, wait) && Read(tile, IsLast(pass), data);
          if (takesPart)
          {
            wait();
            m_Streamed.Measure(m_Streamed.m_NetworkTime, [&] { ComputeItem(pass, data, equal, result, compute); });
          }
          else if (pass.kind == SegmentPass::Kind::Map)
          {
            AddPart(data, {});
          }
          if (takesPart ? !TakesTurn(pass) : pass.kind != SegmentPass::Kind::Map) // and is finished with it
          {
            turns.Finish(index);
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
        const std::int64_t  item = m_Dealt.GetOwn(index);
        const SegmentPass & pass = passes.GetPass(item);
        const double        done = Shares() ? (index + 1.0) / static_cast<double>(own) : passes.GetDone(item);
        if (IsLast(pass))
        {
          sum.Add(results[index % results.size()]);
        }
        return Settle(passes, item, index, done);
      });
    const bool isReported = own > 0 || list.empty() || Report(list.back(), 1);
    return finished && isReported && AddPostponed(equal.gradients);
  }

  /** Adds the part of a tile to those of the tiles before, which come from another rank where a run of tiles begins. */
  void AddPartOfRanks(const Part & part, std::int64_t tile, std::int64_t tiles);

  /** What the next pass reads, from the rank that has it to all. */
  void ShareResult(const SegmentPass & pass);

  /** \param part of the pass that is done */
  bool
  Report(const SegmentPass & pass, double part)
  {
    const double work = GetWork(pass), done = m_Done + part * work;
    m_Done += part < 1 ? 0 : work;
    return !m_Progress || m_Progress(std::min(1.0, done / m_AllWork));
  }

  /** Gives back maps that no later pass needs; those that images are reduced to are small, and may be read in the end.
   */
  void
  DropAfter(const SegmentPass & pass)
  {
    for (const int operation : m_Segments.back().kept)
    {
      const bool read = m_Purpose == Purpose::Training
                          ? pass.kind != SegmentPass::Kind::Gradient || operation != m_Segments[pass.segment].operation
                          : m_LastReaders.at(operation) > pass.segment;
      if (!read && !m_Geometry->GetReduction(operation))
      {
        m_Maps->Drop(operation);
      }
    }
  }

  bool
  Reduces(const SegmentPass & pass) const
  {
    return m_Geometry->GetReduction(m_Segments[pass.segment].operation) != nullptr;
  }

  bool
  TakesTurn(const SegmentPass & pass) const
  {
    return pass.IsBackward() || Reduces(pass);
  }

  bool
  IsLast(const SegmentPass & pass) const
  {
    return pass.segment + 1 == m_Segments.size();
  }

  /** Whether tiles of the pass may have no gradient, and then are not read. */
  bool
  IsChosen(const SegmentPass & pass) const
  {
    const ReductionSchema * const reduction = m_Geometry->GetReduction(m_Segments[pass.segment].operation);
    return pass.kind == SegmentPass::Kind::Gradient && reduction && reduction->hasGradient;
  }

  /** False of a tile that is none of a backward pass' matter, and need not be read. \param wait until that is known */
  template <typename TWait>
  bool
  HasGradient(const SegmentPass & pass, const TileProgram & program, const TWait & wait)
  {
    if (!IsChosen(pass))
    {
      return true;
    }
    wait();
    const int target = m_Segments[pass.segment].operation;
    return m_Geometry->GetReduction(target)->hasGradient(
      m_Maps->GetSums(target), m_Maps->ReadReducedGradient(target), program.core);
  }

  /** Parts that are the same computation of the same constants are computed once and copied elsewhere. */
  void
  WriteMap(TileData & data, EqualTiles<Box> & equal)
  {
    const Box  core = data.tile.program->core;
    Box        from = core;
    const auto write = [this](TileData & tile, Box &) { m_Passes.WriteMap(tile); };
    m_Streamed.m_HasMasks ? write(data, from) : equal.Compute(data, m_Streamed.m_Network.channels, from, write);
    if (from != core)
    {
      m_Maps->GetMap(data.tile.program->steps.back().operation).Copy(from, core);
    }
  }

  /** Sets the tile, and what of it counts where it is reduced: of a network that labels pixels all, glass as well.
   * \return false: nothing does, and it need not be read */
  bool
  Counts(const Tile & tile, TileData & data) const
  {
    const int target = tile.program->steps.back().operation;
    data.tile = tile;
    data.counted.clear();
    return !m_Streamed.m_Network.LabelsImage() || !m_Geometry->GetReduction(target) ||
           FindCounted(
             *m_Geometry, m_Geometry->GetInputs()[target].front(), tile.program->core, m_Pixels, data.counted);
  }

  void Reduce(TileData & data, EqualSums & equal);

  /** Whether the vectors of what the pass reduces are asked for. */
  bool
  AreTaken(const SegmentPass & pass) const
  {
    return m_Take && pass.segment + 2 == m_Segments.size();
  }

  /** As Reduce(). Of equal tiles those are computed once that are all of one vector: others would take memory. */
  void ReduceAndTake(TileData & data, EqualTiles<PooledTile> & equal);

  /** Takes the sums of a tile, in the tiles' order, into those before: see TakePart().
   * \param sums nothing where nothing of the tile counts
   * \param take what else is done in the tile's turn */
  void
  AddPart(const TileData & data, const std::vector<double> & sums, const std::function<void()> & take = {})
  {
    const Part part{ data.tile.program->steps.back(), sums };
    if (Shares()) // they are added when those of the other ranks have come
    {
      m_Parts[data.turn % m_Parts.size()] = part;
      return data.turns->Finish(data.turn);
    }
    data.turns->Take(data.turn, [&] {
      TakePart(part);
      if (take)
      {
        take();
      }
    });
  }

  /** With the last part the map is there. */
  void TakePart(const Part & part);

  /** All sums are there. */
  void FinishReduction(int operation);

  void AddGradient(TileData & data, const SegmentPass & pass, EqualSums & equal);

  /** The gradients of tiles that are equal, which give nothing to maps that are kept. */
  bool
  AddPostponed(const EqualSums & equal)
  {
    const auto postponed = equal.GetRepeated();
    const auto add = [&](int worker, std::int64_t index) {
      TileData & data = m_Streamed.m_Data[worker];
      Counts(postponed[index].tile, data);
      Read(postponed[index].tile, false, data);
      data.turns = nullptr; // it gives nothing to maps that are kept
      m_Streamed.Measure(m_Streamed.m_NetworkTime,
                         [&] { m_Passes.AddGradientBehindMap(data, postponed[index].repetitions, *m_Gradient); });
    };
    const auto goOn = [&](std::int64_t) {
      m_Team.ReportProgress();
      return !m_Progress || m_Progress(std::nextafter(1.0, 0.0));
    };
    return m_Streamed.m_Workers.Run(static_cast<std::int64_t>(postponed.size()), add, goOn);
  }

  /** \return false: no pixel of it takes part in the loss */
  bool
  Read(const Tile & tile, bool labeled, TileData & data)
  {
    data.tile = tile;
    data.rows = {};
    data.classes.clear();
    if (labeled && m_Labels)
    {
      m_Streamed.Measure(m_Streamed.m_LabelTime, [&] { ReadClasses(*m_Labels, tile, m_Streamed.m_Network, data); });
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
  const Purpose                              m_Purpose;
  const GraphPasses &                        m_Passes;
  PixelSource &                              m_Pixels;
  LabelSource * const                        m_Labels; ///< null: there are none
  const Progress &                           m_Progress;
  const RankTeam &                           m_Team; ///< which sees that this rank works
  const std::shared_ptr<const GraphGeometry> m_Geometry;
  const std::vector<Segment>                 m_Segments;
  const std::map<int, std::size_t>           m_LastReaders; ///< see FindLastReaders()
  const std::shared_ptr<KeptMaps>            m_Maps;
  FixedPointSum * const                      m_Gradient; ///< null: nothing is differentiated
  const RankTeam                             m_Dealt;    ///< the ranks that share the image's tiles
  std::vector<double>                        m_Works;    ///< of each segment: operations of a forward pass
  double                                     m_AllWork{ 0 };
  double                                     m_Done{ 0 };
  const FeatureTaker *                       m_Take{ nullptr }; ///< of what is pooled last; null: nobody asks
  std::vector<Part>                          m_Parts;           ///< of tiles that ranks share, by their places
};

} // namespace gigapixel

#endif
