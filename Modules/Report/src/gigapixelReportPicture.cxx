/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelReportPicture.h"

#include <cstdint>
#include <new>

#include <webp/encode.h>

namespace gigapixel
{
namespace
{
/** Takes over what libwebp has allocated. \param size 0: it failed, which with these pictures is for lack of memory */
std::string
Take(std::uint8_t * bytes, std::size_t size)
{
  if (size == 0)
  {
    throw std::bad_alloc();
  }
  std::string taken(reinterpret_cast<const char *>(bytes), size);
  WebPFree(bytes);
  return taken;
}
} // namespace

std::string
EncodePhotograph(const std::vector<unsigned char> & rgb, unsigned width, unsigned height, int quality)
{
  std::uint8_t *    bytes = nullptr;
  const std::size_t size = WebPEncodeRGB(rgb.data(),
                                         static_cast<int>(width),
                                         static_cast<int>(height),
                                         static_cast<int>(3 * width),
                                         static_cast<float>(quality),
                                         &bytes);
  return Take(bytes, size);
}

std::string
EncodeLabels(const std::vector<unsigned char> & labels, unsigned width, unsigned height)
{
  std::vector<unsigned char> rgb;
  rgb.reserve(3 * labels.size());
  for (const unsigned char label : labels)
  {
    rgb.insert(rgb.end(), 3, label);
  }
  std::uint8_t *    bytes = nullptr;
  const std::size_t size = WebPEncodeLosslessRGB(
    rgb.data(), static_cast<int>(width), static_cast<int>(height), static_cast<int>(3 * width), &bytes);
  return Take(bytes, size);
}

} // namespace gigapixel
