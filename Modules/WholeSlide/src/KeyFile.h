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

} // namespace gigapixel

#endif
