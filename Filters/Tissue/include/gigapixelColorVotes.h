/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelColorVotes_h
#define gigapixelColorVotes_h

#include "GigapixelTissueExport.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** What is said of a block of a slide: 4 bytes, because those of the whole slide are kept. */
struct TissueVerdict
{
  std::uint8_t  tissue;     ///< its probability in parts of 255
  std::uint8_t  foreign;    ///< the probability that it is pen or an artifact; the rest is glass
  std::uint16_t color : 15; ///< ColorVotes::GetColor()
  std::uint16_t isPen : 1;  ///< whether pen is more probable than an artifact

  /** In parts of 255. */
  std::uint8_t
  GetGlass() const
  {
    return static_cast<std::uint8_t>(255 - tissue - foreign);
  }
};

/** \class ColorVotes
 * \brief What a network says of each color of a slide, taken as evidence for every block of that color.
 *
 * A network judges a place by what is around it. A person also sees that a stain, or a pen, has one color all over the
 * slide. So each block votes for its color, with its probabilities. When all have voted, what is said of a block of
 * color c is judged anew: to the log odds of tissue against what is foreign is added
 *
 *     AgainstForeign * (log((T(c) + 1) / (F(c) + 1)) - Prior * max(0, log(T / F)))
 *
 * T(c) and F(c) are sums of the votes for c and, binomially weighted (1 4 6 4 1), for colors beside it; T and F are
 * those of all colors, at least a thousandth of the blocks. With glass in place of what is foreign, AgainstGlass
 * counts. Were Prior 1, a pen of few blocks would weigh as much as tissue of many (Bayes' rule with equal priors), and
 * were it 0, hardly at all. Where tissue is rare, as on a slide of pen alone, it gains nothing.
 * Documentation/evidence/tissue.md says what the votes bring.
 *
 * Votes are whole numbers, so that their order changes nothing. Memory: 1.3 MiB, and as much again
 * while they are counted. */
class GigapixelTissue_EXPORT ColorVotes
{
public:
  static constexpr int    Levels = 32;          ///< of red, of green and of blue
  static constexpr double AgainstForeign = 1.5; ///< see the class
  static constexpr double AgainstGlass = 0.25;  ///< see the class
  static constexpr double Prior = 0.75;         ///< see the class

  ColorVotes();

  /** The color of red, green and blue, which the votes count by. */
  static std::uint16_t GetColor(const std::uint8_t * pixel);

  /** Red, green or blue (0, 1, 2) in the middle of those that have this color. */
  static std::uint8_t GetLevel(std::uint16_t color, unsigned channel);

  /** The block votes for its color. */
  void Add(const TissueVerdict & verdict);

  /** After the last Add(). */
  void Count();

  /** Judges a block anew. Thread-safe. */
  void Apply(TissueVerdict & verdict) const;

private:
  /** For tissue, for what is foreign, and for glass. */
  using Votes = std::array<std::uint64_t, 3>;
  /** What the odds of others against tissue are multiplied by: the exponential of what is added, negative. */
  struct Factors
  {
    double ofForeign;
    double ofGlass;
  };

  std::vector<Votes>   m_Votes;
  std::vector<Factors> m_Factors;
};

} // namespace gigapixel

#endif
