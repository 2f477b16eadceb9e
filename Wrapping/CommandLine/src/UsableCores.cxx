/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelUsableCores.h"

#include <sched.h>
#include <thread>

namespace gigapixel::commandline
{

int
CountUsableCores()
{
#ifdef __linux__
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
  {
    return CPU_COUNT(&cores);
  }
#endif
  const unsigned int cores_of_machine = std::thread::hardware_concurrency();
  return cores_of_machine > 0 ? static_cast<int>(cores_of_machine) : 1;
}

} // namespace gigapixel::commandline
