/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueLabelImageFilter_h
#define itkTissueLabelImageFilter_h

#include "gigapixelClassMap.h"
#include "gigapixelTissuePresets.h"
#include "itkBinaryAreaOpeningImageFilter.h"
#include "itkBinaryDiscDilateImageFilter.h"
#include "itkBinaryDiscErodeImageFilter.h"
#include "itkBinaryHoleFillImageFilter.h"
#include "itkBinaryMajorityImageFilter.h"
#include "itkBlockMeanImageFilter.h"
#include "itkTissueClassImageFilter.h"
#include "itkTissueThresholdImageFilter.h"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>

namespace itk
{

/** \class TissueLabelImageFilter
 * \brief The tissue mask of a slide on its label grid: 255 is tissue, 0 is not.
 *
 * Input: RGB or gray, 8 bits, any level of a slide (or a crop of it). Output: a mask with ceil(n / ShrinkFactor) pixels
 * along each axis, in the same place in mm. "No tissue" is a mask of zeros, not an error. The stages, in this order,
 * are filters of their own:
 *
 * BlockMean (where more than one input pixel is judged at a time) - TissueThreshold, or TissueClass (preset "model";
 * the mask of "rules" is evidence for it) - BinaryMajority (the median) - BinaryDiscErode - BinaryDiscDilate - closing
 * (BinaryDiscDilate - BinaryDiscErode)
 * - BinaryHoleFill - BinaryAreaOpening
 *
 * Pixels of less than gigapixel::JudgedMicronsPerPixel are judged, if the input has them
 * (gigapixel::GetJudgedPixelsPerSide()). A label pixel of more is tissue where more than half of its judged pixels are
 * after the last stage.
 *
 * A stage whose radius is 0 pixels, or whose area is at most one pixel, is left out. SetPreset() sets all numbers; set
 * others afterwards. The default, "auto", is "model" where the engine was built, else "rules". "remedios2023" is the
 * published chain (Remedios et al., MIDL 2023), which ends with the hole fill; gigapixel::GetTissuePresetChoices()
 * lists all with their purpose. "rules" is one of the others, chosen by a sample of the input's pixels when the first
 * of the output are made; it then sets all numbers.
 *
 * Lengths are in micrometers and become pixels by the spacing (mm). The spacing is taken as unknown where a label pixel
 * would measure less than 0.05 um or more than 160 um (20 um at downsample 8), as with ITK's default spacing of 1; then
 * a judged pixel is taken as gigapixel::NominalLabelMicronsPerPixel, and nothing that fills a thousandth of the image
 * is removed for its size. SetMicronsPerPixel() overrules both. A length or area that is no number (NaN), or a radius
 * beyond 1000 judged pixels, is an exception when the output's information is asked for.
 *
 * The filter streams: what is global (hole fill, area opening, thresholds from histograms) is gathered strip by strip
 * on the first request and kept until something upstream changes, so that memory is bounded by strips and run-lengths,
 * any number of stream divisions gives the same bits, and only the first division reads the slide.
 *
 * \ingroup ImageFilters Streamed */
template <typename TInputImage, typename TOutputImage = Image<unsigned char, 2>>
class ITK_TEMPLATE_EXPORT TissueLabelImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(TissueLabelImageFilter);

  using Self = TissueLabelImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using MethodType = gigapixel::TissueMethod; ///< how a pixel is judged

  itkNewMacro(Self);
  itkTypeMacro(TissueLabelImageFilter, ImageToImageFilter);

  /** Sets the method, all radii and the area to those of the preset of that name; an exception, naming those that there
   * are, if there is none. */
  void SetPreset(const std::string & name);
  itkGetStringMacro(Preset);

  /** What SetPreset() takes: gigapixel::GetTissuePresetNames(), the default first. */
  static std::vector<std::string>
  GetPresets()
  {
    return gigapixel::GetTissuePresetNames();
  }

  /** The preset itself, "model" for "auto" where it is that; where it is chosen by rules, the one that was chosen for
   * the input, its own name before the first update. */
  itkGetStringMacro(ChosenPreset);

  /** Input pixels along a side of a label pixel, 1 ... 256; default 8: the input is level 0. 1: it is the label grid.
   */
  itkSetClampMacro(ShrinkFactor, unsigned int, 1, 256);
  itkGetConstMacro(ShrinkFactor, unsigned int);

  /** The pixels of the input are judged, whatever they measure and however many of them are in a label pixel: whoever
   * made the input has chosen them. Default off. */
  itkSetMacro(JudgeInputPixels, bool);
  itkGetConstMacro(JudgeInputPixels, bool);
  itkBooleanMacro(JudgeInputPixels);

