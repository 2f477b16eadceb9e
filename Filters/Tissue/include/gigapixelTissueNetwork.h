/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissueNetwork_h
#define gigapixelTissueNetwork_h

#include "GigapixelTissueExport.h"
#include "gigapixelClassMap.h"
#include "gigapixelTissueRule.h"

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

/** \class TissueNetwork
 * \brief The network that tells glass, tissue, pen and artifacts apart, fed with the label grid row by row.
 *
 * The ready model "tissue-classes" (Modules/Network/models/tissue-classes.md) on a grid of about MicronsPerPixel. It
 * sees what TissueRule says as well: red, green and blue are divided by those of this slide's glass, and green is the
 * mean of itself and the rule's answer (0 where the rule says tissue, else 255). So it need not learn what glass is,
 * nor how stains look, but where the rule errs; and it overrules the rule only where it is certain.
 *
 * Memory is bounded by a row of the engine's tiles with their halo, and the runs of the result; any number of threads
 * gives the same bits. */
class GigapixelTissue_EXPORT TissueNetwork
{
public:
  static constexpr double MicronsPerPixel = 8.0;

  /** The name of the ready model. */
  static constexpr const char * ReadyModel = "tissue-classes";

  /** A pixel is tissue where the network gives that at least this probability, or the rule says so and the network does
   * not give it less than the rest to 1. Where the label grid is finer than the network's, so that the rule sees what
   * the network cannot, tissue is what the rule says but where the network gives pen and artifacts together at least
   * this probability. Chosen by cross-validation over sources; see Documentation/Tissue.md. */
  static constexpr double Certainty = 0.7;

  /** Whether the engine was built; without it the constructor throws. */
  static bool IsBuilt();

  /** "NAME hash=HASH" of a ready model: other weights, another hash (FNV-1a), so that a mask tells which it was made
   * with. */
  static std::string Identify(const std::string & readyModel);

  /** Pixels of the label grid along a side of a pixel of the network's grid, which is never finer. */
  static unsigned GetFactor(double labelMicronsPerPixel);

  /** \param width,height of the label grid
   * \param channels of its pixels: 1 (gray) or 3 (RGB)
   * \param rule its method is Stain or BrownStain
   * \param model the name of a ready model, or a model file
   * \param threads 0: as many as the machine has cores; changes no result */
  TissueNetwork(std::size_t         width,
                std::size_t         height,
                unsigned            channels,
                unsigned            factor,
                const TissueRule &  rule,
                const std::string & model,
                int                 threads);
  ~TissueNetwork();

  /** The next row of the label grid, and of the rule's mask of it; after the last one the classes are complete. */
  void AddRow(const unsigned char * pixels, const unsigned char * mask);

  /** Of the label grid; the values are those of TissueClass. */
  ClassMap TakeClasses();

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
