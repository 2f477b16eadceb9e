/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ImpersonalBytes.h"

#include "codecs/TileDecoder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <zstd.h>

namespace gigapixel
{
namespace
{
using Bytes = std::vector<std::uint8_t>;

/** JPEG's markers (ITU-T T.81, table B.1), without their 0xFF. */
enum Marker : unsigned
{
  Temporary = 0x01,
  StartOfFrame0 = 0xC0,
  StartOfFrame15 = 0xCF, // between them also tables of Huffman codes and of arithmetic coding
  Restart0 = 0xD0,
  Restart7 = 0xD7,
  EndOfImage = 0xD9,
  StartOfScan = 0xDA,
  QuantizationTables = 0xDB,
  RestartInterval = 0xDD,
  App0 = 0xE0, // JFIF
  App14 = 0xEE // Adobe: how colors are stored
};

void
Append(Bytes & to, const Bytes & from, std::size_t begin, std::size_t end)
{
  to.insert(
    to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(end));
}

/** What decoders read of an application's segment, its first bytes; nothing of a segment of another application.
 * \param size with the marker */
bool
AppendApplication(Bytes &             kept,
                  const Bytes &       jpeg,
                  std::size_t         at,
                  std::size_t         end,
                  const std::string & application,
                  std::size_t         size)
{
  if (end - at < size || std::memcmp(jpeg.data() + at + 4, application.data(), application.size()) != 0)
  {
    return false;
  }
  Append(kept, jpeg, at, at + size);
  kept[kept.size() - size + 2] = 0;
  kept[kept.size() - size + 3] = static_cast<std::uint8_t>(size - 2);
  return true;
}

/** JFIF's segment without a thumbnail. */
void
AppendJFIF(Bytes & kept, const Bytes & jpeg, std::size_t at, std::size_t end)
{
  if (AppendApplication(kept, jpeg, at, end, std::string("JFIF\0", 5), 18))
  {
    kept[kept.size() - 2] = kept[kept.size() - 1] = 0;
  }
}

/** Segments that say how pixels are coded. Decoders skip all others. */
bool
IsOfCoding(unsigned marker)
{
  return (marker >= StartOfFrame0 && marker <= StartOfFrame15) || marker == StartOfScan ||
         marker == QuantizationTables || marker == RestartInterval;
}

/** The next marker that ends the coded bytes of a scan, or the end. */
std::size_t
SkipScan(const Bytes & jpeg, std::size_t at)
{
  while (at + 1 < jpeg.size())
  {
    const void * const found = std::memchr(jpeg.data() + at, 0xFF, jpeg.size() - 1 - at);
    if (found == nullptr)
    {
      break;
    }
    at = static_cast<std::size_t>(static_cast<const std::uint8_t *>(found) - jpeg.data());
    const unsigned next = jpeg[at + 1];
    if (next != 0 && next != 0xFF && (next < Restart0 || next > Restart7))
    {
      return at;
    }
    at += next == 0xFF ? 1 : 2;
  }
  return jpeg.size();
}

std::uint32_t
GetBigEndian(const Bytes & bytes, std::size_t at)
{
  return std::uint32_t{ bytes[at] } << 24u | std::uint32_t{ bytes[at + 1] } << 16u |
         std::uint32_t{ bytes[at + 2] } << 8u | bytes[at + 3];
}

std::size_t
GetLittleEndian(const Bytes & bytes, std::size_t at)
{
  return std::size_t{ bytes[at] } | std::size_t{ bytes[at + 1] } << 8 | std::size_t{ bytes[at + 2] } << 16 |
         std::size_t{ bytes[at + 3] } << 24;
}

void
PutBigEndian(Bytes & bytes, std::size_t at, std::uint32_t value)
{
  for (unsigned i = 0; i < 4; ++i)
  {
    bytes[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

std::string
GetSignature(const Bytes & bytes, std::size_t at)
{
  return { reinterpret_cast<const char *>(bytes.data()) + at, 4 };
}

/** A text of an ICC profile: of version 4 multiLocalizedUnicode, before that textDescription or text. */
Bytes
MakeProfileText(const std::string & tag, const std::string & text, bool isVersion4)
{
  Bytes      bytes;
  const auto put = [&bytes](const std::string & characters) {
    bytes.insert(bytes.end(), characters.begin(), characters.end());
  };
  const auto putNumber = [&bytes](std::size_t value) {
    bytes.resize(bytes.size() + 4);
    PutBigEndian(bytes, bytes.size() - 4, static_cast<std::uint32_t>(value));
  };
  put(isVersion4 ? "mluc" : tag == "desc" ? "desc" : "text");
  putNumber(0);
  if (isVersion4)
  {
    putNumber(1);  // one language
    putNumber(12); // bytes of its record
    put("enUS");
    putNumber(2 * text.size());
    putNumber(28);
    for (const char c : text)
    {
      bytes.push_back(0);
      bytes.push_back(static_cast<std::uint8_t>(c));
    }
    return bytes;
  }
  if (tag == "desc")
  {
    putNumber(text.size() + 1);
  }
  put(text);
  bytes.push_back(0);
  bytes.resize(bytes.size() + (tag == "desc" ? 4 + 4 + 2 + 1 + 67 : 0)); // no Unicode, no Macintosh text
  return bytes;
}
} // namespace

std::vector<std::uint8_t>
RemoveJPEGTexts(const std::vector<std::uint8_t> & jpeg)
{
  Bytes       kept(jpeg.begin(), jpeg.begin() + std::min<std::ptrdiff_t>(2, jpeg.end() - jpeg.begin()));
  std::size_t at = kept.size();
  while (at + 2 <= jpeg.size())
  {
    const unsigned marker = jpeg[at + 1];
    const bool     isStray = jpeg[at] != 0xFF || marker == 0; // decoders look for the next marker
    if (isStray || marker == 0xFF)                            // a byte that fills up, as many as an encoder likes
    {
      ++at;
      continue;
    }
    if (marker == EndOfImage)
    {
      Append(kept, jpeg, at, at + 2);
      return kept;
    }
    if (marker == Temporary || (marker >= Restart0 && marker <= Restart7)) // without a length
    {
      at += 2;
      continue;
    }
    if (at + 4 > jpeg.size())
    {
      break;
    }
    const std::size_t size = 2 + (std::size_t{ jpeg[at + 2] } << 8 | jpeg[at + 3]);
    const std::size_t end = std::min(at + size, jpeg.size());
    const std::size_t next = marker == StartOfScan ? SkipScan(jpeg, end) : end;
    if (marker == App0)
    {
      AppendJFIF(kept, jpeg, at, end);
    }
    else if (marker == App14)
    {
      AppendApplication(kept, jpeg, at, end, "Adobe", 16);
    }
    else if (IsOfCoding(marker))
    {
      Append(kept, jpeg, at, next);
    }
    at = next;
  }
  return kept;
}

std::vector<std::uint8_t>
RemoveWebPTexts(const std::vector<std::uint8_t> & webp)
{
  constexpr std::size_t headerSize = 12;
  if (webp.size() < headerSize || GetSignature(webp, 0) != "RIFF" || GetSignature(webp, 8) != "WEBP")
  {
    return webp;
  }
  Bytes             kept(webp.begin(), webp.begin() + headerSize);
  const std::size_t all = std::min(8 + GetLittleEndian(webp, 4), webp.size());
  for (std::size_t at = headerSize; at + 8 <= all;)
  {
    const std::string name = GetSignature(webp, at);
    const std::size_t size = GetLittleEndian(webp, at + 4);
    const std::size_t end = std::min(at + 8 + size + size % 2, all);
    if (name == "VP8 " || name == "VP8L" || name == "VP8X" || name == "ALPH")
    {
      Append(kept, webp, at, end);
      if (name == "VP8X" && end - at > 8)
      {
        kept[kept.size() - (end - at) + 8] &= 0x10; // alpha; no profile, EXIF, XMP, animation
      }
    }
    if (name == "VP8 " || name == "VP8L") // decoders take the first image
    {
      break;
    }
    at = end;
  }
  for (unsigned i = 0; i < 4; ++i)
  {
    kept[4 + i] = static_cast<std::uint8_t>((kept.size() - 8) >> 8 * i);
  }
  return kept;
}

namespace
{
/** Zstd's frames that hold something else than pixels, which decoders skip (RFC 8878, section 3.1.2). */
Bytes
RemoveSkippableFrames(const Bytes & stream)
{
  constexpr std::size_t firstMagic = 0x184D2A50;
  Bytes                 kept;
  for (std::size_t at = 0; at < stream.size();)
  {
    const std::size_t size = ZSTD_findFrameCompressedSize(stream.data() + at, stream.size() - at);
    if (ZSTD_isError(size))
    {
      return stream;
    }
    if (GetLittleEndian(stream, at) / 16 != firstMagic / 16)
    {
      Append(kept, stream, at, at + size);
    }
    at += size;
  }
  return kept;
}
} // namespace

std::vector<std::uint8_t>
CutBehindEnd(TIFFCompression compression, std::vector<std::uint8_t> stream, std::size_t size)
{
  Bytes       decoded(size);
  std::size_t used = 0;
  try
  {
    DecodeBytes(compression, { stream.data(), stream.size() }, decoded.data(), size, &used);
  }
  catch (const std::runtime_error &)
  {
    return stream;
  }
  stream.resize(used);
  return compression == TIFFCompression::Zstandard ? RemoveSkippableFrames(stream) : stream;
}

std::vector<std::uint8_t>
RemoveProfileTexts(const std::vector<std::uint8_t> & profile)
{
  static const std::set<std::string> wantedTags{ "A2B0", "A2B1", "A2B2", "B2A0", "B2A1", "B2A2", "B2D0", "B2D1", "B2D2",
                                                 "D2B0", "D2B1", "D2B2", "D2B3", "B2D3", "bXYZ", "bTRC", "bkpt", "chad",
                                                 "cicp", "gXYZ", "gTRC", "kTRC", "lumi", "rXYZ", "rTRC", "wtpt" };
  static const std::set<std::string> numbers{ "XYZ ", "curv", "para", "mft1", "mft2",
                                              "mAB ", "mBA ", "sf32", "mpet", "cicp" };
  constexpr std::size_t              headerSize = 128;
  constexpr std::size_t              entrySize = 12;
  if (profile.size() < headerSize + 4 || GetSignature(profile, 36) != "acsp")
  {
    return {};
  }
  const std::size_t                          count = GetBigEndian(profile, headerSize);
  std::vector<std::pair<std::string, Bytes>> tags;
  for (std::size_t i = 0; i < count && headerSize + 4 + (i + 1) * entrySize <= profile.size(); ++i)
  {
    const std::size_t entry = headerSize + 4 + i * entrySize;
    const std::string tag = GetSignature(profile, entry);
    const std::size_t offset = GetBigEndian(profile, entry + 4);
    const std::size_t size = GetBigEndian(profile, entry + 8);
    const bool        isInside = size >= 8 && size <= profile.size() && offset <= profile.size() - size;
    if (isInside && wantedTags.count(tag) > 0 && numbers.count(GetSignature(profile, offset)) > 0)
    {
      tags.emplace_back(tag,
                        Bytes(profile.begin() + static_cast<std::ptrdiff_t>(offset),
                              profile.begin() + static_cast<std::ptrdiff_t>(offset + size)));
    }
  }
  const bool isVersion4 = profile[8] >= 4;
  tags.emplace_back("desc", MakeProfileText("desc", "Colors of a slide", isVersion4));
  tags.emplace_back("cprt", MakeProfileText("cprt", "None", isVersion4));

  Bytes      kept(profile.begin(), profile.begin() + headerSize);
  const auto clear = [&kept](std::size_t begin, std::size_t end) {
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(begin), kept.begin() + static_cast<std::ptrdiff_t>(end), 0);
  };
  clear(4, 8);   // color management module
  clear(24, 36); // date
  kept[24] = 2000 >> 8;
  kept[25] = 2000 & 255;
  kept[27] = kept[29] = 1;
  clear(48, 56);         // maker, model
  clear(80, headerSize); // creator, check sum
  kept.resize(headerSize + 4 + tags.size() * entrySize);
  PutBigEndian(kept, headerSize, static_cast<std::uint32_t>(tags.size()));
  std::map<Bytes, std::size_t> places; // tags often share their values
  for (std::size_t i = 0; i < tags.size(); ++i)
  {
    const Bytes & value = tags[i].second;
    const auto    place = places.emplace(value, kept.size());
    if (place.second)
    {
      kept.insert(kept.end(), value.begin(), value.end());
      kept.resize((kept.size() + 3) / 4 * 4);
    }
    const std::size_t entry = headerSize + 4 + i * entrySize;
    std::copy(tags[i].first.begin(), tags[i].first.end(), kept.begin() + static_cast<std::ptrdiff_t>(entry));
    PutBigEndian(kept, entry + 4, static_cast<std::uint32_t>(place.first->second));
    PutBigEndian(kept, entry + 8, static_cast<std::uint32_t>(value.size()));
  }
  PutBigEndian(kept, 0, static_cast<std::uint32_t>(kept.size()));
  return kept;
}

} // namespace gigapixel
