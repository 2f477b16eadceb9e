/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFFixture.h"

#include "TemporaryFolder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <openjpeg.h>

namespace gigapixel_test
{
namespace
{

struct CloseTIFF
{
  void
  operator()(TIFF * file) const
  {
    TIFFClose(file);
  }
};
using TIFFPointer = std::unique_ptr<TIFF, CloseTIFF>;

void
WritePieces(TIFF * file, const Picture & picture, const PyramidOptions & options, bool leaveOutFirst)
{
  const std::uint32_t pieceWidth = options.strips ? picture.width : options.tile;
  const std::uint32_t pieceHeight = options.tile;
  const unsigned      planes = options.planes == PLANARCONFIG_SEPARATE ? picture.channels : 1;
  const unsigned      samples = picture.channels / planes;
  for (unsigned plane = 0; plane < planes; ++plane)
  {
    for (std::uint32_t top = 0; top < picture.height; top += pieceHeight)
    {
      for (std::uint32_t left = 0; left < picture.width; left += pieceWidth)
      {
        if (leaveOutFirst && top == 0 && left == 0)
        {
          continue;
        }
        const std::uint32_t        rows = options.strips ? std::min(pieceHeight, picture.height - top) : pieceHeight;
        std::vector<unsigned char> piece(std::size_t{ pieceWidth } * rows * samples, 77);
        for (std::uint32_t y = 0; y < std::min(rows, picture.height - top); ++y)
        {
          for (std::uint32_t x = 0; x < std::min(pieceWidth, picture.width - left); ++x)
          {
            for (unsigned c = 0; c < samples; ++c)
            {
              piece[(std::size_t{ y } * pieceWidth + x) * samples + c] =
                picture.pixels[(std::size_t{ top + y } * picture.width + left + x) * picture.channels + plane + c];
            }
          }
        }
        const auto size = static_cast<tmsize_t>(piece.size());
        const auto sample = static_cast<std::uint16_t>(plane);
        const auto written =
          options.strips ? TIFFWriteEncodedStrip(file, TIFFComputeStrip(file, top, sample), piece.data(), size)
                         : TIFFWriteEncodedTile(file, TIFFComputeTile(file, left, top, 0, sample), piece.data(), size);
        if (written < 0)
        {
          throw std::runtime_error("libtiff cannot write the fixture");
        }
      }
    }
  }
}

void
WriteLevel(TIFF * file, const PyramidOptions & options, unsigned level)
{
  const Picture picture = MakePicture(options.width >> level, options.height >> level, options.samples, level);
  TIFFSetField(file, TIFFTAG_SUBFILETYPE, level == 0 ? 0 : FILETYPE_REDUCEDIMAGE);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, picture.width);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, picture.height);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, options.samples);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, options.photometric);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, options.planes);
  TIFFSetField(file, TIFFTAG_COMPRESSION, options.compression);
  if (options.strips)
  {
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, options.tile);
  }
  else
  {
    TIFFSetField(file, TIFFTAG_TILEWIDTH, options.tile);
    TIFFSetField(file, TIFFTAG_TILELENGTH, options.tile);
  }
  if (options.pixelsPerCentimeter > 0.0)
  {
    TIFFSetField(file, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
    TIFFSetField(file, TIFFTAG_XRESOLUTION, options.pixelsPerCentimeter / (1u << level));
    TIFFSetField(file, TIFFTAG_YRESOLUTION, options.pixelsPerCentimeter / (1u << level));
  }
  if (options.photometric == PHOTOMETRIC_YCBCR)
  {
    TIFFSetField(file, TIFFTAG_YCBCRSUBSAMPLING, options.subsampling, options.subsampling);
    TIFFSetField(file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  if (options.photometric == PHOTOMETRIC_PALETTE)
  {
    std::uint16_t map[3][256];
    for (unsigned i = 0; i < 256; ++i)
    {
      map[0][i] = static_cast<std::uint16_t>(i * 257);
      map[1][i] = static_cast<std::uint16_t>((255 - i) * 257);
      map[2][i] = static_cast<std::uint16_t>((i * 7 & 255) * 257);
    }
    TIFFSetField(file, TIFFTAG_COLORMAP, map[0], map[1], map[2]);
  }
  if (options.samples == 4)
  {
    TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &options.extraSample);
  }
  if (options.predictor != 1)
  {
    TIFFSetField(file, TIFFTAG_PREDICTOR, options.predictor);
  }
  if (!options.description.empty())
  {
    TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, options.description.c_str());
  }
  if (!options.xml.empty() && level == 0)
  {
    TIFFSetField(file, TIFFTAG_XMLPACKET, static_cast<std::uint32_t>(options.xml.size()), options.xml.data());
  }
  if (!options.software.empty())
  {
    TIFFSetField(file, TIFFTAG_SOFTWARE, options.software.c_str());
  }
  if (!options.colorProfile.empty())
  {
    TIFFSetField(
      file, TIFFTAG_ICCPROFILE, static_cast<std::uint32_t>(options.colorProfile.size()), options.colorProfile.data());
  }
  WritePieces(file, picture, options, options.leaveOutFirstTile && level == 0);
  if (TIFFWriteDirectory(file) == 0)
  {
    throw std::runtime_error("libtiff cannot write the fixture");
  }
}

