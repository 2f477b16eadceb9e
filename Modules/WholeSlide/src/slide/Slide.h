/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Slide_h
#define Slide_h

#include "DamagedTiles.h"
#include "channels/SlideChannel.h"
#include "TileCache.h"
#include "codecs/TileDecoder.h"

#include "gigapixelDiagnostic.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gigapixel
{

/** What goes wrong with a slide. */
class SlideError : public Refusal
{
public:
  using Refusal::Refusal;
  SlideError(const std::string & code, const std::string & path, const std::string & why, const std::string & remedy);
};

/** What hinders reading though nothing is wrong with the file, in a few words, and what to do about it. It is not
 * remembered: the next try may succeed. No std::runtime_error, lest another way to read the file is tried. */
class Obstacle
  : public std::exception
  , public Diagnosed
{
public:
  explicit Obstacle(const Diagnostic & diagnostic)
    : Diagnosed(diagnostic)
    , m_Text(diagnostic.GetText())
  {}

  const char *
  what() const noexcept override
  {
    return m_Text.c_str();
  }

private:
  std::string m_Text;
};

/** Rectangle of pixels of one plane. */
struct Rectangle
{
  std::uint64_t x;
  std::uint64_t y;
  std::uint64_t width;
  std::uint64_t height;
};

/** One of several images of a file. */
struct SlideImage
{
  unsigned      number = 1; // from 1
  std::string   name;       // empty for none
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::string   kind; // what it is, for people
  bool          isRead = false;
  bool          isMain = false; // the one that is read where none is asked for
  std::string   reason;         // why it is read, or not

  std::optional<double> depth;     // of a focal plane, in what the file counts it in
  std::size_t           stack = 0; // focal planes with the same number belong together
  std::string           stackName; // of the image that they are planes of; empty for none
};

/** Which image of a file is asked for. */
struct AskedImage
{
  std::string image{}; // name, number (from 1) or marked number; empty: the main one
  // Number (from 1, the lowest), "middle", "max" or "focus"; empty: the one that the image stands for.
  std::string plane{};

  bool
  IsEmpty() const
  {
    return image.empty() && plane.empty();
  }

  bool
  operator<(const AskedImage & other) const
  {
    return std::tie(image, plane) < std::tie(other.image, other.plane);
  }
};

/** The property of slides that says how many micrometers focal planes are apart. */
constexpr const char * FocalPlaneSpacing = "gigapixel.focal-plane-spacing";

/** Stands before the number of a channel or an image ("number:2") where names may be numbers. */
constexpr const char * NumberMark = "number:";

/** Which channels are read, and how. */
struct ChannelChoice
{
  std::vector<std::string>
              channels{};         // names, numbers from 1 or marked numbers, in the order that is wanted; none: all
  std::string window{};           // "LOW,HIGH" or "auto": samples become 8 bit; empty: as stored
  bool        isPicture{ false }; // of one channel gray, of several their colors added up

  bool
  operator<(const ChannelChoice & other) const
  {
    return std::tie(channels, window, isPicture) < std::tie(other.channels, other.window, other.isPicture);
  }
};

/** Hears which share is done of what opening a slide takes beside reading what the file says of itself, on the thread
 * that opens it. It may throw, which ends it. */
using OpeningProgress = std::function<void(double)>;

/** What one sample of a pixel is. */
enum class SampleType
{
  UInt8,
  UInt16,
  Float32,
  Int8, // this one and the others below only of labels
  Int16,
  UInt32,
  Int32,
  UInt64,
  Int64,
  Float64
};

class ColorTransform;
class TIFFLayout;
enum class TIFFReading;

/** How pixels are wanted. */
struct Rendering
{
  Rendering(unsigned wanted) // a number alone is what nearly all want
    : channels(wanted)
  {}

  unsigned               channels;            // 1 or 3 of a picture, else as many as the plane has
  bool                   grayFromRGB = false; // else gray is what the codec has: of YCbCr the luma as it is stored
  const ColorTransform * toSRGB = nullptr;    // where the plane has colors: applied to them, also on the way to gray
  bool                   unscannedAsBackground = false; // tiles that are not stored show the background color
  bool                   strict = false;                // a tile that is damaged is an error, though it gives pixels
};

/** A picture cut into tiles of one size, all but those at the right and bottom edge wholly inside it. */
struct SlidePlane
{
  std::uint64_t              width = 0;
  std::uint64_t              height = 0;
  std::uint32_t              tileWidth = 0;
  std::uint32_t              tileHeight = 0;
  unsigned                   channels = 3; // what is stored, hence what is read unless gray is asked for
  SampleType                 sample = SampleType::UInt8;
  bool                       hasDyes = false;  // channels show one dye each, and are no colors, even if they are three
  bool                       hasAlpha = false; // pixels say one by one whether they were scanned
  bool                       holdsLabels = false; // values that have no mean
  double                     downsample = 1.0;    // of a level
  std::string                name;                // of an associated image
  std::vector<unsigned char> emptyPixel;    // samples of tiles that are not stored; none: the background color, or 0
  unsigned                   reduction = 1; // more: decoded smaller, by 2, 4 or 8, from the level `source`
  unsigned                   source = 0;

  /** Gray or RGB of 8 bit, which each can be had as the other. Anything else is only read as it is stored. */
  bool
  IsPicture() const
  {
    return sample == SampleType::UInt8 && (channels == 1 || channels == 3) && !hasDyes;
  }
  unsigned
  GetSampleBytes() const
  {
    constexpr unsigned bytes[] = { 1, 2, 4, 1, 2, 4, 4, 8, 8, 8 };
    return bytes[static_cast<unsigned>(sample)];
  }
  std::uint64_t
  GetTilesAcross() const
  {
    return (width + tileWidth - 1) / tileWidth;
  }
  std::uint64_t
  GetTilesDown() const
  {
    return (height + tileHeight - 1) / tileHeight;
  }
};

/** Of a tile that cannot be read or decoded, where that is the file's fault. */
constexpr const char * DamagedTileRemedy = "get the file again from where it came, or leave that region out";

/** An open slide: levels (finest first), reduced levels and associated images as planes of tiles, and its properties.
 *
 * A reduced level is one that the file does not hold: its tiles are those of a level, decoded at 1/2, 1/4 or 1/8 by the
 * codec, which is faster than decoding and averaging. It has ceil(size / reduction) pixels. The pixels of JPEG are
 * those that libjpeg's scaled inverse DCT gives, those of JPEG 2000 are the lower resolution of its wavelet pyramid. A
 * pixel whose block reaches beyond the picture's right or bottom edge is the mean of the block's pixels inside it,
 * rounded, whatever the encoder put beyond the edge.
 *
 * A tile whose compressed bytes are damaged gives pixels where its codec gets over it, as in other readers; the slide
 * counts such tiles and keeps what is wrong with them.
 *
 * After its constructor nothing else of a slide changes; all its functions may be called by any number of threads. */
class Slide
{
public:
  Slide(const Slide &) = delete;
  Slide & operator=(const Slide &) = delete;
  virtual ~Slide();

  /** The slide of this file: the one that is open already, if the file has not changed since, else a new one. Throws
   * SlideError.
   * \param reading Labels: the values of a TIFF are those that are stored, and not colors */
  static std::shared_ptr<const Slide> Open(const std::string & path,
                                           const AskedImage &  image = {},
                                           TIFFReading         reading = {}); // Colors

  /** As above, of channels that are chosen: see ChannelView. */
  static std::shared_ptr<const Slide> Open(const std::string &     path,
                                           const AskedImage &      image,
                                           TIFFReading             reading,
                                           const ChannelChoice &   choice,
                                           const OpeningProgress & progress = {});

  /** Whether a reader that serves all TIFFs and slides by default should take this file; see
   * itk::WholeSlideImageIO::CanReadFile(). Never throws. */
  static bool IsClaimed(const std::string & path) noexcept;

  const std::string &
  GetPath() const
  {
    return m_Path;
  }

  /** Levels first, then reduced levels, then associated images. */
  const std::vector<SlidePlane> &
  GetPlanes() const
  {
    return m_Planes;
  }
  /** Levels that the file holds. */
  unsigned
  GetNumberOfLevels() const
  {
    return m_NumberOfLevels;
  }
  unsigned
  GetNumberOfReducedLevels() const
  {
    return m_NumberOfReducedLevels;
  }
  /** The level that statistics of all samples are of: the coarsest stored one of a megapixel or more, else the finest.
   */
  unsigned GetMeasuredLevel() const;

  /** All images of the file; empty where it has no more than one. */
  const std::vector<SlideImage> &
  GetImages() const
  {
    return m_Images;
  }

  /** The channels that are read: what the file says, else the names red, green and blue, gray, or channel1 and so on.
   */
  std::vector<SlideChannel> GetChannels() const;

  /** Whether the file says anything of its channels, or they were chosen. */
  bool
  DescribesChannels() const
  {
    return !m_Channels.empty();
  }

  /** Which channels are read and how, by numbers, where they were chosen: all that decides on pixels. Else empty. */
  virtual std::string GetChannelChoice() const;

  /** The same for people, a line for each channel: its name, and its window where there is one. */
  virtual std::string DescribeChannelChoice() const;

  /** The channels, with their colors, that pixels are sums of; empty where pixels are no such picture. */
  virtual std::vector<SlideChannel> GetAddedChannels() const;

  const std::map<std::string, std::string> &
  GetProperties() const
  {
    return m_Properties;
  }
  const std::string &
  GetColorProfile() const
  {
    return m_ColorProfile;
  }
  const std::string &
  GetDecoder() const
  {
    return m_Decoder;
  }
  /** What the user should know about this file. */
  const std::vector<Diagnostic> &
  GetWarnings() const
  {
    return m_Warnings;
  }
  /** Of the warnings those that name a file which may be a part of the slide and cannot be read: nobody knows what is
   * missing, so that those who are strict get the first one as an error. */
  const std::vector<Diagnostic> &
  GetMissingParts() const
  {
    return m_MissingParts;
  }

  /** Damaged tiles of levels and associated images among those that were read since the slide was opened, by whomever;
   * each counts once. */
  std::uint64_t
  GetNumberOfDamagedTiles() const
  {
    return m_DamagedTiles->GetCount();
  }

  /** A warning for each of them that nobody has been told of, by levels and then row by row; of all together there are
   * a few, the last of which says that the others are only counted. */
  std::vector<Diagnostic> TakeDamageWarnings() const;

  /** Micrometers per pixel at level 0 in x and y; {0, 0} = unknown or implausible. */
  std::array<double, 2>
  GetMicronsPerPixel() const
  {
    return m_MicronsPerPixel;
  }

  /** Where the center of the first pixel of level 0 stands, in mm: (0, 0) in slides, and where the region stood that
   * was written in our own pyramids. */
  std::array<double, 2>
  GetOrigin() const
  {
    return m_Origin;
  }

  /** Of a TIFF whose tiles are what its tags say and can be copied as they are; else null. */
  virtual std::shared_ptr<const TIFFLayout> GetTIFFLayout() const;

  /** Pixels of the rectangle, which lies inside the plane, into `out`: rows without gaps, samples in the byte order of
   * this machine. Only the tiles that the rectangle touches are read, each once; they are shared among `threads`
   * threads. Where rectangles follow each other downwards, the file's bytes of the next one are asked of the system
   * beforehand. Throws SlideError; where several tiles fail, that of the first one, row by row. */
  void ReadRegion(unsigned          plane,
                  const Rectangle & rectangle,
                  const Rendering & rendering,
                  unsigned char *   out,
                  unsigned          threads) const;

  /** Asks the system for the file's bytes of the rectangle, which lies inside the plane and is read soon; does not
   * wait.
   */
  void ReadAhead(unsigned plane, const Rectangle & rectangle) const;

  /** Decodes the tiles that are stored of the plane and whose first row is one of `height` rows from `y`, and goes on
   * where one cannot be decoded. \return an error for each that cannot be, row by row */
  std::vector<Diagnostic> FindUndecodableTiles(unsigned          plane,
                                               std::uint64_t     y,
                                               std::uint64_t     height,
                                               const Rendering & rendering,
                                               unsigned          threads) const;

  /** 255 where the rectangle was scanned, 0 where not, into `scanned`; returns whether it was everywhere. */
  bool ReadScanned(unsigned plane, const Rectangle & rectangle, unsigned char * scanned) const;

  /** What a thread keeps beside the pixels of the plane's tiles that it decodes: bytes and samples as they are stored.
   * Unless overridden: 0. */
  virtual std::size_t GetDecodingBytes(unsigned plane) const;

protected:
  explicit Slide(std::string path);

  /** False where the file holds nothing for the tile: nobody scanned it. */
  virtual bool HasTile(unsigned plane, std::uint64_t tile) const = 0;

  /** Fills `out` (tileWidth x tileHeight of the plane, 1 or 3 channels) with the tile; beyond the plane's edges
   * anything. Where the plane has alpha and `scanned` is not null, sets it as in DecodedTile. Throws std::exception
   * with what is wrong in a few words. Unless overridden: DecodeReducedTile() by 1.
   * \return what is damaged, in a few words, where the codec gave pixels all the same; empty: nothing */
  virtual std::string DecodeTile(unsigned                           plane,
                                 std::uint64_t                      tile,
                                 const PixelSpan &                  out,
                                 std::unique_ptr<unsigned char[]> * scanned) const;

  /** As DecodeTile(), of a level, smaller by `reduction`: only called for what GetLargestReduction() allows. */
  virtual std::string DecodeReducedTile(unsigned          plane,
                                        std::uint64_t     tile,
                                        unsigned          reduction,
                                        const PixelSpan & out) const;

  /** As DecodeTile(), of samples of these channels alone, as they are stored. Unless overridden, all are decoded. */
  virtual std::string DecodeChannels(unsigned                           plane,
                                     std::uint64_t                      tile,
                                     const std::vector<unsigned> &      channels,
                                     const PixelSpan &                  out,
                                     std::unique_ptr<unsigned char[]> * scanned) const;

  /** By how much the codec of the plane can decode its tiles smaller: 1 (not), 2, 4 or 8. */
  virtual unsigned GetLargestReduction(unsigned plane) const;

  /** Says to the system that the tiles from `first` to `last` of a row of tiles are wanted soon. */
  virtual void Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const;

  /** Sets the downsamples of the levels from their sizes: integers, where the sizes allow. */
  void SetDownsamples();

  /** Adds reduced levels where the levels leave gaps. After SetDownsamples(), before associated images are added. */
  void AddReducedLevels();

  /** Whether a slide may have this resolution, in micrometers per pixel. */
  static bool IsPlausible(double x, double y);

  /** Sets the resolution, or a warning where it is implausible (outside 0.05 to 20 micrometers per pixel); from 8 on it
   * is set with a warning. That of our own pyramids is what somebody asked for, plausible or not. */
  void SetMicronsPerPixel(double x, double y, bool isOwn = false);

  /** Every pixel the background color, or 0 where it is no picture. */
  void FillBackground(const PixelSpan & out, bool isPicture) const;

  /** From openslide.background-color, RRGGBB; white without it. */
  void SetBackground();

  std::string                        m_Path;
  std::vector<SlidePlane>            m_Planes;
  std::vector<SlideImage>            m_Images;
  std::vector<SlideChannel>          m_Channels; // those that the file says something of
  unsigned                           m_NumberOfLevels{ 0 };
  unsigned                           m_NumberOfReducedLevels{ 0 };
  std::map<std::string, std::string> m_Properties;
  std::string                        m_ColorProfile;
  std::string                        m_Decoder;
  std::vector<Diagnostic>            m_Warnings;
  std::vector<Diagnostic>            m_MissingParts;
  std::array<double, 2>              m_Origin{ { 0.0, 0.0 } };
  std::array<unsigned char, 3>       m_Background{ { 255, 255, 255 } };

private:
  friend class ChannelView; // whose tiles are those of another slide
  friend class FocalStack;  // or of several
  friend class ChannelSet;
  struct Placement;

  void               RenderTile(unsigned          plane,
                                std::uint64_t     tile,
                                const Placement & placement,
                                const Rendering & rendering,
                                unsigned char *   out) const;
  void               ReadTile(unsigned          plane,
                              std::uint64_t     tile,
                              const Placement & placement,
                              const Rendering & rendering,
                              unsigned char *   out) const;
  void               DecodeInto(unsigned                           plane,
                                std::uint64_t                      tile,
                                const PixelSpan &                  out,
                                std::unique_ptr<unsigned char[]> * scanned) const;
  DecodedTilePointer DecodeWhole(unsigned plane, std::uint64_t tile, const PixelSpan & target) const;
  DecodedTilePointer GetTile(unsigned plane, std::uint64_t tile, unsigned channels) const;
  void               DecodeMeasured(unsigned                      plane,
                                    std::uint64_t                 tile,
                                    const std::vector<unsigned> & channels,
                                    const PixelSpan &             out) const;
  [[noreturn]] void  RefuseTile(unsigned plane, std::uint64_t tile, const std::exception & error) const;
  std::string        DecodeReduced(const SlidePlane & of, std::uint64_t tile, const PixelSpan & out) const;
  void               AverageEdgeBlocks(const SlidePlane & of, std::uint64_t tile, const PixelSpan & out) const;
  unsigned           GetSource(unsigned plane) const;
  std::string        DescribeTile(unsigned plane, std::uint64_t tile) const;
  void               RefuseDamaged(unsigned plane, std::uint64_t tile) const;
  void               FillEmpty(const SlidePlane & of, bool asBackground, const PixelSpan & out) const;
  void               CheckRectangle(unsigned plane, const Rectangle & rectangle) const;
  void               CheckChannels(unsigned plane, unsigned channels) const;
  void               FollowStream(unsigned plane, const Rectangle & rectangle) const;
  void PrefetchRows(unsigned plane, const Rectangle & columns, std::uint64_t first, std::uint64_t end) const;

  std::uint64_t                      m_Number;
  mutable std::atomic<std::uint64_t> m_StreamBottom{ 0 }; // where the last rectangle ended, of any plane
  std::shared_ptr<DamagedTiles>      m_DamagedTiles{ std::make_shared<DamagedTiles>() }; // by the plane that is stored
  std::array<double, 2>              m_MicronsPerPixel{ { 0.0, 0.0 } };
};

} // namespace gigapixel

#endif
