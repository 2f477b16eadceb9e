/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Included before every file of a build for fuzzing. ITK 5.2 refuses all compilers but the one that built it, which for
// Debian's is GCC; what its headers conclude of GCC's version holds for clang as well, which poses as it there.
#ifndef ITKOfGCC_h
#define ITKOfGCC_h

#if __has_include(<itk_compiler_detection.h>)
#  pragma push_macro("__clang__")
#  pragma push_macro("__GNUC__")
#  undef __clang__
#  undef __GNUC__
#  define __GNUC__ 12
#  include <itk_compiler_detection.h>
#  if __has_include(<vcl_compiler_detection.h>)
#    include <vcl_compiler_detection.h>
#  endif
#  pragma pop_macro("__GNUC__")
#  pragma pop_macro("__clang__")
#endif

#endif
