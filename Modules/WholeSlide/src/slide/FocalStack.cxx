/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FocalStack.h"

#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace gigapixel
{

std::optional<ProjectionMethod>
FocalStack::FindMethod(const std::string & plane)
{
  return plane == "max"     ? std::optional(ProjectionMethod::Maximum)
         : plane == "focus" ? std::optional(ProjectionMethod::Focus)
                            : std::nullopt;
}

FocalStack::FocalStack(const std::string & path, const AskedImage & image, TIFFReading reading)
  : Slide(path)
  , m_Method(FindMethod(image.plane).value())
  , m_Asked(image)
{
  OpenPlanes(reading);
  const Slide & first = *m_Stack.front();
  m_Planes = first.m_Planes;
  for (SlidePlane & plane : m_Planes)
  {
    plane.reduction = 1; // the planes reduce themselves
    plane.holdsLabels = false;
  }
  m_NumberOfLevels = first.m_NumberOfLevels;
  m_NumberOfReducedLevels = first.m_NumberOfReducedLevels;
  m_Channels = first.m_Channels;
  m_ColorProfile = first.m_ColorProfile;
  m_Decoder = first.m_Decoder;
  m_Warnings = first.m_Warnings; // the file's
  m_MissingParts = first.m_MissingParts;
  m_Origin = first.m_Origin;
  m_Background = first.m_Background;
  const auto resolution = first.GetMicronsPerPixel();
  SetMicronsPerPixel(resolution[0], resolution[1], true);
  m_Properties = first.m_Properties;
  m_Properties["gigapixel.focal-plane"] = m_Asked.plane + " of " + std::to_string(m_Stack.size()); // "max of 5"
  m_Images = first.m_Images;
  const auto planes = FindFocalPlanes(m_Images);
  for (SlideImage & each : m_Images)
  {
    each.isRead = false;
    each.reason = "focal planes are asked for";
  }
  for (const std::size_t plane : planes)
  {
    m_Images[plane].reason = "it is one of the focal planes that are read together";
  }
}

std::string
FocalStack::GetIdentity() const
{
  const auto & images = m_Stack.front()->GetImages();
  const auto   first = std::find_if(images.begin(), images.end(), [](const SlideImage & each) { return each.isRead; });
  return m_Asked.plane + ':' + std::to_string(first->number);
}

std::shared_ptr<const Slide>
FocalStack::OpenPlane(std::size_t number, TIFFReading reading) const
{
  return Open(m_Path, { m_Asked.image, std::to_string(number) }, reading);
}

void
FocalStack::OpenPlanes(TIFFReading reading)
{
  try
  {
    m_Stack.push_back(OpenPlane(1, reading));
  }
  catch (const SlideError & error)
  {
    if (error.GetDiagnostic().option == "--plane")
    {
      throw NoFocalPlanes(m_Path, m_Asked.plane);
    }
    throw;
  }
  const std::size_t planes = FindFocalPlanes(m_Stack.front()->GetImages()).size();
  for (std::size_t number = 2; number <= planes; ++number)
  {
    m_Stack.push_back(OpenPlane(number, reading));
  }
  for (const auto & plane : m_Stack)
  {
    RequireAlike(*plane);
  }
}

void
FocalStack::RequireAlike(const Slide & plane) const
{
  const Slide & first = *m_Stack.front();
  const auto    isAlike = [](const SlidePlane & one, const SlidePlane & other) {
    return one.width == other.width && one.height == other.height && one.tileWidth == other.tileWidth &&
           one.tileHeight == other.tileHeight && one.channels == other.channels && one.sample == other.sample &&
           one.reduction == other.reduction;
  };
  const bool areAlike =
    plane.m_NumberOfLevels == first.m_NumberOfLevels &&
    std::equal(plane.m_Planes.begin(), plane.m_Planes.end(), first.m_Planes.begin(), first.m_Planes.end(), isAlike);
  const SampleType sample = first.m_Planes.front().sample;
  const bool isKnown = sample == SampleType::UInt8 || sample == SampleType::UInt16 || sample == SampleType::Float32;
  if (!areAlike || !isKnown)
  {
    throw SlideError(Diagnostic("E-SLIDE-PLANES",
                                areAlike ? "samples of its focal planes are signed, or of more than 32 bit"
                                         : "its focal planes differ in size, levels or kind of pixels",
                                "choose one of them, such as --plane middle")
                       .OfFile(m_Path)
                       .OfOption("--plane", m_Asked.plane));
  }
}

std::size_t
FocalStack::GetDecodingBytes(unsigned plane) const
{
  const SlidePlane & of = m_Planes[plane];
  const std::size_t  margins = m_Method == ProjectionMethod::Focus ? 2 * FocalProjection<std::uint8_t>::Margin : 0;
  const std::size_t  area = (of.tileWidth + margins) * (of.tileHeight + margins);
  const std::size_t  numbers = m_Method == ProjectionMethod::Focus ? 4 * sizeof(std::int64_t) : 0; // of a pixel
  return m_Stack.front()->GetDecodingBytes(plane) + area * (numbers + 2 * of.channels * of.GetSampleBytes());
}

bool
FocalStack::HasTile(unsigned plane, std::uint64_t tile) const
{
  return std::any_of(m_Stack.begin(), m_Stack.end(), [plane, tile](const auto & slide) {
    return slide->HasTile(slide->GetSource(plane), tile);
  });
}

/** Where a tile beside the wanted one is missing, pixels repeat the wanted one's border, as at the image's: against the
 * filling the border would be sharp. \param pixels those given of the plane */
template <typename TSample>
void
FocalStack::RepeatBorder(const Slide &     slide,
                         unsigned          plane,
                         const Rectangle & given,
                         const Rectangle & wanted,
                         TSample *         pixels) const
{
  const SlidePlane & of = m_Planes[plane];
  for (std::uint64_t y = given.y; y < given.y + given.height; ++y)
  {
    const std::uint64_t row = std::clamp(y, wanted.y, wanted.y + wanted.height - 1);
    for (std::uint64_t x = given.x; x < given.x + given.width; ++x)
    {
      const std::uint64_t column = std::clamp(x, wanted.x, wanted.x + wanted.width - 1);
      if (row == y && column == x)
      {
        x = wanted.x + wanted.width - 1; // all of the wanted ones are there
        continue;
      }
      const std::uint64_t tile = y / of.tileHeight * of.GetTilesAcross() + x / of.tileWidth;
      if (!slide.HasTile(slide.GetSource(plane), tile))
      {
        const std::uint64_t from = (row - given.y) * given.width + column - given.x;
        const std::uint64_t to = (y - given.y) * given.width + x - given.x;
        std::copy_n(pixels + from * of.channels, of.channels, pixels + to * of.channels);
      }
    }
  }
}

template <typename TSample>
std::vector<TSample>
FocalStack::Project(unsigned plane, std::uint64_t tile, const Rectangle & wanted) const
{
  const SlidePlane &       of = m_Planes[plane];
  const std::uint64_t      margin = m_Method == ProjectionMethod::Focus ? FocalProjection<TSample>::Margin : 0;
  const std::uint64_t      left = wanted.x - std::min(margin, wanted.x);
  const std::uint64_t      top = wanted.y - std::min(margin, wanted.y);
  const Rectangle          given{ left,
                         top,
                         std::min(wanted.x + wanted.width + margin, of.width) - left,
                         std::min(wanted.y + wanted.height + margin, of.height) - top };
  FocalProjection<TSample> projection(
    m_Method, { given.width, given.height, wanted.x - left, wanted.y - top, wanted.width, wanted.height }, of.channels);
  std::vector<TSample> pixels(given.width * given.height * of.channels);
  for (const auto & slide : m_Stack)
  {
    if (slide->HasTile(slide->GetSource(plane), tile))
    {
      slide->ReadRegion(plane, given, of.channels, reinterpret_cast<unsigned char *>(pixels.data()), 1);
      if (m_Method == ProjectionMethod::Focus)
      {
        RepeatBorder(*slide, plane, given, wanted, pixels.data());
      }
      projection.Add(pixels.data());
    }
  }
  return projection.GetPixels();
}

/** As the tile is wanted: gray of colors, or colors of gray, where that is asked for. */
template <typename TSample>
void
FocalStack::Render(unsigned plane, std::uint64_t tile, const PixelSpan & out) const
{
  const SlidePlane &  of = m_Planes[plane];
  const std::uint64_t x = tile % of.GetTilesAcross() * of.tileWidth;
  const std::uint64_t y = tile / of.GetTilesAcross() * of.tileHeight;
  const Rectangle     wanted{
    x, y, std::min<std::uint64_t>(of.tileWidth, of.width - x), std::min<std::uint64_t>(of.tileHeight, of.height - y)
  };
  const auto      pixels = Project<TSample>(plane, tile, wanted);
  const TSample * from = pixels.data();
  for (std::uint64_t row = 0; row < wanted.height; ++row)
  {
    unsigned char * to = out.data + row * out.stride;
    for (std::uint64_t column = 0; column < wanted.width; ++column, from += of.channels)
    {
      if constexpr (std::is_same_v<TSample, std::uint8_t>)
      {
        if (out.channels != of.channels)
        {
          to = out.channels == 3 ? std::fill_n(to, 3, *from) : (*to = LumaFromRGB(from[0], from[1], from[2]), to + 1);
          continue;
        }
      }
      std::memcpy(to, from, of.channels * sizeof(TSample));
      to += of.channels * sizeof(TSample);
    }
  }
}

std::string
FocalStack::DecodeTile(unsigned                           plane,
                       std::uint64_t                      tile,
                       const PixelSpan &                  out,
                       std::unique_ptr<unsigned char[]> * scanned) const
{
  const SlidePlane & of = m_Planes[plane];
  switch (of.sample)
  {
    case SampleType::UInt8:
      Render<std::uint8_t>(plane, tile, out);
      break;
    case SampleType::UInt16:
      Render<std::uint16_t>(plane, tile, out);
      break;
    default:
      Render<float>(plane, tile, out);
  }
  if (of.hasAlpha && scanned != nullptr)
  {
    FindScanned(plane, tile, *scanned);
  }
  for (const auto & slide : m_Stack)
  {
    const std::string damage = slide->m_DamagedTiles->Find({ slide->GetSource(plane), tile });
    if (!damage.empty())
    {
      return damage + " (in focal plane " + DescribeFocalPlane(slide->m_Images) + ')';
    }
  }
  return {};
}

/** What any plane has scanned. */
void
FocalStack::FindScanned(unsigned plane, std::uint64_t tile, std::unique_ptr<unsigned char[]> & scanned) const
{
  const SlidePlane &  of = m_Planes[plane];
  const std::uint64_t x = tile % of.GetTilesAcross() * of.tileWidth;
  const std::uint64_t y = tile / of.GetTilesAcross() * of.tileHeight;
  const std::uint64_t width = std::min<std::uint64_t>(of.tileWidth, of.width - x);
  const std::uint64_t height = std::min<std::uint64_t>(of.tileHeight, of.height - y);
  scanned = std::make_unique<unsigned char[]>(std::size_t{ of.tileWidth } * of.tileHeight);
  std::vector<unsigned char> ofPlane(width * height);
  for (const auto & slide : m_Stack)
  {
    slide->ReadScanned(plane, { x, y, width, height }, ofPlane.data());
    for (std::uint64_t i = 0; i < ofPlane.size(); ++i)
    {
      scanned[i / width * of.tileWidth + i % width] |= ofPlane[i];
    }
  }
}

} // namespace gigapixel
