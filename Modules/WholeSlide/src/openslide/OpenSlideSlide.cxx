/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideSlide.h"

#include "files/NumberText.h"
#include "codecs/StatedSizes.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstdlib>
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

double
GetNumber(const std::map<std::string, std::string> & properties, const std::string & name)
{
  const auto found = properties.find(name);
  return found == properties.end() ? 0.0 : ToNumber(found->second);
}

std::int64_t
GetInteger(const std::string & text)
{
  return std::strtoll(text.c_str(), nullptr, 10);
}

/** Asks for what a file is, or opens it. A file that has ended OpenSlide is not tried again as long as it does not
 * change. */
OpenSlideMessage
AskOfFile(const OpenSlideProcess::Use & process, const std::string & request, const std::string & path)
{
  static std::mutex &                       mutex = *new std::mutex;
  static std::map<FileStamp, std::string> & ends = *new std::map<FileStamp, std::string>;

  if (!process->GetProblem().IsEmpty())
  {
    throw Obstacle(process->GetProblem());
  }
  const FileStamp stamp = GetFileStamp(path);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto                        found = ends.find(stamp);
    if (found != ends.end())
    {
      throw Refusal(Diagnostic("E-SLIDE-FORMAT", found->second));
    }
  }
  try
  {
    return OpenSlideProcess::Ask(process, { request, path }).texts; // slow: no lock is held
  }
  catch (const OpenSlideEnd & end)
  {
    if (request != "try" || end.IsLate())
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ends[stamp] = end.what();
    }
    throw;
  }
}

/** Opens the file in the process. Returns what OpenSlide says of it; nothing where it does not know its kind. */
OpenSlideMessage
OpenIn(const OpenSlideProcess::Use & process, const std::string & path)
{
  CheckStatedSizes(path);
  const OpenSlideMessage description = AskOfFile(process, "open", path);
  return description[0] == "opened" ? description : OpenSlideMessage();
}

/** As well, by a process that is replaced where reading a pixel of each level ends it: such tiles are refused when they
 * are read. But a file whose pixels OpenSlide comes to no end with is refused as a whole, lest each of its tiles take
 * as long. */
OpenSlideMessage
TryIn(OpenSlideProcess::Use & process, const std::string & path)
{
  CheckStatedSizes(path);
  try
  {
    const OpenSlideMessage description = AskOfFile(process, "try", path);
    return description[0] == "opened" ? description : OpenSlideMessage();
  }
  catch (const OpenSlideEnd & end)
  {
    if (end.IsLate())
    {
      throw;
    }
  }
  process = OpenSlideProcess::Start();
  return OpenIn(process, path);
}

/** What follows each `name` in OpenSlide's description of a slide, `count` texts. */
template <typename TFunction>
void
ForEach(const OpenSlideMessage & description, const std::string & name, const TFunction & take)
{
  static const std::map<std::string, std::size_t> counts{
    { "level", 2 }, { "property", 2 }, { "image", 3 }, { "profile", 1 }
  };
  for (std::size_t i = 1; i < description.size();)
  {
    const auto        known = counts.find(description[i]);
    const std::size_t count = known != counts.end() ? known->second : description.size();
    if (i + count >= description.size())
    {
      throw Refusal(Diagnostic("E-INTERNAL", "the description that OpenSlide gave is incomplete"));
    }
    if (description[i] == name)
    {
      take(&description[i + 1]);
    }
    i += 1 + count;
  }
}

