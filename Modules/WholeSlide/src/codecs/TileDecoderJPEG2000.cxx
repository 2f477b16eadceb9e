/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileDecoder.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include <openjpeg.h>

namespace gigapixel
{
namespace
{

/** OpenJPEG's stream over bytes in memory. */
struct MemoryStream
{
  ByteSpan    bytes;
  std::size_t position = 0;
};

OPJ_SIZE_T
ReadBytes(void * buffer, OPJ_SIZE_T count, void * user)
{
  auto * const      stream = static_cast<MemoryStream *>(user);
  const std::size_t left = stream->bytes.size - stream->position;
  if (left == 0)
  {
    return static_cast<OPJ_SIZE_T>(-1);
  }
  const std::size_t taken = std::min<std::size_t>(count, left);
  std::memcpy(buffer, stream->bytes.data + stream->position, taken);
  stream->position += taken;
  return taken;
}

OPJ_OFF_T
SkipBytes(OPJ_OFF_T count, void * user)
{
  auto * const stream = static_cast<MemoryStream *>(user);
  const auto   left = static_cast<OPJ_OFF_T>(stream->bytes.size - stream->position);
  if (count < 0 || left == 0)
  {
    return -1;
  }
  const OPJ_OFF_T skipped = std::min(count, left);
  stream->position += static_cast<std::size_t>(skipped);
  return skipped;
}

OPJ_BOOL
SeekBytes(OPJ_OFF_T position, void * user)
{
  auto * const stream = static_cast<MemoryStream *>(user);
  if (position < 0 || static_cast<std::size_t>(position) > stream->bytes.size)
  {
    return OPJ_FALSE;
  }
  stream->position = static_cast<std::size_t>(position);
  return OPJ_TRUE;
}

struct FreeCodec
{
  void
  operator()(opj_codec_t * codec) const
  {
    opj_destroy_codec(codec);
  }
};
struct FreeStream
{
  void
  operator()(opj_stream_t * stream) const
  {
    opj_stream_destroy(stream);
  }
};
struct FreeImage
{
  void
  operator()(opj_image_t * image) const
  {
    opj_image_destroy(image);
  }
};
using ImagePointer = std::unique_ptr<opj_image_t, FreeImage>;

void
CheckGeometry(const opj_image_t & image, const PixelSpan & out, StoredSize stored)
{
  if (image.x1 <= image.x0 || image.y1 <= image.y0 || image.x1 - image.x0 < stored.width ||
      image.y1 - image.y0 < stored.height || image.x1 - image.x0 > out.width * stored.reduction + 64u ||
      image.y1 - image.y0 > out.height * stored.reduction + 64u)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 stream is of another size than the tile"));
  }
  if (image.numcomps != 1 && image.numcomps != 3)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 stream has neither one nor three components"));
  }
}

ImagePointer
DecodeStream(ByteSpan bytes, const PixelSpan & out, StoredSize stored)
{
  const bool                                    isFile = bytes.size > 12 && std::memcmp(bytes.data + 4, "jP  ", 4) == 0;
  const std::unique_ptr<opj_codec_t, FreeCodec> codec(opj_create_decompress(isFile ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K));
  const std::unique_ptr<opj_stream_t, FreeStream> stream(
    opj_stream_create(std::max<std::size_t>(bytes.size, 1), OPJ_TRUE));
  if (!codec || !stream)
  {
    throw std::bad_alloc();
  }
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  for (unsigned reduction = stored.reduction; reduction > 1; reduction /= 2)
  {
    ++parameters.cp_reduce;
  }
  MemoryStream memory{ bytes };
  opj_stream_set_user_data(stream.get(), &memory, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size);
  opj_stream_set_read_function(stream.get(), ReadBytes);
  opj_stream_set_skip_function(stream.get(), SkipBytes);
  opj_stream_set_seek_function(stream.get(), SeekBytes);

  opj_image_t * raw = nullptr;
  const bool    headed = opj_setup_decoder(codec.get(), &parameters) != OPJ_FALSE &&
                      opj_read_header(stream.get(), codec.get(), &raw) != OPJ_FALSE;
  ImagePointer image(raw);
  if (!headed || !image)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 header is damaged"));
  }
  CheckGeometry(*image, out, stored);
  if (opj_decode(codec.get(), stream.get(), image.get()) == OPJ_FALSE)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 stream is damaged"));
  }
  CheckGeometry(*image, out, stored); // a palette in the file changes the number of components
  return image;
}

