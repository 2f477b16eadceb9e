/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideFormat_h
#define SlideFormat_h

#include "slide/Slide.h"
#include "tiff/TIFFLayout.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

constexpr std::size_t MostFiles = 256; // of one slide; each stays open

/** A file whose format is looked for: what formats know their files by, read once for all of them. */
class SlideFile
{
public:
  explicit SlideFile(std::string path, AskedImage image = {}, TIFFReading reading = TIFFReading::Colors);

  const std::string &
  GetPath() const
  {
    return m_Path;
  }

  const AskedImage &
  GetImage() const
  {
    return m_Image;
  }

  TIFFReading
  GetReading() const
  {
    return m_Reading;
  }

  bool
  IsTIFF() const
  {
    return m_IsTIFF;
  }

  /** Of a TIFF; null where the file is none, or the page cannot be read. */
  const TIFFPage *
  GetFirstPage() const
  {
    return m_FirstPage.get();
  }

  /** The vendor whose slide OpenSlide takes it for, in OpenSlide's words, empty for none; nothing where OpenSlide gives
   * no answer: it is not installed, or the file ends it. */
  const std::optional<std::string> & GetOpenSlideVendor() const;

  /** Whether a TIFF that bears the mark of a vendor is one of its slides, as OpenSlide finds by looking closer; without
   * its answer the mark says it. */
  bool IsConfirmed(const std::string & vendor) const;

private:
  std::string                        m_Path;
  AskedImage                         m_Image;
  TIFFReading                        m_Reading;
  bool                               m_IsTIFF;
  std::unique_ptr<const TIFFFile>    m_File;
  std::unique_ptr<const TIFFPage>    m_FirstPage;
  mutable bool                       m_WasOpenSlideAsked{ false };
  mutable std::optional<std::string> m_OpenSlideVendor;
};

/** A vendor's format, or one that many write: a file of this folder each, and a row in the table of SlideFormat.cxx. */
struct SlideFormat
{
  const char * name;
  const char * extensions[4]; // of files that are of this format only, with their dots

  /** Whether the file is of this format, by as little of it as says so. Throws std::exception where it cannot be read.
   */
  bool (*detect)(const SlideFile & file);

  /** Null where the file turns out to be of a format further down in the table. Throws SlideError, or another
   * std::exception in a few words. */
  std::unique_ptr<const Slide> (*open)(const SlideFile & file);

  /** Whether a reader that serves all TIFFs and slides by default should take a file that is detected; null: it should.
   */
  bool (*claims)(const SlideFile & file);

  /** Of formats whose slides consist of several files; null: the named one is all. Files that are not there count, too,
   * and there is no order. Does not throw. */
  std::vector<std::string> (*findCompanions)(const std::string & path){ nullptr };

  /** The companion that says what the slide is; null where the named file does. */
  std::string (*findDescription)(const std::string & path){ nullptr };

  /** Throws std::runtime_error where sizes are stated that no slide has, before OpenSlide is given the file. */
  void (*checkStatedSizes)(const std::string & path){ nullptr };

  /** Whether companions are slides by themselves, which the named file makes one of. */
  bool areCompanionsSlides{ false };
};

/** In the order in which they are asked. */
const std::vector<const SlideFormat *> & GetSlideFormats();

/** Null where the name ends as those of no format do. */
const SlideFormat * FindFormatByExtension(const std::string & path);

/** The files of an OME-TIFF in several files, the named one among them, and its companion file: the same list for each,
 * sorted, as far as they show the same images. Empty for others, and where it cannot be told. They need not be there.
 */
std::vector<std::string> FindOMEParts(const std::string & path);

/** The files beside the named one that its slide consists of; they need not be there. Does not throw. */
std::vector<std::string> FindCompanionFiles(const std::string & path);

/** Whether OpenSlide takes the file for a slide. One that ends OpenSlide as it looks what it is, is refused with that
 * when it is opened. */
bool IsOpenSlides(const SlideFile & file);

/** Of a format that only OpenSlide reads. */
std::unique_ptr<const Slide> OpenThroughOpenSlide(const SlideFile & file);

/** Properties and resolution of the image that is read, from Aperio's text on its finest level. */
void AddAperioProperties(TIFFLayout & layout);

/** A slide of these pages. Where they are of a compression that is not ours, through OpenSlide; throws as
 * SlideFormat::open does. */
std::unique_ptr<const Slide> OpenTIFF(const SlideFile & file, std::shared_ptr<TIFFLayout> layout);

/** As OpenTIFF(), of a format that OpenSlide reads, too: where `describe` or the tables of tiles end in an exception,
 * through OpenSlide. */
std::unique_ptr<const Slide> OpenTIFFOrElseOpenSlide(const SlideFile & file, void (*describe)(TIFFLayout & layout));

} // namespace gigapixel

#endif
