/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkWholeSlideImageIO_h
#define itkWholeSlideImageIO_h

#include "GigapixelWholeSlideExport.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelSlideContent.h"
#include "itkGigapixelOptionMacros.h"
#include "itkImageIOBase.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{
class ColorTransform;
class ResampledLevel;
class Slide;
struct Rendering;
struct SlidePlane;
} // namespace gigapixel

namespace itk
{
/** \class WholeSlideImageIO
 * \brief Reads whole-slide images, region by region, at any level of their pyramid.
 *
 * Aperio SVS and tiled (Big)TIFF are read by decoding their tiles directly (JPEG, JPEG 2000, deflate, LZW, zstd, WebP,
 * PackBits, none), Philips TIFF among them and Ventana TIFF and BIF whose tiles do not overlap, as are Hamamatsu NDPI
 * and DICOM whole-slide images (the files of a series that lie in one folder; any of them is named); everything else
 * that OpenSlide opens is read through OpenSlide. GetDecoder() says which it was.
 *
 * What comes out:
 * - two dimensions; RGB or one component of unsigned char; what is stored otherwise comes as it is: 16 bit and float
 *   samples, and any number of channels (one page each in OME-TIFF; of TIFF also three or four samples that no tag
 * makes colors or alpha) as vectors. Those are never made RGB or gray. Alpha is composited onto the file's background
 * color (white where it names none). SetGray() and SetConvertToSRGB() say what else is made of colors.
 * - spacing in mm, from the file's resolution. A resolution outside 0.05 to 20 micrometers per pixel at level 0 is
 *   taken for unknown with a warning (scanners and converters write such nonsense); unless
 *   SetLevelZeroMicronsPerPixel() says better, the spacing is then 1 at level 0 and the downsample at the others.
 * - origin: the center of the level's first pixel, (downsample - 1) / 2 times the spacing of level 0, so that all
 *   levels cover the same rectangle. Downsamples that are integers up to rounding of the level's size are integers.
 * - the orientation tag of TIFF is neglected, as by OpenSlide: pixels come in the order in which they are stored. The
 *   tag is in the dictionary ("tiff.Orientation") and one other than 1 is warned of.
 *
 * The meta data dictionary holds strings: all properties under OpenSlide's names (openslide.vendor, openslide.mpp-x,
 * openslide.objective-power, openslide.bounds-x, aperio.*, tiff.* ...), "gigapixel.decoder",
 * "gigapixel.associated-images" and "gigapixel.channel-names" (one per line; the latter of OME-TIFF),
 * "gigapixel.channel.N" with what the file says of channel N, as itk::PyramidTIFFImageIO takes it, and "ICCProfile"
 * (the color profile, base64).
 *
 * Where a file of JPEG or JPEG 2000 tiles has no level of 1/2, 1/4 or 1/8 of one that it has, there are reduced
 * levels, numbered behind the stored ones: the codec decodes the tiles smaller (JPEG by libjpeg's scaled inverse DCT,
 * JPEG 2000 at a lower resolution of its wavelets), which costs a fraction. 1/8 of JPEG is within 2 of 255 of the
 * rounded mean of 8 x 8 pixels on H&E slides. Their sizes are rounded up; a pixel at the right or bottom edge whose
 * block is cut there is the rounded mean of what lies inside. SetDownsample() chooses them too.
 *
 * SetLevel() reads the pixels of a level. SetMicronsPerPixel() reads pixels of exactly that resolution, whatever levels
 * there are: means of areas of the next finer stored level. Labels are picked, never averaged.
 *
 * Files stay open between reads, and are shared by all objects that read the same file, as is the cache of decoded
 * tiles. Regions may be read in any order and any division: the pixels are the same to the bit. Set the level before
 * the reader updates; after changing it call Modified() of the reader.
 *
 * Errors are itk::ExceptionObject with one sentence: the file, what is wrong with it, what to do. A JPEG tile that is
 * damaged in a way that other readers get over (it ends early, bytes between markers, a Huffman code that is none) is
 * no error unless Strict is on: its pixels are what libjpeg makes of it. ITK's warning display names the first five of
 * a slide, with level, column, row and what libjpeg says: see ReportDamage(); GetNumberOfDamagedTiles() counts all.
 * itk::PyramidTIFFImageIO writes the number into its files where it is told the slide. Of tiles that OpenSlide decodes
 * nothing is known.
 *
 * \ingroup IOFilters
 */
class GigapixelWholeSlide_EXPORT WholeSlideImageIO : public ImageIOBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(WholeSlideImageIO);

