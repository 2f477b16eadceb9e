/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelNetworkImageFilter_hxx
#define itkGigapixelNetworkImageFilter_hxx

#include "itkGigapixelNetworkImageFilter.h"
#include "itkGigapixelException.h"
#include "itkGigapixelUNetImageFilter.h"
#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <cmath>

namespace itk
{

/** \class GigapixelVolumeBuffer
 * \brief Voxels of a volume that is in memory, as floats, the components of each one behind the other. */
template <typename TImage>
class GigapixelVolumeBuffer : public gigapixel::PixelSource
{
public:
  /** \param image buffered as a whole; lives as long as this */
  GigapixelVolumeBuffer(const TImage & image, const gigapixel::Size & size)
    : m_Samples(image.GetBufferPointer())
    , m_Size(size)
    , m_Channels(image.GetNumberOfComponentsPerPixel())
  {}

  gigapixel::Size
  GetSize() const override
  {
    return m_Size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    return gigapixel::SampleType::Float;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    auto *             values = reinterpret_cast<float *>(samples);
    const std::int64_t row = region.width * m_Channels;
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y, values += row)
      {
        const auto * const first = m_Samples + ((z * m_Size.height + y) * m_Size.width + region.x) * m_Channels;
        std::transform(first, first + row, values, [](auto sample) { return static_cast<float>(sample); });
        if (!std::all_of(values, values + row, [](float value) { return std::isfinite(value); }))
        {
          throw gigapixel::Refusal(gigapixel::Diagnostic("E-NOT-FINITE",
                                                         "a voxel of row " + std::to_string(y) + " of slice " +
                                                           std::to_string(z) + " is no finite number (NaN or infinite)",
                                                         "replace such values, by 0 for instance"));
        }
      }
    }
  }

private:
  const typename TImage::InternalPixelType * const m_Samples;
  const gigapixel::Size                            m_Size;
  const unsigned                                   m_Channels;
};

template <typename TInputImage, typename TOutputImage>
void
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::SetModelFileName(const std::string & fileName)
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
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::SetModel(const gigapixel::Model & model)
{
  m_Model = std::make_shared<const gigapixel::Model>(model);
  m_ModelFileName.clear();
  this->Modified();
}

template <typename TInputImage, typename TOutputImage>
gigapixel::Size
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::GetInputSize() const
{
  const auto & size = this->GetInput()->GetLargestPossibleRegion().GetSize();
  return { static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]), static_cast<std::int64_t>(size[2]) };
}

template <typename TInputImage, typename TOutputImage>
gigapixel::VolumeGrid
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::GetInputGrid() const
{
  gigapixel::VolumeGrid grid;
  grid.size = this->GetInputSize();
  for (unsigned axis = 0; axis < 3; ++axis)
  {
    grid.spacing[axis] = this->GetInput()->GetSpacing()[axis];
    grid.origin[axis] = this->GetInput()->GetOrigin()[axis];
    for (unsigned i = 0; i < 3; ++i)
    {
      grid.axes[axis][i] = this->GetInput()->GetDirection()[i][axis];
    }
  }
  return grid;
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::GenerateOutputInformation()
{
  Superclass::GenerateOutputInformation();
  if (!m_Model && m_ModelFileName.empty())
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-CALL-ORDER", "no model", "call SetModelFileName() or SetModel()"));
  }
  try
  {
    if (!m_Model)
    {
      m_Model = std::make_shared<const gigapixel::Model>(gigapixel::Model::Load(m_ModelFileName));
    }
    GigapixelCheckTakesVolume(*m_Model, this->GetInputSize(), this->GetInput()->GetNumberOfComponentsPerPixel());
    gigapixel::CheckOptions(m_Segmentation);
    GigapixelCheckThreshold(*m_Model, m_Segmentation.threshold.has_value());
  }
  catch (const std::exception & error)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(error));
  }
  const int outputs = GivesLabels ? 1 : m_Model->network.GetNumberOfOutputChannels();
  this->GetOutput()->SetNumberOfComponentsPerPixel(outputs);
  if (static_cast<int>(this->GetOutput()->GetNumberOfComponentsPerPixel()) != outputs)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-MODEL-OUTPUT",
                                                     "the model has " + std::to_string(outputs) +
                                                       " classes, whose probabilities do not fit in a scalar image",
                                                     "use a VectorImage as output, or labels (unsigned char)"));
  }
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  const_cast<TInputImage *>(this->GetInput())->SetRequestedRegionToLargestPossibleRegion();
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::EnlargeOutputRequestedRegion(DataObject * output)
{
  output->SetRequestedRegionToLargestPossibleRegion();
}

template <typename TInputImage, typename TOutputImage>
void
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  this->AllocateOutputs();
  bool finished = false;
  try
  {
    const auto grid = this->GetInputGrid();
    const auto voxels = std::make_shared<GigapixelVolumeBuffer<TInputImage>>(*this->GetInput(), grid.size);
    if (const auto doubt = gigapixel::DoubtOrientation(grid, m_Model->network))
    {
      itkWarningMacro(<< gigapixel::Remember(*doubt));
    }
    const auto progress = [this](double done) {
      this->UpdateProgress(static_cast<float>(done));
      return !this->GetAbortGenerateData();
    };
    gigapixel::VolumeRun run;
    run.threshold = this->GetThreshold();
    run.threads = GigapixelCountThreads(*this);
    run.device = gigapixel::Device::Find(m_Computing.device, m_Computing.precision);
    run.scratch = m_Computing.scratchFolder;
    const auto memory = static_cast<std::int64_t>(m_Computing.memoryLimit);
    run = GigapixelPlanVolume(*m_Model, grid, memory, m_Computing.tileSize, GivesLabels, run);
    auto * const output = this->GetOutput()->GetBufferPointer();
    if constexpr (GivesLabels)
    {
      const auto prediction = gigapixel::PredictVolume(voxels, grid, *m_Model, run, progress);
      finished = prediction.has_value();
      std::copy_n(finished ? prediction->labels.data() : nullptr, finished ? prediction->labels.size() : 0, output);
    }
    else
    {
      finished = gigapixel::PredictVolumeProbabilities(voxels, grid, *m_Model, run, output, progress);
    }
  }
  catch (const ExceptionObject &)
  {
    throw; // from an observer
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
GigapixelNetworkImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "ModelFileName: " << m_ModelFileName << '\n';
  os << indent << "Model: " << (m_Model ? m_Model->network.name : "(none)") << '\n';
  GigapixelPrintOptions(os, indent, m_Segmentation);
  GigapixelPrintOptions(os, indent, m_Computing);
}

} // namespace itk

#endif
