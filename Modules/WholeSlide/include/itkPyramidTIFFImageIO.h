/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkPyramidTIFFImageIO_h
#define itkPyramidTIFFImageIO_h

#include "GigapixelWholeSlideExport.h"
#include "itkImageIOBase.h"

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{
class PyramidWriter;
struct PyramidDescription;
struct PyramidFormat;
struct PyramidPage;
} // namespace gigapixel

namespace itk
{
class WholeSlideImageIO;

/** \class PyramidTIFFImageIO
 * \brief Writes an image as a tiled TIFF pyramid that slide viewers open, in one pass over the image.
 *
 * Under itk::ImageFileWriter the image is always streamed in bands of whole tile rows, whether or not the caller asks
 * for stream divisions: the whole image never has to be in memory. (ITK's writer accepts an input that produces more
 * than it was asked for only if that is all of the image, or if the caller asks for two or more divisions.) Rows of
 * tiles of level 0 come in from the top; the lower levels are reduced from them on the fly. Memory: one row of tiles
 * for each level below 0, together at most one row of tiles of level 0, and the compressed tiles of a row. The bytes of
 * the file depend neither on the number of stream divisions nor on that of threads.
 *
 * The file: TIFF, or BigTIFF where its pixels before compression have more than 2 GiB; level 0, then the reduced levels
 * in the main chain of directories, with NewSubfileType 1; every tile is present, tiles at the right and lower edge
 * repeat the last column and row. Level k + 1 has half the sides of level k, rounded up; no level has a side below the
 * tile. A file whose name ends in .ome.tif or .ome.tiff is an OME-TIFF: its reduced levels are children (SubIFDs) of
 * level 0, and its ImageDescription is OME-XML, in which a MapAnnotation says the same. Images with a side below the
 * tile size get smaller tiles: the shorter side rounded down to a multiple of 16, at least 16.
 *
 * Reduction by two: for Labels the upper left pixel of each 2x2 block (so level k shows pixel (2^k x, 2^k y) of level
 * 0: every value of a lower level is one that stood there, and the same for any route through the levels); for Picture
 * the mean of the real pixels of the block, halves rounded up, of level k for level k + 1.
 *
 * Resolution tags in pixels per cm from the spacing in mm. A spacing of 1 or more (ITK's default: nobody set it) is
 * written as unknown. ImageDescription names this format and keeps the origin ("origin-mm = x y"), which TIFF has no
 * tag for, and how the picture was made (SetMadeBy). Of the meta data dictionary these are written, all strings, and
 * itk::WholeSlideImageIO finds them again; nothing else is, since slides tell of patients:
 * - "openslide.objective-power"; "openslide.vendor", as "gigapixel.source-vendor";
 * - "ICCProfile" (base64) for pictures;
 * - "gigapixel.source-damaged-tiles", how many damaged tiles earlier pyramids on the way were made of; SetSlide() and
 *   SetDamageCount() add those of the slide;
 * - "gigapixel.class.N" = "#rrggbb NAME" for the label N (0 to 255): the label's color, in which viewers show it by the
 *   file's palette, and its name. Labels without an entry are gray then.
 * - "gigapixel.channel.N" = "#rrggbb NAME" or "NAME" for channel N, from 1, of pictures; with ".excitation-nm" and
 *   ".emission-nm" behind it, its wavelengths. itk::WholeSlideImageIO says them of the channels that it reads.
 * The direction is not written.
 *
 * The file appears under its name when the last row has been written, in place of what was there; until then the data
 * is in a hidden file beside it (.NAME.PID-NUMBER.part), which is removed when writing fails, when this object is
 * destroyed or begins anew, and, should the process be killed, by the next writing of the same name. Where an observer
 * of itk::ImageFileWriter calls AbortGenerateDataOn(), the writer ends silently behind the band in work: there is no
 * file then, unless it was the last band, or the only one (images below 8 MiB, inputs that cannot stream), of which
 * ITK's writer tells its ImageIO nothing.
 *
 * The components of itk::VectorImage are channels: each has a page for its level 0 in the main chain, and the others as
 * children (SubIFDs) of it, in any TIFF. Memory is as above for each channel.
 *
 * Refused with itk::ExceptionObject, one sentence each, before the input is computed: other images than two-dimensional
 * ones of unsigned char, unsigned short or float, scalar, RGB or vectors, or labels of unsigned int; pasting (an IO
 * region of the writer); JPEG or WebP for labels; a folder that is not there or cannot be written.
 *
 * Used without itk::ImageFileWriter: set dimensions, spacing, type and file name as it does, then for bands of full
 * width from the top to the bottom, of any height, SetIORegion() and Write().
 *
 * \ingroup IOFilters
 */
class GigapixelWholeSlide_EXPORT PyramidTIFFImageIO : public ImageIOBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(PyramidTIFFImageIO);

