/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelModuleFile_h
#define gigapixelModuleFile_h

#include <string>

namespace gigapixel
{

/** A symbol of a part of the engine that is loaded when it is first needed: of ITKGigapixel/lib<module>.so, which lies
 * beside this library. It is never unloaded, since LibTorch does not like that.
 * \throw std::runtime_error the loader's reason */
void * FindInModule(const std::string & module, const std::string & symbol);

} // namespace gigapixel

#endif
