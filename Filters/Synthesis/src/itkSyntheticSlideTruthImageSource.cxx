/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSyntheticSlideTruthImageSource.h"
#include "gigapixelSyntheticScene.h"
#include "itkSyntheticSlideBlocks.h"

namespace itk
{
SyntheticSlideTruthImageSource::SyntheticSlideTruthImageSource() = default;
SyntheticSlideTruthImageSource::~SyntheticSlideTruthImageSource() = default;

void
SyntheticSlideTruthImageSource::SetSize(SizeValueType width, SizeValueType height)
{
  const Size<2> size{ { width, height } };
  if (m_Size != size)
  {
    m_Size = size;
    this->Modified();
  }
}

void
SyntheticSlideTruthImageSource::GenerateOutputInformation()
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
SyntheticSlideTruthImageSource::GenerateData()
{
  this->AllocateOutputs();
  OutputImageType * output = this->GetOutput();
  DrawInBlocks(this, *m_Scene, [&](const gigapixel::SceneRegion & block) {
    using Matter = gigapixel::SyntheticScene::Matter;
    std::vector<Matter> matter(static_cast<std::size_t>(block.width * block.height));
    m_Scene->ClassifyBlock(block, matter.data(), block.width);
    for (std::int64_t y = 0; y < block.height; ++y)
    {
      const Matter *  row = matter.data() + y * block.width;
      unsigned char * truth = output->GetBufferPointer() + output->ComputeOffset({ { block.x, block.y + y } });
      std::transform(row, row + block.width, truth, [](Matter at) { return at == Matter::Tissue ? 255 : 0; });
    }
  });
}

void
SyntheticSlideTruthImageSource::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Size: " << m_Size << '\n';
  os << indent << "Seed: " << m_Seed << '\n';
  os << indent << "MicronsPerPixel: " << m_MicronsPerPixel << '\n';
}

} // namespace itk
