/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryHoleFillImageFilter_h
#define itkBinaryHoleFillImageFilter_h

#include "itkRunLengthMaskImageFilter.h"

namespace itk
{

/** \class BinaryHoleFillImageFilter
 * \brief Makes holes foreground: background that is not 4-connected to the image's edge.
 *
 * Equal to BinaryFillholeImageFilter with FullyConnected off, but it streams; see RunLengthMaskImageFilter. */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BinaryHoleFillImageFilter : public RunLengthMaskImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BinaryHoleFillImageFilter);

  using Self = BinaryHoleFillImageFilter;
  using Superclass = RunLengthMaskImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(BinaryHoleFillImageFilter, RunLengthMaskImageFilter);

protected:
  BinaryHoleFillImageFilter() = default;
  ~BinaryHoleFillImageFilter() override = default;

  void
  ChangeMask(gigapixel::RunLengthMask & mask) override
  {
    mask.FillHoles();
  }
};

} // namespace itk

#endif