struct MemoryStream
{
  std::vector<unsigned char> bytes;
  std::size_t                position = 0;
};

OPJ_SIZE_T
ReadStream(void * buffer, OPJ_SIZE_T count, void * user)
{
  auto * const      stream = static_cast<MemoryStream *>(user);
  const std::size_t taken = std::min<std::size_t>(count, stream->bytes.size() - stream->position);
  std::memcpy(buffer, stream->bytes.data() + stream->position, taken);
  stream->position += taken;
  return taken == 0 ? static_cast<OPJ_SIZE_T>(-1) : taken;
}

OPJ_SIZE_T
WriteStream(void * buffer, OPJ_SIZE_T count, void * user)
{
  auto * const stream = static_cast<MemoryStream *>(user);
  stream->bytes.resize(std::max<std::size_t>(stream->bytes.size(), stream->position + count));
  std::memcpy(stream->bytes.data() + stream->position, buffer, count);
  stream->position += count;
  return count;
}

OPJ_OFF_T
SkipStream(OPJ_OFF_T count, void * user)
{
  static_cast<MemoryStream *>(user)->position += static_cast<std::size_t>(count);
  return count;
}

OPJ_BOOL
SeekStream(OPJ_OFF_T position, void * user)
{
  static_cast<MemoryStream *>(user)->position = static_cast<std::size_t>(position);
  return OPJ_TRUE;
}

} // namespace

Picture
MakePicture(std::uint32_t width, std::uint32_t height, unsigned channels, unsigned seed)
{
  Picture     picture{ width, height, channels, std::vector<unsigned char>(std::size_t{ width } * height * channels) };
  std::size_t at = 0;
  for (std::uint32_t y = 0; y < height; ++y)
  {
    for (std::uint32_t x = 0; x < width; ++x)
    {
      std::uint32_t noise = (x * 73856093u) ^ (y * 19349663u) ^ ((seed + 1) * 83492791u);
      noise = (noise ^ (noise >> 13)) * 0x5bd1e995u;
      const bool flat = (x / 90 + y / 70 + seed) % 3 == 0;
      for (unsigned c = 0; c < channels; ++c)
      {
        const unsigned smooth = (x * (c + 1) / 3 + y / (c + 1) + seed * 40) % 256;
        const unsigned texture = (noise >> (8 + 5 * c)) % 32;
        picture.pixels[at++] = static_cast<unsigned char>(flat ? 200 + 10 * c : (smooth * 7 / 8 + texture) & 255);
      }
    }
  }
  return picture;
}

void
WritePyramid(const std::string & path, const PyramidOptions & options)
{
  const std::string mode =
    std::string(options.append ? "a" : "w") + (options.big ? "8" : "4") + (options.bigEndian ? "b" : "l");
  const TIFFPointer file(TIFFOpen(path.c_str(), mode.c_str()));
  if (!file)
  {
    throw std::runtime_error("cannot write " + path);
  }
  for (unsigned level = 0; level < options.levels; ++level)
  {
    WriteLevel(file.get(), options, level);
  }
}

