/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelStreamedNetwork_h
#define gigapixelStreamedNetwork_h

#include "gigapixelActivationMap.h"
#include "maps/gigapixelEqualTiles.h"
#include "gigapixelFeatures.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelRankTeam.h"
#include "gigapixelSharedImage.h"
#include "gigapixelStageSeconds.h"
#include "gigapixelTilePasses.h"
#include "schedule/gigapixelSegment.h"

#include <atomic>
#include <functional>
#include <memory>

#include <time.h>

namespace gigapixel
{

struct OutputTargets;

/** \class StreamedNetwork
 * \brief A network over a whole image, tile by tile, several tiles at the same time.
 *
 * A tile is computed by one thread. Losses are added in the tiles' order, and gradients in fixed point, exactly: the
 * same bits for any number of threads. The functions return false if the progress function (called with 0..1 by the
 * calling thread) stopped them. */
class GigapixelNetwork_EXPORT StreamedNetwork
{
public:
  using Progress = std::function<bool(double)>;

  /** \param tileSize as of TileGrid
   * \param device in double a chain of layers is computed as the graph that it stands for: the reference */
  StreamedNetwork(const NetworkDescription & network, std::int64_t tileSize, int tilesInFlight, Device device = {});

  void SetParameters(const std::vector<double> & parameters);

  /** Of dropout, for the gradient of an image; none, as in the beginning: nothing is left out. */
  void SetMaskSeed(const std::optional<std::uint64_t> & seed);

  /** Of the next image, whose network says something else of it than a class: what the outputs should be. Is kept by
   * the caller; null, as in the beginning: the image's labels say it. */
  void
  SetTargets(const OutputTargets * targets)
  {
    m_Targets = targets;
  }

  /** How ComputeGradient(), Predict() and PredictLabels() go over an image; of a team of several ranks, the last one
   * computes a gradient alone then, unless the image is only reduced to its label: see SegmentedStep::MayShare().
   * \param segments of a network that is a graph, in its order, the output's last; none: all of it at once
   * \param scratch folder for the maps between them; empty: in memory */
  void
  SetSegments(const std::vector<SegmentPlan> & segments, const std::string & scratch)
  {
    m_Segments = segments;
    m_Scratch = scratch;
  }

  /** Tiles that ComputeScore() computes at the same time; 0: as many as there are threads. */
  void
  SetScoredTilesInFlight(int number)
  {
    m_ScoredTilesInFlight = number;
  }

  const NetworkDescription &
  GetNetwork() const
  {
    return m_Network;
  }

  /** The threads that compute tiles, for other work between images. */
  Workers &
  GetWorkers()
  {
    return m_Workers;
  }

  /** The image in memory that the device shares; null if it was stopped, see SharedImage::Read(). */
  std::unique_ptr<SharedImage> Share(PixelSource & pixels, LabelSource & labels, const std::function<bool()> & goesOn);

  /** Sums over the image's pixels. A team of several ranks computes it together: all of them call this, and one of them
   * (see GetLastRank()) has the sum. */
  bool ComputeGradient(PixelSource &    pixels,
                       LabelSource &    labels,
                       LossGradient &   sum,
                       const Progress & progress = {},
                       const RankTeam & team = {});

  bool ComputeScore(PixelSource &    pixels,
                    LabelSource &    labels,
                    Score &          sum,
                    const Progress & progress = {},
                    const RankTeam & team = {});

  /** Forgets the maps that are kept of an image, because its pixels have changed or those of another come. */
  void
  Clear()
  {
    m_KeptImage.reset();
  }

  /** The pixels of an image of this size that are read now to predict the region. */
  Region GetInputRegion(const Region & region, Size image) const;

  /** The rank of the team that adds the image's last tile. */
  int GetLastRank(const PixelSource & pixels, const RankTeam & team) const;

  /** What a network that labels images says of this one, a value for each output channel. */
  bool PredictImage(PixelSource & pixels, PixelValue value, float * values, const Progress & progress = {});

  /** PredictImage()'s probabilities, or of another objective than classes its outputs, and what those of a class, or of
   * another name, come from. \throw std::invalid_argument see
   * Classifier::Explain() */
  bool ExplainImage(PixelSource &    pixels,
                    int              label,
                    float *          values,
                    ActivationMap &  map,
                    const Progress & progress = {});

  /** What a network that labels images makes of this one before its last layers of neurons.
   * \param take gets the vectors of the map that is pooled last \param pooled what they are pooled to */
  bool ComputeFeatures(PixelSource &        pixels,
                       const FeatureTaker & take,
                       std::vector<float> & pooled,
                       const Progress &     progress = {});

  /** What a network that labels images reduces this one to, before that is finished: see ReductionSchema. */
  bool ComputeSums(PixelSource & pixels, std::vector<double> & sums, const Progress & progress = {});

