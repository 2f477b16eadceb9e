/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MaskClass_h
#define MaskClass_h

#include <array>
#include <string>

namespace gigapixel::application
{

/** What a label stands for. */
struct MaskClass
{
  std::string                  name;
  std::array<unsigned char, 3> color; ///< RGB, in which viewers show it as well
};

} // namespace gigapixel::application

#endif
