/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideSlide.h"

#include "OpenSlideLibrary.h"
#include "OpenSlideProbe.h"
#include "StatedSizes.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Pixels a side, about, of the tiles that OpenSlide is asked for: whole tiles of the file, so that none is decoded for
 * two of ours, and no more than stays near the core (256 KB) until its pixels are copied. Larger ones cost more, and so
 * did a handle for each thread: OpenSlide holds no lock while it decodes, and every handle has a cache of its own. */
constexpr std::int64_t preferredTile = 256;

/** Where the file has no grid of tiles that OpenSlide would tell (they overlap, or lie anywhere): what lies across an
 * edge of ours is decoded for both, so there are to be few edges. */
constexpr std::int64_t tileWithoutGrid = 1024;

/** Larger tiles are asked for in parts. */
constexpr std::int64_t largestTile = 4096;

/** Scanners' slides have some hundred thousand pixels a side. */
constexpr std::int64_t levelSideLimit = std::int64_t{ 1 } << 32;

/** Pictures of the whole glass and of its label have some millions, and are decoded in one piece: a header that states
 * more is damaged. */
constexpr std::int64_t associatedPixelLimit = std::int64_t{ 1 } << 27;

std::map<std::string, std::string>
CopyProperties(openslide_t * handle)
{
  std::map<std::string, std::string> properties;
  for (const char * const * name = OpenSlideLibrary::Get().getPropertyNames(handle);
       name != nullptr && *name != nullptr;
       ++name)
  {
    const char * const value = OpenSlideLibrary::Get().getPropertyValue(handle, *name);
    properties[*name] = value != nullptr ? value : "";
  }
  return properties;
}

double
GetNumber(const std::map<std::string, std::string> & properties, const std::string & name)
{
  const auto found = properties.find(name);
  if (found == properties.end())
  {
    return 0.0;
  }
  std::istringstream stream(found->second);
  stream.imbue(std::locale::classic());
  double value = 0.0;
  stream >> value;
  return stream ? value : 0.0;
}

void
ThrowIfFailed(openslide_t * handle)
{
  if (const char * const error = OpenSlideLibrary::Get().getError(handle))
  {
    throw std::runtime_error(std::string("OpenSlide says: ") + error);
  }
}

/** What the probe found: this file is not for OpenSlide, whatever others make of it. */
class ProbeError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

std::shared_ptr<openslide_t>
OpenHandle(const std::string & path)
{
  const OpenSlideLibrary & openSlide = OpenSlideLibrary::Get();
  CheckStatedSizes(path);
  const std::string problem = OpenSlideProbe::FindProblem(path);
  if (!problem.empty())
  {
    throw ProbeError(problem);
  }
  if (openslide_t * const handle = openSlide.open(path.c_str()))
  {
    return { handle, openSlide.close };
  }
  return nullptr;
}

/** SQLite's. */
bool
IsDatabase(const std::string & path)
{
  const std::string mark = "SQLite format 3";
  std::string       begin(mark.size(), ' ');
  std::ifstream(path, std::ios::binary).read(&begin[0], static_cast<std::streamsize>(begin.size()));
  return begin == mark;
}

std::uint32_t
GetTileSide(double stored)
{
  const auto side = static_cast<std::int64_t>(stored);
  if (side <= 0 || side > largestTile)
  {
    return tileWithoutGrid;
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(preferredTile / side, 1) * side);
}

/** Pixels of one row as OpenSlide gives them, colors multiplied by alpha already, over the background. */
void
Composite(const std::uint32_t * argb,
          std::uint64_t         width,
          const unsigned char * background,
          unsigned              channels,
          unsigned char *       out)
{
  for (std::uint64_t x = 0; x < width; ++x, out += channels)
  {
    unsigned       rgb[] = { argb[x] >> 16 & 255, argb[x] >> 8 & 255, argb[x] & 255 };
    const unsigned hidden = 255 - (argb[x] >> 24);
    for (unsigned i = 0; hidden != 0 && i < 3; ++i)
    {
      rgb[i] = std::min(255u, rgb[i] + (hidden * background[i] + 127) / 255);
    }
    if (channels == 1)
    {
      out[0] = LumaFromRGB(rgb[0], rgb[1], rgb[2]);
      continue;
    }
    out[0] = static_cast<unsigned char>(rgb[0]);
    out[1] = static_cast<unsigned char>(rgb[1]);
    out[2] = static_cast<unsigned char>(rgb[2]);
  }
}

} // namespace

