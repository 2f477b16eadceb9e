/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMaskLabelSource_h
#define gigapixelMaskLabelSource_h

#include "gigapixelPhysicalImage.h"

#include <vector>

namespace gigapixel
{

/** \class MaskLabelSource
 * \brief The classes of an image's pixels from a mask on any grid, without the mask being blown up in memory.
 *
 * Each pixel takes the mask pixel that its center lies in, as GridMatch says; pixels outside the mask are Ignored. The
 * mask's rows and columns may run from either end, as its direction says.
 *
 * Values: for two classes 0 is background, 1 and 255 are the object; for more, a value is the class and 255 is Ignored.
 * The ignored label is Ignored. Every other value is an error of Read() (std::runtime_error), since it means that the
 * mask is not one.
 *
 * One table of mask indices per axis is all that is kept: 4 bytes per row and column. */
class GigapixelImage_EXPORT MaskLabelSource : public LabelSource
{
public:
  /** \param mask one channel
   * \param pixels grid of the image that the labels are for
   * \param pixelsName of that image, for messages
   * \param scanned what was not scanned of that image is Ignored; empty: all of it counts
   * \param ignoredLabel value that is no class and takes no part; 255: none but what is said above
   * \throw std::runtime_error the mask is not one of this image (GridMatch::Make(), AlignAxes(), RequireMask()) */
  MaskLabelSource(PhysicalImage       mask,
                  const Grid &        pixels,
                  const std::string & pixelsName,
                  int                 classes,
                  ScannedFunction     scanned = {},
                  int                 ignoredLabel = Ignored);

  Size GetSize() const override;

  void Read(const Region & region, std::uint8_t * classes) override;

  /** Whether a pixel of the region is of the class, as far as the mask says. Looks at the mask's own pixels, of which
   * there may be far fewer. */
  bool Contains(const Region & region, std::uint8_t wanted) const;

private:
  void ReadBand(const Region & region, std::uint8_t * classes);

  /** Classes of the mask's own pixels. */
  std::vector<std::uint8_t> ReadMask(const Region & region) const;

  PhysicalImage             m_Mask;
  Size                      m_Size;
  int                       m_Classes;
  int                       m_IgnoredLabel;
  ScannedFunction           m_Scanned;
  std::vector<std::int32_t> m_Columns; ///< mask column of each column of pixels; -1: outside the mask
  std::vector<std::int32_t> m_Rows;
};

/** What is wrong with a segmentation of 3D Slicer, whose meta data have a "Segment0_ID", and whose segments are in
 * several layers, which are the components of its pixels. */
GigapixelImage_EXPORT std::string DescribeLayers(unsigned layers);

} // namespace gigapixel

#endif
