/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelUNetImageFilter_hxx
#define itkGigapixelUNetImageFilter_hxx

#include "itkGigapixelUNetImageFilter.h"
#include "itkGigapixelException.h"
#include "itkMultiThreaderBase.h"

#include <algorithm>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::SetModelFileName(const std::string & fileName)
{
  if (m_ModelFileName != fileName || !m_Model)
  {
    m_ModelFileName = fileName;
    m_Model.reset();
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::SetModel(const gigapixel::Model & model)
{
  this->SetSharedModel(std::make_shared<const gigapixel::Model>(model));
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::SetSharedModel(
  const std::shared_ptr<const gigapixel::Model> & model)
{
  m_Model = model;
  m_ModelFileName.clear();
  this->Modified();
}

template <typename TInputImage, typename TOutputImage>
SizeValueType
GigapixelUNetImageFilter<TInputImage, TOutputImage>::GetNumberOfComputedTiles() const
{
  return m_Prediction ? static_cast<SizeValueType>(m_Prediction->GetNumberOfComputedTiles()) : 0;
}

template <typename TInputImage, typename TOutputImage>
gigapixel::PredictionFormat
GigapixelUNetImageFilter<TInputImage, TOutputImage>::GetFormat() const
{
  using Format = gigapixel::PredictionFormat;
  constexpr bool isFloat = std::is_same<OutputSampleType, float>::value;
  Format         format;
  format.sample = isFloat ? Format::Sample::Float : Format::Sample::UnsignedChar;
  const bool probability =
    m_OutputMode == GigapixelUNetOutput::Automatic ? isFloat : m_OutputMode == GigapixelUNetOutput::Probability;
  format.content = probability ? Format::Content::Probability : Format::Content::Label;
  format.threshold = this->GetThreshold();
  return format;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::SetRanks(const std::shared_ptr<gigapixel::Ranks> & ranks)
{
  GigapixelSetMember(*this, m_Ranks, ranks);
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::SetNormalization(
  const std::shared_ptr<gigapixel::KeptNormalization> & normalization)
{
  GigapixelSetMember(*this, m_GivenNormalization, normalization);
}

template <typename TInputImage, typename TOutputImage>
gigapixel::Region
GigapixelUNetImageFilter<TInputImage, TOutputImage>::FromFirstPixel(const ImageRegion<2> & region) const
{
  const auto &      first = this->GetInput()->GetLargestPossibleRegion().GetIndex();
  gigapixel::Region result;
  result.x = region.GetIndex(0) - first[0];
  result.y = region.GetIndex(1) - first[1];
  result.width = static_cast<std::int64_t>(region.GetSize(0));
  result.height = static_cast<std::int64_t>(region.GetSize(1));
  return result;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::LoadModel()
{
  if (m_Model)
  {
    return;
  }
  if (m_ModelFileName.empty())
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-CALL-ORDER", "no model", "call SetModelFileName() or SetModel()"));
  }
  try
  {
    m_Model = std::make_shared<const gigapixel::Model>(gigapixel::Model::Load(m_ModelFileName));
  }
  catch (const std::exception & error)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(error));
  }
}

template <typename TInputImage, typename TOutputImage>
gigapixel::Device
GigapixelUNetImageFilter<TInputImage, TOutputImage>::FindDevice() const
{
  gigapixel::Device device = gigapixel::Device::Find(m_Computing.device, m_Computing.precision);
  const std::string problem = m_Computing.sharedMemory ? device.GetSharingProblem() : std::string();
  if (!problem.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-DEVICE-MISSING", problem, "leave out shared memory, the result is the same"));
  }
  device.shared = m_Computing.sharedMemory;
  return device;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::FindNormalization(ModifiedTimeType mTime)
{
  if (!m_Model->network.IsNormalized() || m_GivenNormalization)
  {
    m_Normalization = m_Model->network.IsNormalized() ? m_GivenNormalization : nullptr;
    return;
  }
  if (m_Normalization && mTime == m_PredictionMTime)
  {
    return; // statistics of this input: they take a pass over all of it
  }
  m_Normalization =
    GigapixelFindNormalization(GigapixelImageSource(this->GetInput(), "the image"), m_Model->network, [this](double) {
      this->UpdateProgress(this->GetProgress()); // so that who wants to stop it is asked
      return !this->GetAbortGenerateData();
    });
  if (!m_Normalization)
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::PreparePrediction()
{
  const TInputImage *    input = this->GetInput();
  const ModifiedTimeType mTime = std::max(this->GetMTime(), GigapixelUpstreamMTime(*input));
  const auto             limit = static_cast<std::int64_t>(m_Computing.memoryLimit);
  const std::int64_t     besideBytes = m_BesideBytes ? m_BesideBytes(limit) : 0;
  if (m_Prediction && mTime == m_PredictionMTime && besideBytes <= m_PlannedBesideBytes)
  {
    return;
  }
  m_Prediction.reset();
  const gigapixel::Grid grid = GigapixelGridOf(*input);
  const int             threads = GigapixelCountThreads(*this);
  try
  {
    GigapixelCheckTakesImages(*m_Model);
    gigapixel::CheckOptions(m_Segmentation);
    gigapixel::CheckOptions(m_Patching);
    GigapixelCheckTiling(m_Patching.slidingWindow, m_Computing.tileSize, m_Computing.sharedMemory);
    GigapixelCheckThreshold(*m_Model, m_Segmentation.threshold.has_value());
    const std::string ofWeights = m_Model->GetWarning();
    for (const gigapixel::Diagnostic & warning :
         { GigapixelCheckResolution(m_Model->micronsPerPixel, grid.GetMicronsPerPixel()),
           ofWeights.empty() ? gigapixel::Diagnostic() : gigapixel::Diagnostic("W-MODEL-WEIGHTS", ofWeights) })
    {
      if (!warning.IsEmpty())
      {
        itkWarningMacro(<< gigapixel::Remember(warning));
      }
    }
    const gigapixel::PredictionResources resources{ threads,
                                                    limit,
                                                    this->FindDevice(),
                                                    m_Ranks,
                                                    this->GetPatches(),
                                                    m_Computing.tileSize,
                                                    m_Computing.scratchFolder,
                                                    m_BesideBytes };
    m_Prediction = std::make_unique<gigapixel::TilePrediction>(
      *m_Model, this->GetFormat(), grid.size, input->GetNumberOfComponentsPerPixel(), resources);
    GigapixelRequireSampleType(GigapixelSampleType<TInputImage>(), m_Model->network, "the image");
    this->FindNormalization(mTime);
  }
  catch (const ExceptionObject &)
  {
    throw; // from the pipeline
  }
  catch (const std::exception & error)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(error));
  }
  m_PredictionMTime = mTime;
  m_PlannedBesideBytes = besideBytes;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::GenerateOutputInformation()
{
  Superclass::GenerateOutputInformation();
  this->LoadModel();
  this->PreparePrediction();

  constexpr bool oneSample =
    !std::is_same<typename TOutputImage::InternalPixelType, typename TOutputImage::PixelType>::value
      ? false
      : sizeof(typename TOutputImage::PixelType) == sizeof(OutputSampleType);
  const int samples = m_Prediction->GetNumberOfSamples();
  this->GetOutput()->SetNumberOfComponentsPerPixel(samples);
  if (oneSample && samples != 1)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-MODEL-OUTPUT",
                                                     "the model has " + std::to_string(samples) +
                                                       " classes, whose probabilities do not fit in a scalar image",
                                                     "use a VectorImage as output, or the output mode Label"));
  }
}

template <typename TInputImage, typename TOutputImage>
std::vector<ImageRegion<2>>
GigapixelUNetImageFilter<TInputImage, TOutputImage>::GetOwnRows(const ImageRegion<2> & region) const
{
  const auto                  first = this->GetInput()->GetLargestPossibleRegion().GetIndex();
  std::vector<ImageRegion<2>> rows;
  for (const gigapixel::Region & row : m_Prediction->GetOwnRows(this->FromFirstPixel(region)))
  {
    rows.push_back({ { { first[0] + row.x, first[1] + row.y } },
                     { { static_cast<SizeValueType>(row.width), static_cast<SizeValueType>(row.height) } } });
  }
  return rows;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  this->PreparePrediction(); // where other filters keep more than before
  auto *                  input = const_cast<TInputImage *>(this->GetInput());
  const auto              whole = input->GetLargestPossibleRegion();
  const gigapixel::Region region =
    m_Prediction->GetInputRegion(this->FromFirstPixel(this->GetOutput()->GetRequestedRegion()));
  if (region.width == 0)
  {
    // Everything is remembered. A pipeline cannot ask for nothing: one pixel, best one that is there already.
    const auto buffered = input->GetBufferedRegion();
    input->SetRequestedRegion(
      ImageRegion<2>(buffered.GetNumberOfPixels() > 0 ? buffered.GetIndex() : whole.GetIndex(), Size<2>{ { 1, 1 } }));
    return;
  }
  const auto & first = whole.GetIndex();
  input->SetRequestedRegion(
    ImageRegion<2>(Index<2>{ { first[0] + region.x, first[1] + region.y } },
                   Size<2>{ { static_cast<SizeValueType>(region.width), static_cast<SizeValueType>(region.height) } }));
}

template <typename TInputImage, typename TOutputImage>
std::shared_ptr<gigapixel::PixelSource>
GigapixelUNetImageFilter<TInputImage, TOutputImage>::MakePixels() const
{
  const TInputImage * input = this->GetInput();
  const auto          pixels =
    std::make_shared<GigapixelBufferSource>(reinterpret_cast<const unsigned char *>(input->GetBufferPointer()),
                                            this->FromFirstPixel(input->GetBufferedRegion()),
                                            GigapixelGridOf(*input).size,
                                            input->GetNumberOfComponentsPerPixel(),
                                            GigapixelSampleType<TInputImage>());
  return m_Normalization ? m_Normalization->Apply(gigapixel::AdaptChannels(
                             pixels, static_cast<unsigned>(m_Model->network.channels), "the image"))
                         : pixels;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  this->AllocateOutputs();
  TOutputImage * output = this->GetOutput();
  bool           finished = false;
  try
  {
    const auto pixels = this->MakePixels();
    finished = m_Prediction->Predict(
      *pixels, this->FromFirstPixel(output->GetBufferedRegion()), output->GetBufferPointer(), [this](double progress) {
        this->UpdateProgress(static_cast<float>(progress));
        return !this->GetAbortGenerateData();
      });
  }
  catch (const ExceptionObject &)
  {
    throw; // from an observer, or from the pipeline
  }
  catch (const gigapixel::Ranks::Stopped &)
  {
    throw; // no error, and for the caller to tell from one
  }
  catch (const std::exception & error)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(error));
  }
  if (!finished)
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelUNetImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  GigapixelPrintOptions(os, indent, m_Computing);
  os << indent << "ModelFileName: " << m_ModelFileName << '\n';
  os << indent << "Model: " << (m_Model ? m_Model->network.name : "(none)") << '\n';
  GigapixelPrintOptions(os, indent, m_Segmentation);
  os << indent << "OutputMode: " << static_cast<int>(m_OutputMode) << '\n';
  GigapixelPrintOptions(os, indent, m_Patching);
  os << indent << "BesideBytes: " << (m_BesideBytes ? "counted" : "none") << '\n';
  os << indent << "NumberOfComputedTiles: " << this->GetNumberOfComputedTiles() << '\n';
}

} // namespace itk

#endif
