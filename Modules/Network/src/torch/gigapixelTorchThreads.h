/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchThreads_h
#define gigapixelTorchThreads_h

#include <ATen/Parallel.h>

namespace gigapixel
{

/** Keeps LibTorch's process-wide number of threads for the host program while ours compute with another one. */
class KeepTorchThreads
{
public:
  KeepTorchThreads() = default;
  ~KeepTorchThreads() { at::set_num_threads(m_Threads); }
  KeepTorchThreads(const KeepTorchThreads &) = delete;
  KeepTorchThreads & operator=(const KeepTorchThreads &) = delete;

private:
  const int m_Threads{ at::get_num_threads() };
};

} // namespace gigapixel

#endif
