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

/** Makes LibTorch compute with the calling thread alone: each tile has a thread of its own. */
inline void
ComputeAlone()
{
  thread_local bool done = false;
  if (!done)
  {
    // Asked first: LibTorch takes the process' number over when it is first asked in a thread, which would undo ours.
    at::get_num_threads();
    at::set_num_threads(1);
    done = true;
  }
}

} // namespace gigapixel

#endif
