/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "JPEGFixture.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <jpeglib.h>

namespace gigapixel_test
{
namespace
{

constexpr unsigned char QuantizationTables = 0xdb;
constexpr unsigned char HuffmanTables = 0xc4;
constexpr unsigned char StartOfScan = 0xda;

/** Bytes of the segment that begins there. */
std::size_t
GetSegmentSize(const JPEGStream & stream, std::size_t at)
{
  return 2 + (std::size_t{ stream[at + 2] } << 8 | stream[at + 3]);
}

JPEGStream
RemoveSegments(const JPEGStream & stream, unsigned char marker)
{
  JPEGStream  kept{ stream[0], stream[1] };
  std::size_t at = 2;
  for (; stream[at + 1] != StartOfScan; at += GetSegmentSize(stream, at))
  {
    if (stream[at + 1] != marker)
    {
      const auto from = stream.begin() + static_cast<std::ptrdiff_t>(at);
      kept.insert(kept.end(), from, from + static_cast<std::ptrdiff_t>(GetSegmentSize(stream, at)));
    }
  }
  kept.insert(kept.end(), stream.begin() + static_cast<std::ptrdiff_t>(at), stream.end());
  return kept;
}

} // namespace

JPEGStream
EncodeJPEG(const Picture & picture, const JPEGOptions & options)
{
  jpeg_compress_struct info;
  jpeg_error_mgr       errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char * bytes = nullptr;
  unsigned long   size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = picture.width;
  info.image_height = picture.height;
  info.input_components = static_cast<int>(picture.channels);
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (options.marker != Marker::JFIF)
  {
    jpeg_set_colorspace(&info, options.marker == Marker::AdobeRGB ? JCS_RGB : JCS_YCbCr);
    info.write_JFIF_header = FALSE;
    info.write_Adobe_marker = TRUE;
  }
  jpeg_set_quality(&info, options.quality, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = options.subsampling;
  info.restart_interval = options.restartInterval;
  info.optimize_coding = options.ownHuffmanTables ? TRUE : FALSE;
  if (options.progressive)
  {
    jpeg_simple_progression(&info);
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height)
  {
    auto * row = const_cast<unsigned char *>(picture.pixels.data()) +
                 std::size_t{ info.next_scanline } * picture.width * picture.channels;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  JPEGStream stream(bytes, bytes + size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  if (!options.ownHuffmanTables && !options.progressive)
  {
    stream = RemoveSegments(stream, HuffmanTables);
  }
  return options.leaveOutQuantizationTables ? RemoveSegments(stream, QuantizationTables) : stream;
}

Picture
DecodeWithLibJPEG(const JPEGStream & stream,
                  unsigned           channels,
                  unsigned           reduction,
                  Colors             colors,
                  const JPEGStream & tables)
{
  jpeg_decompress_struct info;
  jpeg_error_mgr         errors;
  info.err = jpeg_std_error(&errors);
  errors.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&info);
  if (!tables.empty())
  {
    jpeg_mem_src(&info, tables.data(), tables.size());
    jpeg_read_header(&info, FALSE);
  }
  jpeg_mem_src(&info, stream.data(), stream.size());
  jpeg_read_header(&info, TRUE);
  if (colors == Colors::YCbCr && info.num_components == 3)
  {
    info.jpeg_color_space = JCS_YCbCr;
  }
  info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.scale_denom = reduction;
  jpeg_start_decompress(&info);
  Picture picture{ info.output_width, info.output_height, channels, {} };
  picture.pixels.resize(std::size_t{ picture.width } * picture.height * channels);
  while (info.output_scanline < info.output_height)
  {
    JSAMPROW row = picture.pixels.data() + std::size_t{ info.output_scanline } * picture.width * channels;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_destroy_decompress(&info);
  return picture;
}

void
WriteJPEGTiles(const std::string &             path,
               const std::vector<JPEGStream> & tiles,
               std::uint32_t                   across,
               std::uint32_t                   side,
               unsigned                        channels,
               int                             subsampling)
{
  TIFF * const file = TIFFOpen(path.c_str(), "w");
  if (file == nullptr)
  {
    throw std::runtime_error("cannot write " + path);
  }
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, across * side);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(tiles.size()) / across * side);
  TIFFSetField(file, TIFFTAG_TILEWIDTH, side);
  TIFFSetField(file, TIFFTAG_TILELENGTH, side);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, channels);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_JPEG);
  TIFFSetField(file, TIFFTAG_JPEGTABLESMODE, 0);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, channels == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_YCBCR);
  if (channels == 3)
  {
    TIFFSetField(file, TIFFTAG_YCBCRSUBSAMPLING, subsampling, subsampling);
  }
  for (std::uint32_t i = 0; i < tiles.size(); ++i)
  {
    JPEGStream bytes = tiles[i];
    if (TIFFWriteRawTile(file, i, bytes.data(), static_cast<tmsize_t>(bytes.size())) < 0)
    {
      TIFFClose(file);
      throw std::runtime_error("libtiff cannot write the fixture");
    }
  }
  TIFFClose(file);
}

std::size_t
FindScan(const JPEGStream & stream)
{
  std::size_t at = 2;
  while (stream[at + 1] != StartOfScan)
  {
    at += GetSegmentSize(stream, at);
  }
  return at + GetSegmentSize(stream, at);
}

} // namespace gigapixel_test
