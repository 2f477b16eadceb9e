/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelReadingMemory.h"

#include "itkGigapixelFileSource.h"
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
#  include "gigapixelSlideFiles.h"
#  include "itkWholeSlideImageIO.h"
#endif

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{

#ifdef GIGAPIXEL_HAS_WHOLESLIDE
void
ReadingMemory::AddTiles(const itk::WholeSlideImageIO & slide, int channels)
{
  constexpr std::int64_t ordinary = 256 * 256; // pixels
  const bool             isMadeOfPlanes = slide.GetFocalPlane() == "focus";
  const auto             samples = std::min<std::int64_t>(channels, slide.GetNumberOfComponents());
  for (unsigned level = 0; level < slide.GetNumberOfLevels(); ++level)
  {
    const auto         side = slide.GetLevelTileSize(level), size = slide.GetLevelSize(level);
    const std::int64_t area = static_cast<std::int64_t>(side[0]) * static_cast<std::int64_t>(side[1]);
    if (area <= ordinary && !isMadeOfPlanes)
    {
      continue;
    }
    const auto tile = area * samples * static_cast<std::int64_t>(slide.GetComponentSize());
    const auto tiles = ((size[0] + side[0] - 1) / side[0]) * ((size[1] + side[1] - 1) / side[1]);
    m_Decoding = std::max(m_Decoding, static_cast<std::int64_t>(slide.GetDecodingBytes(level)));
    m_Tiles = std::max(m_Tiles, static_cast<std::int64_t>(tiles));
    m_Tile = std::max(m_Tile, tile);
  }
  m_FillsCache = m_FillsCache || isMadeOfPlanes;
}

void
ReadingMemory::AddResampling(const itk::WholeSlideImageIO & slide)
{
  if (slide.IsResampled())
  {
    m_Decoding = std::max(m_Decoding, static_cast<std::int64_t>(slide.GetDecodingBytes(slide.GetLevel())));
  }
}

#endif

void
ReadingMemory::AddResampling(const PhysicalImage & slide)
{
  m_Decoding = std::max(m_Decoding, slide.decodingBytes);
}

void
ReadingMemory::AddHeld(const PhysicalImage & image)
{
  m_Held += image.heldBytes;
  m_Reading = std::max(m_Reading, image.readingBytes);
}

void
ReadingMemory::AddFile(const std::string & file, int channels)
{
  this->AddFile(file, channels, {}, false);
}

void
ReadingMemory::AddFile(const std::string &                   file,
                       [[maybe_unused]] int                  channels,
                       [[maybe_unused]] const SlideContent & content,
                       [[maybe_unused]] bool                 asStored)
{
#ifndef GIGAPIXEL_HAS_WHOLESLIDE
  this->AddHeld(itk::GigapixelOpenWithoutSlides(file));
#else
  const auto slide = itk::WholeSlideImageIO::New();
  slide->GiveWarningsOff(); // those who read the file give them
  slide->SetContent(content);
  const bool isSlide = content.IsChosen() || (asStored && IsReadAsLabels(file));
  if (!isSlide && !slide->CanReadFile(file.c_str()))
  {
    try
    {
      this->AddHeld(itk::GigapixelOpenWithoutSlides(file));
      return;
    }
    catch (const std::exception &)
    {
      const auto opens = [&](bool storedValues) {
        slide->SetFileName(file);
        slide->SetStoredValues(storedValues);
        try
        {
          slide->ReadImageInformation();
          return true;
        }
        catch (const itk::ExceptionObject &)
        {
          return false;
        }
      };
      // Masks are read from more kinds of TIFF than images are, and a TIFF of several images by this reader alone.
      const bool asMask = channels == 1;
      if (!opens(asMask) && !opens(!asMask))
      {
        throw;
      }
    }
  }
  slide->SetFileName(file);
  slide->ReadImageInformation();
  this->AddTiles(*slide, channels);
#endif
}

/** Beside the two that there are always. */
std::int64_t
ReadingMemory::GetFurtherReaders(std::int64_t budget) const
{
  constexpr std::int64_t most = 30;
  const std::int64_t     ofOne = m_Decoding + m_Tile;
  return ofOne > 0 ? std::min(most, budget / 8 / ofOne) : most;
}

std::int64_t
ReadingMemory::CountBytes(std::int64_t readers) const
{
  return m_Held + m_Reading + readers * m_Decoding + std::min(readers, m_Tiles) * m_Tile;
}

std::int64_t
ReadingMemory::GetBytes(std::int64_t budget) const
{
  return this->CountBytes(2 + this->GetFurtherReaders(budget));
}

std::int64_t
ReadingMemory::GetSpareBytes(int threads, std::int64_t budget) const
{
  const std::int64_t readers = 1 + this->LimitThreads(std::max(1, threads), budget);
  return std::max<std::int64_t>(0, this->GetBytes(budget) - this->CountBytes(readers));
}

int
ReadingMemory::LimitThreads(int threads, std::int64_t budget) const
{
  const auto most = static_cast<int>(1 + this->GetFurtherReaders(budget));
  return m_Decoding + m_Tile > 0 && budget > 0 ? std::min(std::max(1, threads), most) : threads;
}

} // namespace gigapixel
