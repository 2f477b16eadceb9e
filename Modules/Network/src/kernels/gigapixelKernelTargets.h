/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Included before any header of Highway. No include guard is wanted or needed: the definition is always the same.

// One build for each of: SSE4 (x86-64-v2), AVX2 (v3), AVX-512 (v4), NEON, and plain C++ for what has none of them.
// SSSE3 and the further AVX-512 sets add nothing to these kernels but compile time; vectors whose length is not known
// when compiling (SVE, RVV) can't stand in arrays of accumulators.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
