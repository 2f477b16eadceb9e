/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFDirectory_h
#define TIFFDirectory_h

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** A file read by position, so by any number of threads at once. */
class RandomAccessFile
{
public:
  /** Throws std::runtime_error where it cannot be opened. */
  explicit RandomAccessFile(const std::string & path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile &) = delete;
  RandomAccessFile & operator=(const RandomAccessFile &) = delete;

  /** The same, but one that is open already where the file has not changed since: all focal planes of a set of files
   * take one descriptor for each file. */
  static std::shared_ptr<const RandomAccessFile> Share(const std::string & path);

  std::uint64_t
  GetSize() const
  {
    return m_Size;
  }

  /** Throws std::runtime_error unless all bytes are there. */
  void Read(std::uint64_t offset, void * buffer, std::size_t size) const;

  /** Asks the system to have these bytes at hand soon; does not wait, and may do nothing. */
  void Prefetch(std::uint64_t offset, std::uint64_t size) const;

private:
  int           m_Descriptor;
  std::uint64_t m_Size;
};

/** Tags that a slide reader needs (TIFF 6.0; Adobe's supplements; 34675 ICC profile; BigTIFF keeps the numbers). */
enum class TIFFTag : std::uint16_t
{
  NewSubfileType = 254,
  ImageWidth = 256,
  ImageLength = 257,
  BitsPerSample = 258,
  Compression = 259,
  Photometric = 262,
  FillOrder = 266,
  DocumentName = 269,
  ImageDescription = 270,
  Make = 271,
  Model = 272,
  StripOffsets = 273,
  Orientation = 274,
  SamplesPerPixel = 277,
  RowsPerStrip = 278,
  StripByteCounts = 279,
  XResolution = 282,
  YResolution = 283,
  PlanarConfiguration = 284,
  PageName = 285,
  XPosition = 286,
  YPosition = 287,
  ResolutionUnit = 296,
  Software = 305,
  DateTime = 306,
  Artist = 315,
  HostComputer = 316,
  Predictor = 317,
  ColorMap = 320,
  TileWidth = 322,
  TileLength = 323,
  TileOffsets = 324,
  TileByteCounts = 325,
  SubIFDs = 330,
  ExtraSamples = 338,
  SampleFormat = 339,
  JPEGTables = 347,
  YCbCrSubSampling = 530,
  XMLPacket = 700,
  Copyright = 33432,
  ICCProfile = 34675,
  GDALNoData = 42113,
  ImageDepth = 32997,
  HamamatsuFormat = 65420
};

/** One entry of a page: its values, where they are few enough to stand in the entry, else where they stand. */
struct TIFFEntry
{
  std::uint16_t                tag;
  std::uint16_t                type;
  std::uint64_t                count;
  bool                         isInline;
  std::array<unsigned char, 8> values; // in the file's byte order
  std::uint64_t                offset; // of the first value in the file
};

/** Reads values out of a (Big)TIFF of either byte order. Knows nothing of images.
 *
 * Hamamatsu's dialect goes beyond 4 GiB without being BigTIFF: positions of pages have 8 bytes, and behind each page
 * table stand the high halves of its entries' values or positions, 4 bytes each. It is known by its tag
 * HamamatsuFormat. */
class TIFFFile
{
public:
  /** Throws std::runtime_error where the file is no TIFF. */
  explicit TIFFFile(const std::string & path);

  /** True if the file starts as a TIFF or BigTIFF does. Never throws. */
  static bool IsTIFF(const std::string & path);

  const RandomAccessFile &
  GetFile() const
  {
    return *m_File;
  }

  std::uint64_t
  GetFirstPage() const
  {
    return m_FirstPage;
  }

  bool
  IsBigEndian() const
  {
    return m_BigEndian;
  }

  bool
  IsBig() const
  {
    return m_Big;
  }

  /** Entries of the page at \a offset; \a next becomes the offset of the page behind it, 0 for none. */
  std::vector<TIFFEntry> ReadEntries(std::uint64_t offset, std::uint64_t & next) const;

