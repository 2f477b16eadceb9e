/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OpenJPEG alone, as this build links it: DecodeJPEG2000 FILE decodes the tiles of 16-bit gray of a TIFF's first page,
// gives each sample a place, and prints the CPU seconds and the sum of the samples.
#include <openjpeg.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

namespace
{
struct Bytes
{
  std::vector<unsigned char> data;
  std::size_t                position = 0;
};

OPJ_SIZE_T
Read(void * buffer, OPJ_SIZE_T count, void * user)
{
  auto &            bytes = *static_cast<Bytes *>(user);
  const std::size_t taken = std::min<std::size_t>(count, bytes.data.size() - bytes.position);
  std::memcpy(buffer, bytes.data.data() + bytes.position, taken);
  bytes.position += taken;
  return taken == 0 ? static_cast<OPJ_SIZE_T>(-1) : taken;
}

OPJ_OFF_T
Skip(OPJ_OFF_T count, void * user)
{
  static_cast<Bytes *>(user)->position += static_cast<std::size_t>(count);
  return count;
}

bool
Decode(Bytes & bytes, std::vector<std::uint16_t> & samples)
{
  const bool isFile = bytes.data.size() > 12 && std::memcmp(bytes.data.data() + 4, "jP  ", 4) == 0;
  const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(
    opj_create_decompress(isFile ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), opj_destroy_codec);
  const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(
    opj_stream_create(bytes.data.size(), OPJ_TRUE), opj_stream_destroy);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_stream_set_user_data(stream.get(), &bytes, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.data.size());
  opj_stream_set_read_function(stream.get(), Read);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_image_t * raw = nullptr;
  const bool isHeaded = opj_setup_decoder(codec.get(), &parameters) && opj_read_header(stream.get(), codec.get(), &raw);
  const std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)> image(raw, opj_image_destroy);
  if (!isHeaded || !opj_decode(codec.get(), stream.get(), image.get()))
  {
    return false;
  }
  const opj_image_comp_t & gray = image->comps[0];
  samples.assign(gray.data, gray.data + std::size_t{ gray.w } * gray.h);
  return true;
}
} // namespace

int
main(int argc, char * argv[])
{
  TIFF * const file = argc == 2 ? TIFFOpen(argv[1], "r") : nullptr;
  if (file == nullptr)
  {
    std::fprintf(stderr, "Usage: DecodeJPEG2000 FILE, a TIFF that can be read\n");
    return 2;
  }
  const std::clock_t         begin = std::clock();
  std::uint64_t              sum = 0;
  std::vector<std::uint16_t> samples;
  for (std::uint32_t tile = 0; tile < TIFFNumberOfTiles(file); ++tile)
  {
    Bytes bytes;
    bytes.data.resize(static_cast<std::size_t>(TIFFGetStrileByteCount(file, tile)));
    TIFFReadRawTile(file, tile, bytes.data.data(), static_cast<tmsize_t>(bytes.data.size()));
    if (!Decode(bytes, samples))
    {
      std::fprintf(stderr, "Tile %u cannot be decoded.\n", tile);
      return 1;
    }
    for (const std::uint16_t sample : samples)
    {
      sum += sample;
    }
  }
  std::printf("%.3f %llu\n", double(std::clock() - begin) / CLOCKS_PER_SEC, static_cast<unsigned long long>(sum));
  TIFFClose(file);
}
