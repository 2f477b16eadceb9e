/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPatchNetwork_h
#define gigapixelPatchNetwork_h

#include "gigapixelPatches.h"
#include "execute/gigapixelTilePasses.h"
#include "gigapixelWorkers.h"
#include "schedule/gigapixelPatchGrid.h"

#include <functional>
#include <memory>
#include <mutex>

namespace gigapixel
{

/** \class PatchNetwork
 * \brief A network over patches of an image, each by itself, and their blended results: see Patches.
 *
 * Several patches are computed at the same time, each by one thread. Their logits are added row by row, so that all
 * bits are the same for any number of threads and any region. The sums of the rows below a region are kept: a region
 * right below it, of the same width, has none of its patches computed again. */
class GigapixelNetwork_EXPORT PatchNetwork
{
public:
  using Progress = std::function<bool(double)>;

  /** \param patches validated */
  PatchNetwork(const NetworkDescription & network, const Patches & patches, int patchesInFlight, Device device = {});

  void SetParameters(const std::vector<double> & parameters);

  /** The pixels that predicting this region reads now; width 0: none. */
  Region GetInputRegion(const Region & region, Size image) const;

  /** Probabilities of the region's pixels, channels interleaved. \return false if progress, called with 0..1 by the
   * calling thread, stopped it */
  bool Predict(PixelSource & pixels, const Region & region, float * probabilities, const Progress & progress = {});

  /** Labels of the region's pixels, as Predictor::PredictLabels() promises. */
  bool PredictLabels(PixelSource &    pixels,
                     const Region &   region,
                     double           threshold,
                     std::uint8_t *   labels,
                     const Progress & progress = {});

  /** What is kept of an image, because its pixels have changed or others come. */
  void Clear();

private:
  using Logits = std::vector<float>; ///< channels interleaved

  /** Sums over patches for some rows of an image: of each pixel the weighted logits, then the weights. */
  struct BlendedRows
  {
    Size               image;
    Region             region;         ///< that they are of; as high as a patch, whose lines may end below the image
    std::int64_t       nextPatch{ 0 }; ///< the first row of patches that is not in the sums
    std::vector<float> sums;
  };

  /** What one thread computes with. */
  struct Worker
  {
    TileData data;
    Logits   mirrored;
  };

  /** Calls finish(logits of a row of the region, y from the region's first row) for each of them. */
  template <typename TFinish>
  bool Blend(PixelSource & pixels, const Region & region, const Progress & progress, const TFinish & finish);

  template <typename TFinish>
  void FinishRows(BlendedRows & rows, const Region & region, std::int64_t end, const TFinish & finish) const;

  bool GoesOn(const Region & region, Size image) const;

  BlendedRows BeginRows(const Region & region, const PatchGrid & grid, Size image);

  void Check(const PixelSource & pixels, const Region & region) const;

  std::int64_t GetPixelBytes() const; ///< of the input

  void ReadPatch(PixelSource & pixels, const Region & place, TileData & data) const;

  std::shared_ptr<const Logits> Compute(PixelSource & pixels, const Region & place, Worker & worker);

  void ComputeLogits(Worker & worker, Logits & logits) const;

  void Add(const Region & place, const Logits & logits, BlendedRows & rows) const;

  NetworkDescription          m_Network;
  Patches                     m_Patches;
  std::unique_ptr<TilePasses> m_Tiles;
  Tile                        m_Patch;   ///< an image of one tile
  std::vector<float>          m_Weights; ///< of a patch's pixels
  Workers                     m_Workers;
  std::vector<Worker>         m_Data; ///< per worker

  BlendedRows m_Below; ///< of the last region; without sums: nothing is kept

  // Of patches of one color, which glass is: those of the last color.
  std::mutex                    m_UniformMutex;
  std::vector<std::uint8_t>     m_UniformColor;
  std::shared_ptr<const Logits> m_UniformLogits;
};

} // namespace gigapixel

#endif
