/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ProbabilityOutput_h
#define ProbabilityOutput_h

#include "RankBands.h"
#include "gigapixelSession.h"

#include "itkImage.h"
#include "itkWholeSlideImageIO.h"

#include <string>

namespace gigapixel::application
{

/** A file that is to be, and how it is made (PyramidTIFFImageIO::SetMadeBy). */
struct PyramidTarget
{
  std::string file;
  std::string madeBy;
};

/** Writes two pyramids in one pass over a streamed map of probabilities: the label (255 where the probability is at
 * least the threshold, else 0), and the probability itself as round(255 p). Both appear when they are complete.
 * \param slide that the probabilities are made from, see PyramidTIFFImageIO::SetSlide
 * \param damage that both record
 * \param label without a file none is written
 * \throw Interrupted nothing is left of either then */
void WriteLabelAndProbability(itk::Image<float, 2> *         probabilities,
                              const itk::WholeSlideImageIO & slide,
                              DamageOverRanks &              damage,
                              double                         threshold,
                              const PyramidTarget &          label,
                              const PyramidTarget &          probability,
                              Progress &                     progress);

} // namespace gigapixel::application

#endif
