/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MadeBy_h
#define MadeBy_h

#include "GigapixelApplicationExport.h"
#include "itkGigapixelFileSource.h"

#include <string>

namespace gigapixel::application
{

/** Outputs tell how they were made: the command's name, KEY=VALUE for options and files, and words for switches. What
 * of it differs, for people: "--quality 80 then, 50 now; another slide, or one that has changed since".
 * \param found what the output tells; empty: nothing
 * \param wanted what is asked for */
GigapixelApplication_EXPORT std::string DescribeOtherMaking(const std::string & found, const std::string & wanted);

/** The image, focal plane and channels of the slide's file that an output was made of, as it tells. */
GigapixelApplication_EXPORT SlideContent FindContentOfMaking(const std::string & madeBy);

} // namespace gigapixel::application

#endif