/** A component as rows of bytes on the image grid; subsampled ones repeat their samples. */
class Component
{
public:
  Component(const opj_image_comp_t & component, std::uint32_t width)
    : m_Component(component)
    , m_Row(width)
  {
    if (component.data == nullptr || component.w == 0 || component.h == 0 || component.dx == 0 || component.dy == 0 ||
        component.prec != 8)
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 stream is not of 8 bit or is damaged"));
    }
  }

  const unsigned char *
  GetRow(std::uint32_t y)
  {
    const std::size_t       row = std::min(y / m_Component.dy, m_Component.h - 1);
    const OPJ_INT32 * const from = m_Component.data + row * m_Component.w;
    const int               offset = m_Component.sgnd != 0 ? 128 : 0;
    const std::uint32_t     last = m_Component.w - 1;
    for (std::uint32_t x = 0; x < m_Row.size(); ++x)
    {
      const std::uint32_t column = m_Component.dx == 1 ? x : x / m_Component.dx;
      m_Row[x] = static_cast<unsigned char>(std::clamp(from[std::min(column, last)] + offset, 0, 255));
    }
    return m_Row.data();
  }

private:
  const opj_image_comp_t &   m_Component;
  std::vector<unsigned char> m_Row;
};

unsigned char
Clamp(int value)
{
  return static_cast<unsigned char>(std::clamp(value, 0, 255));
}

/** Hundred-thousandths to the nearest integer, halves upwards. Unsigned division by a constant is cheap. */
int
RoundHundredThousandths(int value)
{
  constexpr unsigned unit = 100000;
  constexpr unsigned shift = 512; // makes the dividend positive
  return static_cast<int>((static_cast<unsigned>(value) + unit * shift + unit / 2) / unit) - static_cast<int>(shift);
}

/** JFIF 1.02's conversion, rounded to nearest, with its coefficients as they are printed: OpenSlide's pixels,
 * and libjpeg's for red and blue. */
void
RGBFromYCbCr(int luma, int cb, int cr, unsigned char * rgb)
{
  cb -= 128;
  cr -= 128;
  rgb[0] = Clamp(luma + RoundHundredThousandths(140200 * cr));
  rgb[1] = Clamp(luma + RoundHundredThousandths(-34414 * cb - 71414 * cr));
  rgb[2] = Clamp(luma + RoundHundredThousandths(177200 * cb - (cb < 0 ? 1 : 0))); // -221.5 goes to -222
}

void
FillGray(const opj_image_t & image, bool lumaFirst, const PixelSpan & out, std::uint32_t width, std::uint32_t height)
{
  Component first(image.comps[0], width);
  if (lumaFirst)
  {
    for (std::uint32_t y = 0; y < height; ++y)
    {
      std::memcpy(out.data + y * out.stride, first.GetRow(y), width);
    }
    return;
  }
  Component second(image.comps[1], width);
  Component third(image.comps[2], width);
  for (std::uint32_t y = 0; y < height; ++y)
  {
    const unsigned char * const r = first.GetRow(y);
    const unsigned char * const g = second.GetRow(y);
    const unsigned char * const b = third.GetRow(y);
    unsigned char * const       row = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < width; ++x)
    {
      row[x] = LumaFromRGB(r[x], g[x], b[x]);
    }
  }
}

