/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideImageChoice_h
#define SlideImageChoice_h

#include "Slide.h"

#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** More focal planes than any microscope takes: tiles that are focused one by one have more depths than anybody lists.
 */
constexpr std::size_t MostFocalPlanes = 512;

/** A focal plane as it is asked for: "plane 2", "plane max", or "A plane 2" where an image is named as well. */
struct AskedPlane
{
  std::string image; // empty: none is named
  std::string which; // a number from 1, "middle", "max" or "focus"

  static std::optional<AskedPlane> Find(const std::string & asked);

  /** Another one of the same image. */
  std::string GetAnother(std::size_t number) const;
};

/** What is thrown where a file has no focal planes, and one is asked for. */
SlideError NoFocalPlanes(const std::string & path, const std::string & which);

/** Number (from 0) of the image that is asked for by its name, its number (from 1), or as a focal plane: "plane 2"
 * counts from the lowest depth, and "plane middle" is the lower one of two. Throws SlideError where there is none.
 * \param images their names, and the depths of those that are focal planes of one another
 * \param list of all images, for the message */
std::size_t FindAskedImage(const std::string &             path,
                           const std::string &             asked,
                           const std::vector<SlideImage> & images,
                           const std::string &             list);

/** Numbers (from 0) of the images that are focal planes of the stack that is read, else of the main image's, from the
 * lowest depth. */
std::vector<std::size_t> FindFocalPlanes(const std::vector<SlideImage> & images);

/** What is said where a plane is read that nobody asked for. \param which as DescribeFocalPlane() says it */
Diagnostic WarnOfFocalPlanes(const std::string & path, const std::string & which);

/** "2 of 5": which focal plane is read; empty where there are not several. */
std::string DescribeFocalPlane(const std::vector<SlideImage> & images);

} // namespace gigapixel

#endif
