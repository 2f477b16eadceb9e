/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryDiscErodeImageFilter_h
#define itkBinaryDiscErodeImageFilter_h

#include "itkBinaryWindowImageFilter.h"

namespace itk
{

/** \class BinaryDiscErodeImageFilter
 * \brief Erosion of a mask by ITK's ball of radius r: the offsets with dx^2 + dy^2 <= (r + 1/2)^2.
 *
 * Beyond the image's edge lies foreground, so that tissue is not eaten where the slide ends. Equal to
 * BinaryErodeImageFilter with its default boundary. The output is 0 or 255.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BinaryDiscErodeImageFilter : public BinaryWindowImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BinaryDiscErodeImageFilter);

  using Self = BinaryDiscErodeImageFilter;
  using Superclass = BinaryWindowImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(BinaryDiscErodeImageFilter, BinaryWindowImageFilter);

protected:
  BinaryDiscErodeImageFilter()
    : Superclass(gigapixel::BitWindow::Erode)
  {}
  ~BinaryDiscErodeImageFilter() override = default;
};

} // namespace itk

#endif
