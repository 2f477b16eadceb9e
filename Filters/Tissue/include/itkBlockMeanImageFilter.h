/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBlockMeanImageFilter_h
#define itkBlockMeanImageFilter_h

#include "itkImageToImageFilter.h"
#include "itkTissuePixel.h"

namespace itk
{

/** \class BlockMeanImageFilter
 * \brief Shrinks an image by a whole factor: each output pixel is the mean of a block of factor x factor pixels, each
 * channel for itself, rounded half up.
 *
 * The output has ceil(n / factor) pixels along each axis and begins at index 0; a block that the image's right or
 * bottom edge cuts is the mean of its real pixels. Spacing is exactly factor times the input's, and the origin is the
 * center of the first block.
 *
 * However large the region asked for, the input is pulled through its pipeline in strips of about StripBytes bytes, so
 * that a gigapixel slide is never in memory at once. Strips begin at multiples of 256 rows where the width allows it,
 * so that the tiles of common slides are decoded once.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT BlockMeanImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(BlockMeanImageFilter);
  static_assert(TInputImage::ImageDimension == 2 && TOutputImage::ImageDimension == 2, "slides are two-dimensional");
  static constexpr unsigned int Channels = TissuePixel<typename TInputImage::PixelType>::Channels; ///< 1: gray, 3: RGB
  static_assert(Channels == TissuePixel<typename TOutputImage::PixelType>::Channels,
                "input and output have the same channels");

  using Self = BlockMeanImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using InputImageRegionType = typename TInputImage::RegionType;
  using OutputImageRegionType = typename TOutputImage::RegionType;

  itkNewMacro(Self);
  itkTypeMacro(BlockMeanImageFilter, ImageToImageFilter);

  /** Side of a block, 1 ... 256; default 8, the label grid of a slide's level 0. */
  itkSetClampMacro(ShrinkFactor, unsigned int, 1, 256);
  itkGetConstMacro(ShrinkFactor, unsigned int);

  /** Size of an input strip in bytes; default 32 MB. A strip has at least one row of blocks. */
  itkSetMacro(StripBytes, SizeValueType);
  itkGetConstMacro(StripBytes, SizeValueType);

protected:
  BlockMeanImageFilter() = default;
  ~BlockMeanImageFilter() override = default;

  void GenerateOutputInformation() override;
  void GenerateInputRequestedRegion() override;
  void GenerateData() override;
  void
  VerifyInputInformation() ITKv5_CONST override
  {}
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  /** The input pixels of a region of blocks. */
  InputImageRegionType GetBlocks(const OutputImageRegionType & region) const;
  /** The strip of blocks that begins with the first row of `rest`. */
  OutputImageRegionType GetStrip(const OutputImageRegionType & rest) const;

  unsigned int  m_ShrinkFactor{ 8 };
  SizeValueType m_StripBytes{ 32 << 20 };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkBlockMeanImageFilter.hxx"
#endif

#endif