  using Self = WholeSlideImageIO;
  using Superclass = ImageIOBase;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(WholeSlideImageIO, ImageIOBase);

  /** Width and height in pixels. */
  using LevelSizeType = std::array<SizeValueType, 2>;

  /** Resolutions that differ by less count as one where a level is chosen: what is sold as 20x is 0.45 to 0.55
   * micrometers a pixel, by the scanner. Pixels may be finer than level 0 by so much. */
  static constexpr double ResolutionTolerance = 0.1;

  /** Reads level \a level, 0 (the default) being the finest; the numbers behind GetNumberOfLevels() are the reduced
   * levels. Of SetLevel(), SetDownsample() and SetMicronsPerPixel()
   * the one called last counts. A level that the slide does not have is an error of ReadImageInformation(). */
  void SetLevel(unsigned int level);

  /** Reads the coarsest level, be it a reduced one, that is not coarser than \a downsample (> 0, relative to level 0;
   * ResolutionTolerance). */
  void SetDownsample(double downsample);

  /** Reads pixels of \a micronsPerPixel (> 0) along x and y. Each is the mean of the area that it covers in the
   * coarsest stored level that is not coarser; what it covers partly counts partly. The first pixel begins where the
   * slide begins. The size is that of the level divided by the factor, rounded up; a last row or column of which 1 % or
   * less lies on the slide is left out. A level whose grid differs by less than half a pixel over the whole slide is
   * read as it is stored. Labels (StoredValues, PickPixels, a palette, one bit, masks of ours) get the value at the
   * pixel's center.
   *
   * Regions have the same pixels as the whole, to the bit. A thread needs some megabytes, whatever the resolution.
   *
   * \param tolerance relative to \a micronsPerPixel, from 0 to below 1: 0.1 is 10 %. A level, stored or reduced, that
   * differs by so much or less in x and in y is read as it is.
   *
   * Other values of either are refused (E-OPTION-VALUE). An error of ReadImageInformation() (E-SLIDE-RESOLUTION) where
   * the slide's resolution is unknown, or more than ResolutionTolerance coarser. */
  void SetMicronsPerPixel(double micronsPerPixel, double tolerance = 0.0);

  /** Reads as \a other does: its file, image, pixels and colors. It gives no warnings: \a other does. */
  void CopySettings(const Self & other);

  /** Image, focal plane, channels, window and stated resolution at once: of each entry of gigapixelSlideOptionList.h
   * that is of the file itself. @{ */
#ifndef ITK_WRAPPING_PARSER // it knows no structures
  itkGigapixelOptionMacro(gigapixel::SlideContent, Content, m_Content);
#endif
  /** @} */

  /** The resolution of level 0 in micrometers per pixel where the file says none, or nonsense; 0 (the default): unknown
   * then. What a file says plausibly stays, so that one word serves a folder of mixed slides. */
  itkGigapixelOptionMacro(double, LevelZeroMicronsPerPixel, m_Content.levelZeroMicronsPerPixel);

  /** One component instead of three: Rec. 601 luma, rounded. From YCbCr JPEG that is the luma channel itself, without
   * decoding the colors; else (0.299 R + 0.587 G + 0.114 B) in 16-bit fixed point, as libjpeg computes it. Default off.
   */
  itkSetMacro(Gray, bool);
  itkGetConstMacro(Gray, bool);
  itkBooleanMacro(Gray);

  /** Gray is computed from the decoded RGB always, whatever the codec, as other programs do it. Default off, because it
   * costs the decoding of colors and differs only where YCbCr lies outside of what RGB can hold, and by the rounding of
   * RGB: on two H&E slides, one real, in 2 % and 0.04 % of the pixels, by at most 22 and 14 of 255; 0.05 % and less
   * than 0.0001 % of them lie on different sides of 230 then. */
  itkSetMacro(GrayFromRGB, bool);
  itkGetConstMacro(GrayFromRGB, bool);
  itkBooleanMacro(GrayFromRGB);

