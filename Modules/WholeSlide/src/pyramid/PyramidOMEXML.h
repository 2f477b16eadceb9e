/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidOMEXML_h
#define PyramidOMEXML_h

#include "PyramidDescription.h"
#include "PyramidDirectory.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** Whether a file of this name is to be an OME-TIFF: it ends in .ome.tif or .ome.tiff. */
bool IsOMETIFFName(const std::string & fileName);

/** The OME-XML (schema 2016-06) of a pyramid and the images beside it. What our pyramids say of themselves is a map of
 * keys and values (MapAnnotation).
 * \param pages in their order in the file; reduced levels are children of the first one */
std::string ComposeOMEXML(const std::vector<PyramidPage> & pages,
                          const PyramidMetadata &          metadata,
                          const PyramidDescription &       description);

/** The map of keys and values in an OME-XML that we wrote; empty for any other text. */
PyramidDescription::Entries ReadOMEXMLEntries(const std::string & text);

} // namespace gigapixel

#endif
