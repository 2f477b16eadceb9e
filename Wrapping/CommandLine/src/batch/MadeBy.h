/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MadeBy_h
#define MadeBy_h

#include "GigapixelCommandLineExport.h"
#include "itkGigapixelFileSource.h"

#include <string>

namespace gigapixel::commandline
{

/** Outputs tell how they were made: the command's name, KEY=VALUE for options and files, and words for switches. What
 * of it differs, for people: "--quality 80 then, 50 now; another slide, or one that has changed since".
 * \param found what the output tells; empty: nothing
 * \param wanted what is asked for */
GigapixelCommandLine_EXPORT std::string DescribeOtherMaking(const std::string & found, const std::string & wanted);

/** The image, focal plane and channels of the slide's file that an output was made of, as it tells. */
GigapixelCommandLine_EXPORT itk::GigapixelSlideContent FindContentOfMaking(const std::string & madeBy);

} // namespace gigapixel::commandline

#endif
