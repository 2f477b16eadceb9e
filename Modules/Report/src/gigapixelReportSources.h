/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReportSources_h
#define gigapixelReportSources_h

namespace gigapixel
{

// The files of page/, as the build found them. The HTML has places {{NAME}} for the others.
extern const char * const ReportHTML;
extern const char * const ReportStyle;
extern const char * const ReportScript;

} // namespace gigapixel

#endif
