/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Decodes the samples of a PNG as they are stored (W3C Portable Network Graphics, 3rd edition).
#include "itkGigapixelPNGMask.h"

#include "itkGigapixelException.h"
#include "itkGigapixelReadOnlyImageIO.h"
#include "itkImageIOFactory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

#include <zlib.h>

namespace itk
{
namespace
{

struct Header
{
  std::uint32_t width;
  std::uint32_t height;
  unsigned      bits;
  unsigned      color; // 0 gray, 3 palette
  unsigned      interlace;
};

std::uint32_t
GetBigEndian(const unsigned char * bytes)
{
  return std::uint32_t{ bytes[0] } << 24 | std::uint32_t{ bytes[1] } << 16 | std::uint32_t{ bytes[2] } << 8 | bytes[3];
}

/** Nothing where the file is no PNG. */
std::optional<Header>
ReadHeader(std::istream & stream)
{
  constexpr std::array<unsigned char, 8> mark{ 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
  std::array<unsigned char, 33>          bytes{}; // the mark, and the chunk IHDR
  if (!stream.read(reinterpret_cast<char *>(bytes.data()), bytes.size()) ||
      !std::equal(mark.begin(), mark.end(), bytes.begin()))
  {
    return std::nullopt;
  }
  return Header{ GetBigEndian(&bytes[16]), GetBigEndian(&bytes[20]), bytes[24], bytes[25], bytes[28] };
}

/** The filtered rows: what all IDAT chunks hold. */
class Rows
{
public:
  explicit Rows(std::istream & stream)
    : m_Stream(stream)
  {
    inflateInit(&m_State);
  }
  ~Rows() { inflateEnd(&m_State); }
  Rows(const Rows &) = delete;
  Rows & operator=(const Rows &) = delete;

  /** \return whether all bytes are there */
  bool
  Read(unsigned char * bytes, std::size_t size)
  {
    m_State.next_out = bytes;
    m_State.avail_out = static_cast<uInt>(size); // a row: below 2^32
    while (m_State.avail_out > 0)
    {
      if (m_State.avail_in == 0 && !this->Fill())
      {
        return false;
      }
      const int result = inflate(&m_State, Z_NO_FLUSH);
      m_IsAtEnd = result == Z_STREAM_END;
      if (result != Z_OK && !(m_IsAtEnd && m_State.avail_out == 0))
      {
        return false;
      }
    }
    return true;
  }

  /** After the last row: inflate compares the stream's checksum at its end, which may lie in a further chunk.
   * \return whether the stream ends, and its checksum is right */
  bool
  ReadEnd()
  {
    unsigned char ignored = 0; // bytes behind the last row, which other readers skip as well
    while (!m_IsAtEnd)
    {
      if (!this->Read(&ignored, 1) && !m_IsAtEnd)
      {
        return false;
      }
    }
    return true;
  }

private:
  /** Goes on to the next bytes of IDAT. */
  bool
  Fill()
  {
    while (m_Left == 0)
    {
      std::array<unsigned char, 8> head{};
      if (m_IsInside)
      {
        m_Stream.ignore(4); // the checksum of the chunk; that of zlib's stream is looked at
      }
      if (!m_Stream.read(reinterpret_cast<char *>(head.data()), head.size()))
      {
        return false;
      }
      m_IsInside = std::memcmp(&head[4], "IDAT", 4) == 0;
      m_Left = m_IsInside ? GetBigEndian(head.data()) : 0;
      if (!m_IsInside)
      {
        m_Stream.ignore(std::streamsize{ GetBigEndian(head.data()) } + 4);
      }
    }
    const auto size = std::min<std::size_t>(m_Left, m_Bytes.size());
    if (!m_Stream.read(reinterpret_cast<char *>(m_Bytes.data()), static_cast<std::streamsize>(size)))
    {
      return false;
    }
    m_Left -= static_cast<std::uint32_t>(size);
    m_State.next_in = m_Bytes.data();
    m_State.avail_in = static_cast<uInt>(size);
    return true;
  }

  std::istream &                     m_Stream;
  z_stream                           m_State{};
  std::array<unsigned char, 1 << 16> m_Bytes{};
  std::uint32_t                      m_Left{ 0 }; // of the chunk
  bool                               m_IsInside{ false };
  bool                               m_IsAtEnd{ false }; // of zlib's stream
};

/** Undoes the filter of a row; \a step bytes lie between a sample and the one at its left. */
bool
UndoFilter(unsigned                           filter,
           std::vector<unsigned char> &       row,
           const std::vector<unsigned char> & above,
           std::size_t                        step)
{
  for (std::size_t i = 0; i < row.size(); ++i)
  {
    const int left = i < step ? 0 : row[i - step];
    const int up = above[i];
    const int corner = i < step ? 0 : above[i - step];
    const int estimate = left + up - corner;
    const int toLeft = std::abs(estimate - left), toUp = std::abs(estimate - up),
              toCorner = std::abs(estimate - corner);
    const int paeth = toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
    const int added[] = { 0, left, up, (left + up) / 2, paeth };
    if (filter >= std::size(added))
    {
      return false;
    }
    row[i] = static_cast<unsigned char>(row[i] + added[filter]);
  }
  return true;
}

/** The rectangle of pixels that a pass of Adam7 holds; one pass of all pixels without interlacing. */
struct Pass
{
  std::uint32_t x, y, stepX, stepY;
};

std::vector<Pass>
GetPasses(const Header & header)
{
  return header.interlace == 0 ? std::vector<Pass>{ { 0, 0, 1, 1 } }
                               : std::vector<Pass>{ { 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
                                                    { 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 } };
}

/** \return whether all pixels are there */
bool
Decode(std::istream & stream, const Header & header, unsigned char * out)
{
  Rows              rows(stream);
  const std::size_t bytes = header.bits == 16 ? 2 : 1;
  for (const Pass & pass : GetPasses(header))
  {
    const std::uint64_t width = (std::uint64_t{ header.width } + pass.stepX - 1 - pass.x) / pass.stepX;
    if (header.width <= pass.x)
    {
      continue;
    }
    std::vector<unsigned char> row((width * header.bits + 7) / 8);
    std::vector<unsigned char> above(row.size(), 0);
    for (std::uint64_t y = pass.y; y < header.height; y += pass.stepY)
    {
      unsigned char filter = 0;
      if (!rows.Read(&filter, 1) || !rows.Read(row.data(), row.size()) || !UndoFilter(filter, row, above, bytes))
      {
        return false;
      }
      for (std::uint64_t i = 0; i < width; ++i)
      {
        unsigned char * const to = out + (y * header.width + pass.x + i * pass.stepX) * bytes;
        if (header.bits == 16)
        {
          const auto sample = static_cast<std::uint16_t>(row[2 * i] << 8 | row[2 * i + 1]);
          std::memcpy(to, &sample, sizeof(sample));
          continue;
        }
        const std::uint64_t bit = i * header.bits;
        *to = static_cast<unsigned char>(row[bit / 8] >> (8 - header.bits - bit % 8) & ((1u << header.bits) - 1u));
      }
      std::swap(row, above);
    }
  }
  return rows.ReadEnd();
}

class PNGMaskIO : public GigapixelReadOnlyImageIO
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(PNGMaskIO);
  using Self = PNGMaskIO;
  using Superclass = GigapixelReadOnlyImageIO;
  using Pointer = SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(PNGMaskIO, GigapixelReadOnlyImageIO);

  bool
  CanReadFile(const char *) override
  {
    return true;
  }

  void
  ReadImageInformation() override
  {
    const auto io = ImageIOFactory::CreateImageIO(m_FileName.c_str(), IOFileModeEnum::ReadMode);
    if (io.IsNull())
    {
      itkGigapixelExceptionMacro(
        gigapixel::Diagnostic("E-INSTALLATION", "ITK has no reader of PNG", "use a mask in TIFF").OfFile(m_FileName));
    }
    io->SetFileName(m_FileName);
    io->ReadImageInformation();
    this->SetNumberOfDimensions(2);
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      this->SetDimensions(axis, io->GetDimensions(axis));
      this->SetSpacing(axis, io->GetSpacing(axis));
      this->SetOrigin(axis, io->GetOrigin(axis));
    }
    std::ifstream stream(m_FileName, std::ios::binary);
    const auto    header = ReadHeader(stream);
    m_ComponentType = header && header->bits == 16 ? IOComponentEnum::USHORT : IOComponentEnum::UCHAR;
    m_PixelType = IOPixelEnum::SCALAR;
    m_NumberOfComponents = 1;
  }

  void
  Read(void * buffer) override
  {
    std::ifstream stream(m_FileName, std::ios::binary);
    const auto    header = ReadHeader(stream);
    const bool    isSame = header && header->width == m_Dimensions[0] && header->height == m_Dimensions[1];
    if (!isSame || !Decode(stream, *header, static_cast<unsigned char *>(buffer)))
    {
      itkGigapixelExceptionMacro(
        gigapixel::Diagnostic("E-FILE-DAMAGED", "its pixels cannot be decoded", "get it again from where it came")
          .OfFile(m_FileName));
    }
  }

protected:
  PNGMaskIO() = default;
  ~PNGMaskIO() override = default;
};

} // namespace

ImageIOBase::Pointer
MakePNGMaskIO(const std::string & fileName)
{
  std::ifstream stream(fileName, std::ios::binary);
  const auto    header = ReadHeader(stream);
  const bool    isKnown = header && (header->color == 0 || header->color == 3) && header->interlace < 2 &&
                       (header->bits == 1 || header->bits == 2 || header->bits == 4 || header->bits == 8 ||
                        (header->bits == 16 && header->color == 0));
  if (!isKnown)
  {
    return nullptr;
  }
  const auto io = PNGMaskIO::New();
  io->SetFileName(fileName);
  return io.GetPointer();
}

} // namespace itk