Picture
ReadWithLibTIFF(const std::string & path, unsigned page)
{
  const TIFFPointer file(TIFFOpen(path.c_str(), "r"));
  if (!file || TIFFSetDirectory(file.get(), static_cast<std::uint16_t>(page)) == 0)
  {
    throw std::runtime_error("libtiff cannot read " + path);
  }
  Picture       picture;
  std::uint16_t samples = 1;
  std::uint16_t photometric = 0;
  std::uint16_t compression = 0;
  std::uint16_t config = PLANARCONFIG_CONTIG;
  std::uint32_t pieceWidth = 0;
  std::uint32_t pieceHeight = 0;
  TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &picture.width);
  TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &picture.height);
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetField(file.get(), TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetField(file.get(), TIFFTAG_COMPRESSION, &compression);
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_PLANARCONFIG, &config);
  if (compression == COMPRESSION_JPEG && photometric == PHOTOMETRIC_YCBCR)
  {
    TIFFSetField(file.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  const bool tiled = TIFFIsTiled(file.get()) != 0;
  if (tiled)
  {
    TIFFGetField(file.get(), TIFFTAG_TILEWIDTH, &pieceWidth);
    TIFFGetField(file.get(), TIFFTAG_TILELENGTH, &pieceHeight);
  }
  else
  {
    pieceWidth = picture.width;
    TIFFGetFieldDefaulted(file.get(), TIFFTAG_ROWSPERSTRIP, &pieceHeight);
  }
  picture.channels = samples;
  picture.pixels.resize(std::size_t{ picture.width } * picture.height * samples);
  const unsigned             planes = config == PLANARCONFIG_SEPARATE ? samples : 1;
  const unsigned             inPiece = samples / planes;
  std::vector<unsigned char> piece(
    static_cast<std::size_t>(tiled ? TIFFTileSize(file.get()) : TIFFStripSize(file.get())));
  for (unsigned plane = 0; plane < planes; ++plane)
  {
    for (std::uint32_t top = 0; top < picture.height; top += pieceHeight)
    {
      for (std::uint32_t left = 0; left < picture.width; left += pieceWidth)
      {
        const auto sample = static_cast<std::uint16_t>(plane);
        const auto size = static_cast<tmsize_t>(piece.size());
        const auto read =
          tiled ? TIFFReadEncodedTile(file.get(), TIFFComputeTile(file.get(), left, top, 0, sample), piece.data(), size)
                : TIFFReadEncodedStrip(file.get(), TIFFComputeStrip(file.get(), top, sample), piece.data(), size);
        if (read < 0)
        {
          throw std::runtime_error("libtiff cannot decode " + path);
        }
        for (std::uint32_t y = top; y < std::min(picture.height, top + pieceHeight); ++y)
        {
          for (std::uint32_t x = left; x < std::min(picture.width, left + pieceWidth); ++x)
          {
            for (unsigned c = 0; c < inPiece; ++c)
            {
              picture.pixels[(std::size_t{ y } * picture.width + x) * samples + plane + c] =
                piece[(std::size_t{ y - top } * pieceWidth + x - left) * inPiece + c];
            }
          }
        }
      }
    }
  }
  return picture;
}

std::vector<unsigned char>
EncodeJPEG2000(const Picture & picture, bool colorTransform)
{
  std::vector<opj_image_cmptparm_t> components(picture.channels);
  for (auto & component : components)
  {
    component = {};
    component.dx = component.dy = 1;
    component.w = picture.width;
    component.h = picture.height;
    component.prec = 8;
  }
  opj_image_t * const image =
    opj_image_create(picture.channels, components.data(), picture.channels == 1 ? OPJ_CLRSPC_GRAY : OPJ_CLRSPC_SRGB);
  image->x1 = picture.width;
  image->y1 = picture.height;
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
  {
    image->comps[i % picture.channels].data[i / picture.channels] = picture.pixels[i];
  }
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.tcp_rates[0] = 0;
  parameters.tcp_mct = colorTransform ? 1 : 0;
  MemoryStream         memory;
  opj_codec_t * const  codec = opj_create_compress(OPJ_CODEC_J2K);
  opj_stream_t * const stream = opj_stream_create(1 << 16, OPJ_FALSE);
  opj_stream_set_user_data(stream, &memory, nullptr);
  opj_stream_set_write_function(stream, WriteStream);
  opj_stream_set_skip_function(stream, SkipStream);
  opj_stream_set_seek_function(stream, SeekStream);
  const bool done = opj_setup_encoder(codec, &parameters, image) && opj_start_compress(codec, image, stream) &&
                    opj_encode(codec, stream) && opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  if (!done)
  {
    throw std::runtime_error("OpenJPEG cannot write the fixture");
  }
  return memory.bytes;
}

Picture
DecodeWithOpenJPEG(const std::vector<unsigned char> & bytes, unsigned leaveOut)
{
  MemoryStream         memory{ bytes };
  opj_codec_t * const  codec = opj_create_decompress(bytes[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t * const stream = opj_stream_create(1 << 16, OPJ_TRUE);
  opj_stream_set_user_data(stream, &memory, nullptr);
  opj_stream_set_user_data_length(stream, bytes.size());
  opj_stream_set_read_function(stream, ReadStream);
  opj_stream_set_skip_function(stream, SkipStream);
  opj_stream_set_seek_function(stream, SeekStream);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  parameters.cp_reduce = leaveOut;
  opj_image_t * image = nullptr;
  const bool    done =
    opj_setup_decoder(codec, &parameters) && opj_read_header(stream, codec, &image) && opj_decode(codec, stream, image);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  if (!done)
  {
    throw std::runtime_error("OpenJPEG cannot decode");
  }
  Picture picture{ image->comps[0].w, image->comps[0].h, image->numcomps, {} };
  picture.pixels.resize(std::size_t{ picture.width } * picture.height * picture.channels);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
  {
    const int value = image->comps[i % picture.channels].data[i / picture.channels];
    picture.pixels[i] = static_cast<unsigned char>(std::clamp(value, 0, 255));
  }
  opj_image_destroy(image);
  return picture;
}

void
WriteJPEG2000(const std::string & path,
              const Picture &     picture,
              std::uint32_t       tile,
              std::uint16_t       compression,
              std::uint16_t       photometric,
              bool                colorTransform,
              const std::string & description)
{
  const TIFFPointer file(TIFFOpen(path.c_str(), "w"));
  TIFFSetField(file.get(), TIFFTAG_IMAGEWIDTH, picture.width);
  TIFFSetField(file.get(), TIFFTAG_IMAGELENGTH, picture.height);
  TIFFSetField(file.get(), TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(file.get(), TIFFTAG_SAMPLESPERPIXEL, picture.channels);
  TIFFSetField(file.get(), TIFFTAG_PHOTOMETRIC, photometric);
  TIFFSetField(file.get(), TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file.get(), TIFFTAG_COMPRESSION, compression);
  TIFFSetField(file.get(), TIFFTAG_TILEWIDTH, tile);
  TIFFSetField(file.get(), TIFFTAG_TILELENGTH, tile);
  if (!description.empty())
  {
    TIFFSetField(file.get(), TIFFTAG_IMAGEDESCRIPTION, description.c_str());
  }
  for (std::uint32_t top = 0; top < picture.height; top += tile)
  {
    for (std::uint32_t left = 0; left < picture.width; left += tile)
    {
      Picture part{ tile, tile, picture.channels, {} };
      part.pixels.assign(std::size_t{ tile } * tile * picture.channels, 99);
      for (std::uint32_t y = 0; y < std::min(tile, picture.height - top); ++y)
      {
        const std::size_t count = std::size_t{ std::min(tile, picture.width - left) } * picture.channels;
        const auto        from =
          picture.pixels.begin() +
          static_cast<std::ptrdiff_t>((std::size_t{ top + y } * picture.width + left) * picture.channels);
        std::copy(from,
                  from + static_cast<std::ptrdiff_t>(count),
                  part.pixels.begin() + static_cast<std::ptrdiff_t>(std::size_t{ y } * tile * picture.channels));
      }
      std::vector<unsigned char> stream = EncodeJPEG2000(part, colorTransform);
      if (TIFFWriteRawTile(file.get(),
                           TIFFComputeTile(file.get(), left, top, 0, 0),
                           stream.data(),
                           static_cast<tmsize_t>(stream.size())) < 0)
      {
        throw std::runtime_error("libtiff cannot write the fixture");
      }
    }
  }
}

std::string
TemporaryFile(const std::string & name)
{
  static const gigapixel::test::TemporaryFolder folder("reader");
  return folder.File(name);
}

} // namespace gigapixel_test
