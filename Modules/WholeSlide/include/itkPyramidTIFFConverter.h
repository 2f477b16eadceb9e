/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkPyramidTIFFConverter_h
#define itkPyramidTIFFConverter_h

#include "GigapixelWholeSlideExport.h"
#include "itkProcessObject.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <array>
#include <memory>
#include <vector>

namespace gigapixel
{
class CopiedLevel;
class Slide;
class TIFFPage;
} // namespace gigapixel

namespace itk
{
/** \class PyramidTIFFConverter
 * \brief Makes a pyramid of a slide, of one of its levels, or of a region, copying compressed tiles where it can.
 *
 * Levels are copied, tile by tile and byte by byte, without decoding anything, as long as their tiles are those of the
 * pyramid: an Aperio or generic TIFF of 8 bit or one, of a codec that all readers know (JPEG, WebP, deflate, LZW, zstd,
 * PackBits, none; not JPEG 2000, which OpenSlide 3.4 and 4.0 open only in files that say to be Aperio's), no tile
 * missing, and a region that begins and ends at tiles of the level, or at the slide's edge, no colors converted.
 * Comments and application segments of JPEG tiles are left out, which changes no pixel. Whether a tile is damaged is
 * not seen then, unless the slide is strict: it is decoded, too, and a damaged one is an error. A pyramid without
 * unseen tiles says so (gigapixel::RecordedDamageKey is 0). Levels below the last one that is copied are computed from
 * its pixels, as itk::PyramidTIFFImageIO does it, and compressed by the same codec (deflate in place of LZW, PackBits
 * and none). If not even the first level can be copied, it is decoded and compressed as the ImageIO says. Where the
 * slide is read at a resolution that no level has, its first level is resampled to it: pictures by the mean, labels by
 * picking.
 *
 * What the pyramid says of itself: resolution (of the level that it begins with), place in the slide, objective power
 * (scaled likewise), vendor, color profile, classes of labels. By default nothing else: label, macro and thumbnail
 * pictures and all other properties of the slide, which may name a patient, are left out, and so are the texts of the
 * color profile; KeepLabelOn() keeps them all, and KeepTextOn() the texts. Documentation/Privacy.md has a table.
 *
 * Slides with channels are written with their names, colors and wavelengths, one channel after another, as
 * itk::PyramidTIFFImageIO writes vectors; nothing is copied. Slides that store channels interleaved are decoded once
 * for each of them.
 *
 * Memory: a band of the ImageIO (8 MiB, or a row of tiles) and what the reader's tile cache may take. Update() throws
 * itk::ExceptionObject, one sentence, and leaves nothing then; itk::ProcessAborted where AbortGenerateDataOn() was
 * called, by a progress observer for instance.
 *
 * \ingroup IOFilters
 */
class GigapixelWholeSlide_EXPORT PyramidTIFFConverter : public ProcessObject
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(PyramidTIFFConverter);

  using Self = PyramidTIFFConverter;
  using Superclass = ProcessObject;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(PyramidTIFFConverter, ProcessObject);

  /** The slide, after ReadImageInformation(): the level or resolution that it is set to becomes level 0 of the pyramid.
   */
  itkSetConstObjectMacro(Slide, WholeSlideImageIO);
  itkGetConstObjectMacro(Slide, WholeSlideImageIO);

  using RegionType = std::array<SizeValueType, 4>; ///< x, y, width, height

  /** x, y, width, height in level-0 pixels of the slide, inside of it; rounded to pixels of the level. All zeros, the
   * default: everything. */
  void
  SetRegion(RegionType region)
  {
    if (m_Region != region)
    {
      m_Region = region;
      this->Modified();
    }
  }
  RegionType
  GetRegion() const
  {
    return m_Region;
  }

  /** The region (or everything) in pixels of a level. Throws where it is not inside the slide. */
  RegionType GetRegionOfLevel(unsigned int level) const;

  /** Name, how tiles are compressed where they are not copied, their size and content. Its dimensions, resolution and
   * meta data are set by Update(). */
  itkSetObjectMacro(ImageIO, PyramidTIFFImageIO);
  itkGetModifiableObjectMacro(ImageIO, PyramidTIFFImageIO);

