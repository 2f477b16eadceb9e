/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which of the images of a TIFF is read, and why.
#include "slide/SlideImageChoice.h"
#include "TIFFLayout.h"
#include "gigapixelFormatCount.h"

#include "gigapixelJoinNames.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gigapixel
{

namespace
{
double
GetDistance(const std::optional<double> & depth)
{
  return std::abs(depth.value_or(0.0));
}
} // namespace

bool
TIFFLayout::IsLarger(const Image & one, const Image & other) const
{
  const std::uint64_t area = GetPage(one.levels.front().page).GetArea();
  const std::uint64_t otherArea = GetPage(other.levels.front().page).GetArea();
  return area > otherArea || (area == otherArea && GetDistance(one.depth) < GetDistance(other.depth));
}

std::string
TIFFLayout::DescribeSize(const Image & image) const
{
  const TIFFPage & page = GetPage(image.levels.front().page);
  return std::to_string(page.width) + " x " + std::to_string(page.height);
}

/** "1 (slide, 1024 x 768), 2 (1024 x 768)"; at most ten. */
std::string
TIFFLayout::ListImages(const std::vector<Image> & images) const
{
  constexpr std::size_t    most = 10;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(most, images.size()); ++i)
  {
    const std::string name = images[i].name.empty() ? "" : images[i].name + ", ";
    texts.push_back(std::to_string(i + 1) + " (" + name + DescribeSize(images[i]) + ')');
  }
  return JoinNames(texts) + (images.size() > most ? ", ..." : "");
}

/** Names, and depths of focal planes: smaller images are planes of another area. */
std::vector<SlideImage>
TIFFLayout::NameImages(const std::vector<Image> & images) const
{
  const auto getArea = [this](const Image & image) { return GetPage(image.levels.front().page).GetArea(); };
  std::map<std::size_t, std::uint64_t> most; // of each stack
  for (const Image & image : images)
  {
    most[image.stack] = std::max(most[image.stack], getArea(image));
  }
  std::vector<SlideImage> named(images.size());
  for (std::size_t i = 0; i < images.size(); ++i)
  {
    named[i].name = images[i].name;
    named[i].depth = getArea(images[i]) == most[images[i].stack] ? images[i].depth : std::nullopt;
    named[i].stack = images[i].stack;
    named[i].stackName = images[i].stackName;
  }
  named[FindMainImage(images)].isMain = true;
  return named;
}

std::size_t
TIFFLayout::FindMainImage(const std::vector<Image> & images) const
{
  std::size_t main = 0;
  for (std::size_t i = 1; i < images.size(); ++i)
  {
    main = IsLarger(images[i], images[main]) ? i : main;
  }
  return main;
}

std::size_t
TIFFLayout::ChooseImage(const std::vector<Image> & images) const
{
  if (m_AskedImage.IsEmpty())
  {
    return FindMainImage(images);
  }
  return FindAskedImage(m_Path, m_AskedImage, NameImages(images), ListImages(images));
}

void
TIFFLayout::SetImages(std::vector<Image> images)
{
  if (images.empty())
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "it has no page with pixels"));
  }
  m_ImageNumber = ChooseImage(images);
  m_Images = std::move(images);
  m_Levels = m_Images[m_ImageNumber].levels;
  m_Masks = m_Images[m_ImageNumber].masks;
  if (m_Images.size() < 2 || !m_AskedImage.IsEmpty())
  {
    return;
  }
  const auto described = DescribeImages();
  if (FindFocalPlanes(described).size() == described.size())
  {
    warnings.push_back(WarnOfFocalPlanes(m_Path, DescribeFocalPlane(described)));
  }
  else
  {
    warnings.push_back(
      Diagnostic(
        "W-SLIDE-IMAGES",
        "it has " + FormatCount(m_Images.size(), "image") + ", of which only image " +
          std::to_string(m_ImageNumber + 1) + " is read: " + ListImages(m_Images),
        "see info for the images; choose another one with --image (SetImage), or write it to a file of its own "
        "(convert --image)")
        .OfFile(m_Path));
  }
}

std::vector<SlideImage>
TIFFLayout::DescribeImages() const
{
  std::vector<SlideImage> described = NameImages(m_Images);
  const auto    getArea = [this](const Image & image) { return GetPage(image.levels.front().page).GetArea(); };
  std::uint64_t most = 0;
  for (const Image & image : m_Images)
  {
    most = std::max(most, getArea(image));
  }
  const auto largest =
    std::count_if(m_Images.begin(), m_Images.end(), [&](const Image & image) { return getArea(image) == most; });
  for (std::size_t i = 0; i < m_Images.size(); ++i)
  {
    const Image &    image = m_Images[i];
    const TIFFPage & page = GetPage(image.levels.front().page);
    const auto       channels = page.samples * (1 + image.levels.front().furtherChannels.size());
    SlideImage &     entry = described[i];
    entry.number = static_cast<unsigned>(i + 1);
    entry.width = page.width;
    entry.height = page.height;
    entry.kind = "page " + std::to_string(image.levels.front().page + 1) + ", " + std::to_string(channels) +
                 (channels == 1 ? " channel of " : " channels of ") + std::to_string(page.bits) + " bit, " +
                 std::to_string(image.levels.size()) + (image.levels.size() == 1 ? " level" : " levels");
    entry.isRead = i == m_ImageNumber;
    if (!entry.isRead)
    {
      entry.reason = !m_AskedImage.IsEmpty() ? "another image is asked for"
                     : getArea(image) < most ? "it is not the largest one"
                                             : "another image of this size is read";
    }
    else if (!m_AskedImage.IsEmpty())
    {
      entry.reason = "it is asked for";
    }
    else
    {
      const bool isInFocus = std::any_of(m_Images.begin(), m_Images.end(), [&](const Image & other) {
        return getArea(other) == most && GetDistance(other.depth) > GetDistance(image.depth);
      });
      entry.reason = largest == 1 ? "it is the largest one"
                     : isInFocus  ? "its focal plane is the middle one, or the one nearest to the focus"
                                  : "it is the first of the " + std::to_string(largest) + " largest ones";
    }
  }
  return described;
}

} // namespace gigapixel
