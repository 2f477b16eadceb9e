/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelReportPicture.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <webp/encode.h>

namespace gigapixel
{
namespace
{
/** A failure is a lack of memory: sizes and settings are ours. */
void
Require(bool isDone)
{
  if (!isDone)
  {
    throw std::bad_alloc();
  }
}

std::string
Encode(const WebPConfig & config, WebPPicture & picture)
{
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  const std::unique_ptr<WebPMemoryWriter, void (*)(WebPMemoryWriter *)> written(&writer, WebPMemoryWriterClear);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  Require(WebPEncode(&config, &picture));
  return { reinterpret_cast<const char *>(writer.mem), writer.size };
}

/** \class OwnedPicture
 * \brief A WebPPicture with the memory of its pixels. */
class OwnedPicture : public WebPPicture
{
public:
  OwnedPicture(unsigned columns, unsigned rows)
  {
    Require(WebPPictureInit(this));
    width = static_cast<int>(columns);
    height = static_cast<int>(rows);
  }
  ~OwnedPicture() { WebPPictureFree(this); }
  OwnedPicture(const OwnedPicture &) = delete;
  OwnedPicture & operator=(const OwnedPicture &) = delete;
};
} // namespace

std::string
EncodePhotograph(const std::vector<unsigned char> & rgb, unsigned width, unsigned height, int quality)
{
  WebPConfig config;
  Require(WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, static_cast<float>(quality)));
  config.method = 2; // takes half of the time of the usual 4, for 2 % more bytes
  OwnedPicture picture(width, height);
  Require(WebPPictureImportRGB(&picture, rgb.data(), static_cast<int>(3 * width)));
  return Encode(config, picture);
}

std::string
EncodeLabels(const std::vector<unsigned char> & labels, unsigned width, unsigned height)
{
  WebPConfig config;
  Require(WebPConfigInit(&config) && WebPConfigLosslessPreset(&config, 2));
  OwnedPicture picture(width, height);
  picture.use_argb = 1;
  Require(WebPPictureAlloc(&picture));
  for (std::size_t y = 0; y < height; ++y)
  {
    std::uint32_t * const row = picture.argb + y * static_cast<std::size_t>(picture.argb_stride);
    std::transform(labels.begin() + static_cast<std::ptrdiff_t>(y * width),
                   labels.begin() + static_cast<std::ptrdiff_t>((y + 1) * width),
                   row,
                   [](unsigned char label) { return 0xff000000u | label * 0x010101u; });
  }
  return Encode(config, picture);
}

} // namespace gigapixel
