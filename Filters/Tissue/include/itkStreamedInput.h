/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkStreamedInput_h
#define itkStreamedInput_h

#include "GigapixelTissueExport.h"
#include "itkImageBase.h"
#include "itkMultiThreaderBase.h"
#include "itkProcessObject.h"

#include <functional>
#include <mutex>

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

/** Counts all pixels of an image, strip by strip, each by the work units of the filter that does it, which reports
 * progress up to `share` and stops when it is aborted. `count` adds the pixels of a region to what has been counted. */
template <typename TCounts>
TCounts
CountWholeImage(ImageBase<2> *                                                        image,
                ProcessObject *                                                       filter,
                float                                                                 share,
                const std::function<void(const ImageRegion<2> & region, TCounts &)> & count)
{
  TCounts    total;
  std::mutex totalMutex;
  const auto countPart = [&](const ImageRegion<2> & region) {
    TCounts part;
    count(region, part);
    const std::lock_guard<std::mutex> lock(totalMutex);
    total += part;
  };
  MultiThreaderBase * const threader = filter->GetMultiThreader();
  threader->SetNumberOfWorkUnits(filter->GetNumberOfWorkUnits());
  const auto whole = image->GetLargestPossibleRegion();
  VisitStrips(image, whole, GetRowsPerStrip(whole.GetSize(0)), [&](const ImageRegion<2> & strip, float done) {
    threader->template ParallelizeImageRegion<2>(strip, countPart, nullptr);
    filter->UpdateProgress(share * done);
    if (filter->GetAbortGenerateData())
    {
      throw ProcessAborted(__FILE__, __LINE__);
    }
  });
  return total;
}

/** What a consumer that reads the image strip by strip itself asks for when its pipeline is prepared: the first strip.
 * Where it has all it needs (isCurrent), a pipeline still has to be asked for something: one pixel, if possible one
 * that is there. */
GigapixelTissue_EXPORT ImageRegion<2> GetFirstStrip(const ImageBase<2> * image, bool isCurrent);

} // namespace itk

#endif