  /** The user's word on the input's resolution in um per pixel; 0, the default, takes the spacing. */
  itkSetClampMacro(MicronsPerPixel, double, 0.0, 1e6);
  itkGetConstMacro(MicronsPerPixel, double);

  /** How a color says tissue; an exception, naming the number, where it is no method. */
  void
  SetMethod(MethodType method)
  {
    if (method != MethodType::Network)
    {
      m_Threshold->SetMethod(method);
    }
    m_Method = method;
    this->Modified();
  }
  itkGetEnumMacro(Method, MethodType);

  /** Another model than the ready one for the method Network: a file of Utilities/tissue-network. */
  void
  SetModel(const std::string & model)
  {
    m_Classes->SetModel(model);
    this->Modified();
  }

  /** What a person says, on the grid of the pixels that are judged: those of the input where JudgeInputPixels is on.
   * See TissueClassImageFilter::SetHints(); of use with the method Network alone. */
  void
  SetHints(const TOutputImage * hints)
  {
    m_Classes->SetHints(hints);
    this->Modified();
  }

  /** The output's values are those of gigapixel::TissueClass in place of 0 and 255: pen and artifacts as well, where
   * the method is Network, else just glass and tissue. Default off. */
  itkSetMacro(OutputClasses, bool);
  itkGetConstMacro(OutputClasses, bool);
  itkBooleanMacro(OutputClasses);

  /** Shares of the slide that are pen, and artifacts: those of their pixels in the output with OutputClasses, which
   * need not be on. Pixels that are tissue in the mask are neither. Updates of all rows have to precede, in parts of
   * whole rows. Method Network alone tells; else NaN. */
  double
  GetPenShare() const
  {
    return this->GetShareOfClass(gigapixel::TissueClass::Pen);
  }
  double
  GetArtifactShare() const
  {
    return this->GetShareOfClass(gigapixel::TissueClass::Artifact);
  }

  /** Intersection over union of the mask of the last update with the truth, as the network expects it. Method Network
   * alone tells; else NaN, and NaN where there is no tissue. */
  double
  GetExpectedOverlap() const
  {
    return m_Method == MethodType::Network ? m_Classes->GetExpectedOverlap() : std::numeric_limits<double>::quiet_NaN();
  }

  /** Half the side of the median's square. */
  itkSetClampMacro(MedianRadiusInMicrometers, double, 0.0, 1e6);
  itkGetConstMacro(MedianRadiusInMicrometers, double);

  /** Radius of the disc by which tissue shrinks, so that specks go. */
  itkSetClampMacro(ErosionRadiusInMicrometers, double, 0.0, 1e6);
  itkGetConstMacro(ErosionRadiusInMicrometers, double);

  /** Radius of the disc by which tissue grows afterwards. */
  itkSetClampMacro(DilationRadiusInMicrometers, double, 0.0, 1e6);
  itkGetConstMacro(DilationRadiusInMicrometers, double);

  /** Radius of the closing, which joins what lies less than twice that apart and leaves other outlines where they are.
   */
  itkSetClampMacro(ClosingRadiusInMicrometers, double, 0.0, 1e6);
  itkGetConstMacro(ClosingRadiusInMicrometers, double);

  /** Larger holes stay holes; 0: holes of any size are filled. */
  itkSetClampMacro(MaximumHoleAreaInSquareMicrometers, double, 0.0, 1e15);
  itkGetConstMacro(MaximumHoleAreaInSquareMicrometers, double);

  /** Smaller pieces of tissue are taken for debris, after the hole fill. */
  itkSetClampMacro(MinimumAreaInSquareMicrometers, double, 0.0, 1e15);
  itkGetConstMacro(MinimumAreaInSquareMicrometers, double);

  /** Size of a label pixel in um as it is used, and whether it is the slide's or a nominal one: valid after
   * UpdateOutputInformation(). */
  itkGetConstMacro(LabelMicronsPerPixel, double);
  itkGetConstMacro(MicronsPerPixelIsKnown, bool);

  /** The thresholds of the last update; of no meaning with the method Network, which has none. */
  const gigapixel::TissueRule &
  GetRule() const
  {
    return m_Threshold->GetRule();
  }

protected:
  TissueLabelImageFilter();
  ~TissueLabelImageFilter() override = default;

  void GenerateOutputInformation() override;
  void PropagateRequestedRegion(DataObject * output) override;
  void GenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  using StageType = ImageToImageFilter<TOutputImage, TOutputImage>;

  /** How much of the progress of the network's work is that of the rules. */
  static constexpr double ShareOfEvidence = 0.4;

  /** What makes a label pixel of the nominal size, where the resolution is unknown. */
  static constexpr double NominalShrinkFactor = 8.0;

