/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SegmentationNRRD_h
#define SegmentationNRRD_h

#include "MaskClass.h"

#include "GigapixelApplicationExport.h"

#include "itkImage.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** Labels of a segmentation; a mask is one slice, in mm and LPS. */
using SegmentationImage = itk::Image<unsigned char, 3>;

/** How often each value stands in a mask. */
using LabelCounts = std::array<std::int64_t, 256>;

/** What becomes of each value of a mask; 0: nothing. */
using LabelMap = std::array<unsigned char, 256>;

/** What becomes a segment. */
struct Segment
{
  static constexpr unsigned char Anything = 255; ///< all values but 0

  std::string   name;
  unsigned char value{ 0 }; ///< in the mask
  unsigned char label{ 0 }; ///< in the segmentation
  std::string   color{};    ///< red, green and blue from 0 to 1; empty: one that stands out
};

/** Segments for each class that a mask has. Without class numbers it has one object, also when there is nothing of it
 * on this slide, and where its values are so many that they are grays. Beside class numbers, 255 is what is to be
 * ignored.
 * \param classes that the mask names
 * \param objectName of the segment of a mask without classes, which gets the label 1 */
GigapixelApplication_EXPORT std::vector<Segment> FindSegments(const LabelCounts &                        counts,
                                                              const std::map<unsigned char, MaskClass> & classes,
                                                              const std::string &                        objectName);

/** The labels of segments. */
GigapixelApplication_EXPORT LabelMap MakeLabelMap(const std::vector<Segment> & segments);

/** Writes labels as a segmentation that 3D Slicer loads with names and colors: NRRD
 * (https://teem.sourceforge.net/nrrd/format.html), gzip, with the fields of Slicer's segmentations
 * (https://slicer.readthedocs.io/en/latest/developer_guide/modules/segmentations.html). ITK's writer does not see every
 * write that fails. \throw std::runtime_error the file cannot be written; nothing is left of it then */
GigapixelApplication_EXPORT void WriteSegments(const SegmentationImage &    image,
                                               const std::vector<Segment> & segments,
                                               const std::string &          file,
                                               bool                         mayReplace = true);

} // namespace gigapixel::application

#endif
