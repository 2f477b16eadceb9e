/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissueNetwork_h
#define gigapixelTissueNetwork_h

#include "GigapixelTissueExport.h"
#include "gigapixelClassMap.h"
#include "gigapixelColorStretch.h"

#include <functional>
#include <memory>
#include <string>

namespace gigapixel
{

/** What the network tells apart, and the values of its labels. */
enum class TissueClass : unsigned char
{
  Glass,
  Tissue,
  Pen,
  Artifact ///< bubbles, dust, edges of coverslips and frames
};

/** A label grid, as it is fed to the network. */
struct TissueGrid
{
  std::size_t width;    ///< in pixels
  std::size_t height;   ///< likewise
  unsigned    channels; ///< of its pixels: 1 (gray) or 3 (RGB)
  unsigned    factor;   ///< how many of them are the side of a block that the network sees
};

/** \class TissueNetwork
 * \brief The network that tells glass, tissue, pen and artifacts apart, fed with the label grid row by row.
 *
 * The ready model "tissue-classes" (Modules/Network/models/tissue-classes.md). It sees the pixels alone, as they are
 * and stretched (MakeColorStretch()), on a bright ground or a dark one: means of blocks of the label grid. What a
 * person says of some blocks corrects those that look like them (TissueCorrection). Then what the network says of all
 * blocks of a color is evidence for each of them (ColorVotes). A block's probability of tissue lies at its center:
 * between the centers it is interpolated, bilinearly. What has more than Likely is tissue; where other evidence says
 * so, too, Possible is enough, unless pen or artifact is twice as probable, which rules of color cannot tell apart. The
 * rest is glass, or the likelier of pen and artifact.
 *
 * Memory is bounded by a row of the engine's tiles with their halo, the runs of evidence and result, and 4 bytes a
 * block (6 MB for a square centimeter); any number of threads gives the same bits. */
class GigapixelTissue_EXPORT TissueNetwork
{
public:
  static constexpr double MicronsPerPixel = 8.0; ///< resolution that the network reads, in µm/px

  /** How probable tissue has to be without other evidence, and with it. The rules see finer than the network and know
   * stained slides better, and it knows what they take for tissue; Documentation/evidence/tissue.md has figures. */
  static constexpr double Likely = 0.5;
  static constexpr double Possible = 0.2; ///< see Likely

  /** How weights become a mask. It changes when masks of the same weights do, so that a mask tells how it was made. */
  static constexpr const char * Method = "color-votes";

  /** The name of the ready model. */
  static constexpr const char * ReadyModel = "tissue-classes";

  /** Whether the engine was built; without it the constructor throws. */
  static bool IsBuilt();

  /** "NAME hash=HASH" of a ready model: other weights, another hash (FNV-1a), so that a mask tells which it was made
   * with. */
  static std::string Identify(const std::string & readyModel);

  /** Pixels of the label grid along a side of a block: about MicronsPerPixel, but less where the longer side of the
   * slide would have fewer than 256 blocks. Where the resolution is unknown (0), that side has about 1000. */
  static unsigned GetFactor(std::size_t width, std::size_t height, double labelMicronsPerPixel);

  /** \param counts of all pixels of the grid
   * \param model the name of a ready model, or a model file
   * \param threads 0: as many as the machine has cores; changes no result */
  TissueNetwork(const TissueGrid & grid, const ColorCounts & counts, const std::string & model, int threads);
  ~TissueNetwork();

  /** The next row of the label grid, and of what other evidence says of it (0: no tissue; null: there is none).
   * \param hints what a person says: 0 nothing, else 1 more than the TissueClass, which the pixel then has; null: of no
   * pixel anything */
  void AddRow(const unsigned char * pixels, const unsigned char * evidence, const unsigned char * hints = nullptr);

  /** After the last row: makes the classes.
   * \param onProgress takes the share that is done, 0 to 1, and may throw to end the work */
  void Finish(const std::function<void(double)> & onProgress);

  /** Classes of the label grid; the values are those of TissueClass. */
  ClassMap TakeClasses();

  /** Intersection over union of what is called tissue and what is tissue, as network and other evidence expect it: of
   * pixels that are tissue with probability q, the sum of q where they are called tissue, over their number and the sum
   * of q elsewhere. The odds of q are those that the network gives, times the factor that makes q 1/2 at Likely without
   * other evidence, and at Possible with it: so what is called tissue is what has more than 1/2. NaN where none is. */
  double GetExpectedOverlap() const;

  /** The chance that the mask's intersection over union with the truth is below 0.8, by the expected one: a logistic
   * curve, fitted to masks of images of sources that the network had not seen
   * (Documentation/explanation/tissue.md). NaN: NaN. */
  static double GetChanceOfPoorMask(double expectedOverlap);

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
