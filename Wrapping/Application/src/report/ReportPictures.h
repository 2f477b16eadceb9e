/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportPictures_h
#define ReportPictures_h

#include "ReportRows.h"

#include "gigapixelReportPage.h"
#include "itkGigapixelFileSource.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** How the slides of a report are opened and drawn. */
struct ReportDrawing
{
  std::int64_t size{ 0 }; ///< longer side of pictures; 0: as large as many fit into a page
  /** What of the slides is shown; where it says nothing, what the results were made of. */
  SlideContent content{};
};

/** Measures the masks of all rows and puts pictures of slides and masks into the page. What cannot be read is missing
 * in its row. \throw Interrupted */
void DrawRows(std::vector<ReportRow> & rows, const ReportDrawing & drawing, const Session & session, ReportPage & page);

} // namespace gigapixel::application

#endif
