/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OMEDescription_h
#define OMEDescription_h

#include "SlideFormat.h"

#include "gigapixelXMLElements.h"

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** Pages that an element TiffData places, and in which file they are. */
struct PlacedPages
{
  XMLElement    element;
  std::string   file;             // empty: none is named
  std::uint64_t firstOfFile{ 0 }; // the number of its first page
  std::uint64_t pagesOfFile{ 0 };
};

/** One focal plane of an Image element of OME-XML with its Pixels (OME-TIFF specification 6,
 * docs.openmicroscopy.org/ome-model; schema 2016-06). */
class OMEImage
{
public:
  static constexpr std::uint64_t NotSaid = std::numeric_limits<std::uint64_t>::max();

  /** What keeps the pages from being read as one slide; the text is empty: nothing. */
  TIFFObstacle FindContradiction(const TIFFLayout & layout, std::size_t numberOfImages) const;

  /** Finds the page of each channel of all planes; a page of several samples holds as many channels.
   * \param first the page that the image begins with unless its elements say
   * \return whether each plane of several has pages of its own */
  bool PlacePages(std::uint64_t first, const TIFFLayout & layout);

  /** Takes the pages of its own plane from those of all. */
  void TakePages();

  /** The pages that the Image element takes, each once. */
  std::vector<std::uint64_t> GetAllPages() const;

  std::uint64_t
  CountPlanes() const
  {
    return std::max<std::uint64_t>(1, depths) * std::max<std::uint64_t>(1, times) *
           std::max<std::uint64_t>(1, pages.size());
  }

  std::string                name;                    // of the Image element
  std::uint64_t              width = 0;               // SizeX; 0: not said
  std::uint64_t              height = 0;              // SizeY
  std::uint64_t              channels = NotSaid;      // SizeC: samples of a pixel over all pages
  std::uint64_t              depths = 1;              // SizeZ
  bool                       isPlane = false;         // one of several, and an image of its own
  std::uint64_t              depth = 0;               // which of them this is
  std::size_t                stack = 0;               // the same of all of them
  std::string                stackName;               // of the image that they are planes of
  double                     depthSpacing = 0.0;      // micrometers; 0: not said
  bool                       areChannelsLast = false; // in the file, planes follow each other before channels do
  std::uint64_t              times = 1;               // SizeT
  std::string                type;                    // of samples
  std::array<double, 2>      spacing{ { 0.0, 0.0 } }; // micrometers per pixel; 0: not said
  std::vector<std::uint64_t> samples;                 // of each Channel element: its part of SizeC
  std::vector<SlideChannel>  elements;                // of each Channel element

  /** The page of the file that each channel is on, of an image of one depth and time with one sample a page. */
  std::vector<std::uint64_t> pages;

  std::shared_ptr<std::vector<PlacedPages>> tiffData = std::make_shared<std::vector<PlacedPages>>();

  /** The pages of all channels of all planes, in the order of the file; the same of all planes. */
  std::shared_ptr<const std::vector<std::uint64_t>> places;

private:
  std::uint64_t
  GetPlace(std::uint64_t channel, std::uint64_t plane, std::uint64_t placedChannels) const
  {
    return areChannelsLast ? channel * depths + plane : plane * placedChannels + channel;
  }

  std::string FindContradictionOfPage(const TIFFPage & page) const;
  std::string FindContradictionOfChannels(const TIFFLayout & layout, std::size_t numberOfImages) const;
};

/** The contents of the OME-XML in the first page of an OME-TIFF, or in a companion file. */
class OMEDescription
{
public:
  explicit OMEDescription(const std::string & xml);

  /** Whether a text is OME-XML, be it damaged further on. */
  static bool IsOME(const std::string & xml);

  /** Adds the other files that the images are in to those of the layout, and finds the pages of the images.
   * \param ofAllFiles whether images count that have nothing in the file of the layout
   * \throw SlideError a file is missing, or lies elsewhere */
  void PlacePages(TIFFLayout & layout, bool ofAllFiles);

  /** What the images are and where: the same of texts that say the same, however they are written. */
  std::string GetContents() const;

  /** The files that the XML names, in its order. */
  std::vector<std::string> GetFiles() const;

  /** Whether one file has all pages: one that is named alone, by each element, is the file itself, renamed or copied.
   */
  bool IsWhole() const;

  /** A file of a set shows the images that it has a part of. */
  void LeaveOutImages(const std::string & own);

  bool                  planesShareAPage{ false };
  std::string           damage;    // of the XML
  std::string           elsewhere; // the file that describes the images instead
  std::vector<OMEImage> images;    // with pixels of their own

private:
  void Add(const XMLElement & element);
  void AddFiles(TIFFLayout & layout, const std::string & contents);
  void SplitDepths(std::size_t numberOfPages);

  bool        m_HasTooManyPlaces{ false };
  std::string m_ImageName;
  unsigned    m_PixelsDepth{ 0 }; // of the Pixels element that is being read; 0: none is
};

/** Whether a name is that of a file in the same folder. */
bool IsPlainName(const std::string & name);

/** The path of a file that an XML names. It lies in the folder of the file that the XML is of, also behind links: no
 * name leads elsewhere. \throw SlideError it does not lie there */
std::string FindPart(const std::string & path, const std::string & name);

} // namespace gigapixel

#endif
