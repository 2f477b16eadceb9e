/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SegmentationFile_h
#define SegmentationFile_h

#include "itkWholeSlideImageIO.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gigapixel::slicer
{

/** Where a mask lies on its slide. */
struct MaskPlace
{
  std::array<double, 2> spacing{};               ///< of level 0 of the slide, in mm (1 where unknown)
  std::array<double, 2> origin{};                ///< center of the slide's first pixel in mm
  std::array<double, 2> downsamples{ { 1, 1 } }; ///< level-0 pixels of the slide per pixel of the mask, x and y
  std::array<double, 2> corner{};                ///< of the mask's first pixel, in level-0 pixels of the slide
};

/** What became of a mask. */
struct SegmentationResult
{
  double objectFraction{ 0 };
  double objectMm2{ 0 };
  double downsample{ 1 }; ///< level-0 pixels of the slide per pixel of the segmentation, mean of x and y
};

/** Writes a level of a mask pyramid as a segmentation that 3D Slicer loads with names and colors: NRRD, LPS, mm, one
 * slice that is 1 mm deep, one segment for the object (value 255 becomes label 1), or one for each class number.
 * \param level of the mask; -1: the finest without a side above 4096 pixels, else the coarsest
 * \param objectName of the one segment of a 0/255 mask
 * \throw Refusal the mask has no such level */
SegmentationResult WriteSegmentation(itk::WholeSlideImageIO & mask,
                                     const MaskPlace &        place,
                                     std::int64_t             level,
                                     const std::string &      objectName,
                                     const std::string &      file);

/** Writes a label volume as a segmentation that 3D Slicer loads with names and colors: NRRD, where the volume lies, one
 * segment for each class but 0 that it has.
 * \param labels a NRRD file of bytes
 * \param classNames of all classes from 0 on; a class beyond them is called by its number
 * \return milliliters of each segment, by its name */
std::vector<std::pair<std::string, double>> WriteVolumeSegmentation(const std::string &              labels,
                                                                    const std::vector<std::string> & classNames,
                                                                    const std::string &              file);

} // namespace gigapixel::slicer

#endif