  /** Values of integer type; throws for another type, or more than \a limit values. */
  std::vector<std::uint64_t> ReadIntegers(const TIFFEntry & entry, std::uint64_t limit) const;

  /** First value as a number, whatever its type. */
  double ReadNumber(const TIFFEntry & entry) const;

  std::string ReadBytes(const TIFFEntry & entry, std::uint64_t limit) const;

private:
  void          DetectWideDialect();
  std::uint64_t GetInteger(const unsigned char * bytes, unsigned size) const;
  void          ReadValues(const TIFFEntry & entry, void * bytes, std::size_t size) const;

  std::shared_ptr<const RandomAccessFile> m_File;
  bool                                    m_BigEndian{ false };
  bool                                    m_Big{ false };
  bool                                    m_Wide{ false }; // Hamamatsu's dialect
  std::uint64_t                           m_FirstPage{ 0 };
};

/** One page: its tags, its pieces' (tiles' or strips') layout. The pieces' positions are read on request only. */
class TIFFPage
{
public:
  TIFFPage(const TIFFFile & file, std::uint64_t offset, std::uint64_t & next);

  std::size_t
  GetNumberOfEntries() const
  {
    return m_Entries->size();
  }

  const TIFFEntry * Find(TIFFTag tag) const;

  /** First value of an integer tag, or \a otherwise where it is absent. */
  std::uint64_t GetInteger(TIFFTag tag, std::uint64_t otherwise) const;
  double        GetNumber(TIFFTag tag, double otherwise) const;
  /** Text up to its first zero; empty where the tag is absent or no text. */
  std::string GetText(TIFFTag tag) const;
  /** Of a text that may name the page: its start, where it is longer. Thousands of pages may have one long text, which
   * would be read for each of them. */
  std::string GetShortText(TIFFTag tag) const;
  std::string GetBytes(TIFFTag tag) const;

  /** The area of the page in pixels. */
  std::uint64_t
  GetArea() const
  {
    return width * height;
  }

  bool
  IsReduced() const
  {
    return (subfileType & 1) != 0;
  }

  /** Offset and byte count of each piece, rows of pieces one after the other, planes behind each other. Throws where
   * there are fewer than the layout needs. */
  struct Pieces
  {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> sizes;

    bool
    Has(std::uint64_t piece) const
    {
      return sizes[piece] != 0 && offsets[piece] != 0;
    }
  };
  Pieces ReadPieces() const;

  /** The bytes of its pixels, where they are stored as they are and without gaps; 0 where they are not, or the file has
   * fewer. */
  std::uint64_t GetBareBytes() const;

  /** The page that lies so many bytes behind this one, and has no table of its own. */
  TIFFPage MakeFollowing(std::uint64_t bytes) const;

  std::uint64_t width{ 0 };
  std::uint64_t height{ 0 };
  std::uint64_t pieceWidth{ 0 }; // of a tile, or of a strip
  std::uint64_t pieceHeight{ 0 };
  std::uint64_t subfileType{ 0 };
  unsigned      samples{ 1 };
  unsigned      bits{ 1 };
  unsigned      compression{ 1 };
  unsigned      photometric{ 1 };
  unsigned      orientation{ 1 };
  unsigned      predictor{ 1 };
  unsigned      sampleFormat{ 1 };
  unsigned      fillOrder{ 1 };
  bool          tiled{ false };
  bool          separatePlanes{ false };
  bool          uniformBits{ true };

  /** The file that it is a page of. */
  const TIFFFile &
  GetFile() const
  {
    return m_File;
  }

private:
  std::string ReadText(TIFFTag tag, std::uint64_t most) const;

  const TIFFFile &                              m_File;
  std::shared_ptr<const std::vector<TIFFEntry>> m_Entries;    // which thousands of following pages have together
  std::uint64_t                                 m_Shift{ 0 }; // of its pieces, from where the entries say that they are
};

} // namespace gigapixel

#endif
