/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSyntheticFoci_h
#define gigapixelSyntheticFoci_h

#include "gigapixelSyntheticLayout.h"

#include <array>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** What small foci in the tissue are made of. */
enum class FocusKind : std::uint8_t
{
  None,
  Lesion, ///< crowded nuclei of twice the diameter, at twice the distance
  Decoy   ///< crowded nuclei of the usual size: the lesion's texture at half its scale, and so of the same colors; its
          ///< enlarged nuclei lie singly in the tissue
};

/** \class SyntheticFoci
 * \brief One or a few small foci, where the tissue has room for them.
 *
 * The outline of a focus in polar coordinates is radius (1 + a_2 cos(2 t + p_2) + a_3 cos(3 t + p_3)), whose area is
 * pi radius^2 (1 + (a_2^2 + a_3^2) / 2): together they have the wanted area, and there are as many as it suffices for
 * at radii of 60 micrometers, but three at most. Lengths are micrometers from the slide's upper left corner. */
class SyntheticFoci
{
public:
  SyntheticFoci() = default;

  /** \param area of all foci, in square micrometers, above 0 */
  SyntheticFoci(const SyntheticLayout & layout, double width, double height, double area, std::uint32_t seed);

  bool Contains(double x, double y) const;

  using Outline = std::vector<std::array<double, 2>>;

  /** Polygons of 64 corners on the outlines. */
  std::vector<Outline> GetOutlines() const;

private:
  struct Focus
  {
    double                x, y;
    double                radius;
    std::array<double, 2> amplitude, phase; // of the second and the third harmonic

    double GetRadius(double angle) const;
  };

  static constexpr double GreatestStretch = 1.3; // of the radius: 1 and the greatest amplitudes

  double GetRoom(const SyntheticLayout & layout, const Focus & focus) const;

  std::vector<Focus> m_Foci;
};

} // namespace gigapixel

#endif