  /** Sets the ImageIO's compressor, for tiles that are not copied, by slide and content: JPEG for pictures of 8 bits,
   * which loses nothing that anybody sees, and DEFLATE for labels, samples of more bits, and channels that were chosen
   * without a window. After SetSlide() and SetImageIO(). */
  void ChooseCompressor();

  /** Whether the slide is a TIFF of one sample per pixel that the pyramid holds as labels: by the ImageIO's content, by
   * what our own pyramids say of themselves, else where the compressor, and that of tiles to copy, lose nothing, and
   * samples are no floats and their channel has no name. Values are read as they are stored then, and the pyramid keeps
   * their palette. After ChooseCompressor(). */
  bool HoldsLabels() const;

  /** The slide as Update() reads it: a copy that reads stored values where HoldsLabels(), else the slide itself. After
   * ChooseCompressor(). */
  const WholeSlideImageIO * GetReadSlide();

  /** Default on. Off: everything is decoded and compressed by the codec and quality of the ImageIO. */
  itkSetMacro(CopyTiles, bool);
  itkGetConstMacro(CopyTiles, bool);
  itkBooleanMacro(CopyTiles);

  /** Default off. On, an image beside the slide that is not gray or RGB of 8 bit is refused. */
  itkSetMacro(KeepLabel, bool);
  itkGetConstMacro(KeepLabel, bool);
  itkBooleanMacro(KeepLabel);

  /** Whether the pyramid keeps the texts of the slide: its description, its properties, TIFF's tags (as
   * "source.tiff.…") and the texts of its color profile. Default off; KeepLabelOn() keeps them, too. */
  itkSetMacro(KeepText, bool);
  itkGetConstMacro(KeepText, bool);
  itkBooleanMacro(KeepText);

  /** Levels and tiles that the last Update() has copied. */
  itkGetConstMacro(NumberOfCopiedLevels, unsigned int);
  itkGetConstMacro(NumberOfCopiedTiles, SizeValueType);

  void Update() override; ///< writes the file of the ImageIO

protected:
  PyramidTIFFConverter();
  ~PyramidTIFFConverter() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  using CopiedLevels = std::vector<std::unique_ptr<const gigapixel::CopiedLevel>>;

  static std::shared_ptr<const gigapixel::Slide>    OpenShared(const WholeSlideImageIO & reader);
  static std::shared_ptr<const gigapixel::TIFFPage> FindPageOfLabels(const WholeSlideImageIO & reader);
  bool                                              DecideLabels() const;
  CopiedLevels                                      FindCopiedLevels() const;
  void                                              PrepareContent(const gigapixel::CopiedLevel * first);
  void                                              PrepareImageIO(const RegionType & region);
  void                                              Convert();
  void                                              CopyLevels(const CopiedLevels & copied);
  void                                              CheckTile(unsigned int level, const RegionType & tile) const;
  std::vector<WholeSlideImageIO::Pointer>           OpenAssociatedImages() const;
  void                       CopyAssociatedImages(const std::vector<WholeSlideImageIO::Pointer> & readers);
  void                       WriteRows(unsigned int plane, unsigned int level, const RegionType & region);
  WholeSlideImageIO::Pointer OpenSlide() const;
  void                       Advance(double pixels);

  WholeSlideImageIO::ConstPointer m_Slide;
  WholeSlideImageIO::ConstPointer m_ReadSlide; // that of GetReadSlide()
  bool                            m_HoldsLabels{ false };
  PyramidTIFFImageIO::Pointer     m_ImageIO;
  RegionType                      m_Region{ { 0, 0, 0, 0 } };
  bool                            m_CopyTiles{ true };
  bool                            m_KeepLabel{ false };
  bool                            m_KeepText{ false };
  unsigned int                    m_NumberOfCopiedLevels{ 0 };
  SizeValueType                   m_NumberOfCopiedTiles{ 0 };
  double                          m_PixelsToDo{ 0 }; // for the progress
  double                          m_PixelsDone{ 0 };
};

} // namespace itk

#endif
