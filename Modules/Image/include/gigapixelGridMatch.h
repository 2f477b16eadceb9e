/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGridMatch_h
#define gigapixelGridMatch_h

#include "gigapixelDiagnostic.h"
#include "gigapixelPhysicalImage.h"

#include <array>
#include <cstdint>
#include <string>

namespace gigapixel
{

/** One axis of an image and of the mask that lies on it. Lengths are in pixels of the image: a mask pixel is `ratio` of
 * them long, and the mask begins `shift` of them before the image. */
struct GigapixelImage_EXPORT AxisMatch
{
  std::int64_t pixels{ 0 };     ///< length of the image
  std::int64_t maskPixels{ 0 }; ///< length of the mask
  double       ratio{ 1 };      ///< image pixels along a mask pixel
  double       shift{ 0 };      ///< image pixels from the mask's first edge to the image's

  /** Index of the mask pixel at a coordinate of the image, whose first pixel has its center at 1/2; may lie outside the
   * mask. Exact for integer ratios and their inverses. */
  std::int64_t operator()(double coordinate) const;
};

/** Which of the two may show but a part of the other. */
enum class PartOf
{
  None,
  Image, ///< the mask, of the image
  Mask   ///< the image, of the mask
};

/** A mask that does not lie on its image. */
class GigapixelImage_EXPORT GridMismatch : public Refusal
{
public:
  /** \param diagnostic what differs \param part see GetPart() */
  GridMismatch(const Diagnostic & diagnostic, PartOf part)
    : Refusal(diagnostic)
    , m_Part(part)
  {}

  /** Which it would be if one of them showed but a part of the other. */
  PartOf
  GetPart() const
  {
    return m_Part;
  }

private:
  PartOf m_Part;
};

/** \class GridMatch
 * \brief Where a mask lies on an image: the one answer for all who ask.
 *
 * The grids are matched
 * - in mm by origin and spacing where both spacings are known. Ratios that are nearly integers (1e-4, or 1 % where the
 *   mask's size is the image's divided by the integer) are integers, and so are offsets within 1e-4 of a pixel. A mask
 *   with origin (0, 0) begins at the slide's edge: TIFF and PNG have no place for an origin, and its pixels' centers
 * are not where those of the image are;
 * - by extent otherwise: mask and image cover the same rectangle. A mask of ceil(n / f) or floor(n / f) pixels has the
 *   ratio f on both axes (a power of two where several f fit), else each axis has the ratio of its sizes. */
struct GigapixelImage_EXPORT GridMatch
{
  std::array<AxisMatch, 2> axes;                  ///< x and y
  bool                     inMillimeters{ true }; ///< whether they are matched by mm, else by extent

  /** \param mask whose rows and columns run as the image's do (AlignAxes())
   * \param pixels grid of the image, and its name for messages
   * \throw GridMismatch with both extents when the rectangles that image and mask cover differ by more than a pixel of
   * the coarser grid and by more than 1 % of the image's side, or the mask is so small that it would fit anything
   * \throw std::runtime_error a part whose place is not known, because a resolution is not */
  static GridMatch Make(const PhysicalImage & mask,
                        const Grid &          pixels,
                        const std::string &   pixelsName,
                        PartOf                part = PartOf::None);
};

/** The mask with its rows and columns counted as the image's are: its file may count them from the other end, as its
 * direction says. Where nothing is known in mm, ITK's default directions say nothing.
 * \throw GridMismatch they do not run along each other at all */
GigapixelImage_EXPORT PhysicalImage AlignAxes(PhysicalImage mask, const Grid & pixels, const std::string & pixelsName);

/** \throw std::runtime_error it has more than one channel */
GigapixelImage_EXPORT void RequireMask(const PhysicalImage & mask);

} // namespace gigapixel

#endif
