/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OME-TIFF: channels on pages of their own, also in several files, as the XML of the first page or a companion file
// says.
#include "OMEDescription.h"

#include "files/NumberText.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Whether three channels are named red, green and blue, as converters do that write colors on a page each. */
bool
AreColors(const std::vector<SlideChannel> & channels)
{
  constexpr std::array<const char *, 3> letters{ { "R", "G", "B" } };
  constexpr std::array<const char *, 3> words{ { "Red", "Green", "Blue" } };
  const auto isNamed = [](const SlideChannel & channel, const char * name) { return channel.name == name; };
  return std::equal(channels.begin(), channels.end(), letters.begin(), letters.end(), isNamed) ||
         std::equal(channels.begin(), channels.end(), words.begin(), words.end(), isNamed);
}

/** What the XML says of the pages: each image begins with one, and its other channels and planes are no images. An
 * image with a usual name is an associated image unless it is the largest. */
PageRules
MakeRules(const TIFFLayout & layout, const OMEDescription & described)
{
  PageRules rules;
  rules.areTextsNames = false;
  rules.othersAreAssociated = true;
  rules.roles.resize(layout.GetNumberOfMainPages());
  const auto getArea = [](const OMEImage & image) { return image.width * image.height; };
  const auto largest = std::max_element(
    described.images.begin(), described.images.end(), [&getArea](const OMEImage & one, const OMEImage & other) {
      return getArea(one) < getArea(other);
    });
  for (std::size_t page = layout.GetNumberOfPagesOfFirstFile(); page < rules.roles.size(); ++page)
  {
    rules.roles[page].kind = PageRole::Kind::Ignored; // unless an image begins there
  }
  for (auto image = described.images.begin(); image != described.images.end(); ++image)
  {
    const std::uint64_t first = image->pages.empty() ? rules.roles.size() : image->pages.front();
    for (const std::uint64_t page : image->depth == 0 ? image->GetAllPages() : image->pages)
    {
      if (page != first && page < rules.roles.size() && rules.roles[page].kind == PageRole::Kind::Unknown)
      {
        rules.roles[page].kind = PageRole::Kind::Ignored;
      }
    }
    if (first >= rules.roles.size())
    {
      continue;
    }
    const std::string usual = FindUsualName(image->name);
    const bool        isNamed = described.images.size() > 1 &&
                         (IsUsualName(image->name) || (!usual.empty() && getArea(*image) < getArea(*largest)));
    const bool isReduced = layout.GetPage(first).IsReduced();
    rules.roles[first].kind = isNamed     ? PageRole::Kind::Associated
                              : isReduced ? PageRole::Kind::Unknown
                                          : PageRole::Kind::Image;
    rules.roles[first].name = isNamed ? usual : image->name;
    if (image->isPlane) // the middle one is read unless another one is asked for
    {
      const auto middle = (image->depths - 1) / 2;
      rules.roles[first].depth = static_cast<double>(image->depth) - static_cast<double>(middle);
      rules.roles[first].stack = image->stack;
      rules.roles[first].stackName = image->stackName;
    }
  }
  return rules;
}

void
SetObstacle(TIFFLayout & layout, const OMEDescription & described)
{
  if (!described.damage.empty())
  {
    layout.obstacle = { "its OME-XML is damaged (" + described.damage + ")",
                        "correct it, e.g. with tiffcomment of Bio-Formats, or convert the file to a tiled TIFF",
                        false,
                        "E-OME-XML" };
  }
  else if (described.images.empty())
  {
    layout.obstacle = { "its OME-XML describes no image",
                        "write it again as an OME-TIFF, e.g. with bfconvert of Bio-Formats",
                        false,
                        "E-OME-XML" };
  }
  else if (described.planesShareAPage)
  {
    layout.obstacle = { "its OME-XML describes several focal planes on one page (TiffData)",
                        "write it again as an OME-TIFF, e.g. with bfconvert of Bio-Formats",
                        false,
                        "E-OME-XML" };
  }
}

/** Describes the image that is read. */
void
DescribeImage(TIFFLayout & layout, const OMEImage & image, std::size_t numberOfImages)
{
  layout.channels = image.elements;
  layout.obstacle = image.FindContradiction(layout, numberOfImages);
  const TIFFPage & base = layout.GetPage(layout.GetLevels().front().page);
  if (layout.obstacle.what.empty() && base.samples == 1 && image.channels > 1)
  {
    layout.channels.resize(image.channels);
    layout.PlaceChannels({ image.pages.begin(), image.pages.end() });
    layout.areChannelsColors = base.bits == 8 && AreColors(image.elements);
    if (base.photometric == static_cast<unsigned>(TIFFPhotometric::MinIsWhite))
    {
      layout.obstacle = { "its channels are min-is-white gray, where only min-is-black is read",
                          "convert it to gray (min-is-black)" };
    }
  }
  if (image.spacing[0] > 0.0 && image.spacing[1] > 0.0)
  {
    layout.micronsPerPixel = image.spacing;
  }
  if (image.isPlane && image.depthSpacing > 0.0)
  {
    layout.properties[FocalPlaneSpacing] = ToText(image.depthSpacing);
  }
}

/** Whether the file is a companion: OME-XML alone. */
bool
IsCompanion(const SlideFile & file)
{
  constexpr const char * ending = ".companion.ome";
  const std::string &    path = file.GetPath();
  const std::size_t      length = std::char_traits<char>::length(ending);
  return !file.IsTIFF() && path.size() > length && path.compare(path.size() - length, length, ending) == 0;
}

