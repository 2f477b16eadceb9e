/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchVersion_h
#define gigapixelTorchVersion_h

#include "GigapixelNetworkExport.h"

#include <string>

namespace gigapixel
{

/** Version of the LibTorch that computes graphs, "1.13.0". Loads it.
 * \throw std::runtime_error one sentence, when it does not load */
GigapixelNetwork_EXPORT std::string GetTorchVersion();

/** What loads LibTorch where the dynamic loader does not find it, as of Python's packages. It is called before LibTorch
 * is needed, unless it is loaded. \param find throws what to install; null: nothing */
GigapixelNetwork_EXPORT void SetTorchFinder(void (*find)());

} // namespace gigapixel

#endif
