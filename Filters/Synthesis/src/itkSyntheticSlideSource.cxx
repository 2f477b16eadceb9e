/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSyntheticSlideSource.h"
#include "itkGigapixelException.h"
#include "gigapixelSyntheticScene.h"
#include "itkMultiThreaderBase.h"

#include <algorithm>

namespace itk
{
template <typename TOutputImage>
SyntheticSlideSource<TOutputImage>::SyntheticSlideSource() = default;
template <typename TOutputImage>
SyntheticSlideSource<TOutputImage>::~SyntheticSlideSource() = default;

template <typename TOutputImage>
void
SyntheticSlideSource<TOutputImage>::SetSize(SizeValueType width, SizeValueType height)
{
  const Size<2> size{ { width, height } };
  if (m_Size != size)
  {
    m_Size = size;
    this->Modified();
  }
}

template <typename TOutputImage>
void
SyntheticSlideSource<TOutputImage>::GenerateOutputInformation()
{
  const auto toText = [](double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  const auto refuse = [](const std::string & why, const char * name, const std::string & given) {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-OPTION-VALUE", why).OfOption(name, given));
  };
  constexpr SizeValueType limit = 1 << 24;
  if (std::min(m_Size[0], m_Size[1]) < 1 || std::max(m_Size[0], m_Size[1]) > limit)
  {
    const std::string given = std::to_string(m_Size[0]) + " x " + std::to_string(m_Size[1]);
    refuse(
      "a slide of " + given + " pixels is not possible; each side is 1 to " + std::to_string(limit), "Size", given);
  }
  if (!(m_MicronsPerPixel >= 0.1 && m_MicronsPerPixel <= 8.0))
  {
    const std::string given = toText(m_MicronsPerPixel);
    refuse(
      given + " micrometers per pixel are not possible; the tissue is drawn for 0.1 to 8", "MicronsPerPixel", given);
  }
  if (!(m_FocusShare >= 0.0 && m_FocusShare <= 0.05))
  {
    const std::string given = toText(m_FocusShare);
    refuse("foci that take " + given + " of the slide's area are not possible; it is 0 to 0.05", "FocusShare", given);
  }
  using gigapixel::FocusKind;
  const FocusKind foci = m_FocusShare == 0.0 ? FocusKind::None : m_Decoys ? FocusKind::Decoy : FocusKind::Lesion;
  // One scene for all regions; a change of the settings comes through here.
  m_Scene = std::make_shared<gigapixel::SyntheticScene>(
    gigapixel::SyntheticScene::Settings{ static_cast<std::int64_t>(m_Size[0]),
                                         static_cast<std::int64_t>(m_Size[1]),
                                         m_MicronsPerPixel,
                                         m_Seed,
                                         m_Brown,
                                         m_Artifacts,
                                         foci,
                                         m_FocusShare });
  TOutputImage *                     output = this->GetOutput();
  typename TOutputImage::SpacingType spacing;
  spacing.Fill(m_MicronsPerPixel / 1000.0);
  output->SetLargestPossibleRegion(typename TOutputImage::RegionType(m_Size));
  output->SetSpacing(spacing);
}

template <typename TOutputImage>
std::vector<std::vector<std::array<double, 2>>>
SyntheticSlideSource<TOutputImage>::GetFocusOutlines() const
{
  if (m_Scene == nullptr)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-CALL-ORDER",
                                                     "the outlines of the foci are not known before "
                                                     "UpdateOutputInformation()",
                                                     "call it first"));
  }
  auto outlines = m_Scene->GetFocusOutlines();
  for (auto & outline : outlines)
  {
    for (auto & point : outline)
    {
      point = { { point[0] / m_MicronsPerPixel, point[1] / m_MicronsPerPixel } };
    }
  }
  return outlines;
}

/** Split by the scene's blocks rather than by ITK's bands: a block's fields are then computed once. */
template <typename TOutputImage>
void
SyntheticSlideSource<TOutputImage>::GenerateData()
{
  this->AllocateOutputs();
  TOutputImage *     output = this->GetOutput();
  const auto &       buffered = output->GetBufferedRegion();
  const std::int64_t side = m_Scene->GetBlockSize();
  const std::int64_t begin[2] = { buffered.GetIndex(0), buffered.GetIndex(1) };
  const std::int64_t end[2] = { begin[0] + static_cast<std::int64_t>(buffered.GetSize(0)),
                                begin[1] + static_cast<std::int64_t>(buffered.GetSize(1)) };
  if (begin[0] == end[0] || begin[1] == end[1])
  {
    return;
  }
  const std::int64_t first[2] = { begin[0] / side, begin[1] / side };
  const std::int64_t columns = (end[0] - 1) / side - first[0] + 1;
  const std::int64_t rows = (end[1] - 1) / side - first[1] + 1;
  const auto         drawOne = [&](SizeValueType number) {
    const auto             column = static_cast<std::int64_t>(number) / rows;
    const auto             row = static_cast<std::int64_t>(number) % rows;
    gigapixel::SceneRegion block;
    block.x = std::max(begin[0], (first[0] + column) * side);
    block.y = std::max(begin[1], (first[1] + row) * side);
    block.width = std::min(end[0], (first[0] + column + 1) * side) - block.x;
    block.height = std::min(end[1], (first[1] + row + 1) * side) - block.y;
    this->DrawBlock(*m_Scene,
                    block,
                    output->GetBufferPointer() + output->ComputeOffset({ { block.x, block.y } }),
                    output->GetOffsetTable()[1]);
  };
  this->GetMultiThreader()->ParallelizeArray(0, static_cast<SizeValueType>(columns * rows), drawOne, this);
}

template <typename TOutputImage>
void
SyntheticSlideSource<TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Size: " << m_Size << '\n';
  os << indent << "Seed: " << m_Seed << '\n';
  os << indent << "MicronsPerPixel: " << m_MicronsPerPixel << '\n';
  os << indent << "Brown: " << m_Brown << '\n';
  os << indent << "Artifacts: " << m_Artifacts << '\n';
  os << indent << "FocusShare: " << m_FocusShare << '\n';
  os << indent << "Decoys: " << m_Decoys << '\n';
}

template class SyntheticSlideSource<Image<unsigned char, 2>>;
template class SyntheticSlideSource<Image<RGBPixel<unsigned char>, 2>>;

} // namespace itk