  /** Probabilities of the region's pixels, channels interleaved. */
  bool Predict(PixelSource & pixels, const Region & region, float * probabilities, const Progress & progress = {});

  /** Labels of the region's pixels, as Predictor::PredictLabels() promises. */
  bool PredictLabels(PixelSource &    pixels,
                     const Region &   region,
                     double           threshold,
                     std::uint8_t *   labels,
                     const Progress & progress = {});

  /** Of all sums over tiles so far. */
  StageSeconds GetSeconds() const;

private:
  /** Zeros, for one image. They are kept for the next: fresh memory for 16 bytes of each parameter takes its time. */
  FixedPointSum & BeginSums();

  /** The sums of all tiles, in any order, so that neither threads nor ranks have to wait for each other and none keeps
   * a gradient of its own. \param sum without its gradient \return false if it was stopped */
  bool AddGradients(PixelSource &     pixels,
                    LabelSource &     labels,
                    const LossTerms & terms,
                    LossSum &         sum,
                    FixedPointSum &   gradient,
                    const Progress &  progress,
                    const RankTeam &  team);

  class SegmentedStep;

  /** Whether this rank has to do with an image that the team goes over in segments. */
  bool TakesPart(const PixelSource & pixels, const RankTeam & team) const;

  bool ComputeSegmentedGradient(PixelSource &    pixels,
                                LabelSource &    labels,
                                LossGradient &   sum,
                                const Progress & progress,
                                const RankTeam & team);

  bool ComputeSegmentedScore(PixelSource &    pixels,
                             LabelSource &    labels,
                             Score &          sum,
                             const Progress & progress,
                             const RankTeam & team);

  /** What the tiles of the last segment read, while regions of the output are predicted. */
  struct KeptImage
  {
    std::shared_ptr<const GraphGeometry> geometry;
    Segment                              last;
    std::shared_ptr<KeptMaps>            maps;

    bool IsOf(Size size) const;
  };

  bool
  IsInSegments() const
  {
    return m_SeesWholeImage || !m_Segments.empty();
  }

  /** Makes maps where they are needed and not there. \param part of the work of the whole image that it was
   * \return false if it was stopped */
  bool KeepMaps(PixelSource & pixels, const Progress & progress, double & part);

  TileGrid MakeOutputGrid(Size size) const;

  void CheckSizes(const PixelSource & pixels, const LabelSource & labels) const;

  /** Calls work() and adds the thread's CPU time to the sum. */
  template <typename TWork>
  static void
  Measure(std::atomic<std::int64_t> & sum, const TWork & work)
  {
    const auto now = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return std::int64_t{ 1000000000 } * time.tv_sec + time.tv_nsec;
    };
    const std::int64_t begin = now();
    work();
    sum += now() - begin;
  }

  template <typename TResult, typename TCompute>
  bool SumOverTiles(PixelSource &    pixels,
                    LabelSource &    labels,
                    TResult &        sum,
                    const Progress & progress,
                    const RankTeam & team,
                    const TCompute & compute,
                    bool             training = false);

  /** First rows of a uniform tile's core, which repeat over it with the network's stride; empty where they do not. */
  template <typename T>
  using UniformRows = EqualTiles<std::vector<T>>;

  template <typename T, typename TCompute>
  bool PredictTiles(PixelSource &    pixels,
                    const Region &   region,
                    int              values,
                    T *              output,
                    const Progress & progress,
                    UniformRows<T> & uniform,
                    const TCompute & compute);

  NetworkDescription          m_Network;
  std::int64_t                m_TileSize;
  Device                      m_Device;
  std::unique_ptr<TilePasses> m_Tiles;
  Workers                     m_Workers;
  std::vector<TileData>       m_Data; ///< per worker

  std::unique_ptr<FixedPointSum> m_Sums; ///< none before the first gradient

  const bool m_SeesWholeImage;
  bool       m_HasMasks{ false }; ///< equal tiles are not computed alike

  const OutputTargets * m_Targets{ nullptr };

  int m_ScoredTilesInFlight{ 0 };

  std::vector<SegmentPlan> m_Segments;
  std::string              m_Scratch;

  std::shared_ptr<const KeptImage> m_KeptImage; ///< of the image that is predicted

  UniformRows<float>        m_UniformProbabilities;
  UniformRows<std::uint8_t> m_UniformLabels;
  double                    m_Threshold{ 0 }; ///< of m_UniformLabels
  Size                      m_UniformSize;    ///< of the image that both are of

  std::atomic<std::int64_t> m_PixelTime{ 0 }; ///< ns of CPU, as the next two
  std::atomic<std::int64_t> m_LabelTime{ 0 };
  std::atomic<std::int64_t> m_NetworkTime{ 0 };
};

} // namespace gigapixel

#endif
