/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelInstructionSets_h
#define gigapixelInstructionSets_h

/** Before a function: the compiler makes it once per instruction set, and the loader picks by the processor. Results
 * are whole numbers, so they are the same in all. Elsewhere than on x86-64 Linux the plain function is all there is,
 * and under ThreadSanitizer, which the loader would need while it picks, before it is there. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&                           \
  !defined(__SANITIZE_THREAD__)
#  define GIGAPIXEL_INSTRUCTION_SETS __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#  define GIGAPIXEL_INSTRUCTION_SETS
#endif

/** Before a function that such a function calls: it must become part of it, to be made for its instruction set. */
#if defined(__GNUC__)
#  define GIGAPIXEL_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#  define GIGAPIXEL_ALWAYS_INLINE inline
#endif

#endif
