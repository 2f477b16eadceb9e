/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryWindowImageFilter_h
#define itkBinaryWindowImageFilter_h

#include "gigapixelBitWindow.h"
#include "itkImageToImageFilter.h"

#include <type_traits>

namespace itk
{

/** \class BinaryWindowImageFilter
 * \brief What the filters share that lay a window over every pixel of a mask: BinaryMajorityImageFilter,
 * BinaryDiscErodeImageFilter and BinaryDiscDilateImageFilter.
 *
 * Masks are two-dimensional images of unsigned char; every value but 0 is foreground, the output is 0 or 255. Work is
 * done on rows of 64 pixels a word. The filter streams: it asks for the output region padded by the radius. Radius 0
 * only makes the mask 0 and 255.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BinaryWindowImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BinaryWindowImageFilter);
  static_assert(std::is_same<typename TInputImage::PixelType, unsigned char>::value &&
                  std::is_same<typename TOutputImage::PixelType, unsigned char>::value &&
                  TInputImage::ImageDimension == 2 && TOutputImage::ImageDimension == 2,
                "masks are two-dimensional images of unsigned char");

  using Self = BinaryWindowImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using InputImageType = TInputImage;
  using OutputImageType = TOutputImage;
  using OutputImageRegionType = typename TOutputImage::RegionType;

  itkTypeMacro(BinaryWindowImageFilter, ImageToImageFilter);

  /** Radius of the window in pixels, at most 2^30; default 1. */
  itkSetClampMacro(Radius, unsigned int, 0, gigapixel::LargestWindowRadius);
  itkGetConstMacro(Radius, unsigned int);

protected:
  explicit BinaryWindowImageFilter(gigapixel::BitWindow window);
  ~BinaryWindowImageFilter() override = default;

  void GenerateInputRequestedRegion() override;
  void DynamicThreadedGenerateData(const OutputImageRegionType & region) override;
  void AfterThreadedGenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  gigapixel::BitWindow m_Window;
  unsigned int         m_Radius{ 1 };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkBinaryWindowImageFilter.hxx"
#endif

#endif
