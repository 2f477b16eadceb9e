/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkRunLengthMaskImageFilter_h
#define itkRunLengthMaskImageFilter_h

#include "gigapixelRunLengthMask.h"
#include "itkImageToImageFilter.h"

#include <type_traits>

namespace itk
{

/** \class RunLengthMaskImageFilter
 * \brief What the filters share that have to know the whole mask: BinaryHoleFillImageFilter and
 * BinaryAreaOpeningImageFilter.
 *
 * The filter streams although its result is global. When first asked for a region it pulls the whole input through its
 * pipeline in strips of rows and keeps it as runs; the subclass changes the runs; then any output region is painted
 * from them. The runs are kept until something upstream, or the filter itself, is modified. So memory is bounded by the
 * runs and one strip, and further regions cost no upstream work, whatever the number of stream divisions.
 *
 * Masks are two-dimensional images of unsigned char; every value but 0 is foreground, the output is 0 or 255.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT RunLengthMaskImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(RunLengthMaskImageFilter);
  static_assert(std::is_same<typename TInputImage::PixelType, unsigned char>::value &&
                  std::is_same<typename TOutputImage::PixelType, unsigned char>::value &&
                  TInputImage::ImageDimension == 2 && TOutputImage::ImageDimension == 2,
                "masks are two-dimensional images of unsigned char");

  using Self = RunLengthMaskImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using InputImageType = TInputImage;
  using OutputImageType = TOutputImage;
  using InputImageRegionType = typename TInputImage::RegionType;
  using OutputImageRegionType = typename TOutputImage::RegionType;

  itkTypeMacro(RunLengthMaskImageFilter, ImageToImageFilter);

protected:
  RunLengthMaskImageFilter() = default;
  ~RunLengthMaskImageFilter() override = default;

  /** Changes the runs of the whole input into those of the whole output. */
  virtual void ChangeMask(gigapixel::RunLengthMask & mask) = 0;

  void GenerateInputRequestedRegion() override;
  void GenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  bool MaskIsCurrent() const;
  void ReadMask();

  gigapixel::RunLengthMask m_Mask;
  TimeStamp                m_MaskTime;
  bool                     m_MaskIsComplete{ false };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkRunLengthMaskImageFilter.hxx"
#endif

#endif
