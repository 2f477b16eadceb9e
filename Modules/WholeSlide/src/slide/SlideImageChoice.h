/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideImageChoice_h
#define SlideImageChoice_h

#include "Slide.h"

#include <map>
#include <string>
#include <vector>

namespace gigapixel
{

/** More focal planes than any microscope takes: tiles that are focused one by one have more depths than anybody lists.
 */
constexpr std::size_t MostFocalPlanes = 512;

/** What is thrown where a file has no focal planes, and one is asked for. */
SlideError NoFocalPlanes(const std::string & path, const std::string & plane);

/** What is thrown where a file has more focal planes than can be chosen from. */
SlideError TooManyFocalPlanes(const std::string & path, std::size_t planes);

/** Number (from 0) of the image that is asked for, or of its focal plane: planes count from the lowest depth, and
 * "middle" is the lower one of two. Throws SlideError where there is none.
 * \param images their names, and the depths of those that are focal planes of one another
 * \param list of all images, for the message */
std::size_t FindAskedImage(const std::string &             path,
                           const AskedImage &              asked,
                           const std::vector<SlideImage> & images,
                           const std::string &             list);

/** Numbers (from 0) of the images that are focal planes of the stack that is read, else of the main image's, from the
 * lowest depth. */
std::vector<std::size_t> FindFocalPlanes(const std::vector<SlideImage> & images);

/** What is said where a plane is read that nobody asked for. \param which as DescribeFocalPlane() says it */
Diagnostic WarnOfFocalPlanes(const std::string & path, const std::string & which);

/** "2 of 5": which focal plane is read; empty where there are not several. */
std::string DescribeFocalPlane(const std::vector<SlideImage> & images);

/** Says how far the focal planes that are read, or stand beside the one that is read, are apart (FocalPlaneSpacing);
 * nothing where they are not equally far. \param unit of their depths, in micrometers */
void AddFocalPlaneSpacing(std::map<std::string, std::string> & properties,
                          const std::vector<SlideImage> &      images,
                          double                               unit);

} // namespace gigapixel

#endif
