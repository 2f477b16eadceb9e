/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueThresholdImageFilter_h
#define itkTissueThresholdImageFilter_h

#include "gigapixelTissueRule.h"
#include "itkImageToImageFilter.h"
#include "itkTissuePixel.h"

#include <type_traits>

namespace itk
{

/** \class TissueThresholdImageFilter
 * \brief Says of each pixel by its color whether it is tissue (255) or not (0).
 *
 * Four methods, see gigapixel::TissueMethod, whose comments give the rules in whole numbers:
 * - MeanBelow (default): the published rule, a fixed threshold of 230;
 * - Stain, BrownStain and BrightOnDark: thresholds from the histograms of the whole input, never of a region. The
 *   filter pulls the input once in strips for them and keeps them until something upstream is modified.
 * With Stain and BrownStain, color that JPEG spread from tissue over the glass beside it, and haze of stain on the
 * glass, are taken off again; see gigapixel::ClearSpreadColor(), for which the filter asks for two pixels more on every
 * side.
 *
 * The input is RGB or gray, the gray rule being that of a pixel with three equal channels.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = Image<unsigned char, 2>>
class ITK_TEMPLATE_EXPORT TissueThresholdImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(TissueThresholdImageFilter);
  static_assert(std::is_same<typename TOutputImage::PixelType, unsigned char>::value &&
                  TInputImage::ImageDimension == 2 && TOutputImage::ImageDimension == 2,
                "masks are two-dimensional images of unsigned char");
  static constexpr unsigned int Channels = TissuePixel<typename TInputImage::PixelType>::Channels; ///< 1: gray, 3: RGB

  using Self = TissueThresholdImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using OutputImageRegionType = typename TOutputImage::RegionType;
  using MethodType = gigapixel::TissueMethod; ///< how a pixel is judged

  itkNewMacro(Self);
  itkTypeMacro(TissueThresholdImageFilter, ImageToImageFilter);

  /** An exception, naming the number, where it is no method (an integer in Python). */
  void SetMethod(MethodType method);
  itkGetEnumMacro(Method, MethodType);

  /** Brings the rule up to date: counts the whole input if the method needs it and the rule is older than the input.
   * Returns whether it counted; the input is then left at its last strip. An update does this by itself. */
  bool UpdateRule();

  /** The numbers of the last update. */
  const gigapixel::TissueRule &
  GetRule() const
  {
    return m_Rule;
  }

protected:
  TissueThresholdImageFilter();
  ~TissueThresholdImageFilter() override = default;

  void GenerateInputRequestedRegion() override;
  void BeforeThreadedGenerateData() override;
  void DynamicThreadedGenerateData(const OutputImageRegionType & region) override;
  void AfterThreadedGenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  gigapixel::TissueHistogram CountWholeInput();
  /** Whether the method looks at the pixels beside a pixel as well. */
  bool LooksAround() const;
  /** What of the input a region of the output needs. */
  OutputImageRegionType GetNeededRegion(OutputImageRegionType region) const;

  MethodType            m_Method{ MethodType::MeanBelow };
  gigapixel::TissueRule m_Rule;
  TimeStamp             m_RuleTime;
  bool                  m_RuleIsComplete{ false };
  /** Share of this update's progress that the count took. */
  float m_ProgressOfRule{ 0.0f };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkTissueThresholdImageFilter.hxx"
#endif

#endif
