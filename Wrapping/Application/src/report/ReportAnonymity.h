/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportAnonymity_h
#define ReportAnonymity_h

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>

namespace gigapixel::application
{

// What --anonymous leaves out of the data of a page: names, paths and what else may tell a person.

/** Whether a column of a table says nothing of a person, by its name. */
bool IsAnonymousColumn(const std::string & column);

/** What is said of how a mask was made, without what tells its slide, or any file. */
std::string ForgetSlide(const std::string & madeBy, bool isAnonymous);

void AnonymizeSlide(nlohmann::ordered_json & slide, std::size_t number);

/** All but what AnonymizeSlide() has done. \param data of the page */
void AnonymizeRest(nlohmann::ordered_json & data);

} // namespace gigapixel::application

#endif
