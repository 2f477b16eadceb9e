/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissueCorrection_h
#define gigapixelTissueCorrection_h

#include "GigapixelTissueExport.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gigapixel
{

/** \class TissueCorrection
 * \brief What a few strokes of a person change of what the network says.
 *
 * A smooth function of what a block looks like, what the network says of it and where it lies, which is added to the
 * log odds of tissue. At strokes it is what they miss, in blocks that are like them nearly so, and 0 in those that are
 * not: what was right stays. It is kernel ridge regression (Saunders, Gammerman, Vovk, ICML 1998) with a Gaussian
 * kernel of width 1, so that Block states the scales. Of each kind at most MostStrokes blocks count, evenly chosen. */
class GigapixelTissue_EXPORT TissueCorrection
{
public:
  /** Red, green and blue as stretched, the log odds of each class, and the place, each in parts of how far apart blocks
   * are not alike any more: see MakeBlock(). */
  using Block = std::array<double, 9>;

  static constexpr std::size_t MostStrokes = 128; ///< blocks of each kind
  static constexpr double      Ridge = 0.3;       ///< added to the kernel's diagonal: strokes contradict each other
  /** How much more probable than the threshold what a stroke calls tissue has to be, in log odds, and how much less
   * what it does not. */
  static constexpr double Margin = 2.0;

  /** \param stretched red, green and blue, 0..255
   * \param probabilities of the four classes
   * \param x,y from the upper left corner, in parts of the longer side */
  static Block MakeBlock(const unsigned char * stretched, const float * probabilities, double x, double y);

  /** The log odds of a probability, which is taken for at least half of what a byte tells. */
  static double GetLogOdds(double probability);

  /** A block that a stroke covers, and the log odds of tissue that the network gives it. */
  void Add(const Block & block, bool isTissue, double logOdds);

  /** After the last Add(). */
  void Solve();

  /** What is added to the log odds of tissue of a block. Thread-safe. */
  double Get(const Block & block) const;

private:
  struct Stroke
  {
    Block  block;
    double wanted; ///< log odds to add
    double weight{ 0.0 };
  };

  /** Blocks of one kind: every so many of those that came. */
  struct Kind
  {
    std::vector<Stroke> strokes;
    std::size_t         came{ 0 };
    std::size_t         every{ 1 };
  };

  std::array<Kind, 2> m_Kinds;
  std::vector<Stroke> m_Strokes; ///< of both kinds, solved
};

} // namespace gigapixel

#endif
