/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBlockMeanImageFilter_hxx
#define itkBlockMeanImageFilter_hxx

#include "gigapixelPixelRows.h"
#include "itkStreamedInput.h"

#include <algorithm>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
void
BlockMeanImageFilter<TInputImage, TOutputImage>::GenerateOutputInformation()
{
  Superclass::GenerateOutputInformation();
  const TInputImage * input = this->GetInput();
  TOutputImage *      output = this->GetOutput();
  const auto          whole = input->GetLargestPossibleRegion();

  OutputImageRegionType                  blocks;
  typename TOutputImage::SpacingType     spacing;
  ContinuousIndex<SpacePrecisionType, 2> center;
  for (unsigned int d = 0; d < 2; ++d)
  {
    blocks.SetIndex(d, 0);
    blocks.SetSize(d, (whole.GetSize(d) + m_ShrinkFactor - 1) / m_ShrinkFactor);
    spacing[d] = input->GetSpacing()[d] * m_ShrinkFactor;
    center[d] = whole.GetIndex(d) + 0.5 * (m_ShrinkFactor - 1);
  }
  typename TOutputImage::PointType origin;
  input->TransformContinuousIndexToPhysicalPoint(center, origin);
  output->SetLargestPossibleRegion(blocks);
  output->SetSpacing(spacing);
  output->SetOrigin(origin);
}

template <typename TInputImage, typename TOutputImage>
auto
BlockMeanImageFilter<TInputImage, TOutputImage>::GetBlocks(const OutputImageRegionType & region) const
  -> InputImageRegionType
{
  const auto           whole = this->GetInput()->GetLargestPossibleRegion();
  InputImageRegionType pixels;
  for (unsigned int d = 0; d < 2; ++d)
  {
    pixels.SetIndex(d, whole.GetIndex(d) + region.GetIndex(d) * static_cast<IndexValueType>(m_ShrinkFactor));
    pixels.SetSize(d, region.GetSize(d) * m_ShrinkFactor);
  }
  pixels.Crop(whole);
  return pixels;
}

template <typename TInputImage, typename TOutputImage>
auto
BlockMeanImageFilter<TInputImage, TOutputImage>::GetStrip(const OutputImageRegionType & rest) const
  -> OutputImageRegionType
{
  const SizeValueType bytesPerRow = this->GetBlocks(rest).GetSize(0) * m_ShrinkFactor * Channels;
  const SizeValueType most = std::max<SizeValueType>(1, m_StripBytes / std::max<SizeValueType>(1, bytesPerRow));
  // The usual tile sides divide 256 or are 512; ending on a multiple of 256 input rows keeps tiles whole.
  const SizeValueType aligned = std::max<SizeValueType>(1, 256 / m_ShrinkFactor);
  const auto          first = static_cast<SizeValueType>(rest.GetIndex(1));
  SizeValueType       rows = most;
  if ((first + most) / aligned * aligned > first)
  {
    rows = (first + most) / aligned * aligned - first;
  }
  auto strip = rest;
  strip.SetSize(1, std::min(rows, rest.GetSize(1)));
  return strip;
}

template <typename TInputImage, typename TOutputImage>
void
BlockMeanImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  const_cast<TInputImage *>(this->GetInput())
    ->SetRequestedRegion(this->GetBlocks(this->GetStrip(this->GetOutput()->GetRequestedRegion())));
}

template <typename TInputImage, typename TOutputImage>
void
BlockMeanImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  this->AllocateOutputs();
  auto *         input = const_cast<TInputImage *>(this->GetInput());
  TOutputImage * output = this->GetOutput();
  const auto     requested = output->GetRequestedRegion();
  this->GetMultiThreader()->SetNumberOfWorkUnits(this->GetNumberOfWorkUnits());

  auto rest = requested;
  while (rest.GetSize(1) > 0)
  {
    const auto strip = this->GetStrip(rest);
    UpdateRegion(input, this->GetBlocks(strip));
    this->GetMultiThreader()->template ParallelizeImageRegion<2>(
      strip,
      [&](const OutputImageRegionType & part) {
        const std::size_t stride = input->GetBufferedRegion().GetSize(0) * Channels;
        auto              row = part;
        row.SetSize(1, 1);
        for (SizeValueType y = 0; y < part.GetSize(1); ++y)
        {
          row.SetIndex(1, part.GetIndex(1) + static_cast<IndexValueType>(y));
          const auto pixels = this->GetBlocks(row);
          gigapixel::BlockMeanRow(
            reinterpret_cast<const unsigned char *>(input->GetBufferPointer() +
                                                    input->ComputeOffset(pixels.GetIndex())),
            stride,
            pixels.GetSize(1),
            pixels.GetSize(0),
            Channels,
            m_ShrinkFactor,
            reinterpret_cast<unsigned char *>(output->GetBufferPointer() + output->ComputeOffset(row.GetIndex())));
        }
      },
      nullptr);
    rest.SetIndex(1, rest.GetIndex(1) + static_cast<IndexValueType>(strip.GetSize(1)));
    rest.SetSize(1, rest.GetSize(1) - strip.GetSize(1));
    this->UpdateProgress(1.0f - static_cast<float>(rest.GetSize(1)) / static_cast<float>(requested.GetSize(1)));
    if (this->GetAbortGenerateData())
    {
      throw ProcessAborted(__FILE__, __LINE__);
    }
  }
}

template <typename TInputImage, typename TOutputImage>
void
BlockMeanImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "ShrinkFactor: " << m_ShrinkFactor << std::endl;
  os << indent << "StripBytes: " << m_StripBytes << std::endl;
}

} // namespace itk

#endif