std::string
DetectOpenSlideVendor(const std::string & path)
{
  const OpenSlideLibrary * const openSlide = OpenSlideLibrary::Find();
  // Of other files little is looked at; here it asks for what it trusts to be there.
  if (openSlide != nullptr && IsDatabase(path) && !OpenSlideProbe::FindProblem(path).empty())
  {
    return "sakura"; // the only databases that are slides: who opens it says what the problem is
  }
  const char * const vendor = openSlide != nullptr ? openSlide->detectVendor(path.c_str()) : nullptr;
  return vendor != nullptr ? vendor : "";
}

std::map<std::string, std::string>
ReadOpenSlideProperties(const std::string & path)
{
  std::shared_ptr<openslide_t> handle;
  try
  {
    handle = OpenSlideLibrary::Find() != nullptr ? OpenHandle(path) : nullptr;
  }
  catch (const ProbeError &)
  {}
  if (!handle || OpenSlideLibrary::Get().getError(handle.get()) != nullptr)
  {
    return {};
  }
  return CopyProperties(handle.get());
}

std::string
GetOpenSlideVersion()
{
  const OpenSlideLibrary * const openSlide = OpenSlideLibrary::Find();
  return openSlide != nullptr ? openSlide->getVersion() : "";
}

OpenSlideSlide::OpenSlideSlide(const std::string & path)
  : Slide(path)
{
  if (OpenSlideLibrary::Find() == nullptr)
  {
    throw SlideError(
      path, "only OpenSlide opens it, and " + OpenSlideLibrary::GetProblem(), OpenSlideLibrary::GetRemedy());
  }
  m_Handle = OpenHandle(path);
  if (!m_Handle)
  {
    throw std::runtime_error("OpenSlide " + GetOpenSlideVersion() + " does not know this kind of file");
  }
  ThrowIfFailed(m_Handle.get());
  m_Properties = CopyProperties(m_Handle.get());
  m_Decoder = "OpenSlide " + GetOpenSlideVersion();
  AddLevels();
  AddAssociated();
  ReadColorProfile();
  SetDownsamples();
  SetBackground();
  Slide::SetMicronsPerPixel(GetNumber(m_Properties, "openslide.mpp-x"), GetNumber(m_Properties, "openslide.mpp-y"));
}

OpenSlideSlide::~OpenSlideSlide() = default;

void
OpenSlideSlide::AddLevels()
{
  const int levels = OpenSlideLibrary::Get().getLevelCount(m_Handle.get());
  for (int i = 0; i < levels; ++i)
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    OpenSlideLibrary::Get().getLevelDimensions(m_Handle.get(), i, &width, &height);
    if (width <= 0 || height <= 0)
    {
      throw std::runtime_error("one of its levels has no pixels");
    }
    if (width >= levelSideLimit || height >= levelSideLimit)
    {
      throw std::runtime_error("one of its levels states " + std::to_string(width) + " x " + std::to_string(height) +
                               " pixels, more than a slide has");
    }
    const std::string name = "openslide.level[" + std::to_string(i) + "].tile-";
    SlidePlane        plane;
    plane.width = static_cast<std::uint64_t>(width);
    plane.height = static_cast<std::uint64_t>(height);
    plane.tileWidth = GetTileSide(GetNumber(m_Properties, name + "width"));
    plane.tileHeight = GetTileSide(GetNumber(m_Properties, name + "height"));
    plane.hasAlpha = true;
    m_Planes.push_back(plane);
  }
  if (m_Planes.empty())
  {
    throw std::runtime_error("it has no levels");
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
}

void
OpenSlideSlide::AddAssociated()
{
  const char * const * name = OpenSlideLibrary::Get().getAssociatedImageNames(m_Handle.get());
  for (; name != nullptr && *name != nullptr; ++name)
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    OpenSlideLibrary::Get().getAssociatedImageDimensions(m_Handle.get(), *name, &width, &height);
    if (width <= 0 || height <= 0 || width > associatedPixelLimit / height)
    {
      continue;
    }
    SlidePlane plane;
    plane.width = plane.tileWidth = static_cast<std::uint32_t>(width);
    plane.height = plane.tileHeight = static_cast<std::uint32_t>(height);
    plane.hasAlpha = true;
    plane.name = *name;
    m_Planes.push_back(plane);
  }
}

