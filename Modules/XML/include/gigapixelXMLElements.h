/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelXMLElements_h
#define gigapixelXMLElements_h

#include "GigapixelXMLExport.h"

#include <functional>
#include <map>
#include <string>

namespace gigapixel
{

/** A start tag. Names are without prefixes: their namespaces say whose they are. */
struct GigapixelXML_EXPORT XMLElement
{
  std::string                        name;       ///< without its prefix
  std::string                        space;      ///< its namespace; empty for none
  std::map<std::string, std::string> attributes; ///< values by names without prefixes
  unsigned                           depth = 0;  ///< 0: the root

  /** Empty where there is none. */
  std::string Get(const std::string & attribute) const;
};

/** Reads XML (by expat) and shows its elements in their order to `visit`, until that returns false. Bytes are taken for
 * UTF-8 where they can be, else for Latin-1, whatever the XML says of itself: old writers are wrong there.
 * \param visitText gets the text between a start tag and the next tag, in one or more parts
 * \return what is damaged, as part of a sentence; empty: nothing, as far as was read */
GigapixelXML_EXPORT std::string ReadXML(const std::string &                                     xml,
                                        const std::function<bool(const XMLElement & element)> & visit,
                                        const std::function<void(const std::string & part)> &   visitText = {});

} // namespace gigapixel

#endif