  using Self = PyramidTIFFImageIO;
  using Superclass = ImageIOBase;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(PyramidTIFFImageIO, ImageIOBase);

  /** What the pixels mean, which decides how levels are reduced. */
  enum class Content
  {
    Automatic, ///< one component: Labels, RGB or channels: Picture
    Picture,   ///< mean
    Labels     ///< the upper left pixel
  };

  /** Default Automatic. */
  void SetContent(Content content);
  Content
  GetContent() const
  {
    return m_Content;
  }

  /** Side of the square tiles in pixels: a multiple of 16 from 16 to 4096. Default 256, which every viewer knows and
   * which is the tile of most scanners. Images with a shorter side get smaller tiles. */
  void SetTileSize(unsigned int pixels);
  itkGetConstMacro(TileSize, unsigned int);

  /** How the picture was made, such as "label preset=tissue": kept in the file's ImageDescription, so that who finds
   * the file can tell whether it is the one wanted. One line (control characters become spaces); default empty, which
   * writes nothing. */
  itkSetStringMacro(MadeBy);
  itkGetStringMacro(MadeBy);

  /** Whether the color profile keeps its texts (description, copyright, maker, date), which may name a person or a
   * scanner. Default off: they are replaced, and a profile that is none is left out. */
  itkSetMacro(KeepText, bool);
  itkGetConstMacro(KeepText, bool);
  itkBooleanMacro(KeepText);

  /** What SetMadeBy() put into a file, from its ImageDescription (itk::WholeSlideImageIO's meta data
   * "tiff.ImageDescription"); empty where it says nothing. */
  static std::string GetMadeByOfDescription(const std::string & description);

  /** The slide that the pixels come from, if any: the file tells how many of its tiles are known to be damaged when the
   * last row comes. Its information is read. */
  void SetSlide(const WholeSlideImageIO * slide);

  /** Asked when the last row comes for the number of damaged tiles that is written, in place of those that the slide
   * has met here: where several processes read the slide, each meets its own. Default: none. */
  void SetDamageCount(std::function<SizeValueType()> count);

  /** Asked when the last row comes for properties that are known only then, which readers find as meta data by these
   * keys. A key has a point in it. Default: none. */
  void SetLastProperties(std::function<std::map<std::string, std::string>()> properties);

  /** How JPEG stores the colors of RGB: "4:4:4", "4:2:2" or, the default and what most scanners write, "4:2:0": half
   * the resolution of luma along both axes. */
  void SetChromaSubsampling(const std::string & subsampling);
  itkGetStringMacro(ChromaSubsampling);

  /** One bit a pixel, for masks of 0 and 255 (another value is an error of Write()). Default off: compressed, bytes are
   * hardly larger. */
  itkSetMacro(Bilevel, bool);
  itkGetConstMacro(Bilevel, bool);
  itkBooleanMacro(Bilevel);

  /** BigTIFF, whatever the size. Default off: where the file may grow beyond 4 GiB. */
  itkSetMacro(BigTIFF, bool);
  itkGetConstMacro(BigTIFF, bool);
  itkBooleanMacro(BigTIFF);

