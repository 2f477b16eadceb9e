/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ChannelSet.h"

#include "files/NumberText.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

namespace gigapixel
{
namespace
{

/** The part of a tile that lies inside the plane. */
Rectangle
GetTileRegion(const SlidePlane & of, std::uint64_t tile)
{
  const std::uint64_t x = tile % of.GetTilesAcross() * of.tileWidth;
  const std::uint64_t y = tile / of.GetTilesAcross() * of.tileHeight;
  return {
    x, y, std::min<std::uint64_t>(of.tileWidth, of.width - x), std::min<std::uint64_t>(of.tileHeight, of.height - y)
  };
}

} // namespace

ChannelSet::ChannelSet(const std::string & path, std::vector<SetChannel> channels)
  : Slide(path)
  , m_Set(std::move(channels))
{
  const Slide & first = *m_Set.front().slide;
  m_Planes = first.m_Planes;
  m_NumberOfLevels = first.m_NumberOfLevels;
  m_NumberOfReducedLevels = first.m_NumberOfReducedLevels;
  for (const SetChannel & channel : m_Set)
  {
    RequireAlike(channel);
    m_Channels.push_back(channel.about);
    m_Warnings.insert(m_Warnings.end(), channel.slide->m_Warnings.begin(), channel.slide->m_Warnings.end());
    m_MissingParts.insert(
      m_MissingParts.end(), channel.slide->m_MissingParts.begin(), channel.slide->m_MissingParts.end());
  }
  for (unsigned plane = 0; plane < m_Planes.size(); ++plane)
  {
    m_Planes[plane].reduction = 1; // the slides reduce themselves
    if (plane < m_NumberOfLevels + m_NumberOfReducedLevels)
    {
      m_Planes[plane].channels = static_cast<unsigned>(m_Set.size());
      m_Planes[plane].hasDyes = m_Set.size() > 1;
      m_Planes[plane].hasAlpha = false;
    }
  }
  m_Decoder = first.m_Decoder;
  m_Origin = first.m_Origin;
  m_Properties = first.m_Properties;
  m_Images = first.m_Images;
  const auto resolution = first.GetMicronsPerPixel();
  SetMicronsPerPixel(resolution[0], resolution[1], true);
}

void
ChannelSet::RequireAlike(const SetChannel & channel) const
{
  const Slide & slide = *channel.slide;
  const Slide & first = *m_Set.front().slide;
  const auto    isAlike = [](const SlidePlane & one, const SlidePlane & other) {
    return one.width == other.width && one.height == other.height && one.tileWidth == other.tileWidth &&
           one.tileHeight == other.tileHeight && other.IsPicture();
  };
  const auto getName = [](const Slide & of) { return std::filesystem::path(of.GetPath()).filename().string(); };
  const auto levels = std::ptrdiff_t{ m_NumberOfLevels } + m_NumberOfReducedLevels;
  const bool hasLevels =
    slide.m_NumberOfLevels == m_NumberOfLevels && slide.m_NumberOfReducedLevels == m_NumberOfReducedLevels;
  if (!hasLevels || !std::equal(m_Planes.begin(), m_Planes.begin() + levels, slide.m_Planes.begin(), isAlike))
  {
    throw SlideError("E-SLIDE-PARTS",
                     GetPath(),
                     "its channels differ in size, levels or tiles: " + getName(first) + " and " + getName(slide),
                     "name one of these slides");
  }
  const auto of = slide.GetMicronsPerPixel(), ofFirst = first.GetMicronsPerPixel();
  const auto differs = [](double one, double other) { // 0 is unknown
    return one > 0.0 && other > 0.0 && std::abs(one - other) > 0.01 * std::max(one, other);
  };
  if (differs(of[0], ofFirst[0]) || differs(of[1], ofFirst[1]))
  {
    throw SlideError("E-SLIDE-PARTS",
                     GetPath(),
                     "its channels differ in micrometers per pixel: " + getName(first) + " has " + ToText(ofFirst[0]) +
                       ", " + getName(slide) + " has " + ToText(of[0]),
                     "name one of these slides");
  }
}

std::size_t
ChannelSet::GetDecodingBytes(unsigned plane) const
{
  const Slide & first = *m_Set.front().slide;
  return first.GetDecodingBytes(plane) + std::size_t{ m_Planes[plane].tileWidth } * m_Planes[plane].tileHeight * 3;
}

/** Slides that the plane is made of: associated images are those of the first one. */
std::size_t
ChannelSet::CountSlides(unsigned plane) const
{
  return plane < m_NumberOfLevels + m_NumberOfReducedLevels ? m_Set.size() : 1;
}

bool
ChannelSet::HasTile(unsigned plane, std::uint64_t tile) const
{
  return std::any_of(
    m_Set.begin(), m_Set.begin() + static_cast<std::ptrdiff_t>(CountSlides(plane)), [&](const SetChannel & channel) {
      return channel.slide->HasTile(channel.slide->GetSource(plane), tile);
    });
}

void
ChannelSet::Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const
{
  for (std::size_t i = 0; i < CountSlides(plane); ++i)
  {
    m_Set[i].slide->Prefetch(m_Set[i].slide->GetSource(plane), first, last);
  }
}

std::string
ChannelSet::DecodeAssociated(unsigned plane, std::uint64_t tile, const PixelSpan & out) const
{
  const Rectangle            region = GetTileRegion(m_Planes[plane], tile);
  const std::size_t          row = region.width * out.channels;
  std::vector<unsigned char> pixels(row * region.height);
  m_Set.front().slide->ReadRegion(plane, region, out.channels, pixels.data(), 1);
  for (std::uint64_t y = 0; y < region.height; ++y)
  {
    std::copy_n(pixels.data() + y * row, row, out.data + y * out.stride);
  }
  return {};
}

std::string
ChannelSet::DecodeTile(unsigned                           plane,
                       std::uint64_t                      tile,
                       const PixelSpan &                  out,
                       std::unique_ptr<unsigned char[]> * scanned) const
{
  if (plane >= m_NumberOfLevels + m_NumberOfReducedLevels)
  {
    return DecodeAssociated(plane, tile, out);
  }
  // One channel may be wanted as RGB, as any gray is.
  std::vector<unsigned> all(m_Set.size() == 1 ? out.channels : m_Set.size(), 0);
  if (m_Set.size() > 1)
  {
    std::iota(all.begin(), all.end(), 0U);
  }
  return DecodeChannels(plane, tile, all, out, scanned);
}

std::string
ChannelSet::DecodeChannels(unsigned                      plane,
                           std::uint64_t                 tile,
                           const std::vector<unsigned> & channels,
                           const PixelSpan &             out,
                           std::unique_ptr<unsigned char[]> *) const
{
  const Rectangle            region = GetTileRegion(m_Planes[plane], tile);
  std::vector<unsigned char> pixels(region.width * region.height * 3);
  std::string                damage;
  for (std::size_t i = 0; i < channels.size(); ++i)
  {
    const SetChannel & channel = m_Set[channels[i]];
    channel.slide->ReadRegion(plane, region, 3, pixels.data(), 1);
    const std::string found = channel.slide->m_DamagedTiles->Find({ channel.slide->GetSource(plane), tile });
    damage = damage.empty() && !found.empty() ? found + " (in channel " + channel.about.name + ')' : damage;
    const auto            band = static_cast<std::size_t>(channel.band);
    const unsigned char * from = pixels.data();
    for (std::uint64_t y = 0; y < region.height; ++y)
    {
      unsigned char * to = out.data + y * out.stride + i;
      for (std::uint64_t x = 0; x < region.width; ++x, from += 3, to += out.channels)
      {
        *to = channel.band == SetChannel::Band::Largest ? std::max({ from[0], from[1], from[2] }) : from[band];
      }
    }
  }
  return damage;
}

} // namespace gigapixel
