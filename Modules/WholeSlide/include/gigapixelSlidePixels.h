/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlidePixels_h
#define gigapixelSlidePixels_h

#include "GigapixelWholeSlideExport.h"

#include <string>

namespace itk
{
class WholeSlideImageIO;
} // namespace itk

/** \file
 * What pipelines ask of the slide that they begin with, after its ReadImageInformation(). */
namespace gigapixel
{

/** "1 channel of 8 bit", "3 channels of 16 bit", "1 channel of floats of 32 bit". */
GigapixelWholeSlide_EXPORT std::string DescribePixels(const itk::WholeSlideImageIO & slide);

/** Refuses what is not gray or RGB of 8 bits, which would have to be squeezed.
 * \throw std::runtime_error one sentence that names the file */
GigapixelWholeSlide_EXPORT void RequirePicture(const itk::WholeSlideImageIO & slide);

/** Refuses what has other channels than a network takes: gray and RGB are made of each other, all else has as many, of
 * 8 bits.
 * \param normalizes whether the network states a normalization, with which it takes 16 bits and floats as well
 * \throw std::runtime_error one sentence that names the file */
GigapixelWholeSlide_EXPORT void RequireChannels(const itk::WholeSlideImageIO & slide,
                                                unsigned                       channels,
                                                bool                           normalizes);

/** Micrometers per level-0 pixel, mean of x and y; 0 where unknown. */
GigapixelWholeSlide_EXPORT double GetLevelZeroResolution(const itk::WholeSlideImageIO & slide);

/** Where the meta data of a pyramid of ours say how many damaged tiles it was made of. Where none is met, 0 is said
 * only of what might have been copied unseen. */
constexpr const char * RecordedDamageKey = "gigapixel.source-damaged-tiles";

} // namespace gigapixel

#endif
