/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelJPEGFile.h"

#include <csetjmp>
#include <cstdio>
#include <memory>

#if __has_include("itk_jpeg.h") // of an ITK that does not keep its header to itself
#  include "itk_jpeg.h"         // the one that ITK uses

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
};

[[noreturn]] void
JumpOut(j_common_ptr info)
{
  auto * const errors = reinterpret_cast<JumpingErrors *>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

void
StaySilent(j_common_ptr, int)
{}

/** Of some bytes each, thousands of scans would keep a core busy for minutes; ten or so are usual. */
void
LimitScans(j_common_ptr info)
{
  constexpr int scanLimit = 100;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > scanLimit)
  {
    auto * const errors = reinterpret_cast<JumpingErrors *>(info->err);
    std::snprintf(errors->message, sizeof(errors->message), "it has more than %d scans", scanLimit);
    std::longjmp(errors->jump, 1);
  }
}

/** Where it fails, the errors have a message. */
void
Decode(std::FILE * file, JumpingErrors & errors, jpeg_decompress_struct & info)
{
  if (setjmp(errors.jump) == 0)
  {
    jpeg_create_decompress(&info);
    info.progress = &errors.progress;
    jpeg_stdio_src(&info, file);
    jpeg_read_header(&info, TRUE);
    jpeg_start_decompress(&info);
    const JDIMENSION samples = info.output_width * static_cast<JDIMENSION>(info.output_components);
    JSAMPARRAY const row = info.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, samples, 1);
    while (info.output_scanline < info.output_height)
    {
      jpeg_read_scanlines(&info, row, 1);
    }
    jpeg_finish_decompress(&info);
  }
  jpeg_destroy_decompress(&info);
}

} // namespace

std::string
FindJPEGError(const std::string & file)
{
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> stream(std::fopen(file.c_str(), "rb"), std::fclose);
  if (!stream)
  {
    return "it cannot be opened";
  }
  JumpingErrors          errors{};
  jpeg_decompress_struct info{};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = JumpOut;
  errors.manager.emit_message = StaySilent; // of warnings, which ITK's reader goes on at
  errors.progress.progress_monitor = LimitScans;
  Decode(stream.get(), errors, info);
  return errors.message;
}

} // namespace gigapixel

#else

std::string
gigapixel::FindJPEGError(const std::string &)
{
  return {};
}

#endif