std::string
ReadCompanion(const std::string & path)
{
  constexpr std::uint64_t mostBytes = std::uint64_t{ 64 } << 20; // as many as a text in a TIFF may have
  const RandomAccessFile  file(path);
  if (file.GetSize() > mostBytes)
  {
    throw SlideError("E-FILE-LIMIT", path, "its OME-XML has more than 64 MiB", "check that the right file is named");
  }
  std::string xml(static_cast<std::size_t>(file.GetSize()), ' ');
  file.Read(0, reinterpret_cast<unsigned char *>(xml.data()), xml.size());
  return xml;
}

/** \param elsewhere becomes the name of the companion that has the XML; empty: the file has it */
OMEDescription
ReadDescription(const SlideFile & file, std::string & elsewhere)
{
  OMEDescription described(IsCompanion(file) ? ReadCompanion(file.GetPath())
                                             : file.GetFirstPage()->GetText(TIFFTag::ImageDescription));
  elsewhere = IsCompanion(file) ? std::string() : described.elsewhere;
  if (elsewhere.empty())
  {
    return described;
  }
  const SlideFile other(FindPart(file.GetPath(), elsewhere)); // a companion, or the TIFF that has the XML for all
  return OMEDescription(other.GetFirstPage() ? other.GetFirstPage()->GetText(TIFFTag::ImageDescription)
                                             : ReadCompanion(other.GetPath()));
}

/** Stacks, and pages that contradict the XML, are refused. */
std::shared_ptr<TIFFLayout>
Describe(const SlideFile & file)
{
  const bool     isCompanion = IsCompanion(file);
  std::string    elsewhere;
  OMEDescription described = ReadDescription(file, elsewhere);
  const auto     files = described.GetFiles();
  if (isCompanion && files.empty())
  {
    throw SlideError("E-OME-XML",
                     file.GetPath(),
                     described.damage.empty() ? "its OME-XML names no file with pixels"
                                              : "its OME-XML is damaged: " + described.damage,
                     "name a file with pixels (.ome.tif)");
  }
  const std::string first = isCompanion ? FindPart(file.GetPath(), files.front()) : file.GetPath();
  auto              layout = std::make_shared<TIFFLayout>(first, file.GetImage());
  if (described.damage.empty())
  {
    described.PlacePages(*layout, isCompanion);
  }
  SetObstacle(*layout, described);
  if (!layout->obstacle.what.empty())
  {
    layout->AddLevel(0);
    return layout;
  }
  const OMEImage & whole = described.images.front();
  if (described.images.size() == 1 && whole.depths > MostFocalPlanes && whole.times <= 1)
  {
    throw TooManyFocalPlanes(file.GetPath(), whole.depths);
  }
  layout->SetImages(layout->FindImages(MakeRules(*layout, described)));
  const std::size_t page = layout->GetLevels().front().page;
  const auto isOfPage = [page](const OMEImage & image) { return !image.pages.empty() && image.pages.front() == page; };
  const auto found = std::find_if(described.images.begin(), described.images.end(), isOfPage);
  // A file of one image: what its XML says of the pages may be wrong, which is for the image to find out.
  const OMEImage & image = found == described.images.end() ? described.images.front() : *found;
  if (found != described.images.end() || described.images.size() == 1)
  {
    DescribeImage(*layout, image, described.images.size());
  }
  return layout;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr ? OMEDescription::IsOME(page->GetText(TIFFTag::ImageDescription))
                         : IsCompanion(file) && OMEDescription::IsOME(ReadCompanion(file.GetPath()));
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  return OpenTIFF(file, Describe(file));
}

/** A pyramid of which other readers would make a stack is ours, and what any TIFF reader decodes. */
bool
Claims(const SlideFile & file)
{
  try
  {
    const auto       layout = Describe(file);
    const TIFFPage & base = layout->GetPage(layout->GetLevels().front().page);
    const bool       isPyramid = layout->obstacle.what.empty() && !layout->channels.empty() && base.tiled &&
                           layout->GetLevels().size() > 1 && FindObstacle(base).what.empty();
    return IsCompanion(file) || layout->IsTiledPyramid() || (isPyramid && !layout->HasOtherPages());
  }
  catch (const std::runtime_error &)
  {
    return false;
  }
}

} // namespace

std::vector<std::string>
FindOMEParts(const std::string & path)
{
  namespace fs = std::filesystem;
  try
  {
    const SlideFile file(path);
    if (!Detect(file))
    {
      return {};
    }
    const std::string own = fs::path(path).filename().string();
    std::string       elsewhere;
    OMEDescription    described = ReadDescription(file, elsewhere);
    if (!IsCompanion(file))
    {
      described.LeaveOutImages(own);
    }
    const auto            named = described.GetFiles();
    std::set<std::string> names(named.begin(), named.end());
    names.insert({ own, elsewhere });
    const bool isAlone = elsewhere.empty() && !IsCompanion(file) && (described.IsWhole() || names.size() < 3);
    if (isAlone || named.size() > MostFiles)
    {
      return {};
    }
    std::vector<std::string> parts;
    for (const std::string & name : names)
    {
      if (IsPlainName(name))
      {
        parts.push_back((fs::path(path).parent_path() / name).string());
      }
    }
    return parts;
  }
  catch (const std::exception &)
  {
    return {}; // who opens the file says what is wrong with it
  }
}

extern const SlideFormat omeFormat;
const SlideFormat        omeFormat{ "ome-tiff", {}, Detect, Open, Claims };

} // namespace gigapixel
