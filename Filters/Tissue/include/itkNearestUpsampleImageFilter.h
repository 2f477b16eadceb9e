/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkNearestUpsampleImageFilter_h
#define itkNearestUpsampleImageFilter_h

#include "itkImageToImageFilter.h"

#include <type_traits>

namespace itk
{

/** \class NearestUpsampleImageFilter
 * \brief Enlarges a mask or label image by a whole factor: every pixel becomes a block of factor x factor equal pixels.
 *
 * It is the way back from BlockMeanImageFilter's grid: spacing is divided by the factor, the first pixel of the first
 * block becomes the origin, and the output's size is OutputSize, since a block at the right or bottom edge may have
 * been cut. OutputSize (0, 0), the default, means factor times the input's size. An OutputSize that does not fit the
 * input (not ceil(OutputSize / factor) pixels) is an exception. The output begins at index 0.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT NearestUpsampleImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(NearestUpsampleImageFilter);
  static_assert(std::is_same<typename TInputImage::PixelType, unsigned char>::value &&
                  std::is_same<typename TOutputImage::PixelType, unsigned char>::value &&
                  TInputImage::ImageDimension == 2 && TOutputImage::ImageDimension == 2,
                "masks are two-dimensional images of unsigned char");

  using Self = NearestUpsampleImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using InputImageRegionType = typename TInputImage::RegionType;
  using OutputImageRegionType = typename TOutputImage::RegionType;
  using SizeType = typename TOutputImage::SizeType;

  itkNewMacro(Self);
  itkTypeMacro(NearestUpsampleImageFilter, ImageToImageFilter);

  /** Side of a block, 1 ... 256; default 8. */
  itkSetClampMacro(Factor, unsigned int, 1, 256);
  itkGetConstMacro(Factor, unsigned int);

  /** Size of the output in pixels. */
  itkSetMacro(OutputSize, SizeType);
  itkGetConstReferenceMacro(OutputSize, SizeType);

protected:
  NearestUpsampleImageFilter();
  ~NearestUpsampleImageFilter() override = default;

  void GenerateOutputInformation() override;
  void GenerateInputRequestedRegion() override;
  void DynamicThreadedGenerateData(const OutputImageRegionType & region) override;
  void AfterThreadedGenerateData() override;
  void
  VerifyInputInformation() ITKv5_CONST override
  {}
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  unsigned int m_Factor{ 8 };
  SizeType     m_OutputSize{ { 0, 0 } };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkNearestUpsampleImageFilter.hxx"
#endif

#endif
