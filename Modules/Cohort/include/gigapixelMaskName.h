/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMaskName_h
#define gigapixelMaskName_h

#include "GigapixelCohortExport.h"

#include <string>

namespace gigapixel
{

/** The name of a slide without its folder and its ending, of which ".pyramid.tif" is one. */
GigapixelCohort_EXPORT std::string GetSlideName(const std::string & slide);

/** The file that the mask of a slide has in a folder of many: <GetSlideName()>.pyramid.tif. */
GigapixelCohort_EXPORT std::string GetMaskInFolder(const std::string & folder, const std::string & slide);

/** The mask of a slide.
 * \param maskOrFolder the mask itself, or a folder that holds it as GetMaskInFolder()
 * \throw std::runtime_error there is nothing of this name, or the folder has no mask of this slide */
GigapixelCohort_EXPORT std::string FindMask(const std::string & maskOrFolder, const std::string & slide);

} // namespace gigapixel

#endif
