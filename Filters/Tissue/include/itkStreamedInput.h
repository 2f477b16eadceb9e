/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkStreamedInput_h
#define itkStreamedInput_h

#include "GigapixelTissueExport.h"
#include "itkImageBase.h"

#include <functional>

namespace itk
{

/** When anything that the data depends on was last changed: the times of all filters above it and of the data objects
 * that no filter makes. Unlike DataObject::GetPipelineMTime() it does not change when the pipeline merely computes
 * another region, so a result over the whole image can be kept across region requests. */
GigapixelTissue_EXPORT ModifiedTimeType GetContentMTime(const DataObject * data);

/** Brings the region of the image up to date by its pipeline, as a streaming consumer does. */
GigapixelTissue_EXPORT void UpdateRegion(ImageBase<2> * image, const ImageRegion<2> & region);

/** Pulls the region of the image through its pipeline in strips of whole rows, from top to bottom, and hands each to
 * the visitor together with the share of the work that is done after it. All strips but the last have rowsPerStrip
 * rows. */
GigapixelTissue_EXPORT void VisitStrips(ImageBase<2> *                                                   image,
                                        const ImageRegion<2> &                                           region,
                                        SizeValueType                                                    rowsPerStrip,
                                        const std::function<void(const ImageRegion<2> & strip, float)> & visitor);

/** Rows of a strip of a binary or label-grid image: about a million pixels, so that strips stay in the cache, but at
 * least 256 rows, so that what windows read twice at the seams stays small. */
GigapixelTissue_EXPORT SizeValueType GetRowsPerStrip(SizeValueType width);

/** What a consumer that reads the image strip by strip itself asks for when its pipeline is prepared: the first strip.
 * Where it has all it needs (isCurrent), a pipeline still has to be asked for something: one pixel, if possible one
 * that is there. */
GigapixelTissue_EXPORT ImageRegion<2> GetFirstStrip(const ImageBase<2> * image, bool isCurrent);

} // namespace itk

#endif