  /** Sets all numbers. */
  void TakeNumbers(const gigapixel::TissuePreset & preset);
  /** Takes, where the preset is automatic, the one for what the input is now. */
  void                         ChoosePreset();
  void                         MeasureLabelPixel();
  unsigned int                 ToPixels(double micrometers) const;
  SizeValueType                ToPixelArea(double squareMicrometers) const;
  void                         ConnectStages();
  void                         ConnectEvidence(const TInputImage * grid);
  std::vector<ProcessObject *> GetStages() const;
  /** Hands the progress of a stage on, and an abort back to the stages. */
  void FollowProgress(double share);
  /** What a person says counts whatever the stages made of it, such as a hole that they filled. */
  void DrawHints(TOutputImage * judged);
  /** Puts classes in the place of 0 and 255 in an image of judged pixels. */
  void PaintClasses(TOutputImage * judged);
  /** The judged pixels of label pixels. */
  ImageRegion<2> GetJudgedRegion(const ImageRegion<2> & labels) const;
  /** Makes label pixels of judged ones. */
  void ReduceJudgedPixels(const TOutputImage * judged, unsigned char tissue);
  /** Counts the classes of the output's whole rows, and puts 0 and 255 in their place where classes are not wanted. */
  void CountClasses();

  double
  GetShareOfClass(gigapixel::TissueClass value) const
  {
    double ofClass = 0;
    double all = 0;
    for (const auto & counts : m_CountsOfRows)
    {
      ofClass += counts[static_cast<std::size_t>(value)];
      all = std::accumulate(counts.begin(), counts.end(), all);
    }
    return m_Method == MethodType::Network && all > 0 ? ofClass / all : std::numeric_limits<double>::quiet_NaN();
  }

  std::string  m_Preset;
  std::string  m_ChosenPreset;
  TimeStamp    m_ChoiceTime;
  MethodType   m_Method{ MethodType::Network };
  bool         m_OutputClasses{ false };
  bool         m_JudgeInputPixels{ false };
  unsigned int m_ShrinkFactor{ 8 };
  unsigned int m_JudgedPerSide{ 1 }; ///< of a label pixel
  double       m_MicronsPerPixel{ 0.0 };
  double       m_MedianRadiusInMicrometers{ 0.0 };
  double       m_ErosionRadiusInMicrometers{ 0.0 };
  double       m_DilationRadiusInMicrometers{ 0.0 };
  double       m_ClosingRadiusInMicrometers{ 0.0 };
  double       m_MaximumHoleAreaInSquareMicrometers{ 0.0 };
  double       m_MinimumAreaInSquareMicrometers{ 0.0 };
  double       m_LabelMicronsPerPixel{ gigapixel::NominalLabelMicronsPerPixel };
  double       m_JudgedMicronsPerPixel{ gigapixel::NominalLabelMicronsPerPixel };
  bool         m_MicronsPerPixelIsKnown{ false };
  /** While the threshold counts its histograms; afterwards its progress runs anew for every strip and says nothing. */
  bool m_IsCounting{ false };
  /** Share of the progress that lies before the run-length pass. */
  double m_ProgressOfRule{ 0.0 };
  /** Pixels of each class, as the row was made last: streaming makes some rows twice. */
  std::vector<std::array<std::uint32_t, gigapixel::ClassMap::Classes>> m_CountsOfRows;

  typename BlockMeanImageFilter<TInputImage>::Pointer                     m_BlockMean;
  typename BlockMeanImageFilter<TInputImage>::Pointer                     m_LabelGrid; ///< for its place alone
  typename TissueThresholdImageFilter<TInputImage, TOutputImage>::Pointer m_Threshold;
  typename TissueClassImageFilter<TInputImage, TOutputImage>::Pointer     m_Classes;
  typename BinaryMajorityImageFilter<TOutputImage>::Pointer               m_Majority;
  typename BinaryDiscErodeImageFilter<TOutputImage>::Pointer              m_Erode;
  typename BinaryDiscDilateImageFilter<TOutputImage>::Pointer             m_Dilate;
  typename BinaryDiscDilateImageFilter<TOutputImage>::Pointer             m_CloseDilate;
  typename BinaryDiscErodeImageFilter<TOutputImage>::Pointer              m_CloseErode;
  typename BinaryHoleFillImageFilter<TOutputImage>::Pointer               m_HoleFill;
  typename BinaryAreaOpeningImageFilter<TOutputImage>::Pointer            m_AreaOpening;
  typename StageType::Pointer                                             m_Last;
  Pointer m_Rules; ///< what the network decides with: this filter with the preset "rules", made when it is needed
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkTissueLabelImageFilter.hxx"
#endif

#endif
