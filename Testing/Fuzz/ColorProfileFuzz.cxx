/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// ICC profiles of scanners.
#include "codecs/ColorTransform.h"
#include "FuzzTarget.h"

#include <vector>

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  gigapixel_fuzz::MayRefuse("", [&] {
    const gigapixel::ColorTransform transform(std::string(data, data + size));
    std::vector<unsigned char>      pixels(3 * 64);
    for (std::size_t i = 0; i < pixels.size(); ++i)
    {
      pixels[i] = static_cast<unsigned char>(37 * i);
    }
    transform.Apply(pixels.data(), pixels.size() / 3);
  });
  return 0;
}
