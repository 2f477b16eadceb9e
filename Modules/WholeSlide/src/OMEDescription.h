/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OMEDescription_h
#define OMEDescription_h

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** What the OME-XML in the first page of an OME-TIFF says of its first image (OME-TIFF specification 6,
 * docs.openmicroscopy.org/ome-model; schema 2016-06). */
struct OMEDescription
{
  std::uint64_t              channels = 1; // SizeC: samples of a pixel over all pages
  std::uint64_t              depths = 1;   // SizeZ
  std::uint64_t              times = 1;    // SizeT
  std::uint64_t              images = 1;   // with pixels of their own; those after the first are not described here
  std::vector<std::uint64_t> samples;      // of each Channel element: its part of SizeC
  std::vector<std::string>   names;        // of each Channel element; empty for one without

  /** Of an image of one depth and one time with one sample a page: in which page of the file each channel is. */
  std::vector<std::uint64_t> pages;

  /** None where the text is no OME-XML, or describes no pixels. */
  static std::optional<OMEDescription> Parse(const std::string & xml);

  /** What keeps an image of these pages from being read as one slide, as part of a sentence; empty: nothing.
   * \param pageSamples samples of a pixel of the first page
   * \param pageCount pages of the file that are no children of another
   * \param alikeCount how many of them have the size of the first and are no reductions of it */
  std::string FindContradiction(std::uint64_t pageSamples, std::uint64_t pageCount, std::uint64_t alikeCount) const;
};

} // namespace gigapixel

#endif
