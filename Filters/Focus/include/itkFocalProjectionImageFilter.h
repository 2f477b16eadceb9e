/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkFocalProjectionImageFilter_h
#define itkFocalProjectionImageFilter_h

#include "gigapixelFocalProjection.h"
#include "itkImageToImageFilter.h"
#include "itkNumericTraits.h"

namespace itk
{

/** \class FocalProjectionImageFilter
 * \brief Focal planes, the inputs 0, 1, 2 ..., to one image: the maximum of each channel, or each pixel of the plane
 * that is sharpest around it.
 *
 * gigapixel::FocalProjection has the formula. Images are two-dimensional, of any numbers: scalar, RGB or
 * itk::VectorImage. They have the same pixels; others are refused (E-SLIDE-PLANES). The filter streams: focus asks for
 * 5 pixels more at each side, and the output's regions have the same pixels as the whole, to the bit.
 *
 * \ingroup ImageFilters */
template <typename TImage>
class ITK_TEMPLATE_EXPORT FocalProjectionImageFilter : public ImageToImageFilter<TImage, TImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(FocalProjectionImageFilter);
  static_assert(TImage::ImageDimension == 2, "focal planes are two-dimensional");

  using Self = FocalProjectionImageFilter;
  using Superclass = ImageToImageFilter<TImage, TImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using RegionType = typename TImage::RegionType;
  using Method = gigapixel::ProjectionMethod; ///< Maximum or Focus

  itkNewMacro(Self);
  itkTypeMacro(FocalProjectionImageFilter, ImageToImageFilter);

  /** Default Maximum, which has no parameters. */
  itkSetEnumMacro(Method, Method);
  itkGetEnumMacro(Method, Method);

protected:
  FocalProjectionImageFilter();
  ~FocalProjectionImageFilter() override = default;

  void VerifyInputInformation() ITKv5_CONST override;
  void GenerateInputRequestedRegion() override;
  void DynamicThreadedGenerateData(const RegionType & region) override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  using Sample = typename NumericTraits<typename TImage::PixelType>::ValueType;
  using Projection = gigapixel::FocalProjection<Sample>;

  /** The pixels of the planes that those of the region are made of. */
  RegionType GetGiven(RegionType region) const;

  Method m_Method{ Method::Maximum };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkFocalProjectionImageFilter.hxx"
#endif

#endif
