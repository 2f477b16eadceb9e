/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueLabelImageFilter_hxx
#define itkTissueLabelImageFilter_hxx

#include "itkStreamedInput.h"
#include "itkGigapixelException.h"
#include "itkTissueSample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
TissueLabelImageFilter<TInputImage, TOutputImage>::TissueLabelImageFilter()
  : m_BlockMean(BlockMeanImageFilter<TInputImage>::New())
  , m_LabelGrid(BlockMeanImageFilter<TInputImage>::New())
  , m_Threshold(TissueThresholdImageFilter<TInputImage, TOutputImage>::New())
  , m_Classes(TissueClassImageFilter<TInputImage, TOutputImage>::New())
  , m_Majority(BinaryMajorityImageFilter<TOutputImage>::New())
  , m_Erode(BinaryDiscErodeImageFilter<TOutputImage>::New())
  , m_Dilate(BinaryDiscDilateImageFilter<TOutputImage>::New())
  , m_CloseDilate(BinaryDiscDilateImageFilter<TOutputImage>::New())
  , m_CloseErode(BinaryDiscErodeImageFilter<TOutputImage>::New())
  , m_HoleFill(BinaryHoleFillImageFilter<TOutputImage>::New())
  , m_AreaOpening(BinaryAreaOpeningImageFilter<TOutputImage>::New())
{
  this->SetPreset(gigapixel::DefaultTissuePreset);
  m_Threshold->AddObserver(ProgressEvent(), [this](const EventObject &) {
    this->FollowProgress(m_IsCounting ? m_Threshold->GetProgress() : 0.0);
  });
  m_Classes->AddObserver(ProgressEvent(), [this](const EventObject &) {
    this->FollowProgress(m_IsCounting ? ShareOfEvidence + (0.9 - ShareOfEvidence) * m_Classes->GetProgress() : 0.0);
  });
  m_HoleFill->AddObserver(ProgressEvent(), [this](const EventObject &) {
    this->FollowProgress(m_ProgressOfRule + (1.0 - m_ProgressOfRule) * m_HoleFill->GetProgress());
  });
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::SetPreset(const std::string & name)
{
  try
  {
    gigapixel::CheckTissuePresetName(name);
  }
  catch (const std::invalid_argument & unknown)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(unknown));
  }
  m_Preset = name;
  const bool   isChosenLater = gigapixel::IsAutomaticTissuePreset(name);
  const auto & preset = gigapixel::GetTissuePreset(isChosenLater ? "robust" : name);
  m_ChosenPreset = isChosenLater ? name : preset.name;
  this->TakeNumbers(preset);
  this->Modified();
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::TakeNumbers(const gigapixel::TissuePreset & preset)
{
  this->SetMethod(preset.method);
  m_MedianRadiusInMicrometers = preset.medianRadius;
  m_ErosionRadiusInMicrometers = preset.erosionRadius;
  m_DilationRadiusInMicrometers = preset.dilationRadius;
  m_ClosingRadiusInMicrometers = preset.closingRadius;
  m_MaximumHoleAreaInSquareMicrometers = preset.maximumHoleArea;
  m_MinimumAreaInSquareMicrometers = preset.minimumArea;
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::ChoosePreset()
{
  auto * input = const_cast<TInputImage *>(this->GetInput());
  if (!gigapixel::IsAutomaticTissuePreset(m_Preset) ||
      m_ChoiceTime.GetMTime() > std::max(this->GetMTime(), GetContentMTime(input)))
  {
    return;
  }
  const auto & preset = gigapixel::ChooseTissuePreset(m_Preset, SampleTissue(input));
  m_ChosenPreset = preset.name;
  this->TakeNumbers(preset);
  this->ConnectStages();
  m_Last->UpdateOutputInformation();
  m_ChoiceTime.Modified();
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::MeasureLabelPixel()
{
  constexpr double micrometersPerMillimeter = 1000.0;
  constexpr double smallest = 0.05;
  constexpr double largest = 160.0;
  const auto       spacing = this->GetInput()->GetSpacing();
  if (std::isnan(m_MicronsPerPixel))
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE",
                            "MicronsPerPixel is " + std::to_string(m_MicronsPerPixel) + ", which is no number")
        .OfOption("MicronsPerPixel", std::to_string(m_MicronsPerPixel)));
  }
  const double pixel =
    m_MicronsPerPixel > 0.0 ? m_MicronsPerPixel : 0.5 * (spacing[0] + spacing[1]) * micrometersPerMillimeter;
  const double label = pixel * m_ShrinkFactor;
  m_MicronsPerPixelIsKnown = m_MicronsPerPixel > 0.0 || (label >= smallest && label <= largest);
  const double assumed =
    m_MicronsPerPixelIsKnown ? label : gigapixel::NominalLabelMicronsPerPixel / NominalShrinkFactor * m_ShrinkFactor;
  m_JudgedPerSide = m_JudgeInputPixels ? m_ShrinkFactor : gigapixel::GetJudgedPixelsPerSide(m_ShrinkFactor, assumed);
  m_JudgedMicronsPerPixel = m_MicronsPerPixelIsKnown ? label / m_JudgedPerSide : gigapixel::NominalLabelMicronsPerPixel;
  m_LabelMicronsPerPixel = m_JudgedMicronsPerPixel * m_JudgedPerSide;
}

