/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Hamamatsu NDPI.
#include "openslide/OpenSlideSlide.h"
#include "SlideFormat.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Tags of Hamamatsu's own, as OpenSlide's and tifffile's documentation have them. */
enum HamamatsuTag : std::uint16_t
{
  LensTag = 65421,       // magnification; -1 the macro image, -2 a map of what was scanned
  FocalPlaneTag = 65424, // offset in nanometers, signed; 0 the one in focus
  StartsTag = 65426,     // of the pieces in the JPEG image, low halves
  HighStartsTag = 65432  // high halves, where the image is larger than 4 GiB
};

TIFFTag
AsTag(HamamatsuTag tag)
{
  return static_cast<TIFFTag>(tag);
}

constexpr std::uint64_t pieceLimit = std::uint64_t{ 1 } << 28;

/** Rows of pieces in a tile: enough that starting the decoder costs nothing, few enough for streams of strips. */
constexpr std::uint32_t preferredTileHeight = 128;

/** Larger images without restart markers are not decoded whole. */
constexpr std::uint64_t wholeImageLimit = std::uint64_t{ 1 } << 26;

unsigned
GetWord(const std::string & bytes, std::size_t at)
{
  return static_cast<unsigned char>(bytes[at]) << 8u | static_cast<unsigned char>(bytes[at + 1]);
}

/** Hamamatsu NDPI: a TIFF whose pages are one JPEG image each, of any size, cut by restart markers.
 *
 * The page says where the pieces between the markers begin. A tile is some of them, one below the other, between the
 * page's JPEG header and an end: a small JPEG image. Levels are numbered as by OpenSlide: those that are absent, at
 * 1/2, 1/4 and 1/8 of a stored one, are levels, too, decoded smaller. */
class HamamatsuSlide : public Slide
{
public:
  /** Throws std::exception in a few words.
   * \param image whose focal plane is read; none: the one in focus */
  HamamatsuSlide(const std::string & path, std::unique_ptr<const TIFFFile> file, const AskedImage & image);

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeReducedTile(unsigned          plane,
                                std::uint64_t     tile,
                                unsigned          reduction,
                                const PixelSpan & out) const override;
  unsigned    GetLargestReduction(unsigned plane) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  /** One JPEG image of the file. */
  struct Source
  {
    std::uint64_t              begin = 0;  // in the file
    std::vector<std::uint64_t> pieces;     // where each begins, and where the last one ends, in the image
    std::string                header;     // up to the first piece
    std::size_t                sizeAt = 0; // where the header says height and width
    std::uint32_t              pieceWidth = 0;
    std::uint32_t              pieceHeight = 0;
    std::uint64_t              piecesAcross = 0;
  };

  using FocalPlanes = std::map<std::int32_t, std::vector<const TIFFPage *>>; // levels by the offsets of planes

  std::int32_t               ChooseFocalPlane(const FocalPlanes & planes, const AskedImage & asked);
  void                       AddPage(const TIFFPage & page, const std::string & name);
  void                       ReadHeader(const TIFFPage & page, Source & source) const;
  void                       SortLevels();
  void                       FillProperties(const TIFFPage & base);
  std::vector<unsigned char> MakeImage(unsigned plane, std::uint64_t tile, StoredSize & stored) const;

  std::unique_ptr<const TIFFFile> m_File;
  std::vector<Source>             m_Sources; // one per plane; those of planes that are decoded smaller are empty
};

HamamatsuSlide::HamamatsuSlide(const std::string & path, std::unique_ptr<const TIFFFile> file, const AskedImage & image)
  : Slide(path)
  , m_File(std::move(file))
{
  std::vector<TIFFPage>   pages;
  std::set<std::uint64_t> seen;
  std::uint64_t           at = m_File->GetFirstPage();
  while (at != 0 && seen.insert(at).second && seen.size() < 4096)
  {
    std::uint64_t next = 0;
    pages.emplace_back(*m_File, at, next);
    at = next;
  }
  FocalPlanes planes;
  for (const TIFFPage & page : pages)
  {
    if (page.GetNumber(AsTag(LensTag), 0.0) > 0.0)
    {
      const double offset = page.GetNumber(AsTag(FocalPlaneTag), 0.0); // of its signed value, the bits
      planes[static_cast<std::int32_t>(static_cast<std::uint32_t>(offset))].push_back(&page);
    }
  }
  if (planes.empty())
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "it has no levels"));
  }
  for (const TIFFPage * const page : planes.at(ChooseFocalPlane(planes, image)))
  {
    AddPage(*page, {});
  }
  SortLevels();
  for (const TIFFPage & page : pages)
  {
    if (page.GetNumber(AsTag(LensTag), 0.0) == -1.0)
    {
      AddPage(page, "macro");
    }
  }
  m_Decoder = "tiles (JPEG)";
  FillProperties(pages.front());
}

