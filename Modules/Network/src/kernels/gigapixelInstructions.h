/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelInstructions_h
#define gigapixelInstructions_h

namespace gigapixel
{

/** Whether this CPU has the parts of AVX-512 that LibTorch and oneDNN ask for. Without them oneDNN has other
 * primitives, and LibTorch lets it compute nothing in bf16. */
inline bool
HasAVX512()
{
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

} // namespace gigapixel

#endif