template <typename TInputImage, typename TOutputImage>
unsigned int
TissueLabelImageFilter<TInputImage, TOutputImage>::ToPixels(double micrometers) const
{
  // A radius beyond this says that the resolution is wrong; it would only cost time.
  constexpr double most = 1000.0;
  const double     pixels = micrometers / m_JudgedMicronsPerPixel;
  if (!(pixels <= most)) // nor if it is no number
  {
    std::ostringstream why;
    why << "A radius of " << micrometers << " um is " << pixels << " pixels of " << m_JudgedMicronsPerPixel
        << " um; at most 1000 are supported";
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE", why.str(), "check the radius and the resolution (SetMicronsPerPixel)")
        .OfValue(std::to_string(micrometers)));
  }
  return static_cast<unsigned int>(std::lround(pixels));
}

template <typename TInputImage, typename TOutputImage>
SizeValueType
TissueLabelImageFilter<TInputImage, TOutputImage>::ToPixelArea(double squareMicrometers) const
{
  if (std::isnan(squareMicrometers))
  {
    const std::string given = std::to_string(squareMicrometers);
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE", "An area is " + given + ", which is no number").OfValue(given));
  }
  return static_cast<SizeValueType>(
    std::llround(squareMicrometers / (m_JudgedMicronsPerPixel * m_JudgedMicronsPerPixel)));
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::ConnectStages()
{
  const unsigned int shrinkFactor = m_ShrinkFactor / m_JudgedPerSide;
  m_BlockMean->SetShrinkFactor(shrinkFactor);
  m_Majority->SetRadius(this->ToPixels(m_MedianRadiusInMicrometers));
  m_Erode->SetRadius(this->ToPixels(m_ErosionRadiusInMicrometers));
  m_Dilate->SetRadius(this->ToPixels(m_DilationRadiusInMicrometers));
  m_CloseDilate->SetRadius(this->ToPixels(m_ClosingRadiusInMicrometers));
  m_CloseErode->SetRadius(m_CloseDilate->GetRadius());
  m_HoleFill->SetMaximumArea(m_MaximumHoleAreaInSquareMicrometers == 0.0
                               ? NumericTraits<SizeValueType>::max()
                               : this->ToPixelArea(m_MaximumHoleAreaInSquareMicrometers));
  auto judgedSize = this->GetInput()->GetLargestPossibleRegion().GetSize();
  for (SizeValueType & length : judgedSize)
  {
    length = (length + shrinkFactor - 1) / shrinkFactor;
  }
  SizeValueType smallest = this->ToPixelArea(m_MinimumAreaInSquareMicrometers);
  if (!m_MicronsPerPixelIsKnown)
  {
    // The nominal pixel may be far too small (a thumbnail): what fills a thousandth of the picture is no debris.
    smallest = std::min<SizeValueType>(smallest, judgedSize[0] * judgedSize[1] / 1000);
  }
  m_AreaOpening->SetMinimumArea(smallest);

  m_BlockMean->SetInput(this->GetInput());
  const TInputImage * grid = shrinkFactor > 1 ? m_BlockMean->GetOutput() : this->GetInput();
  m_Threshold->SetInput(grid);
  m_Classes->SetInput(grid);
  if (m_Method == MethodType::Network)
  {
    this->ConnectEvidence(grid);
  }
  m_Classes->SetShrinkFactor(gigapixel::TissueNetwork::GetFactor(
    judgedSize[0], judgedSize[1], m_MicronsPerPixelIsKnown ? m_JudgedMicronsPerPixel : 0.0));
  TOutputImage * mask = m_Method == MethodType::Network ? m_Classes->GetOutput() : m_Threshold->GetOutput();
  const auto     append = [&mask](StageType * stage) {
    stage->SetInput(mask);
    mask = stage->GetOutput();
  };
  const std::array<BinaryWindowImageFilter<TOutputImage> *, 5> windows{
    { m_Majority, m_Erode, m_Dilate, m_CloseDilate, m_CloseErode }
  };
  for (BinaryWindowImageFilter<TOutputImage> * stage : windows)
  {
    if (stage->GetRadius() > 0)
    {
      append(stage);
    }
  }
  append(m_HoleFill);
  m_Last = m_HoleFill.GetPointer();
  if (m_AreaOpening->GetMinimumArea() > 1)
  {
    append(m_AreaOpening);
    m_Last = m_AreaOpening.GetPointer();
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::ConnectEvidence(const TInputImage * grid)
{
  if (!m_Rules)
  {
    m_Rules = Self::New();
    m_Rules->SetPreset(gigapixel::AutomaticTissueRules);
    m_Rules->SetShrinkFactor(1);
    m_Rules->AddObserver(ProgressEvent(), [this](const EventObject &) {
      this->FollowProgress(m_IsCounting ? ShareOfEvidence * m_Rules->GetProgress() : 0.0);
    });
    m_Classes->SetEvidence(m_Rules->GetOutput());
  }
  m_Rules->SetInput(grid);
  m_Rules->SetMicronsPerPixel(m_MicronsPerPixelIsKnown ? m_JudgedMicronsPerPixel : 0.0);
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::GenerateOutputInformation()
{
  this->MeasureLabelPixel();
  this->ConnectStages();
  m_Last->UpdateOutputInformation();
  this->GetOutput()->CopyInformation(m_Last->GetOutput());
  if (m_JudgedPerSide > 1)
  {
    m_LabelGrid->SetInput(this->GetInput());
    m_LabelGrid->SetShrinkFactor(m_ShrinkFactor);
    m_LabelGrid->UpdateOutputInformation();
    this->GetOutput()->CopyInformation(m_LabelGrid->GetOutput());
  }
}

template <typename TInputImage, typename TOutputImage>
ImageRegion<2>
TissueLabelImageFilter<TInputImage, TOutputImage>::GetJudgedRegion(const ImageRegion<2> & labels) const
{
  if (m_JudgedPerSide == 1)
  {
    return labels;
  }
  const auto     whole = m_Last->GetOutput()->GetLargestPossibleRegion();
  ImageRegion<2> judged;
  for (unsigned int d = 0; d < 2; ++d)
  {
    judged.SetIndex(d, whole.GetIndex(d) + labels.GetIndex(d) * static_cast<IndexValueType>(m_JudgedPerSide));
    judged.SetSize(d, labels.GetSize(d) * m_JudgedPerSide);
  }
  judged.Crop(whole);
  return judged;
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::PropagateRequestedRegion(DataObject *)
{
  // The stages are connected to the input itself and pull it strip by strip; the first strip is asked for here.
  if (!this->m_Updating)
  {
    m_Last->GetOutput()->SetRequestedRegion(this->GetJudgedRegion(this->GetOutput()->GetRequestedRegion()));
    m_Last->GetOutput()->PropagateRequestedRegion();
  }
}

template <typename TInputImage, typename TOutputImage>
std::vector<ProcessObject *>
TissueLabelImageFilter<TInputImage, TOutputImage>::GetStages() const
{
  std::vector<ProcessObject *> stages{ m_BlockMean, m_Threshold,   m_Classes,    m_Majority, m_Erode,
                                       m_Dilate,    m_CloseDilate, m_CloseErode, m_HoleFill, m_AreaOpening };
  if (m_Rules)
  {
    stages.push_back(m_Rules);
  }
  return stages;
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::FollowProgress(double share)
{
  if (share > this->GetProgress())
  {
    this->UpdateProgress(static_cast<float>(share));
  }
  for (ProcessObject * stage : this->GetStages())
  {
    stage->SetAbortGenerateData(this->GetAbortGenerateData());
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  for (ProcessObject * stage : this->GetStages())
  {
    stage->SetNumberOfWorkUnits(this->GetNumberOfWorkUnits());
  }
  this->ChoosePreset();
  m_IsCounting = true;
  if (m_Method == MethodType::Network)
  {
    m_ProgressOfRule = 0.0;
    if (m_Classes->UpdateClasses())
    {
      m_ProgressOfRule = 0.9;
      m_CountsOfRows.clear();
    }
  }
  else
  {
    m_ProgressOfRule = m_Threshold->UpdateRule() ? 0.5 : 0.0;
  }
  m_IsCounting = false;
  TOutputImage * const judged = m_Last->GetOutput();
  judged->SetRequestedRegion(this->GetJudgedRegion(this->GetOutput()->GetRequestedRegion()));
  judged->Update();
  this->DrawHints(judged);
  const bool hasClasses = m_OutputClasses || m_Method == MethodType::Network;
  if (hasClasses)
  {
    this->PaintClasses(judged);
  }
  if (m_JudgedPerSide > 1)
  {
    this->ReduceJudgedPixels(judged, hasClasses ? static_cast<unsigned char>(gigapixel::TissueClass::Tissue) : 255);
  }
  else
  {
    this->GraftOutput(judged);
  }
  if (hasClasses)
  {
    this->CountClasses();
  }
  // What comes after may work in place: the stage must not take the shared pixels for its own result any more.
  judged->ReleaseData();
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::ReduceJudgedPixels(const TOutputImage * judged, unsigned char tissue)
{
  this->AllocateOutputs();
  TOutputImage * output = this->GetOutput();
  const auto     region = output->GetRequestedRegion();
  const auto     stride = judged->GetBufferedRegion().GetSize(0);
  auto           row = region;
  row.SetSize(1, 1);
  for (SizeValueType y = 0; y < region.GetSize(1); ++y)
  {
    row.SetIndex(1, region.GetIndex(1) + static_cast<IndexValueType>(y));
    const auto pixels = this->GetJudgedRegion(row);
    gigapixel::ReduceToMajority(judged->GetBufferPointer() + judged->ComputeOffset(pixels.GetIndex()),
                                stride,
                                pixels.GetSize(0),
                                pixels.GetSize(1),
                                m_JudgedPerSide,
                                tissue,
                                output->GetBufferPointer() + output->ComputeOffset(row.GetIndex()));
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::DrawHints(TOutputImage * judged)
{
  auto * const hints = const_cast<TOutputImage *>(m_Classes->GetHints());
  if (m_Method != MethodType::Network || hints == nullptr)
  {
    return;
  }
  const auto region = judged->GetRequestedRegion();
  UpdateRegion(hints, region);
  auto index = region.GetIndex();
  for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
  {
    const unsigned char * hint = hints->GetBufferPointer() + hints->ComputeOffset(index);
    unsigned char *       row = judged->GetBufferPointer() + judged->ComputeOffset(index);
    std::transform(row, row + region.GetSize(0), hint, row, [](unsigned char mask, unsigned char said) {
      constexpr auto tissue =
        static_cast<unsigned char>(1 + static_cast<unsigned char>(gigapixel::TissueClass::Tissue));
      return said == 0 ? mask : static_cast<unsigned char>(said == tissue ? 255 : 0);
    });
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::PaintClasses(TOutputImage * judged)
{
  const auto start = judged->GetLargestPossibleRegion().GetIndex();
  const auto region = judged->GetRequestedRegion();
  const auto width = region.GetSize(0);
  auto       index = region.GetIndex();

  std::vector<unsigned char> others(width, static_cast<unsigned char>(gigapixel::TissueClass::Glass));
  for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
  {
    if (m_Method == MethodType::Network)
    {
      // What the network takes for tissue and the stages after it do not is a piece of debris: glass here.
      m_Classes->GetClasses().PaintRow(static_cast<std::size_t>(index[1] - start[1]),
                                       static_cast<std::size_t>(index[0] - start[0]),
                                       width,
                                       { { 0, 0, 2, 3 } },
                                       others.data());
    }
    unsigned char * row = judged->GetBufferPointer() + judged->ComputeOffset(index);
    std::transform(row, row + width, others.begin(), row, [](unsigned char mask, unsigned char other) {
      return mask == 0 ? other : static_cast<unsigned char>(gigapixel::TissueClass::Tissue);
    });
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::CountClasses()
{
  TOutputImage * const output = this->GetOutput();
  const auto           whole = output->GetLargestPossibleRegion();
  const auto           region = output->GetRequestedRegion();
  const auto           width = region.GetSize(0);
  auto                 index = region.GetIndex();
  m_CountsOfRows.resize(whole.GetSize(1));
  for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
  {
    unsigned char * const row = output->GetBufferPointer() + output->ComputeOffset(index);
    if (width == whole.GetSize(0)) // a part of a row would leave out what came before, or count it twice
    {
      auto & counts = m_CountsOfRows[static_cast<std::size_t>(index[1] - whole.GetIndex(1))];
      counts.fill(0);
      std::for_each(row, row + width, [&counts](unsigned char value) { ++counts[value]; });
    }
    if (!m_OutputClasses)
    {
      constexpr auto tissue = static_cast<unsigned char>(gigapixel::TissueClass::Tissue);
      std::transform(row, row + width, row, [](unsigned char value) { return value == tissue ? 255 : 0; });
    }
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueLabelImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Preset: " << m_Preset << std::endl;
  os << indent << "ChosenPreset: " << m_ChosenPreset << std::endl;
  os << indent << "ShrinkFactor: " << m_ShrinkFactor << std::endl;
  os << indent << "JudgeInputPixels: " << (m_JudgeInputPixels ? "On" : "Off") << std::endl;
  os << indent << "JudgedPerSide: " << m_JudgedPerSide << std::endl;
  os << indent << "MicronsPerPixel: " << m_MicronsPerPixel << std::endl;
  os << indent << "OutputClasses: " << (m_OutputClasses ? "On" : "Off") << std::endl;
  os << indent << "Method: " << static_cast<int>(this->GetMethod()) << std::endl;
  os << indent << "MedianRadiusInMicrometers: " << m_MedianRadiusInMicrometers << std::endl;
  os << indent << "ErosionRadiusInMicrometers: " << m_ErosionRadiusInMicrometers << std::endl;
  os << indent << "DilationRadiusInMicrometers: " << m_DilationRadiusInMicrometers << std::endl;
  os << indent << "ClosingRadiusInMicrometers: " << m_ClosingRadiusInMicrometers << std::endl;
  os << indent << "MaximumHoleAreaInSquareMicrometers: " << m_MaximumHoleAreaInSquareMicrometers << std::endl;
  os << indent << "MinimumAreaInSquareMicrometers: " << m_MinimumAreaInSquareMicrometers << std::endl;
  os << indent << "LabelMicronsPerPixel: " << m_LabelMicronsPerPixel
     << (m_MicronsPerPixelIsKnown ? " (known)" : " (nominal)") << std::endl;
}

} // namespace itk

#endif
