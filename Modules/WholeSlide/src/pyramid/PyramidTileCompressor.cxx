/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidTileCompressor.h"

#include "gigapixelDiagnostic.h"

#include <cstring>
#include <libdeflate.h>
#include <new>
#include <zstd.h>

namespace gigapixel
{
namespace
{
/** Prepares the samples as TIFF wants them before their bytes are compressed. */
class BytesCompressor : public PyramidTileCompressor
{
public:
  explicit BytesCompressor(const PyramidFormat & format)
    : m_Format(format)
  {}

  void
  Compress(const std::uint8_t * tile, std::size_t rowBytes, std::vector<std::uint8_t> & compressed) final
  {
    const std::size_t side = m_Format.tileSize;
    const std::size_t rowSamples = side * m_Format.channels;
    const std::size_t tileRowBytes = rowSamples * m_Format.GetSampleBytes();
    std::size_t       size = side * tileRowBytes;
    m_Samples.resize(size);
    for (std::size_t row = 0; row < side; ++row)
    {
      std::uint8_t * const samples = m_Samples.data() + row * tileRowBytes;
      std::memcpy(samples, tile + row * rowBytes, tileRowBytes);
      if (m_Format.HasPredictor())
      {
        m_Format.sample == PyramidFormat::Sample::UInt16
          ? TakeDifferences(reinterpret_cast<std::uint16_t *>(samples), rowSamples)
          : TakeDifferences(samples, rowSamples);
      }
    }
    if (m_Format.sample == PyramidFormat::Sample::Bit)
    {
      size = PackBits(m_Samples.data(), size);
    }
    CompressBytes(m_Samples.data(), size, compressed);
  }

protected:
  virtual void CompressBytes(const std::uint8_t * bytes, std::size_t size, std::vector<std::uint8_t> & compressed) = 0;

private:
  /** TIFF's predictor 2: each sample becomes its difference to the same channel of the pixel at its left. */
  template <typename TSample>
  void
  TakeDifferences(TSample * row, std::size_t samples) const
  {
    for (std::size_t i = samples - 1; i >= m_Format.channels; --i)
    {
      row[i] = static_cast<TSample>(row[i] - row[i - m_Format.channels]);
    }
  }

  /** Eight samples a byte, the first in the highest bit, in place: tiles are multiples of 16 wide. */
  static std::size_t
  PackBits(std::uint8_t * samples, std::size_t count)
  {
    for (std::size_t i = 0; i < count; i += 8)
    {
      unsigned byte = 0;
      for (std::size_t bit = 0; bit < 8; ++bit)
      {
        const std::uint8_t value = samples[i + bit];
        if (value != 0 && value != 255)
        {
          throw Refusal(
            Diagnostic("E-LABEL-VALUE",
                       "one bit a pixel keeps 0 and 255 only, and the image has a pixel of " + std::to_string(value)));
        }
        byte = byte << 1 | (value & 1u);
      }
      samples[i / 8] = static_cast<std::uint8_t>(byte);
    }
    return count / 8;
  }

  PyramidFormat             m_Format;
  std::vector<std::uint8_t> m_Samples;
};

class DeflateCompressor final : public BytesCompressor
{
public:
  explicit DeflateCompressor(const PyramidFormat & format)
    : BytesCompressor(format)
    , m_Compressor(libdeflate_alloc_compressor(format.compressionLevel))
  {
    if (!m_Compressor)
    {
      throw std::bad_alloc();
    }
  }

  ~DeflateCompressor() override { libdeflate_free_compressor(m_Compressor); }

protected:
  void
  CompressBytes(const std::uint8_t * bytes, std::size_t size, std::vector<std::uint8_t> & compressed) override
  {
    m_Buffer.resize(libdeflate_zlib_compress_bound(m_Compressor, size));
    const std::size_t written = libdeflate_zlib_compress(m_Compressor, bytes, size, m_Buffer.data(), m_Buffer.size());
    compressed.assign(m_Buffer.begin(), m_Buffer.begin() + static_cast<std::ptrdiff_t>(written));
  }

private:
  libdeflate_compressor *   m_Compressor;
  std::vector<std::uint8_t> m_Buffer;
};

class ZstandardCompressor final : public BytesCompressor
{
public:
  explicit ZstandardCompressor(const PyramidFormat & format)
    : BytesCompressor(format)
    , m_Context(ZSTD_createCCtx())
    , m_Level(format.compressionLevel)
  {
    if (!m_Context)
    {
      throw std::bad_alloc();
    }
  }

  ~ZstandardCompressor() override { ZSTD_freeCCtx(m_Context); }

protected:
  void
  CompressBytes(const std::uint8_t * bytes, std::size_t size, std::vector<std::uint8_t> & compressed) override
  {
    m_Buffer.resize(ZSTD_compressBound(size));
    const std::size_t written = ZSTD_compressCCtx(m_Context, m_Buffer.data(), m_Buffer.size(), bytes, size, m_Level);
    if (ZSTD_isError(written))
    {
      throw Refusal(
        Diagnostic("E-INTERNAL", std::string("a tile could not be compressed as zstd: ") + ZSTD_getErrorName(written)));
    }
    compressed.assign(m_Buffer.begin(), m_Buffer.begin() + static_cast<std::ptrdiff_t>(written));
  }

private:
  ZSTD_CCtx *               m_Context;
  int                       m_Level;
  std::vector<std::uint8_t> m_Buffer;
};
} // namespace

std::unique_ptr<PyramidTileCompressor>
PyramidTileCompressor::New(const PyramidFormat & format)
{
  switch (format.compression)
  {
    case PyramidFormat::Compression::JPEG:
      return NewJPEGCompressor(format);
    case PyramidFormat::Compression::WebP:
      return NewWebPCompressor(format);
    case PyramidFormat::Compression::Zstandard:
      return std::make_unique<ZstandardCompressor>(format);
    case PyramidFormat::Compression::Deflate:
      break;
  }
  return std::make_unique<DeflateCompressor>(format);
}

} // namespace gigapixel