  /** Colors of levels are converted to sRGB by the slide's ICC profile (Little CMS, perceptual intent), also on the way
   * to gray; the dictionary has "gigapixel.colors" (sRGB) then instead of the profile. Nothing changes where the slide
   * has no profile or no colors. ReadImageInformation() throws where the profile is damaged or not one of RGB. Default
   * off: pixels as they are stored, which most networks and thresholds were made for. */
  itkSetMacro(ConvertToSRGB, bool);
  itkGetConstMacro(ConvertToSRGB, bool);
  itkBooleanMacro(ConvertToSRGB);

  /** Reads a TIFF as a mask: one component of the stored type, whose values are those of the file. A palette gives its
   * indices, one bit gives 0 and 1, and min-is-white is not inverted. Integers of 8 to 64 bit, with or without sign,
   * and floats are read. Default off. */
  itkSetMacro(StoredValues, bool);
  itkGetConstMacro(StoredValues, bool);
  itkBooleanMacro(StoredValues);

  /** Values are labels, though the file does not say so: SetMicronsPerPixel() picks them. Default off. */
  itkSetMacro(PickPixels, bool);
  itkGetConstMacro(PickPixels, bool);
  itkBooleanMacro(PickPixels);

  /** Tiles that the file does not hold get the background color (white where it names none) in all pictures. Default
   * off: in gray pictures and those with a palette such a tile means 0, as in GDAL and libtiff, or the value of the tag
   * GDAL_NODATA. */
  itkSetMacro(UnscannedAsBackground, bool);
  itkGetConstMacro(UnscannedAsBackground, bool);
  itkBooleanMacro(UnscannedAsBackground);

  /** A damaged tile that is read is an error (see above), also where another reader has decoded it before, and so is a
   * file beside a DICOM slide that may be part of it and cannot be read. Default: as SetGlobalDefaultStrict() says. */
  itkSetMacro(Strict, bool);
  itkGetConstMacro(Strict, bool);
  itkBooleanMacro(Strict);

  /** Whether ReadImageInformation() gives the warnings about a file, once for each object and file. Default on; off in
   * further objects that read the same file. */
  itkSetMacro(GiveWarnings, bool);
  itkGetConstMacro(GiveWarnings, bool);
  itkBooleanMacro(GiveWarnings);

  /** Whether objects that are made from now on, by whomever, are strict. Default: false. */
  static void SetGlobalDefaultStrict(bool strict);
  static bool GetGlobalDefaultStrict();

  /** Version of the OpenSlide that opens what is not decoded here; empty where it cannot be asked: its library does not
   * load, from where GIGAPIXEL_OPENSLIDE says or from the system's folders, or GetOpenSlideReader() is empty. */
  static std::string GetOpenSlideVersion();

  /** Why OpenSlide cannot be asked, and what to do about it, as a sentence; empty where GetOpenSlideVersion() is not:
   * the program is missing, cannot be started, ends at once or is of another version, or the library does not load. */
  static std::string GetOpenSlideProblem();

  /** The program that OpenSlide runs in, a process for each slide that it opens: a damaged slide may end it. Empty
   * where the program is not installed, beside the library; what only OpenSlide opens is refused then. */
  static std::string GetOpenSlideReader();

  /** Keeps what OpenSlide and the libraries below it say from the standard error: for programs, as errors come as
   * exceptions. */
  static void SilenceOpenSlide();

  /** For programs that a signal asks to end: where `isRequested` returns true, an answer of OpenSlide that takes more
   * than a second is not waited for any longer, be it stopped or its disk slow, and reading throws
   * itk::ExceptionObject. Else it may take a minute. The function is called by any thread, ten times a second while
   * one waits. Null, the default: answers are always waited for. */
#ifndef ITK_WRAPPING_PARSER // it knows no pointers to functions
  static void SetInterruptionOfOpenSlide(bool (*isRequested)());
#endif
  /** Reads the image with this number (from 1) or name, where the file has several (channels, focal planes, areas): see
   * GetImages(). Empty, the default: the main image. One that the file does not have is an error of
   * ReadImageInformation() with the code E-SLIDE-IMAGE. CanReadFile() looks at the main image alone. */
  itkGigapixelOptionMacro(std::string, Image, m_Content.image);

  /** Reads a focal plane of the image, by its number from the lowest (from 1), "middle", "max" (the maximum of all
   * planes) or "focus" (the sharpest pixels of all). Empty, the default: the plane that the image is, or the one
   * nearest to the focus. One that the file does not have is an error as above. */
  itkGigapixelOptionMacro(std::string, FocalPlane, m_Content.plane);

