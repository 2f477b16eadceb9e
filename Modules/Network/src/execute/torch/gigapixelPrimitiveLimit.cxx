/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPrimitiveLimit.h"
#include "schedule/gigapixelGraphTileCost.h"

#include <algorithm>
#include <mutex>

#include <dlfcn.h>

namespace gigapixel::torchmodule
{
namespace
{

/** oneDNN's functions, which this module's libraries have with them. */
struct PrimitiveCache
{
  int (*getCapacity)(int *){ nullptr };
  int (*setCapacity)(int){ nullptr };
};

PrimitiveCache
FindPrimitiveCache()
{
  PrimitiveCache cache;
  Dl_info        module{};
  dladdr(reinterpret_cast<const void *>(&FindPrimitiveCache), &module);
  if (void * const handle = dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD))
  {
    cache.getCapacity = reinterpret_cast<int (*)(int *)>(dlsym(handle, "dnnl_get_primitive_cache_capacity"));
    cache.setCapacity = reinterpret_cast<int (*)(int)>(dlsym(handle, "dnnl_set_primitive_cache_capacity"));
    dlclose(handle);
  }
  return cache;
}

std::mutex &
GetMutex()
{
  static std::mutex mutex;
  return mutex;
}

const PrimitiveCache &
GetPrimitiveCache()
{
  static const PrimitiveCache cache = FindPrimitiveCache();
  return cache;
}

int objects = 0;
int before = -1; ///< the capacity that others had; -1: it cannot be changed

} // namespace

PrimitiveLimit::PrimitiveLimit()
{
  const std::lock_guard<std::mutex> lock(GetMutex());
  const PrimitiveCache &            cache = GetPrimitiveCache();
  if (objects++ > 0 || !cache.getCapacity || !cache.setCapacity)
  {
    return;
  }
  if (cache.getCapacity(&before) != 0 || cache.setCapacity(std::min(before, MostPrimitives)) != 0)
  {
    before = -1;
  }
}

PrimitiveLimit::~PrimitiveLimit()
{
  const std::lock_guard<std::mutex> lock(GetMutex());
  if (--objects == 0 && before >= 0)
  {
    GetPrimitiveCache().setCapacity(before);
    before = -1;
  }
}

} // namespace gigapixel::torchmodule
