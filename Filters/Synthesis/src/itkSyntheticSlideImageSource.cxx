/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSyntheticSlideImageSource.h"
#include "gigapixelSyntheticScene.h"
#include "itkSyntheticSlideBlocks.h"

namespace itk
{
SyntheticSlideImageSource::SyntheticSlideImageSource() = default;
SyntheticSlideImageSource::~SyntheticSlideImageSource() = default;

void
SyntheticSlideImageSource::SetSize(SizeValueType width, SizeValueType height)
{
  const Size<2> size{ { width, height } };
  if (m_Size != size)
  {
    m_Size = size;
    this->Modified();
  }
}

void
SyntheticSlideImageSource::GenerateOutputInformation()
{
  // One scene for all regions; a change of the settings comes through here.
  m_Scene = MakeSyntheticScene(this, m_Size, m_MicronsPerPixel, m_Seed);
  OutputImageType *            output = this->GetOutput();
  OutputImageType::SpacingType spacing;
  spacing.Fill(m_MicronsPerPixel / 1000.0);
  output->SetLargestPossibleRegion(OutputImageType::RegionType(m_Size));
  output->SetSpacing(spacing);
}

void
SyntheticSlideImageSource::GenerateData()
{
  this->AllocateOutputs();
  OutputImageType * output = this->GetOutput();
  DrawInBlocks(this, *m_Scene, [&](const gigapixel::SceneRegion & block) {
    RGBPixel<unsigned char> * first = output->GetBufferPointer() + output->ComputeOffset({ { block.x, block.y } });
    m_Scene->DrawBlock(block, first->GetDataPointer(), 3 * output->GetOffsetTable()[1]);
  });
}

void
SyntheticSlideImageSource::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Size: " << m_Size << '\n';
  os << indent << "Seed: " << m_Seed << '\n';
  os << indent << "MicronsPerPixel: " << m_MicronsPerPixel << '\n';
}

} // namespace itk
