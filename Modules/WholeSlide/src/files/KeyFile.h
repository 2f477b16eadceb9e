/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef KeyFile_h
#define KeyFile_h

#include <filesystem>
#include <map>
#include <string>

namespace gigapixel
{

/** Values by group and key, "GENERAL/SLIDE_ID", of a text in which a group is named in brackets and its keys follow, as
 * MIRAX's Slidedat.ini and Hamamatsu's .vms are. */
using KeyFile = std::map<std::string, std::string>;

/** Empty where the file cannot be read. */
KeyFile ReadKeyFile(const std::filesystem::path & path);

constexpr double StatedFileLimit = 1 << 16;
constexpr double StatedPixelLimit = 1 << 28; // of an image

/** Throws std::runtime_error where the number behind the key is more than `most` of `what`, which is in the plural. */
void CheckStatedNumber(const KeyFile & values, const std::string & key, double most, const char * what);

/** Of the product of two. */
void CheckStatedProduct(const KeyFile &     values,
                        const std::string & first,
                        const std::string & second,
                        double              most,
                        const char *        what);

} // namespace gigapixel

#endif