  /** \name Compression
   * SetCompressor() takes one of these; SetCompressionLevel() then its level, which SetCompressor() has set to the
   * default:
   * - "DEFLATE" (the default): lossless, 1 to 12 of libdeflate, default 6;
   * - "ZSTD": lossless, 1 to 22, default 9: smaller and faster to read, for newer readers;
   * - "JPEG": pictures of unsigned char, quality 1 to 100, default 80; baseline, RGB as YCbCr;
   * - "WEBP": RGB pictures of unsigned char, quality 1 to 100, default 80; 100 is lossless.
   * Before the lossless ones, pictures of integers are differenced horizontally. The levels are always compressed:
   * SetUseCompression() has no effect (itk::ImageFileWriter calls it with false by default).
   * \sa ImageIOBase::SetCompressor, ImageIOBase::SetCompressionLevel */

  /** True for names that end in .pyramid.tif or .pyramid.tiff: plain .tif and .ome.tif stay with ITK's own writer
   * unless this object is given to the writer by SetImageIO(). */
  bool CanWriteFile(const char * fileName) override;

  bool
  CanStreamWrite() override
  {
    return true;
  }

  bool
  SupportsDimension(unsigned long dimension) override
  {
    return dimension == 2;
  }

  /** Nothing: the file is begun by the first Write(). */
  void
  WriteImageInformation() override
  {}

  /** Takes the rows of the IO region; the last row completes the file. */
  void Write(const void * buffer) override;

  /** Number of bands of whole tile rows: at least what is asked for (at most one per tile row), and enough for a band
   * to stay below 8 MiB or be a single tile row. Throws what the class refuses; drops what an earlier, unfinished
   * writing has left. */
  unsigned int GetActualNumberOfSplitsForWriting(unsigned int          numberOfRequestedSplits,
                                                 const ImageIORegion & pasteRegion,
                                                 const ImageIORegion & largestPossibleRegion) override;

  ImageIORegion GetSplitRegionForWriting(unsigned int          ithPiece,
                                         unsigned int          numberOfActualSplits,
                                         const ImageIORegion & pasteRegion,
                                         const ImageIORegion & largestPossibleRegion) override;

  /** This class does not read: itk::WholeSlideImageIO does. */
  bool
  CanReadFile(const char *) override
  {
    return false;
  }
  void ReadImageInformation() override;
  void Read(void * buffer) override;

protected:
  PyramidTIFFImageIO();
  ~PyramidTIFFImageIO() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;
  void InternalSetCompressor(const std::string & compressor) override;

private:
  friend class PyramidTIFFConverter; // begins pyramids with levels that are copied

  bool              HasChannels() const; // each with pages of its own
  Content           GetEffectiveContent() const;
  unsigned int      GetEffectiveTileSize() const;
  [[noreturn]] void Refuse(const char * code, const std::string & why, const char * remedy) const;
  [[noreturn]] void Rethrow(const std::exception & error) const;
  void              RefuseUnsupported() const;
  void              RefuseUnsuitableCompressor() const;
  void              Begin(const std::vector<gigapixel::PyramidPage> & copied = {},
                          const std::map<std::string, std::string> &  properties = {},
                          const gigapixel::PyramidPage *              source = nullptr);
  void              Finish(const WholeSlideImageIO * slide);

  gigapixel::PyramidFormat GetFormat() const;

  Content      m_Content{ Content::Automatic };
  unsigned int m_TileSize{ 256 };
  std::string  m_MadeBy;
  std::string  m_ChromaSubsampling{ "4:2:0" };
  bool         m_Bilevel{ false };
  bool         m_BigTIFF{ false };
  bool         m_KeepText{ false };

  SmartPointer<const WholeSlideImageIO>               m_Slide;
  std::function<SizeValueType()>                      m_DamageCount;
  std::function<std::map<std::string, std::string>()> m_LastProperties;

  /** While a file is being written. */
  bool                                           m_MayReplace{ true };
  std::unique_ptr<gigapixel::PyramidWriter>      m_Writer;
  std::unique_ptr<gigapixel::PyramidDescription> m_Description;
};

} // namespace itk

#endif
