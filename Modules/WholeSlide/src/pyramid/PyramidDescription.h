/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidDescription_h
#define PyramidDescription_h

#include "channels/SlideChannel.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gigapixel
{

/** What our pyramids say of themselves in ImageDescription: a first line that names the format, then lines "name =
 * value". Names with a dot are properties as slides have them ("openslide.objective-power"). Not JSON, not XML and none
 * of the vendors' first words: other programs guess a file's maker from this text. An OME-TIFF has the same entries in
 * its OME-XML (PyramidOMEXML.h). */
struct PyramidDescription
{
  std::array<double, 2>              origin{ 0, 0 }; // center of the first pixel of level 0, mm
  bool                               labels{ true };
  std::string                        madeBy;
  std::map<std::string, std::string> properties;
  std::vector<SlideChannel>          channels; // several: level 0 of each is a page of its own

  using Entries = std::vector<std::pair<std::string, std::string>>;

  /** Names and values. Line breaks become spaces. */
  Entries GetEntries() const;

  /** The text of lines. */
  std::string Compose() const;

  /** False where the text is neither of this format nor OME-XML that holds it; \a description is what it says
   * otherwise. */
  static bool Parse(const std::string & text, PyramidDescription & description);

  /** TIFF's color map of the classes among the properties, "gigapixel.class.N = #rrggbb NAME": 256 reds, greens and
   * blues of 16 bit, gray for the other values. Empty where there are no classes. Throws std::runtime_error for one
   * that is not written so. */
  std::vector<std::uint16_t> GetColorMap() const;
};

/** What the properties of classes begin with. */
extern const char * const ClassPropertyStart;

} // namespace gigapixel

#endif
