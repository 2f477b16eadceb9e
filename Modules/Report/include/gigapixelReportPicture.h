/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReportPicture_h
#define gigapixelReportPicture_h

#include "GigapixelReportExport.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** A photograph as WebP. \param rgb rows without gaps \param quality 1 to 100 */
GigapixelReport_EXPORT std::string EncodePhotograph(const std::vector<unsigned char> & rgb,
                                                    unsigned                           width,
                                                    unsigned                           height,
                                                    int                                quality);

/** Labels as WebP without loss, each as a gray of its value: a browser reads the same numbers back. */
GigapixelReport_EXPORT std::string EncodeLabels(const std::vector<unsigned char> & labels,
                                                unsigned                           width,
                                                unsigned                           height);

} // namespace gigapixel

#endif
