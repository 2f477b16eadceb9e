/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportDescription_h
#define ReportDescription_h

#include "ReportInputs.h"

namespace gigapixel::application
{

/** The data of the page, as Modules/Report/page/report.js lists them. \param command that writes the page */
nlohmann::ordered_json DescribeReport(ReportContent & content, const std::string & command, bool isAnonymous);

} // namespace gigapixel::application

#endif
