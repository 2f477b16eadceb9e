/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidDirectory.h"
#include "PyramidTileCompressor.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace gigapixel
{
namespace
{
enum class Type : std::uint16_t
{
  Ascii = 2,
  Short = 3,
  Long = 4,
  Rational = 5,
  Undefined = 7,
  Long8 = 16
};

/** Values as they lie in memory, one behind the other. */
class Bytes
{
public:
  template <typename T>
  Bytes &
  Put(T value)
  {
    return PutAll(std::vector<T>{ value });
  }

  template <typename T>
  Bytes &
  PutAll(const std::vector<T> & values)
  {
    const auto * const first = reinterpret_cast<const std::uint8_t *>(values.data());
    m_Data.insert(m_Data.end(), first, first + values.size() * sizeof(T));
    return *this;
  }

  std::vector<std::uint8_t> m_Data;
};

/** The fraction with 32-bit terms that is nearest to \a value, by its continued fraction. */
void
PutRational(Bytes & bytes, double value)
{
  std::uint64_t previous[2] = { 0, 1 }; // numerator, denominator of the last but one convergent
  std::uint64_t fraction[2] = { 1, 0 };
  double        rest = value;
  for (int step = 0; step < 40; ++step)
  {
    const double whole = std::floor(rest);
    const double numerator = whole * static_cast<double>(fraction[0]) + static_cast<double>(previous[0]);
    const double denominator = whole * static_cast<double>(fraction[1]) + static_cast<double>(previous[1]);
    if (numerator > 4294967295.0 || denominator > 4294967295.0)
    {
      break;
    }
    for (int i = 0; i < 2; ++i)
    {
      const std::uint64_t next = static_cast<std::uint64_t>(i == 0 ? numerator : denominator);
      previous[i] = fraction[i];
      fraction[i] = next;
    }
    const double approximation = static_cast<double>(fraction[0]) / static_cast<double>(fraction[1]);
    if (std::abs(approximation - value) <= 1e-15 * value || rest == whole)
    {
      break;
    }
    rest = 1.0 / (rest - whole);
  }
  bytes.Put(static_cast<std::uint32_t>(fraction[0])).Put(static_cast<std::uint32_t>(fraction[1]));
}

/** The entries of one directory, to be added in the order of their tags. */
class Entries
{
public:
  Entries(AtomicFile & file, bool big)
    : m_File(file)
    , m_Big(big)
  {}

  void
  Add(std::uint16_t tag, Type type, std::uint64_t count, const Bytes & values)
  {
    m_Entries.Put(tag).Put(static_cast<std::uint16_t>(type));
    PutOffset(m_Entries, count);
    std::vector<std::uint8_t> field = values.m_Data;
    if (field.size() > GetOffsetBytes())
    {
      m_File.Align();
      Bytes offset;
      PutOffset(offset, m_File.Append(values.m_Data.data(), values.m_Data.size()));
      field = offset.m_Data;
    }
    field.resize(GetOffsetBytes());
    m_Entries.PutAll(field);
    ++m_Count;
  }

  void
  AddShorts(std::uint16_t tag, const std::vector<std::uint16_t> & values)
  {
    if (!values.empty())
    {
      Add(tag, Type::Short, values.size(), Bytes().PutAll(values));
    }
  }

  void
  AddLong(std::uint16_t tag, std::uint64_t value)
  {
    Add(tag, Type::Long, 1, Bytes().Put(static_cast<std::uint32_t>(value)));
  }

  /** Offsets and byte counts: 64 bit in BigTIFF.
   * \throw std::runtime_error when one is beyond the 4 GiB of a classic TIFF: tiles that were copied may be larger than
   * what they hold */
  void
  AddPositions(std::uint16_t tag, const std::vector<std::uint64_t> & values)
  {
    if (values.empty())
    {
      return;
    }
    if (m_Big)
    {
      return Add(tag, Type::Long8, values.size(), Bytes().PutAll(values));
    }
    if (std::any_of(values.begin(), values.end(), [](std::uint64_t value) { return value > 0xffffffff; }))
    {
      throw Refusal(Diagnostic("E-FILE-LIMIT",
                               "its compressed tiles are larger than their pixels and need more than 4 GiB",
                               "compress the tiles again, with --compression jpeg or deflate"));
    }
    Add(tag, Type::Long, values.size(), Bytes().PutAll(std::vector<std::uint32_t>(values.begin(), values.end())));
  }

  void
  AddText(std::uint16_t tag, const std::string & text)
  {
    Bytes bytes;
    bytes.m_Data.assign(text.c_str(), text.c_str() + text.size() + 1);
    Add(tag, Type::Ascii, bytes.m_Data.size(), bytes);
  }

  void
  AddRational(std::uint16_t tag, double value)
  {
    Bytes bytes;
    PutRational(bytes, value);
    Add(tag, Type::Rational, 1, bytes);
  }

  void
  AddUndefined(std::uint16_t tag, const std::vector<std::uint8_t> & bytes)
  {
    if (!bytes.empty())
    {
      Add(tag, Type::Undefined, bytes.size(), Bytes().PutAll(bytes));
    }
  }

  /** Returns the offset of the directory. */
  std::uint64_t
  Write()
  {
    Bytes bytes;
    m_Big ? bytes.Put(std::uint64_t{ m_Count }) : bytes.Put(m_Count);
    bytes.PutAll(m_Entries.m_Data);
    PutOffset(bytes, 0);
    m_File.Align();
    return m_File.Append(bytes.m_Data.data(), bytes.m_Data.size());
  }

  /** From the beginning of the directory to its pointer to the next one. */
  std::uint64_t
  GetNext() const
  {
    return (m_Big ? sizeof(std::uint64_t) : sizeof(m_Count)) + m_Entries.m_Data.size();
  }

private:
  std::size_t
  GetOffsetBytes() const
  {
    return m_Big ? 8 : 4;
  }

  void
  PutOffset(Bytes & bytes, std::uint64_t offset) const
  {
    m_Big ? bytes.Put(offset) : bytes.Put(static_cast<std::uint32_t>(offset));
  }

  AtomicFile &  m_File;
  bool          m_Big;
  std::uint16_t m_Count{ 0 };
  Bytes         m_Entries;
};

void
AddYCbCr(Entries & entries, const std::vector<std::uint16_t> & subsampling)
{
  entries.AddShorts(530, subsampling);
  Bytes reference; // black and white of full-range luma and chroma, as JPEG has them
  for (const unsigned value : { 0, 255, 128, 255, 128, 255 })
  {
    PutRational(reference, value);
  }
  entries.Add(532, Type::Rational, 6, reference);
}

void
AddResolution(Entries & entries, const PyramidPage & page, const PyramidMetadata & metadata)
{
  const bool known = page.role != PyramidPage::Role::Associated && metadata.pixelsPerCentimeter[0] > 0 &&
                     metadata.pixelsPerCentimeter[1] > 0;
  for (const unsigned axis : { 0, 1 })
  {
    entries.AddRational(static_cast<std::uint16_t>(282 + axis),
                        known ? metadata.pixelsPerCentimeter[axis] / page.downsample : 1.0);
  }
  entries.AddShorts(284, { 1 }); // channels interleaved
  entries.AddShorts(296, { static_cast<std::uint16_t>(known ? 3 : 1) });
}
} // namespace

PyramidPage
PyramidPage::Make(const PyramidFormat & format, std::uint64_t width, std::uint64_t height)
{
  const bool  jpeg = format.compression == PyramidFormat::Compression::JPEG;
  const bool  color = format.channels == 3;
  PyramidPage page;
  page.width = width;
  page.height = height;
  page.tileWidth = page.tileHeight = format.tileSize;
  page.bits = static_cast<std::uint16_t>(format.sample == PyramidFormat::Sample::Bit ? 1 : 8 * format.GetSampleBytes());
  page.samples = static_cast<std::uint16_t>(format.channels);
  page.sampleFormat = format.sample == PyramidFormat::Sample::Float ? 3 : 1;
  page.compression = static_cast<std::uint16_t>(format.compression);
  page.photometric = color ? (jpeg ? 6 : 2) : !format.colorMap.empty() ? 3 : format.isWhiteZero ? 0 : 1;
  page.predictor = format.HasPredictor() ? 2 : 1;
  if (jpeg && color)
  {
    page.subsampling.assign(format.subsampling.begin(), format.subsampling.end());
  }
  page.colorMap = format.colorMap;
  page.jpegTables = PyramidTileCompressor::New(format)->GetTables();
  return page;
}

PyramidDirectory::PyramidDirectory(AtomicFile & file, bool big)
  : m_File(file)
  , m_Big(big)
{
  constexpr std::uint16_t one = 1;
  std::uint8_t            lowByte = 0;
  std::memcpy(&lowByte, &one, 1);
  const std::uint8_t mark = lowByte == 1 ? 'I' : 'M';
  Bytes              bytes;
  bytes.Put(mark).Put(mark).Put(static_cast<std::uint16_t>(big ? 43 : 42));
  if (big)
  {
    bytes.Put(std::uint16_t{ 8 }).Put(std::uint16_t{ 0 }).Put(std::uint64_t{ 0 });
  }
  else
  {
    bytes.Put(std::uint32_t{ 0 });
  }
  m_File.Append(bytes.m_Data.data(), bytes.m_Data.size());
}

void
PyramidDirectory::Write(const std::vector<PyramidPage> & pages, const PyramidMetadata & metadata)
{
  const auto    isFirst = [](const PyramidPage & page) { return page.role == PyramidPage::Role::First; };
  const bool    haveChildren = metadata.isOME || std::count_if(pages.begin(), pages.end(), isFirst) > 1;
  std::uint64_t link = m_Big ? 8 : 4; // where the header points to the first directory
  for (auto page = pages.begin(), next = page; page != pages.end(); page = next)
  {
    std::vector<std::uint64_t> children;
    for (++next; haveChildren && next != pages.end() && next->role == PyramidPage::Role::Reduced; ++next)
    {
      children.push_back(WritePage(*next, metadata, {}).offset);
    }
    const Place place = WritePage(*page, metadata, children);
    Link(link, place.offset);
    link = place.next;
  }
}

void
PyramidDirectory::Link(std::uint64_t place, std::uint64_t offset)
{
  Bytes pointer;
  m_Big ? pointer.Put(offset) : pointer.Put(static_cast<std::uint32_t>(offset));
  m_File.Overwrite(place, pointer.m_Data.data(), pointer.m_Data.size());
}

PyramidDirectory::Place
PyramidDirectory::WritePage(const PyramidPage &                page,
                            const PyramidMetadata &            metadata,
                            const std::vector<std::uint64_t> & children)
{
  Entries entries(m_File, m_Big);
  entries.AddLong(254, page.role == PyramidPage::Role::Reduced ? 1 : 0);
  entries.AddLong(256, page.width);
  entries.AddLong(257, page.height);
  entries.AddShorts(258, std::vector<std::uint16_t>(page.samples, page.bits));
  entries.AddShorts(259, { page.compression });
  entries.AddShorts(262, { page.photometric });
  if (!page.description.empty())
  {
    entries.AddText(270, page.description);
  }
  entries.AddShorts(277, { page.samples });
  AddResolution(entries, page, metadata);
  entries.AddText(305, "ITKGigapixel");
  if (page.predictor != 1)
  {
    entries.AddShorts(317, { page.predictor }); // libtiff knows it only for codecs that use it
  }
  entries.AddShorts(320, page.colorMap);
  entries.AddLong(322, page.tileWidth);
  entries.AddLong(323, page.tileHeight);
  entries.AddPositions(324, page.offsets);
  entries.AddPositions(325, page.byteCounts);
  entries.AddPositions(330, children);
  entries.AddShorts(338, page.extraSamples);
  entries.AddShorts(339, std::vector<std::uint16_t>(page.samples, page.sampleFormat));
  entries.AddUndefined(347, page.jpegTables);
  if (!page.subsampling.empty())
  {
    AddYCbCr(entries, page.subsampling);
  }
  if (page.role == PyramidPage::Role::First)
  {
    entries.AddUndefined(34675, metadata.colorProfile);
  }
  const std::uint64_t offset = entries.Write();
  return { offset, offset + entries.GetNext() };
}

} // namespace gigapixel