void
OpenSlideSlide::ReadColorProfile()
{
  const OpenSlideLibrary & openSlide = OpenSlideLibrary::Get();
  if (openSlide.getICCProfileSize == nullptr || openSlide.readICCProfile == nullptr)
  {
    return;
  }
  const std::int64_t size = openSlide.getICCProfileSize(m_Handle.get());
  if (size > 0)
  {
    m_ColorProfile.resize(static_cast<std::size_t>(size));
    openSlide.readICCProfile(m_Handle.get(), &m_ColorProfile[0]);
    ThrowIfFailed(m_Handle.get());
  }
}

std::shared_ptr<openslide_t>
OpenSlideSlide::GetHandle() const
{
  const std::lock_guard<std::mutex> lock(m_HandleMutex);
  if (!m_Handle)
  {
    m_Handle = OpenHandle(m_Path);
    if (!m_Handle)
    {
      throw std::runtime_error("OpenSlide cannot open the file any more");
    }
  }
  return m_Handle;
}

void
OpenSlideSlide::ReplaceHandle(openslide_t * failed, std::shared_ptr<openslide_t> by) const
{
  const std::lock_guard<std::mutex> lock(m_HandleMutex);
  if (m_Handle.get() == failed)
  {
    m_Handle = std::move(by);
  }
}

void
OpenSlideSlide::ReadPixels(openslide_t * handle, unsigned plane, const Rectangle & region, std::uint32_t * argb) const
{
  if (plane >= m_NumberOfLevels)
  {
    OpenSlideLibrary::Get().readAssociatedImage(handle, m_Planes[plane].name.c_str(), argb);
    return;
  }
  const double downsample = OpenSlideLibrary::Get().getLevelDownsample(handle, static_cast<int>(plane));
  OpenSlideLibrary::Get().readRegion(handle,
                                     argb,
                                     std::llround(static_cast<double>(region.x) * downsample),
                                     std::llround(static_cast<double>(region.y) * downsample),
                                     static_cast<int>(plane),
                                     static_cast<std::int64_t>(region.width),
                                     static_cast<std::int64_t>(region.height));
}

bool
OpenSlideSlide::HasTile(unsigned, std::uint64_t) const
{
  return true; // OpenSlide says it pixel by pixel
}

std::string
OpenSlideSlide::DecodeTile(unsigned                           plane,
                           std::uint64_t                      tile,
                           const PixelSpan &                  out,
                           std::unique_ptr<unsigned char[]> * scanned) const
{
  const SlidePlane &  of = m_Planes[plane];
  const std::uint64_t left = tile % of.GetTilesAcross() * of.tileWidth;
  const std::uint64_t top = tile / of.GetTilesAcross() * of.tileHeight;
  const auto          width = std::min<std::uint64_t>(of.tileWidth, of.width - left);
  const auto          height = std::min<std::uint64_t>(of.tileHeight, of.height - top);

  const std::unique_ptr<std::uint32_t[]> argb(new std::uint32_t[width * height]);
  const Rectangle                        region{ left, top, width, height };
  const std::shared_ptr<openslide_t>     handle = GetHandle();
  ReadPixels(handle.get(), plane, region, argb.get());
  if (OpenSlideLibrary::Get().getError(handle.get()) != nullptr)
  {
    // Maybe another thread's tile: what this one is tells a handle that has not failed yet.
    std::shared_ptr<openslide_t> fresh = OpenHandle(m_Path);
    ReplaceHandle(handle.get(), nullptr);
    if (!fresh)
    {
      ThrowIfFailed(handle.get());
    }
    ReadPixels(fresh.get(), plane, region, argb.get());
    ThrowIfFailed(fresh.get());
    ReplaceHandle(nullptr, std::move(fresh));
  }

  if (scanned != nullptr)
  {
    scanned->reset(new unsigned char[std::size_t{ of.tileWidth } * of.tileHeight]);
  }
  for (std::uint64_t y = 0; y < height; ++y)
  {
    const std::uint32_t * const row = argb.get() + y * width;
    Composite(row, width, m_Background.data(), out.channels, out.data + y * out.stride);
    for (std::uint64_t x = 0; scanned != nullptr && x < width; ++x)
    {
      (*scanned)[y * of.tileWidth + x] = row[x] >> 24 == 0 ? 0 : 255;
    }
  }
  return {}; // OpenSlide keeps it to itself
}

} // namespace gigapixel
