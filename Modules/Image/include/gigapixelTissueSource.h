/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissueSource_h
#define gigapixelTissueSource_h

#include "gigapixelMaskLabelSource.h"

#include <vector>

namespace gigapixel
{

/** \class TissueMask
 * \brief Which pixels of an image are tissue, from a mask on any grid.
 *
 * Tissue is where the mask is 1 or 255; 0, and what lies outside of the mask, is glass. Any number of threads may ask.
 */
class GigapixelImage_EXPORT TissueMask
{
public:
  /** \param mask,pixels,pixelsName as of MaskLabelSource, whose errors these are */
  TissueMask(PhysicalImage mask, const Grid & pixels, const std::string & pixelsName);

  /** Of the image that the regions lie in. */
  Size GetSize() const;

  /** Whether there is any tissue in the region; width 0: in the image. */
  bool HasTissue(const Region & region = {}) const;

  /** Whether all of the image is tissue, so that the mask leaves nothing out. */
  bool IsFull() const;

  /** The part of a region that has all of its tissue; of width 0 where there is none.
   * \param tissue gets 1 for tissue and 0 for glass, for each pixel of the region */
  Region Read(const Region & region, std::vector<std::uint8_t> & tissue) const;

private:
  std::shared_ptr<MaskLabelSource> m_Labels;
};

/** The image with one value in all channels where there is no tissue. There nothing is read, so that what is mostly
 * glass costs what its tissue costs. \param glass that value: 255 is white; 0 where samples are floats */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> PaintGlass(std::shared_ptr<PixelSource>      pixels,
                                                              std::shared_ptr<const TissueMask> tissue,
                                                              std::uint8_t                      glass);

/** The labels of tissue; glass is Ignored. */
GigapixelImage_EXPORT std::shared_ptr<LabelSource> IgnoreGlass(std::shared_ptr<LabelSource>      labels,
                                                               std::shared_ptr<const TissueMask> tissue);

} // namespace gigapixel

#endif
