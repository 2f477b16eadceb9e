/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileDecoder.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>
#include <jerror.h>

namespace gigapixel
{
namespace
{

/** libjpeg reports errors by a jump; the frames between may own nothing. */
struct JumpingErrors
{
  jpeg_error_mgr    manager; // first: libjpeg's pointer to it is our pointer
  jpeg_progress_mgr progress;
  std::jmp_buf      jump;
  char              message[JMSG_LENGTH_MAX];
  char              warning[JMSG_LENGTH_MAX]; // the first one; empty where there is none
};

[[noreturn]] void
JumpOut(j_common_ptr info)
{
  auto * const errors = reinterpret_cast<JumpingErrors *>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

/** Keeps the first warning that is about the coded pixels. Versions of JFIF and of Adobe's marker that libjpeg does not
 * know change none of them. */
void
OnMessage(j_common_ptr info, int level)
{
  auto * const errors = reinterpret_cast<JumpingErrors *>(info->err);
  const int    code = info->err->msg_code;
  if (level < 0 && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM && errors->warning[0] == '\0')
  {
    info->err->format_message(info, errors->warning);
  }
}

void
StaySilent(j_common_ptr)
{}

/** A progressive stream refines its picture by scans, each of which goes over all of it: ten or so are usual. Of some
 * bytes each, thousands would keep a core busy for minutes. The limit is libtiff's. */
void
LimitScans(j_common_ptr info)
{
  constexpr int scanLimit = 100;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > scanLimit)
  {
    auto * const errors = reinterpret_cast<JumpingErrors *>(info->err);
    std::snprintf(errors->message, sizeof(errors->message), "its JPEG stream has more than %d scans", scanLimit);
    std::longjmp(errors->jump, 1);
  }
}

/** A libjpeg object of one stream's own. Between streams libjpeg keeps their tables, so that what one used for another
 * decoded a stream without tables by those of a stranger; making one costs less than a hundredth of a tile. */
class Decompressor
{
public:
  Decompressor()
  {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = JumpOut;
    errors.manager.emit_message = OnMessage;
    errors.manager.output_message = StaySilent;
    errors.progress.progress_monitor = LimitScans;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); } // also where it was never created
  Decompressor(const Decompressor &) = delete;
  Decompressor & operator=(const Decompressor &) = delete;

  jpeg_decompress_struct info{};
  JumpingErrors          errors{};
};

/** By JFIF's marker, then by Adobe's, as libjpeg decides. A stream without both says it where its second component has
 * fewer samples than its first one: nobody reduces green. */
bool
SaysYCbCr(const jpeg_decompress_struct & info)
{
  if (info.saw_JFIF_marker != FALSE || info.saw_Adobe_marker != FALSE)
  {
    return info.saw_JFIF_marker != FALSE || info.Adobe_transform != 0;
  }
  return info.comp_info[1].h_samp_factor < info.comp_info[0].h_samp_factor ||
         info.comp_info[1].v_samp_factor < info.comp_info[0].v_samp_factor;
}

J_COLOR_SPACE
StoredColorSpace(ColorModel model, const jpeg_decompress_struct & info)
{
  if (info.num_components == 1)
  {
    return JCS_GRAYSCALE;
  }
  if (info.num_components == 3)
  {
    const bool isMarkedRGB = info.saw_Adobe_marker != FALSE && info.Adobe_transform == 0;
    return model == ColorModel::RGB || (model == ColorModel::Marked && isMarkedRGB) ||
               (model == ColorModel::MarkedRGB && !SaysYCbCr(info))
             ? JCS_RGB
             : JCS_YCbCr;
  }
  return JCS_UNKNOWN;
}

/** Output pixels that show so many stored ones. */
JDIMENSION
Reduce(std::uint32_t side, const StoredSize & stored)
{
  return (side + stored.reduction - 1) / stored.reduction;
}

/** Header and start. Returns what is wrong, or null. */
const char *
Start(jpeg_decompress_struct & info,
      ByteSpan                 stream,
      ByteSpan                 tables,
      ColorModel               model,
      const PixelSpan &        out,
      StoredSize               stored)
{
  if (tables.size > 0)
  {
    jpeg_mem_src(&info, tables.data, tables.size);
    if (jpeg_read_header(&info, FALSE) != JPEG_HEADER_TABLES_ONLY)
    {
      return "its JPEG tables hold an image";
    }
  }
  jpeg_mem_src(&info, stream.data, stream.size);
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK)
  {
    return "its JPEG stream holds no image";
  }
  info.jpeg_color_space = StoredColorSpace(model, info);
  if (info.jpeg_color_space == JCS_UNKNOWN || info.data_precision != 8)
  {
    return "its JPEG stream has neither one nor three components of 8 bit";
  }
  if (info.image_width < stored.width || info.image_height < stored.height || info.image_width > 65500 ||
      info.image_height > out.height * stored.reduction + 15)
  {
    return "its JPEG stream is of another size than the tile";
  }
  info.out_color_space = out.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = stored.reduction;
  jpeg_start_decompress(&info);
  // Beyond the picture's right edge nothing is computed, but for a few columns, as colors are smoothed across them.
  constexpr JDIMENSION smoothed = 16;
  JDIMENSION           left = 0;
  JDIMENSION           width = Reduce(stored.width, stored) + smoothed;
  if (width < info.output_width)
  {
    jpeg_crop_scanline(&info, &left, &width);
  }
  return nullptr;
}

