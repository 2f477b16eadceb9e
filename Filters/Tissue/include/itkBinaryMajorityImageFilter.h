/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryMajorityImageFilter_h
#define itkBinaryMajorityImageFilter_h

#include "itkBinaryWindowImageFilter.h"

namespace itk
{

/** \class BinaryMajorityImageFilter
 * \brief The median of a mask over a square of (2r+1) x (2r+1) pixels: foreground where more than half of them are.
 *
 * Equal to MedianImageFilter on the same mask, border included: beyond the image's edge the nearest pixel counts. The
 * pixels are counted by bit-sliced counters, 64 columns at a time, so that the time grows with the logarithm of the
 * radius. The output is 0 or 255.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BinaryMajorityImageFilter : public BinaryWindowImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BinaryMajorityImageFilter);

  using Self = BinaryMajorityImageFilter;
  using Superclass = BinaryWindowImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(BinaryMajorityImageFilter, BinaryWindowImageFilter);

protected:
  BinaryMajorityImageFilter()
    : Superclass(gigapixel::BitWindow::Majority)
  {}
  ~BinaryMajorityImageFilter() override = default;
};

} // namespace itk

#endif