std::map<std::string, std::string>
GetAllProperties(const OpenSlideMessage & description)
{
  std::map<std::string, std::string> properties;
  ForEach(description, "property", [&](const std::string * texts) { properties[texts[0]] = texts[1]; });
  return properties;
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

std::optional<std::string>
DetectOpenSlideVendor(const std::string & path)
{
  OpenSlideProcess::Use      process = OpenSlideProcess::Take();
  std::optional<std::string> vendor;
  try
  {
    if (process->GetProblem().IsEmpty())
    {
      vendor = AskOfFile(process, "vendor", path).at(1);
    }
    OpenSlideProcess::Keep(std::move(process));
  }
  catch (const Obstacle &)
  {
    throw;
  }
  catch (const std::exception &)
  {} // who opens the file says what the problem is
  return vendor;
}

std::map<std::string, std::string>
ReadOpenSlideProperties(const std::string & path)
{
  try
  {
    const OpenSlideProcess::Use process = OpenSlideProcess::Take();
    return process->GetProblem().IsEmpty() ? GetAllProperties(OpenIn(process, path))
                                           : std::map<std::string, std::string>();
  }
  catch (const std::runtime_error &)
  {
    return {};
  }
}

std::string
GetOpenSlideVersion()
{
  OpenSlideProcess::Use process = OpenSlideProcess::Take();
  std::string           version = process->GetVersion();
  OpenSlideProcess::Keep(std::move(process));
  return version;
}

std::string
GetOpenSlideProblem()
{
  OpenSlideProcess::Use process = OpenSlideProcess::Take();
  std::string           sentence = process->GetProblem().IsEmpty() ? "" : process->GetProblem().GetSentence();
  OpenSlideProcess::Keep(std::move(process));
  return sentence;
}

void
CheckOpenSlide(const std::string & path, const std::string & what)
{
  OpenSlideProcess::Use process = OpenSlideProcess::Take();
  const Diagnostic      problem = process->GetProblem();
  OpenSlideProcess::Keep(std::move(process));
  if (!problem.IsEmpty())
  {
    throw SlideError(problem.code, path, what + ", and " + problem.why, problem.remedy);
  }
}

OpenSlideSlide::OpenSlideSlide(const std::string & path, const TIFFLayout * layout)
  : Slide(path)
  , m_Stamp(GetFileStamp(path))
{
  CheckOpenSlide(path, "only OpenSlide opens it");
  OpenSlideProcess::Use  process = OpenSlideProcess::Take();
  const OpenSlideMessage description = TryIn(process, path);
  m_Process = process.Get();
  if (description.empty())
  {
    throw Refusal(
      Diagnostic("E-SLIDE-FORMAT", "OpenSlide " + m_Process->GetVersion() + " does not know this kind of file"));
  }
  m_Decoder = "OpenSlide " + m_Process->GetVersion();
  Describe(description);
  if (layout != nullptr && m_Properties["openslide.vendor"] == "generic-tiff") // it makes nothing of what is not stored
  {
    FindMissingTiles(*layout);
  }
  SetDownsamples();
  SetBackground();
  Slide::SetMicronsPerPixel(GetNumber(m_Properties, "openslide.mpp-x"), GetNumber(m_Properties, "openslide.mpp-y"));
}

OpenSlideSlide::~OpenSlideSlide() = default;

void
OpenSlideSlide::Describe(const OpenSlideMessage & description)
{
  m_Properties = GetAllProperties(description);
  ForEach(
    description, "level", [this](const std::string * texts) { AddLevel(GetInteger(texts[0]), GetInteger(texts[1])); });
  if (m_Planes.empty())
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "it has no levels"));
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
  ForEach(description, "image", [this](const std::string * texts) {
    AddAssociated(texts[0], GetInteger(texts[1]), GetInteger(texts[2]));
  });
  ForEach(description, "profile", [this](const std::string * texts) { m_ColorProfile = texts[0]; });
}

void
OpenSlideSlide::AddLevel(std::int64_t width, std::int64_t height)
{
  if (width <= 0 || height <= 0)
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "one of its levels has no pixels"));
  }
  if (width >= levelSideLimit || height >= levelSideLimit)
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT",
                             "one of its levels states " + std::to_string(width) + " x " + std::to_string(height) +
                               " pixels, more than a slide has"));
  }
  const std::string name = "openslide.level[" + std::to_string(m_Planes.size()) + "].tile-";
  SlidePlane        plane;
  plane.width = static_cast<std::uint64_t>(width);
  plane.height = static_cast<std::uint64_t>(height);
  plane.tileWidth = GetTileSide(GetNumber(m_Properties, name + "width"));
  plane.tileHeight = GetTileSide(GetNumber(m_Properties, name + "height"));
  plane.hasAlpha = true;
  m_Planes.push_back(plane);
}

/** A level that leaves out tiles is asked for in the tiles of the file, since OpenSlide reads no region that touches a
 * missing one. */
void
OpenSlideSlide::FindMissingTiles(const TIFFLayout & layout)
{
  for (const TIFFLayout::Level & level : layout.GetLevels())
  {
    const TIFFPage & page = layout.GetPage(level.page);
    const auto       plane = std::find_if(m_Planes.begin(), m_Planes.end(), [&page](const SlidePlane & each) {
      return each.name.empty() && each.width == page.width && each.height == page.height;
    });
    if (plane == m_Planes.end() || !page.tiled || page.separatePlanes || page.pieceWidth > largestTile ||
        page.pieceHeight > largestTile)
    {
      continue;
    }
    TIFFPage::Pieces pieces = page.ReadPieces();
    bool             isWhole = true;
    for (std::uint64_t piece = 0; piece < pieces.sizes.size(); ++piece)
    {
      isWhole = isWhole && pieces.Has(piece);
    }
    if (!isWhole)
    {
      plane->tileWidth = static_cast<std::uint32_t>(page.pieceWidth);
      plane->tileHeight = static_cast<std::uint32_t>(page.pieceHeight);
      m_Pieces[static_cast<unsigned>(plane - m_Planes.begin())] = std::move(pieces);
    }
  }
}