void
ReadRows(jpeg_decompress_struct & info, const PixelSpan & out, JDIMENSION height)
{
  constexpr unsigned batch = 16;
  JSAMPROW           rows[batch];
  while (info.output_scanline < height)
  {
    const std::uint32_t first = info.output_scanline;
    const std::uint32_t count = height - first < batch ? height - first : batch;
    for (std::uint32_t i = 0; i < count; ++i)
    {
      rows[i] = out.data + (first + i) * out.stride;
    }
    jpeg_read_scanlines(&info, rows, count);
  }
}

void
ReadCroppedRows(jpeg_decompress_struct & info, const PixelSpan & out, JDIMENSION height)
{
  JSAMPARRAY row = info.mem->alloc_sarray(
    reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, info.output_width * static_cast<JDIMENSION>(out.channels), 1);
  while (info.output_scanline < height)
  {
    unsigned char * const target = out.data + info.output_scanline * out.stride;
    jpeg_read_scanlines(&info, row, 1);
    std::memcpy(target, row[0], std::size_t{ out.width } * out.channels);
  }
}

/** Returns what is wrong, or null. Owns nothing, nor do the functions that it calls, as libjpeg may jump out of them.
 */
const char *
Decode(Decompressor &    decompressor,
       ByteSpan          stream,
       ByteSpan          tables,
       ColorModel        model,
       const PixelSpan & out,
       StoredSize        stored)
{
  jpeg_decompress_struct & info = decompressor.info;
  if (setjmp(decompressor.errors.jump) != 0)
  {
    return decompressor.errors.message;
  }
  jpeg_create_decompress(&info);
  // A hostile progressive stream may ask for the whole image's coefficients.
  info.mem->max_memory_to_use = 1L << 30;
  info.progress = &decompressor.errors.progress;
  if (const char * const complaint = Start(info, stream, tables, model, out, stored))
  {
    return complaint;
  }
  const JDIMENSION height = std::min(out.height, Reduce(stored.height, stored)); // nor below the bottom edge
  info.output_width <= out.width ? ReadRows(info, out, height) : ReadCroppedRows(info, out, height);
  if (info.output_scanline == info.output_height)
  {
    // Up to the end marker: what a wrong code has left over is only seen there.
    jpeg_finish_decompress(&info);
  }
  return nullptr;
}

} // namespace

std::string
DecodeJPEG(ByteSpan stream, ByteSpan tables, ColorModel model, const PixelSpan & out, StoredSize stored)
{
  Decompressor decompressor;
  if (const char * const complaint = Decode(decompressor, stream, tables, model, out, stored))
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", complaint));
  }
  return decompressor.errors.warning;
}

} // namespace gigapixel