/** Each focal plane is an image of its own. */
std::int32_t
HamamatsuSlide::ChooseFocalPlane(const FocalPlanes & planes, const AskedImage & asked)
{
  const auto nearest = std::min_element(planes.begin(), planes.end(), [](const auto & a, const auto & b) {
    return std::abs(std::int64_t{ a.first }) < std::abs(std::int64_t{ b.first });
  });
  if (planes.size() == 1)
  {
    return nearest->first; // RequireImage() refuses another one
  }
  std::string list;
  for (const auto & [offset, pages] : planes)
  {
    const auto finest = std::max_element(
      pages.begin(), pages.end(), [](const TIFFPage * a, const TIFFPage * b) { return a->width < b->width; });
    SlideImage image;
    image.number = static_cast<unsigned>(m_Images.size() + 1);
    image.name = "ZOffset " + std::to_string(offset);
    image.width = (*finest)->width;
    image.height = (*finest)->height;
    image.kind = "focal plane, " + std::to_string(pages.size()) + (pages.size() == 1 ? " level" : " levels");
    image.depth = offset;
    list += (list.empty() ? "" : ", ") + std::to_string(image.number) + " (" + image.name + ')';
    m_Images.push_back(std::move(image));
  }
  const auto        main = static_cast<std::size_t>(std::distance(planes.begin(), nearest));
  const std::size_t chosen = asked.IsEmpty() ? main : FindAskedImage(m_Path, asked, m_Images, list);
  for (std::size_t i = 0; i < m_Images.size(); ++i)
  {
    SlideImage & image = m_Images[i];
    image.isRead = i == chosen;
    image.isMain = i == main;
    image.reason = !asked.IsEmpty() ? (image.isRead ? "it is asked for" : "another image is asked for")
                   : image.isRead   ? "its focal plane is the one nearest to the focus"
                                    : "another focal plane is read";
  }
  if (asked.IsEmpty())
  {
    m_Warnings.push_back(WarnOfFocalPlanes(m_Path, DescribeFocalPlane(m_Images)));
  }
  return std::next(planes.begin(), static_cast<std::ptrdiff_t>(chosen))->first;
}

void
HamamatsuSlide::AddPage(const TIFFPage & page, const std::string & name)
{
  constexpr unsigned jpeg = 7;
  if (page.compression != jpeg || page.width == 0 || page.height == 0 || page.width >> 32 != 0 ||
      page.height >> 32 != 0)
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "one of its pages is no JPEG image"));
  }
  Source source;
  ReadHeader(page, source);
  SlidePlane plane;
  plane.width = page.width;
  plane.height = page.height;
  plane.tileWidth = source.pieceWidth;
  plane.tileHeight = source.pieceHeight;
  // Chroma that is subsampled downwards is interpolated between the rows of a tile, and not across its border.
  if (source.pieceHeight == 8)
  {
    plane.tileHeight = preferredTileHeight;
  }
  plane.channels = page.samples == 1 ? 1 : 3;
  plane.name = name;
  m_Planes.push_back(plane);
  m_Sources.push_back(std::move(source));
}