void
OpenSlideSlide::AddAssociated(const std::string & name, std::int64_t width, std::int64_t height)
{
  if (width <= 0 || height <= 0 || width > associatedPixelLimit / height)
  {
    return;
  }
  SlidePlane plane;
  plane.width = plane.tileWidth = static_cast<std::uint32_t>(width);
  plane.height = plane.tileHeight = static_cast<std::uint32_t>(height);
  plane.hasAlpha = true;
  plane.name = name;
  m_Planes.push_back(plane);
}

bool
OpenSlideSlide::IsSameFile() const
{
  try
  {
    return GetFileStamp(GetPath()) == m_Stamp;
  }
  catch (const SlideError &)
  {
    return false;
  }
}

OpenSlideSlide::Process
OpenSlideSlide::StartProcess() const
{
  if (!IsSameFile())
  {
    throw Obstacle(Diagnostic("E-FILE-CHANGED", "the file was replaced after it was opened", "open it again"));
  }
  auto process = OpenSlideProcess::Start();
  if (OpenIn(process, m_Path).empty())
  {
    throw Refusal(Diagnostic("E-FILE-CHANGED", "OpenSlide cannot open the file any more"));
  }
  return process;
}

/** A new one where the last one has ended, and in a process that was forked from the one which opened the slide. */
OpenSlideSlide::Process
OpenSlideSlide::GetProcess() const
{
  const std::lock_guard<std::mutex> starts(m_StartMutex);
  {
    const std::lock_guard<std::mutex> lock(m_ProcessMutex);
    Process                           process = Process::Begin(m_Process);
    if (process)
    {
      return process;
    }
    m_Process = nullptr;
  }
  Process process = StartProcess(); // slow, and who waits for this one's place may need the other lock
  ReplaceProcess(nullptr, process);
  return process;
}

void
OpenSlideSlide::ReplaceProcess(const OpenSlideProcess * ended, const Process & by) const
{
  const std::lock_guard<std::mutex> lock(m_ProcessMutex);
  if (m_Process.get() == ended)
  {
    m_Process = by.Get();
  }
}

bool
OpenSlideSlide::HasTile(unsigned plane, std::uint64_t tile) const
{
  const auto pieces = m_Pieces.find(plane);
  return pieces == m_Pieces.end() || pieces->second.Has(tile); // else OpenSlide says it pixel by pixel
}

OpenSlideMessage
OpenSlideSlide::MakeRequest(unsigned plane, const Rectangle & region) const
{
  if (plane >= m_NumberOfLevels)
  {
    return { "image", m_Planes[plane].name };
  }
  return { "level",
           std::to_string(plane),
           std::to_string(region.x),
           std::to_string(region.y),
           std::to_string(region.width),
           std::to_string(region.height) };
}

OpenSlideProcess::Answer
OpenSlideSlide::AskForPixels(unsigned plane, std::uint64_t tile, const Rectangle & region) const
{
  const std::string known = m_FatalTiles.Find({ plane, tile });
  if (!known.empty())
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", known));
  }
  const OpenSlideMessage       request = MakeRequest(plane, region);
  const std::size_t            pixels = region.width * region.height;
  std::unique_lock<std::mutex> isSuspect(m_SuspectMutex, std::defer_lock);
  Process                      process = GetProcess();
  while (true)
  {
    try
    {
      auto answer = OpenSlideProcess::Ask(process, request, pixels);
      if (isSuspect.owns_lock())
      {
        ReplaceProcess(nullptr, process);
      }
      return answer;
    }
    catch (const OpenSlideLoss &)
    {
      ReplaceProcess(process.Get().get(), {});
      if (isSuspect.owns_lock())
      {
        throw;
      }
    }
    catch (const OpenSlideEnd & end)
    {
      ReplaceProcess(process.Get().get(), {});
      if (end.IsLate() || !process->HasReadMore())
      {
        m_FatalTiles.Add({ plane, tile }, end.what());
        throw;
      }
    }
    // Maybe another thread's tile, or what those before it have left behind: what this one is tells a process that is
    // asked for nothing else.
    process = {};
    isSuspect.lock();
    process = StartProcess();
  }
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

  const OpenSlideProcess::Answer answer = AskForPixels(plane, tile, { left, top, width, height });
  const std::uint32_t * const    argb = answer.GetPixels();
  if (scanned != nullptr)
  {
    scanned->reset(new unsigned char[std::size_t{ of.tileWidth } * of.tileHeight]);
  }
  for (std::uint64_t y = 0; y < height; ++y)
  {
    const std::uint32_t * const row = argb + y * width;
    Composite(row, width, m_Background.data(), out.channels, out.data + y * out.stride);
    for (std::uint64_t x = 0; scanned != nullptr && x < width; ++x)
    {
      (*scanned)[y * of.tileWidth + x] = row[x] >> 24 == 0 ? 0 : 255;
    }
  }
  return {}; // OpenSlide keeps it to itself
}

} // namespace gigapixel