void
FillRGB(const opj_image_t & image, bool convert, const PixelSpan & out, std::uint32_t width, std::uint32_t height)
{
  const bool gray = image.numcomps == 1;
  Component  first(image.comps[0], width);
  Component  second(image.comps[gray ? 0 : 1], width);
  Component  third(image.comps[gray ? 0 : 2], width);
  for (std::uint32_t y = 0; y < height; ++y)
  {
    const unsigned char * const a = first.GetRow(y);
    const unsigned char * const b = second.GetRow(y);
    const unsigned char * const c = third.GetRow(y);
    unsigned char *             pixel = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < width; ++x, pixel += 3)
    {
      if (convert)
      {
        RGBFromYCbCr(a[x], b[x], c[x], pixel);
        continue;
      }
      pixel[0] = a[x];
      pixel[1] = b[x];
      pixel[2] = c[x];
    }
  }
}

/** Components of more than 8 bit, whose values stay as they are. */
void
FillSamples(const opj_image_t & image, const PixelSpan & out, std::uint32_t width, std::uint32_t height)
{
  if (image.numcomps != out.channels)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 stream has another number of components than the tile"));
  }
  for (unsigned channel = 0; channel < out.channels; ++channel)
  {
    const opj_image_comp_t & component = image.comps[channel];
    if (component.data == nullptr || component.w < width || component.h < height || component.prec <= 8 ||
        component.prec > 16)
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", "its JPEG 2000 stream is not of 9 to 16 bit, or is damaged"));
    }
    const int  offset = component.sgnd != 0 ? 1 << (component.prec - 1) : 0;
    const int  most = (1 << component.prec) - 1;
    const auto fill = [&](auto step) {
      for (std::uint32_t y = 0; y < height; ++y)
      {
        const OPJ_INT32 * const from = component.data + std::size_t{ y } * component.w;
        unsigned char * const   to = out.data + y * out.stride + channel * sizeof(std::uint16_t);
        for (std::uint32_t x = 0; x < width; ++x)
        {
          const auto sample = static_cast<std::uint16_t>(std::clamp(from[x] + offset, 0, most));
          std::memcpy(to + x * step, &sample, sizeof(sample));
        }
      }
    };
    if (out.channels == 1)
    {
      fill(
        std::integral_constant<std::size_t, sizeof(std::uint16_t)>()); // a step that is known makes a loop of vectors
    }
    else
    {
      fill(out.channels * sizeof(std::uint16_t));
    }
  }
}

} // namespace

namespace
{

/** A byte of the marker COD (ISO/IEC 15444-1, A.6.1) of the main header: length, style, progression, layers, color
 * transform, levels, blocks (3 bytes), wavelet. */
unsigned
GetCodingByte(ByteSpan stream, int place, unsigned otherwise)
{
  const unsigned char marker[] = { 0xff, 0x52, 0x00 };
  const auto * const  end = stream.data + stream.size;
  const auto * const  found = std::search(stream.data, end, std::begin(marker), std::end(marker));
  return end - found > place ? found[place] : otherwise;
}

} // namespace

unsigned
GetLargestJPEG2000Reduction(ByteSpan stream)
{
  return 1u << std::min(GetCodingByte(stream, 9, 0), 3u);
}

bool
IsLosslessJPEG2000(ByteSpan stream)
{
  return GetCodingByte(stream, 13, 1) == 1; // the wavelet of integers
}

void
DecodeJPEG2000(ByteSpan stream, ColorModel model, const PixelSpan & out, StoredSize stored)
{
  const ImagePointer  image = DecodeStream(stream, out, stored);
  const bool          isYCbCr = image->numcomps == 3 && model == ColorModel::YCbCr;
  const auto          reduce = [&stored](std::uint32_t side) { return (side - 1) / stored.reduction + 1; };
  const std::uint32_t width = std::min(out.width, reduce(image->x1 - image->x0));
  const std::uint32_t height = std::min(out.height, reduce(image->y1 - image->y0));
  if (out.sampleBytes == sizeof(std::uint16_t))
  {
    FillSamples(*image, out, width, height);
  }
  else if (out.channels == 1)
  {
    FillGray(*image, isYCbCr || image->numcomps == 1, out, width, height);
  }
  else
  {
    FillRGB(*image, isYCbCr, out, width, height);
  }
}

} // namespace gigapixel
