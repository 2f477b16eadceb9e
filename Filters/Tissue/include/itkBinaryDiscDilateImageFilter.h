/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryDiscDilateImageFilter_h
#define itkBinaryDiscDilateImageFilter_h

#include "itkBinaryWindowImageFilter.h"

namespace itk
{

/** \class BinaryDiscDilateImageFilter
 * \brief Dilation of a mask by ITK's ball of radius r: the offsets with dx^2 + dy^2 <= (r + 1/2)^2.
 *
 * Beyond the image's edge lies background. Equal to BinaryDilateImageFilter with its default boundary. The output is 0
 * or 255.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BinaryDiscDilateImageFilter : public BinaryWindowImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BinaryDiscDilateImageFilter);

  using Self = BinaryDiscDilateImageFilter;
  using Superclass = BinaryWindowImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(BinaryDiscDilateImageFilter, BinaryWindowImageFilter);

protected:
  BinaryDiscDilateImageFilter()
    : Superclass(gigapixel::BitWindow::Dilate)
  {}
  ~BinaryDiscDilateImageFilter() override = default;
};

} // namespace itk

#endif