  /** \name Channels
   * Reads channels by name or number (from 1; a name comes first, "number:2" is always a number), in this order. None,
   * the default: all. Without a window samples come as they are stored; one channel of 8 bit is gray then, several are
   * vectors. An unknown name or number, a name that several channels have, and a channel that is named twice are errors
   * of ReadImageInformation() (E-SLIDE-CHANNEL). Associated images are read as they are. @{ */
  itkGigapixelOptionMacro(std::vector<std::string>, Channels, m_Content.channels);

  /** Makes samples of 8 bit of those from LOW up to HIGH ("LOW,HIGH"): 255 (s - LOW) / (HIGH - LOW), rounded, halves
   * up, from 0 to 255. "auto": the 0.1 and 99.9 percentile of each channel (as numpy.percentile) on the coarsest stored
   * level of a million pixels or more, else on the finest; the same for all regions and levels. Both the same: what is
   * above is 255. Empty, the default: samples as they are stored, except for SetAsPicture(). Samples are unsigned ones
   * of 8 or 16 bit, or floats; channels are at most 64. ReadImageInformation() reads that level where nobody has
   * before: it invokes ProgressEvent, and throws ProcessAborted where an observer calls AbortGenerateDataOn(). */
  itkGigapixelOptionMacro(std::string, Window, m_Content.window);

  /** Channels become a picture of 8 bit: one is gray, several are their colors added up (as the file says them, else
   * blue, green, red, cyan, magenta, yellow, white in turn), each times its sample, and 7 / n of n > 7 channels:
   * min(255, floor((sum(color * sample) + 127) / 255)). Without a window: "auto". Where none is chosen, all channels
   * with signal, whose samples differ on that level, are used, with a warning (W-SLIDE-CHANNELS-ALL). Gray and RGB of 8
   * bit stay as they are, unless channels or a window are chosen. Default: off. */
  itkSetMacro(AsPicture, bool);
  itkGetConstMacro(AsPicture, bool);
  itkBooleanMacro(AsPicture);

  /** Which channels are read and how, as part of how an output was made; empty where none of the above changes pixels.
   * After ReadImageInformation(). */
  std::string GetChannelChoice() const;

  /** The same for people: a line for each channel, its name and its window. */
  std::string DescribeChannelChoice() const;

  /** One of the channels that are read, as the file describes it. */
  struct ChannelEntry
  {
    std::string name;       ///< as the file has it; may be empty
    std::string color;      ///< "#rrggbb"; empty: not said
    double      excitation; ///< nanometers; 0: not said
    double      emission;   ///< nanometers; 0: not said
  };
#ifndef ITK_WRAPPING_PARSER // it knows no vectors of structures
  std::vector<ChannelEntry> GetChannelEntries() const;
  /** The channels whose colors a picture of several is the sum of, as said or chosen; empty for all else. */
  std::vector<ChannelEntry> GetAddedChannels() const;
#endif
  /** @} */

  /** Reads the associated image of this name ("label", "macro", "thumbnail", ...) instead of a level; empty, the
   * default, reads the slide. */
  itkSetStringMacro(AssociatedImage);
  itkGetStringMacro(AssociatedImage);

  /** \name What the slide is; after ReadImageInformation(). @{ */
  std::vector<std::string> GetAssociatedImageNames() const;

  /** One of the images of a file: number (from 1), name (may be empty), size, what it is, whether it is read, and why.
   */
  struct ImageEntry
  {
    unsigned int  number; ///< from 1
    std::string   name;   ///< may be empty
    LevelSizeType size;   ///< pixels of its finest level
    std::string   kind;   ///< what the image is, for people
    bool          isRead; ///< whether SetImage() can select it
    std::string   reason; ///< why it is not read; empty: it is
  };
#ifndef ITK_WRAPPING_PARSER // it knows no vectors of structures
  std::vector<ImageEntry> GetImages() const;
#endif
  std::vector<std::string> GetImageNames() const;
  unsigned int             GetNumberOfLevels() const;
  unsigned int             GetNumberOfReducedLevels() const;
  /** The level that the window "auto" is of, and so are the statistics of what networks normalize. */
  unsigned int  GetMeasuredLevel() const;
  LevelSizeType GetLevelSize(unsigned int level) const;
  /** Pixels of level 0 along a side of one, mean of x and y. */
  double GetLevelDownsample(unsigned int level) const;
  /** Along x and y, which differ where level 0 has no square pixels and SetMicronsPerPixel() makes them square. */
  std::array<double, 2> GetLevelDownsamples(unsigned int level) const;
  /** The pieces in which a level is stored and decoded: tiles, or strips of its whole width. */
  LevelSizeType GetLevelTileSize(unsigned int level) const;
  /** What a thread that decodes them keeps beside their pixels: bytes and samples as they are stored. Where pixels are
   * resampled, also those that it averages. */
  SizeValueType GetDecodingBytes(unsigned int level) const;
  /** The coarsest level, stored or reduced by the codec, whose pixels, taken in whole blocks, make exactly the grid
   * that is \a downsample times coarser than level 0: the least to decode for it. Level 0 always does. The side of a
   * block is \a downsample / GetLevelDownsample() to the nearest. \param downsample pixels of level 0 along a side of
   * one of the grid, 1 or more */
  unsigned int GetLevelForBlocks(SizeValueType downsample) const;