/** Finds the restart interval and the size of a piece, and where the pieces are. */
void
HamamatsuSlide::ReadHeader(const TIFFPage & page, Source & source) const
{
  source.begin = page.GetInteger(TIFFTag::StripOffsets, 0);
  const std::uint64_t size = page.GetInteger(TIFFTag::StripByteCounts, 0);
  source.header.resize(std::min<std::uint64_t>(size, 65536));
  m_File->GetFile().Read(source.begin, &source.header[0], source.header.size());
  std::size_t   at = 2;
  std::uint64_t interval = 0;
  unsigned      blockWidth = 8;
  unsigned      blockHeight = 8;
  for (unsigned marker = 0; marker != 0xffda; at += 2 + GetWord(source.header, at + 2))
  {
    if (at + 20 > source.header.size() || source.header[at] != '\xff')
    {
      throw Refusal(Diagnostic("E-SLIDE-FORMAT", "the header of a JPEG image is damaged"));
    }
    marker = GetWord(source.header, at);
    if (marker == 0xffdd)
    {
      interval = GetWord(source.header, at + 4);
    }
    if (marker == 0xffc0 || marker == 0xffc1)
    {
      source.sizeAt = at + 5;
      blockWidth = 8 * (static_cast<unsigned char>(source.header[at + 11]) >> 4u);
      blockHeight = 8 * (static_cast<unsigned char>(source.header[at + 11]) & 15u);
    }
    else if (marker > 0xffc1 && marker < 0xffd0 && marker != 0xffc4)
    {
      throw Refusal(Diagnostic("E-SLIDE-FORMAT", "a JPEG image is of a kind that cannot be cut into pieces"));
    }
  }
  source.header.resize(std::min(at, source.header.size()));
  if (source.sizeAt == 0 || source.sizeAt + 4 > source.header.size() || blockWidth == 0 || blockHeight == 0)
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "the header of a JPEG image is damaged"));
  }
  const TIFFEntry * const starts = page.Find(AsTag(StartsTag));
  const std::uint64_t     blocksAcross = (page.width + blockWidth - 1) / blockWidth;
  if (interval == 0 || starts == nullptr || blocksAcross % interval != 0)
  {
    if (page.width > 65500 || page.height > 65500 || page.width * page.height > wholeImageLimit)
    {
      throw Refusal(Diagnostic("E-SLIDE-FORMAT", "a large JPEG image is not cut into pieces"));
    }
    source.pieceWidth = static_cast<std::uint32_t>(page.width);
    source.pieceHeight = static_cast<std::uint32_t>(page.height);
    source.piecesAcross = 1;
    source.pieces = { source.header.size(), size };
    return;
  }
  source.pieceWidth = static_cast<std::uint32_t>(interval * blockWidth);
  source.pieceHeight = blockHeight;
  source.piecesAcross = blocksAcross / interval;
  source.pieces = m_File->ReadIntegers(*starts, pieceLimit);
  if (const TIFFEntry * const high = page.Find(AsTag(HighStartsTag)))
  {
    const auto halves = m_File->ReadIntegers(*high, pieceLimit);
    for (std::size_t i = 0; i < std::min(halves.size(), source.pieces.size()); ++i)
    {
      source.pieces[i] |= halves[i] << 32u;
    }
  }
  const std::uint64_t expected = source.piecesAcross * ((page.height + blockHeight - 1) / blockHeight);
  source.pieces.push_back(size);
  if (source.pieces.size() != expected + 1 || source.pieces.front() != source.header.size() ||
      !std::is_sorted(source.pieces.begin(), source.pieces.end()))
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "the positions of a JPEG image's pieces are damaged"));
  }
}

/** Finest first, and the missing ones at 1/2, 1/4 and 1/8 of a stored one between them. */
void
HamamatsuSlide::SortLevels()
{
  std::vector<std::size_t> order(m_Planes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
    order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return m_Planes[a].width > m_Planes[b].width; });
  const auto planes = std::move(m_Planes);
  auto       sources = std::move(m_Sources);
  m_Planes.clear();
  m_Sources.clear();
  for (std::size_t i = 0; i < order.size(); ++i)
  {
    const SlidePlane & stored = planes[order[i]];
    const auto         number = static_cast<unsigned>(m_Planes.size());
    m_Planes.push_back(stored);
    m_Sources.push_back(std::move(sources[order[i]]));
    for (unsigned reduction = 2; reduction <= 8; reduction *= 2)
    {
      SlidePlane reduced = stored;
      reduced.width = (stored.width + reduction - 1) / reduction;
      reduced.height = (stored.height + reduction - 1) / reduction;
      const bool isThere = i + 1 < order.size() && planes[order[i + 1]].width >= stored.width / reduction;
      if (isThere || stored.tileWidth % reduction != 0 || stored.tileHeight % reduction != 0)
      {
        break;
      }
      reduced.tileWidth /= reduction;
      reduced.tileHeight /= reduction;
      reduced.reduction = reduction;
      reduced.source = number;
      m_Planes.push_back(reduced);
      m_Sources.emplace_back();
    }
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
  SetDownsamples();
}

/** OpenSlide's properties; the resolution by the file's own words, so that it is known without OpenSlide, too. */
void
HamamatsuSlide::FillProperties(const TIFFPage & base)
{
  m_Properties = ReadOpenSlideProperties(m_Path);
  m_Properties.emplace("openslide.vendor", "hamamatsu");
  constexpr double nanometer = 1e-3;
  AddFocalPlaneSpacing(m_Properties, m_Images, nanometer);
  constexpr unsigned centimeter = 3;
  if (base.GetInteger(TIFFTag::ResolutionUnit, 2) == centimeter)
  {
    const double x = base.GetNumber(TIFFTag::XResolution, 0.0);
    const double y = base.GetNumber(TIFFTag::YResolution, 0.0);
    SetMicronsPerPixel(x > 0.0 ? 1e4 / x : 0.0, y > 0.0 ? 1e4 / y : 0.0);
  }
  SetBackground();
}

