/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryAreaOpeningImageFilter_h
#define itkBinaryAreaOpeningImageFilter_h

#include "itkRunLengthMaskImageFilter.h"

namespace itk
{

/** \class BinaryAreaOpeningImageFilter
 * \brief Removes 8-connected objects of fewer than MinimumArea pixels.
 *
 * Equal to BinaryShapeOpeningImageFilter by number of pixels with FullyConnected on, but it streams; see
 * RunLengthMaskImageFilter. Objects are 8-connected as holes are 4-connected.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BinaryAreaOpeningImageFilter : public RunLengthMaskImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BinaryAreaOpeningImageFilter);

  using Self = BinaryAreaOpeningImageFilter;
  using Superclass = RunLengthMaskImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(BinaryAreaOpeningImageFilter, RunLengthMaskImageFilter);

  /** Objects with fewer pixels go; default 1, which removes none. */
  itkSetMacro(MinimumArea, SizeValueType);
  itkGetConstMacro(MinimumArea, SizeValueType);

protected:
  BinaryAreaOpeningImageFilter() = default;
  ~BinaryAreaOpeningImageFilter() override = default;

  void
  ChangeMask(gigapixel::RunLengthMask & mask) override
  {
    mask.RemoveSmallObjects(m_MinimumArea);
  }

  void
  PrintSelf(std::ostream & os, Indent indent) const override
  {
    Superclass::PrintSelf(os, indent);
    os << indent << "MinimumArea: " << m_MinimumArea << std::endl;
  }

private:
  SizeValueType m_MinimumArea{ 1 };
};

} // namespace itk

#endif