  /** The level that is read; 0 for an associated image. Where pixels are resampled, a number behind all levels, with
   * which all functions that ask for a level work. */
  unsigned int GetLevel() const;

  /** Whether pixels are resampled, as no level has the resolution of SetMicronsPerPixel(). */
  bool IsResampled() const;

  /** The level that is read, or that resampled pixels are made of. */
  unsigned int GetSourceLevel() const;

  /** Mean of x and y at the level that is read; 0 = unknown. */
  double GetMicronsPerPixel() const;

  /** Micrometers per pixel of level 0 in x and y, which differ where pixels are not square; {0, 0}: unknown. */
  std::array<double, 2> GetLevelZeroResolution() const;

  /** As OpenSlide names it: "aperio", "generic-tiff", "hamamatsu", ... */
  std::string GetVendor() const;

  /** How pixels are got, e.g. "tiles (JPEG)" or "OpenSlide 3.4.1". */
  std::string GetDecoder() const;

  /** Damaged tiles (see above) of the slide among those that were read since it was opened: by this object and by all
   * others that read it meanwhile, at any level and of associated images. Each counts once. */
  SizeValueType GetNumberOfDamagedTiles() const;
  /** @} */

  /** Names the damaged tiles that were read and not named yet in ITK's warnings, by levels and then row by row, five of
   * a slide. Read() does so, and so do ReadImageInformation() and the destructor for what ReadRegion() has read: which
   * ones are named must not depend on which of several threads comes first. Does nothing where Strict is on. */
  void ReportDamage() const;

  /** Decodes the tiles that are stored of level \a level and whose first row is one of \a height rows from \a y, on as
   * many threads as ITK uses by default, and goes on where one cannot be decoded (or, if Strict is on, is damaged).
   * \return an error for each of those, row by row. Bands one below the other look at each tile once. */
  std::vector<gigapixel::Diagnostic> FindUndecodableTiles(unsigned int  level,
                                                          SizeValueType y,
                                                          SizeValueType height) const;

  /** Reads the rectangle \a x, \a y, \a width, \a height (pixels of \a level, which lie inside it) into \a out: rows
   * without gaps, \a channels interleaved (1 gray, 3 RGB, as GrayFromRGB and ConvertToSRGB say; of what is no picture
   * of 8 bits just as many as it has, its samples in this machine's byte order). After ReadImageInformation(); any
   * number of threads may call it at once. The caller's thread decodes. Throws if the rectangle is not inside the level
   * or a tile is damaged; then \a out is undefined. */
  void ReadRegion(unsigned int    level,
                  SizeValueType   x,
                  SizeValueType   y,
                  SizeValueType   width,
                  SizeValueType   height,
                  unsigned int    channels,
                  unsigned char * out) const;

  /** Says that the rectangle, which lies inside the level, will be read soon: the system is asked to bring the file's
   * bytes meanwhile. Does not wait. What another library reads (OpenSlide) is not known, and nothing is done.
   * Thread-safe as ReadRegion(). */
  void ReadAhead(unsigned int level, SizeValueType x, SizeValueType y, SizeValueType width, SizeValueType height) const;

  /** Marks which pixels of the rectangle were scanned (255) and which are background that no camera saw (0): tiles that
   * are absent from the file, pixels with alpha 0. Returns true when all were scanned. Thread-safe as ReadRegion(). */
  bool ReadScanned(unsigned int    level,
                   SizeValueType   x,
                   SizeValueType   y,
                   SizeValueType   width,
                   SizeValueType   height,
                   unsigned char * scanned) const;

