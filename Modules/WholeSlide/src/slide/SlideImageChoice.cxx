/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideImageChoice.h"

#include "files/NumberText.h"

#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace gigapixel
{

namespace
{
std::uint64_t
ToWhole(const std::string & text)
{
  const bool isNumber = text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::strtoull(text.c_str(), nullptr, 10) : 0;
}
} // namespace

namespace
{
/** From the lowest depth. */
std::vector<std::size_t>
FindPlanesOfStack(const std::vector<SlideImage> & images, std::size_t stack)
{
  std::vector<std::size_t> planes;
  for (std::size_t i = 0; i < images.size(); ++i)
  {
    if (images[i].depth && images[i].stack == stack)
    {
      planes.push_back(i);
    }
  }
  std::stable_sort(planes.begin(), planes.end(), [&images](std::size_t one, std::size_t other) {
    return *images[one].depth < *images[other].depth;
  });
  return planes;
}

/** \throw SlideError several images have the name */
void
RequireOne(const std::string & path, const std::string & name, bool isOne, const std::string & list)
{
  if (!isOne)
  {
    throw SlideError(Diagnostic("E-SLIDE-IMAGE",
                                "it has several images named '" + name + '\'',
                                "choose one of them by its number: " + list)
                       .OfFile(path)
                       .OfOption("--image", name));
  }
}

/** The image that has the name or the number. */
std::size_t
FindImage(const std::string &             path,
          const std::string &             image,
          const std::vector<SlideImage> & images,
          const std::string &             list)
{
  const auto isNamed = [&image](const SlideImage & each) { return each.name == image; };
  const auto named = std::find_if(images.begin(), images.end(), isNamed);
  if (named != images.end())
  {
    RequireOne(path, image, std::count_if(named, images.end(), isNamed) == 1, list);
    return static_cast<std::size_t>(named - images.begin());
  }
  const std::string   mark = NumberMark;
  const std::uint64_t number = ToWhole(image.rfind(mark, 0) == 0 ? image.substr(mark.size()) : image);
  if (number >= 1 && number <= images.size())
  {
    return static_cast<std::size_t>(number - 1);
  }
  throw SlideError(Diagnostic("E-SLIDE-IMAGE",
                              "it has no image '" + image + "'",
                              "choose one of its images by number or name: " + list)
                     .OfFile(path)
                     .OfOption("--image", image));
}

/** The stack that has the name, or that the image is a plane of. */
std::size_t
FindStack(const std::string &             path,
          const std::string &             image,
          const std::vector<SlideImage> & images,
          const std::string &             list)
{
  std::set<std::size_t> stacks;
  for (const SlideImage & each : images)
  {
    if (each.depth && each.stackName == image)
    {
      stacks.insert(each.stack);
    }
  }
  if (stacks.empty())
  {
    return images[FindImage(path, image, images, list)].stack;
  }
  RequireOne(path, image, stacks.size() == 1, list);
  return *stacks.begin();
}
} // namespace

std::vector<std::size_t>
FindFocalPlanes(const std::vector<SlideImage> & images)
{
  const auto isRead = [](const SlideImage & image) { return image.isRead; };
  const auto isMain = [](const SlideImage & image) { return image.isMain; };
  auto       found = std::find_if(images.begin(), images.end(), isRead);
  found = found == images.end() ? std::find_if(images.begin(), images.end(), isMain) : found;
  return FindPlanesOfStack(images, found == images.end() ? 0 : found->stack);
}

std::string
DescribeFocalPlane(const std::vector<SlideImage> & images)
{
  const auto planes = FindFocalPlanes(images);
  const auto isRead = [&images](std::size_t plane) { return images[plane].isRead; };
  const auto read = std::find_if(planes.begin(), planes.end(), isRead);
  return planes.size() < 2 || read == planes.end()
           ? std::string()
           : std::to_string(read - planes.begin() + 1) + " of " + std::to_string(planes.size());
}

void
AddFocalPlaneSpacing(std::map<std::string, std::string> & properties,
                     const std::vector<SlideImage> &      images,
                     double                               unit)
{
  const auto planes = FindFocalPlanes(images);
  if (planes.size() < 2)
  {
    return;
  }
  const auto   getDepth = [&](std::size_t plane) { return *images[planes[plane]].depth; };
  const double mean = (getDepth(planes.size() - 1) - getDepth(0)) / static_cast<double>(planes.size() - 1);
  bool         areEven = mean > 0.0;
  for (std::size_t plane = 1; plane < planes.size(); ++plane)
  {
    // Depths are texts of few digits.
    areEven = areEven && std::abs(getDepth(plane) - getDepth(plane - 1) - mean) <= 0.01 * mean;
  }
  if (areEven)
  {
    constexpr double digits = 1e6; // a picometer
    properties[FocalPlaneSpacing] = ToText(std::round(mean * unit * digits) / digits);
  }
}

SlideError
NoFocalPlanes(const std::string & path, const std::string & plane)
{
  return SlideError(
    Diagnostic("E-SLIDE-IMAGE", "it has no focal planes", "leave --plane out; see info for the images that it has")
      .OfFile(path)
      .OfOption("--plane", plane));
}

SlideError
TooManyFocalPlanes(const std::string & path, std::size_t planes)
{
  return SlideError(Diagnostic("E-SLIDE-PLANES",
                               "it has " + FormatCount(planes, "focal plane") + ", where up to " +
                                 std::to_string(MostFocalPlanes) + " are told apart",
                               "write fewer planes, or one, to a file of its own")
                      .OfFile(path)
                      .OfValue(std::to_string(planes)));
}

std::size_t
FindAskedImage(const std::string &             path,
               const AskedImage &              asked,
               const std::vector<SlideImage> & images,
               const std::string &             list)
{
  if (asked.plane.empty())
  {
    const auto has = [&images](const auto & isMeant) { return std::any_of(images.begin(), images.end(), isMeant); };
    const bool isImage = has([&asked](const SlideImage & each) { return each.name == asked.image; });
    const bool isStack = has([&asked](const SlideImage & each) { return each.depth && each.stackName == asked.image; });
    if (isImage || !isStack)
    {
      return FindImage(path, asked.image, images, list);
    }
    const auto planes = FindPlanesOfStack(images, FindStack(path, asked.image, images, list));
    return *std::min_element(planes.begin(), planes.end(), [&images](std::size_t one, std::size_t other) {
      return std::abs(*images[one].depth) < std::abs(*images[other].depth);
    });
  }
  const auto          planes = asked.image.empty() ? FindFocalPlanes(images)
                                                   : FindPlanesOfStack(images, FindStack(path, asked.image, images, list));
  const std::uint64_t plane = asked.plane == "middle" ? (planes.size() + 1) / 2 : ToWhole(asked.plane);
  if (plane >= 1 && plane <= planes.size())
  {
    return planes[plane - 1];
  }
  if (planes.empty())
  {
    throw NoFocalPlanes(path, asked.plane);
  }
  throw SlideError(Diagnostic("E-SLIDE-IMAGE",
                              "it has " + FormatCount(planes.size(), "focal plane") + ", and no '" + asked.plane + '\'',
                              "give a number up to " + std::to_string(planes.size()) + ", or middle, max or focus")
                     .OfFile(path)
                     .OfOption("--plane", asked.plane));
}

Diagnostic
WarnOfFocalPlanes(const std::string & path, const std::string & which)
{
  return Diagnostic("W-SLIDE-PLANES",
                    "it has several focal planes, of which one is read: focal plane " + which,
                    "choose another one with --plane (SetFocalPlane) where it matters")
    .OfFile(path)
    .OfValue(which);
}

} // namespace gigapixel