bool
HamamatsuSlide::HasTile(unsigned, std::uint64_t) const
{
  return true;
}

unsigned
HamamatsuSlide::GetLargestReduction(unsigned) const
{
  return 8;
}

/** The JPEG image of a tile: the page's header with the tile's size, its pieces, the restart markers in order. */
std::vector<unsigned char>
HamamatsuSlide::MakeImage(unsigned plane, std::uint64_t tile, StoredSize & stored) const
{
  const SlidePlane &  of = m_Planes[plane];
  const Source &      source = m_Sources[plane];
  const std::uint64_t column = tile % of.GetTilesAcross();
  const std::uint64_t top = tile / of.GetTilesAcross() * of.tileHeight;
  const auto          height = static_cast<std::uint32_t>(std::min<std::uint64_t>(of.tileHeight, of.height - top));
  stored.width = of.tileWidth;
  stored.height = height;
  std::vector<unsigned char> image(source.header.begin(), source.header.end());
  const std::uint32_t        sides[] = { height, of.tileWidth };
  for (std::size_t i = 0; i < 2; ++i)
  {
    image[source.sizeAt + 2 * i] = static_cast<unsigned char>(sides[i] >> 8u);
    image[source.sizeAt + 2 * i + 1] = static_cast<unsigned char>(sides[i] & 255u);
  }
  const std::uint64_t first = top / source.pieceHeight;
  const std::uint64_t rows = (height + source.pieceHeight - 1) / source.pieceHeight;
  for (std::uint64_t row = 0; row < rows; ++row)
  {
    const std::uint64_t piece = (first + row) * source.piecesAcross + column;
    const std::uint64_t begin = source.pieces[piece];
    const std::uint64_t size = source.pieces[piece + 1] - begin;
    if (size < 2 || size > m_File->GetFile().GetSize())
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", "the position of a piece is damaged"));
    }
    const std::size_t end = image.size();
    image.resize(end + size);
    m_File->GetFile().Read(source.begin + begin, image.data() + end, size);
    const unsigned char * const marker = image.data() + image.size() - 2;
    if (marker[0] != 0xff || marker[1] < 0xd0 || marker[1] > 0xd9 || marker[1] == 0xd8)
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", "a piece does not end with a marker"));
    }
    image.back() = static_cast<unsigned char>(row + 1 == rows ? 0xd9 : 0xd0 + row % 8);
  }
  return image;
}

std::string
HamamatsuSlide::DecodeReducedTile(unsigned plane, std::uint64_t tile, unsigned reduction, const PixelSpan & out) const
{
  StoredSize stored{ 0, 0, reduction };
  const auto image = MakeImage(plane, tile, stored);
  const auto model = m_Planes[plane].channels == 1 ? ColorModel::Gray : ColorModel::YCbCr;
  return DecodeJPEG({ image.data(), image.size() }, { nullptr, 0 }, model, out, stored);
}

/** Pieces that lie side by side follow each other in the file. */
void
HamamatsuSlide::Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const
{
  const SlidePlane &  of = m_Planes[plane];
  const Source &      source = m_Sources[plane];
  const std::uint64_t top = first / of.GetTilesAcross() * of.tileHeight;
  const std::uint64_t bottom = std::min<std::uint64_t>(top + of.tileHeight, of.height);
  for (std::uint64_t row = top / source.pieceHeight; row * source.pieceHeight < bottom; ++row)
  {
    const std::uint64_t begin = source.pieces[row * source.piecesAcross + first % of.GetTilesAcross()];
    const std::uint64_t end = source.pieces[row * source.piecesAcross + last % of.GetTilesAcross() + 1];
    m_File->GetFile().Prefetch(source.begin + begin, end - begin);
  }
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->Find(TIFFTag::HamamatsuFormat) != nullptr && file.IsConfirmed("hamamatsu");
}

/** Older kinds are for OpenSlide. */
std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  try
  {
    return std::make_unique<const HamamatsuSlide>(
      file.GetPath(), std::make_unique<const TIFFFile>(file.GetPath()), file.GetImage());
  }
  catch (const SlideError &)
  {
    throw;
  }
  catch (const std::runtime_error &)
  {
    return OpenThroughOpenSlide(file);
  }
}

} // namespace

extern const SlideFormat hamamatsuFormat;
const SlideFormat        hamamatsuFormat{ "hamamatsu", { ".ndpi" }, Detect, Open, nullptr };

} // namespace gigapixel