  /** Bytes of decoded tiles that this process keeps, over all slides and readers; the longest unused go first. Default
   * 128 MiB: two rows of 256-pixel tiles, RGB, over a level 80000 pixels wide, so that streamed strips that are not
   * aligned to tiles decode none twice. A single tile that is larger is kept until another one is decoded. 0 keeps
   * none. */
  static void   SetTileCacheLimit(size_t bytes);
  static size_t GetTileCacheLimit();

  /** What the cache did since the process began; bytes and tiles are those that it holds now. */
  struct TileCacheStatistics
  {
    size_t        bytes;     ///< of all tiles that are kept
    size_t        tiles;     ///< number of tiles that are kept
    std::uint64_t hits;      ///< tiles that were there
    std::uint64_t waits;     ///< tiles that another thread was just decoding
    std::uint64_t misses;    ///< tiles that were decoded
    std::uint64_t evictions; ///< tiles that went because of the limit
  };
  static TileCacheStatistics GetTileCacheStatistics(); ///< over all slides and readers of this process

  /** True for vendors' slides (Aperio, and all that OpenSlide knows), and for tiled TIFFs of 8 bit and one or three
   * channels whose further pages are reduced or associated images. Every other TIFF is left to other readers, but is
   * read when this class is asked for by name. Never throws; decodes nothing. */
  bool CanReadFile(const char * fileName) override;

  bool
  CanStreamRead() override
  {
    return true;
  }

  void ReadImageInformation() override;

  /** Decodes the tiles that the IO region touches, on as many threads as ITK uses by default. */
  void Read(void * buffer) override;

  /** The requested region itself, in two dimensions; all when streamed reading is off. Throws, before anybody allocates
   * it, when it needs more memory than the machine has free. */
  ImageIORegion GenerateStreamableReadRegionFromRequestedRegion(const ImageIORegion & requested) const override;

  /** This class does not write. */
  bool
  CanWriteFile(const char *) override
  {
    return false;
  }
  void
  WriteImageInformation() override
  {}
  void Write(const void * buffer) override;

protected:
  WholeSlideImageIO();
  ~WholeSlideImageIO() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  enum class SelectedBy
  {
    Level,
    Downsample,
    MicronsPerPixel
  };
  struct Selection
  {
    SelectedBy by;
    double     value;
    double     tolerance;

    bool
    operator!=(const Selection & other) const
    {
      return by != other.by || value != other.value || tolerance != other.tolerance;
    }
  };

  const gigapixel::Slide & GetSlide() const;
  gigapixel::Rendering     GetRendering(unsigned int channels) const;
  void                     PrepareColors();
  void                     Select(const Selection & selection);
  void                     SelectPixels();
  void                     SelectResolution();
  unsigned int             FindLevel(double downsample, unsigned int levels) const;
  bool                     IsResampled(unsigned int level) const;
  [[noreturn]] void        RefuseLevel(unsigned int level) const;

  const gigapixel::SlidePlane & GetLevelPlane(unsigned int level) const;

  void SetGeometry();
  void FillDictionary();
  void WarnOfFile();
  void RefuseBeyondFreeMemory(const ImageIORegion & region) const;

  std::shared_ptr<const gigapixel::Slide>          m_Slide;
  std::weak_ptr<const gigapixel::Slide>            m_Warned;    // the one whose warnings were given
  std::shared_ptr<const gigapixel::ColorTransform> m_Colors;    // to sRGB; null: as they are
  std::shared_ptr<const gigapixel::ResampledLevel> m_Resampled; // null: pixels of a level
  Selection                                        m_Selection{ SelectedBy::Level, 0.0, 0.0 };
  gigapixel::SlideContent                          m_Content;
  bool                                             m_Gray{ false };
  bool                                             m_GrayFromRGB{ false };
  bool                                             m_ConvertToSRGB{ false };
  bool                                             m_StoredValues{ false };
  bool                                             m_PickPixels{ false };
  bool                                             m_UnscannedAsBackground{ false };
  bool                                             m_Strict{ GetGlobalDefaultStrict() };
  bool                                             m_GiveWarnings{ true };
  std::string                                      m_AssociatedImage;
  bool                                             m_AsPicture{ false };
  unsigned int                                     m_Level{ 0 };
  unsigned int m_Plane{ 0 }; // the level (that is resampled), or an associated image's number behind the levels
};

} // namespace itk

#endif
