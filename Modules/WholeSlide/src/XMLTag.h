/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef XMLTag_h
#define XMLTag_h

#include <string>

namespace gigapixel
{

/** Where the next start tag of this name begins, from `from` on; npos where there is none. */
std::size_t FindXMLTag(const std::string & xml, const std::string & name, std::size_t from = 0);

/** The start tag at `at`, up to where it ends or, in damaged XML, the next one begins: never all that follows, which
 * for each of many tags would take hours. */
std::string GetXMLTag(const std::string & xml, std::size_t at);

/** Value of the first attribute of this name; empty where there is none. */
std::string GetXMLAttribute(const std::string & xml, const std::string & name);

} // namespace gigapixel

#endif
