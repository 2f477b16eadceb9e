/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryHoleFillImageFilter_h
#define itkBinaryHoleFillImageFilter_h

#include "itkRunLengthMaskImageFilter.h"

namespace itk
{

/** \class BinaryHoleFillImageFilter
 * \brief Makes holes foreground: background that is not 4-connected to the image's edge.
 *
 * Equal, with the default MaximumArea, to BinaryFillholeImageFilter with FullyConnected off, but it streams; see
 * RunLengthMaskImageFilter.
 *
 * \ingroup ImageFilters Streamed */
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

  /** Larger holes stay, in pixels; default: the largest number, so that all holes are filled. */
  itkSetMacro(MaximumArea, SizeValueType);
  itkGetConstMacro(MaximumArea, SizeValueType);

protected:
  BinaryHoleFillImageFilter() = default;
  ~BinaryHoleFillImageFilter() override = default;

  void
  ChangeMask(gigapixel::RunLengthMask & mask) override
  {
    mask.FillHoles(m_MaximumArea);
  }

  void
  PrintSelf(std::ostream & os, Indent indent) const override
  {
    Superclass::PrintSelf(os, indent);
    os << indent << "MaximumArea: " << m_MaximumArea << std::endl;
  }

private:
  SizeValueType m_MaximumArea{ NumericTraits<SizeValueType>::max() };
};

} // namespace itk

#endif
