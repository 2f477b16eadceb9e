/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidTileCompressor.h"

#include "gigapixelDiagnostic.h"

#include <csetjmp>
#include <cstdio>
#include <string>

#include <jpeglib.h>

namespace gigapixel
{
namespace
{
/** libjpeg's error and destination, which it finds through pointers to their first members. */
struct JPEGError
{
  jpeg_error_mgr base;
  std::jmp_buf   jump; // no C++ exception may pass through C frames
};

struct JPEGDestination
{
  jpeg_destination_mgr      base;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(32768);

  std::vector<std::uint8_t>::const_iterator
  GetEnd() const
  {
    return bytes.end() - static_cast<std::ptrdiff_t>(base.free_in_buffer);
  }
};

/** The buffer is kept from tile to tile: it only grows, and is not cleared. */
void
StartDestination(j_compress_ptr compress)
{
  auto * destination = reinterpret_cast<JPEGDestination *>(compress->dest);
  destination->base.next_output_byte = destination->bytes.data();
  destination->base.free_in_buffer = destination->bytes.size();
}

boolean
GrowDestination(j_compress_ptr compress)
{
  auto *            destination = reinterpret_cast<JPEGDestination *>(compress->dest);
  const std::size_t filled = destination->bytes.size();
  destination->bytes.resize(2 * filled);
  destination->base.next_output_byte = destination->bytes.data() + filled;
  destination->base.free_in_buffer = filled;
  return TRUE;
}

void
EndDestination(j_compress_ptr)
{}

[[noreturn]] void
ThrowOutOfC(j_common_ptr compress)
{
  std::longjmp(reinterpret_cast<JPEGError *>(compress->err)->jump, 1);
}

class JPEGCompressor final : public PyramidTileCompressor
{
public:
  explicit JPEGCompressor(const PyramidFormat & format)
    : m_Format(format)
    , m_Rows(format.tileSize)
  {
    m_Compress.err = jpeg_std_error(&m_Error.base);
    m_Error.base.error_exit = ThrowOutOfC;
    if (setjmp(m_Error.jump))
    {
      Fail();
    }
    jpeg_create_compress(&m_Compress);
    m_Destination.base.init_destination = StartDestination;
    m_Destination.base.empty_output_buffer = GrowDestination;
    m_Destination.base.term_destination = EndDestination;
    m_Compress.dest = &m_Destination.base;
    m_Compress.image_width = format.tileSize;
    m_Compress.image_height = format.tileSize;
    m_Compress.input_components = static_cast<int>(format.channels);
    m_Compress.in_color_space = format.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&m_Compress); // RGB becomes YCbCr
    m_Compress.comp_info[0].h_samp_factor = format.channels == 3 ? static_cast<int>(format.subsampling[0]) : 1;
    m_Compress.comp_info[0].v_samp_factor = format.channels == 3 ? static_cast<int>(format.subsampling[1]) : 1;
    jpeg_set_quality(&m_Compress, format.compressionLevel, TRUE);
    m_Compress.write_JFIF_header = FALSE; // TIFF's tags say it
  }

  ~JPEGCompressor() override { jpeg_destroy_compress(&m_Compress); }

  void
  Compress(const std::uint8_t * tile, std::size_t rowBytes, std::vector<std::uint8_t> & compressed) override
  {
    for (std::size_t row = 0; row < m_Rows.size(); ++row)
    {
      m_Rows[row] = const_cast<JSAMPROW>(tile + row * rowBytes); // libjpeg only reads them
    }
    if (setjmp(m_Error.jump))
    {
      Fail();
    }
    jpeg_suppress_tables(&m_Compress, TRUE);
    jpeg_start_compress(&m_Compress, FALSE);
    while (m_Compress.next_scanline < m_Compress.image_height)
    {
      jpeg_write_scanlines(
        &m_Compress, &m_Rows[m_Compress.next_scanline], m_Compress.image_height - m_Compress.next_scanline);
    }
    jpeg_finish_compress(&m_Compress);
    compressed.assign(m_Destination.bytes.cbegin(), m_Destination.GetEnd());
  }

  std::vector<std::uint8_t>
  GetTables() override
  {
    if (setjmp(m_Error.jump))
    {
      Fail();
    }
    jpeg_suppress_tables(&m_Compress, FALSE);
    jpeg_write_tables(&m_Compress);
    return { m_Destination.bytes.cbegin(), m_Destination.GetEnd() };
  }

private:
  [[noreturn]] void
  Fail()
  {
    char message[JMSG_LENGTH_MAX];
    m_Error.base.format_message(reinterpret_cast<j_common_ptr>(&m_Compress), message);
    jpeg_abort_compress(&m_Compress);
    throw Refusal(Diagnostic("E-INTERNAL", std::string("a tile could not be compressed as JPEG: ") + message));
  }

  PyramidFormat         m_Format;
  jpeg_compress_struct  m_Compress{};
  JPEGError             m_Error{};
  JPEGDestination       m_Destination{};
  std::vector<JSAMPROW> m_Rows;
};
} // namespace

std::unique_ptr<PyramidTileCompressor>
NewJPEGCompressor(const PyramidFormat & format)
{
  return std::make_unique<JPEGCompressor>(format);
}

} // namespace gigapixel
