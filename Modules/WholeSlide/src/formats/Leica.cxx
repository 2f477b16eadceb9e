/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Leica SCN: a TIFF whose description is XML of Leica's namespace. Its areas lie anywhere: read through OpenSlide.
#include "openslide/OpenSlideSlide.h"
#include "SlideFormat.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelJoinNames.h"
#include "gigapixelPrintable.h"
#include "gigapixelXMLElements.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace gigapixel
{
namespace
{

bool
HasLeicasRoot(const std::string & xml)
{
  bool isLeicas = false;
  ReadXML(xml, [&isLeicas](const XMLElement & root) {
    isLeicas = root.space.find("leica-microsystems.com") != std::string::npos;
    return false;
  });
  return isLeicas;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && HasLeicasRoot(page->GetText(TIFFTag::ImageDescription)) && file.IsConfirmed("leica");
}

/** What the XML says of the images: the channels, and the focal planes with the size of the finest level of each.
 * Overviews have no part in the planes. OpenSlide reads focal plane 0. */
struct LeicaImages
{
  explicit LeicaImages(const std::string & xml)
  {
    std::uint64_t collectionWidth = 0;
    bool          isOverview = false;
    ReadXML(xml, [&](const XMLElement & element) {
      if (element.name == "collection")
      {
        collectionWidth = ToWhole(element.Get("sizeX"));
      }
      else if (element.name == "image")
      {
        isOverview = false;
      }
      else if (element.name == "channel" && !element.Get("name").empty())
      {
        channels.insert(element.Get("name"));
      }
      else if (element.name == "dimension")
      {
        numbers.insert(element.Get("c"));
        const std::string z = element.Get("z");
        pending.push_back({ z.empty() ? 0 : ToWhole(z), ToWhole(element.Get("sizeX")), ToWhole(element.Get("sizeY")) });
      }
      else if (element.name == "view")
      {
        isOverview = collectionWidth > 0 && ToWhole(element.Get("sizeX")) == collectionWidth;
        for (const Dimension & dimension : isOverview ? std::vector<Dimension>() : pending)
        {
          auto & size = planes[dimension.z];
          size = std::max(size, { dimension.width, dimension.height });
        }
        pending.clear();
      }
      return true;
    });
  }

  /** "2 channels, 405|Empty, L5|Empty"; by their numbers where they have no names. */
  std::string
  DescribeChannels() const
  {
    const std::set<std::string> & known = channels.size() >= numbers.size() ? channels : numbers;
    const std::string             count = std::to_string(known.size()) + (known.size() == 1 ? " channel" : " channels");
    const std::string             names = JoinNames(known);
    return GetPrintable(count + (names.empty() ? "" : ", " + names));
  }

  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> planes; // their sizes

private:
  std::set<std::string> channels; // by name
  std::set<std::string> numbers;  // of channels

  struct Dimension
  {
    std::uint64_t z;
    std::uint64_t width;
    std::uint64_t height;
  };

  static std::uint64_t
  ToWhole(const std::string & text)
  {
    return std::strtoull(text.c_str(), nullptr, 10);
  }

  std::vector<Dimension> pending; // of the image whose area is not known yet
};

class LeicaSlide : public OpenSlideSlide
{
public:
  LeicaSlide(const std::string & path, const LeicaImages & images, const AskedImage & asked)
    : OpenSlideSlide(path)
  {
    if (images.planes.size() < 2)
    {
      return;
    }
    std::string list;
    for (const auto & [z, size] : images.planes)
    {
      SlideImage image;
      image.number = static_cast<unsigned>(m_Images.size() + 1);
      image.name = "z " + std::to_string(z);
      image.width = size.first;
      image.height = size.second;
      image.kind = "focal plane";
      image.isMain = image.isRead = m_Images.empty();
      image.depth = static_cast<double>(z);
      image.reason = image.isRead ? "it is the first focal plane" : "only the first focal plane is read";
      list += (list.empty() ? "" : ", ") + image.name;
      m_Images.push_back(std::move(image));
    }
    const std::string which = "1 of " + std::to_string(m_Images.size());
    const std::string why =
      "it has " + std::to_string(m_Images.size()) + " focal planes, of which only the first is read";
    const std::string remedy = "convert the one that is wanted to OME-TIFF with bfconvert of Bio-Formats (-z)";
    if (!asked.IsEmpty() && FindAskedImage(path, asked, m_Images, list) != 0)
    {
      const Diagnostic refusal = Diagnostic("E-SLIDE-PLANES", why, remedy).OfFile(path);
      throw SlideError(asked.plane.empty() ? refusal.OfOption("--image", asked.image)
                                           : refusal.OfOption("--plane", asked.plane));
    }
    m_Warnings.push_back(Diagnostic("W-SLIDE-PLANES", why, remedy).OfFile(path).OfValue(which));
  }
};

/** OpenSlide makes one image of all areas, for which they need to have one resolution. */
std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  const LeicaImages images(file.GetFirstPage()->GetText(TIFFTag::ImageDescription));
  try
  {
    return std::make_unique<const LeicaSlide>(file.GetPath(), images, file.GetImage());
  }
  catch (const SlideError &)
  {
    throw;
  }
  catch (const std::runtime_error & error)
  {
    const std::string why = error.what();
    if (why.find("Can't find main image") != std::string::npos)
    {
      throw SlideError(Diagnostic("E-SLIDE-CHANNELS",
                                  "it has no brightfield image but " + images.DescribeChannels() +
                                    ": slides of fluorescence are not read in this format",
                                  "convert it to OME-TIFF with bfconvert of Bio-Formats")
                         .OfFile(file.GetPath())
                         .OfValue(images.DescribeChannels()));
    }
    if (why.find("dissimilar main images") == std::string::npos &&
        why.find("Inconsistent main image resolutions") == std::string::npos)
    {
      throw;
    }
    throw SlideError("E-SLIDE-IMAGE",
                     file.GetPath(),
                     "its scanned areas have different resolutions, and are not one image",
                     "convert the area that is wanted to OME-TIFF with bfconvert of Bio-Formats (-series)");
  }
}

} // namespace

extern const SlideFormat leicaFormat;
const SlideFormat        leicaFormat{ "leica", { ".scn" }, Detect, Open, nullptr };

} // namespace gigapixel
