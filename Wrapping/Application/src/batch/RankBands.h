/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef RankBands_h
#define RankBands_h

#include "gigapixelRanks.h"

#include "itkPyramidTIFFImageIO.h"
#include "itkStreamedInput.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

namespace gigapixel::application
{

/** An image that all ranks make together: its bands of rows are dealt to them, round and round, and go to rank 0.
 * \param made by the pipeline of each rank; its information is up to date
 * \param bandRows of all bands but the last
 * \param report called with the share of the rows that this rank has passed
 * \return rank 0: the whole image; the others: one without pixels
 * \throw what Ranks::Send() and Receive() throw, and the pipeline */
template <typename TImage>
typename TImage::Pointer
GatherBands(TImage * made, itk::SizeValueType bandRows, Ranks & ranks, const std::function<void(double)> & report)
{
  const auto whole = made->GetLargestPossibleRegion();
  const auto rowBytes = whole.GetSize(0) * sizeof(typename TImage::PixelType);
  const auto all = TImage::New();
  all->CopyInformation(made);
  if (ranks.GetRank() == 0)
  {
    all->SetRegions(whole);
    all->Allocate();
  }
  int owner = 0;
  for (itk::SizeValueType row = 0; row < whole.GetSize(1); row += bandRows)
  {
    auto band = whole;
    band.SetIndex(1, whole.GetIndex(1) + static_cast<itk::IndexValueType>(row));
    band.SetSize(1, std::min(bandRows, whole.GetSize(1) - row));
    const auto bytes = band.GetSize(1) * rowBytes;
    const bool isOwn = owner == ranks.GetRank();
    if (isOwn)
    {
      itk::UpdateRegion(made, band);
    }
    if (isOwn && owner > 0)
    {
      ranks.Send(0, made->GetBufferPointer(), bytes);
    }
    else if (ranks.GetRank() == 0)
    {
      auto * const place = all->GetBufferPointer() + all->ComputeOffset(band.GetIndex());
      isOwn ? static_cast<void>(std::copy_n(made->GetBufferPointer(), band.GetNumberOfPixels(), place))
            : ranks.Receive(owner, place, bytes);
    }
    owner = (owner + 1) % ranks.GetNumberOfRanks();
    report(static_cast<double>(row + band.GetSize(1)) / static_cast<double>(whole.GetSize(1)));
  }
  return all;
}

/** What all ranks counted, for rank 0; the others get their own count back. */
inline std::int64_t
SumOverRanks(std::int64_t count, Ranks & ranks)
{
  if (ranks.GetRank() > 0)
  {
    ranks.Send(0, &count, sizeof(count));
    return count;
  }
  for (int rank = 1; rank < ranks.GetNumberOfRanks(); ++rank)
  {
    std::int64_t other = 0;
    ranks.Receive(rank, &other, sizeof(other));
    count += other;
  }
  return count;
}

/** How many damaged tiles of a slide all ranks have met: for the records of what is made of it and for what is
 * reported. The ranks tell rank 0 when it is first asked, which all of them do once they have read what they read; a
 * tile that several of them have read counts for each. */
class DamageOverRanks
{
public:
  DamageOverRanks(const itk::WholeSlideImageIO * slide, Ranks & ranks)
    : m_Slide(slide)
    , m_Ranks(ranks)
  {}

  std::int64_t
  Get()
  {
    if (!m_Count)
    {
      m_Count = SumOverRanks(static_cast<std::int64_t>(m_Slide->GetNumberOfDamagedTiles()), m_Ranks);
    }
    return *m_Count;
  }

  /** The record holds what Get() returns when its last row comes. */
  void
  RecordIn(itk::PyramidTIFFImageIO * pyramid)
  {
    pyramid->SetDamageCount([this] { return static_cast<itk::SizeValueType>(this->Get()); });
  }

private:
  const itk::WholeSlideImageIO * m_Slide;
  Ranks &                        m_Ranks;
  std::optional<std::int64_t>    m_Count;
};

} // namespace gigapixel::application

#endif
