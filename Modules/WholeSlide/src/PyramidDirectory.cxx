/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidDirectory.h"

#include <cmath>

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

/** Little-endian bytes, whatever the machine. */
class Bytes
{
public:
  template <typename T>
  Bytes &
  Put(T value)
  {
    for (std::size_t i = 0; i < sizeof(T); ++i)
    {
      m_Data.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
    return *this;
  }

  template <typename T>
  Bytes &
  PutAll(const std::vector<T> & values)
  {
    m_Data.reserve(m_Data.size() + values.size() * sizeof(T));
    for (const T value : values)
    {
      Put(value);
    }
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
class Directory
{
public:
  explicit Directory(PyramidFile & file)
    : m_File(file)
  {}

  void
  Add(std::uint16_t tag, Type type, std::uint64_t count, const Bytes & values)
  {
    m_Entries.Put(tag).Put(static_cast<std::uint16_t>(type)).Put(count);
    std::vector<std::uint8_t> field = values.m_Data;
    if (field.size() > 8)
    {
      m_File.Align();
      Bytes offset;
      offset.Put(m_File.Append(values.m_Data.data(), values.m_Data.size()));
      field = offset.m_Data;
    }
    field.resize(8);
    m_Entries.m_Data.insert(m_Entries.m_Data.end(), field.begin(), field.end());
    ++m_Count;
  }

  void
  AddShort(std::uint16_t tag, std::uint16_t value)
  {
    Add(tag, Type::Short, 1, Bytes().Put(value));
  }

  void
  AddLong(std::uint16_t tag, std::uint64_t value)
  {
    Add(tag, Type::Long, 1, Bytes().Put(static_cast<std::uint32_t>(value)));
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

  /** Links the directory from \a link, the offset of a pointer; returns the offset of its own pointer to the next. */
  std::uint64_t
  Write(std::uint64_t link)
  {
    Bytes bytes;
    bytes.Put(m_Count).PutAll(m_Entries.m_Data).Put(std::uint64_t{ 0 });
    const std::uint64_t offset = m_File.Align();
    m_File.Append(bytes.m_Data.data(), bytes.m_Data.size());
    const Bytes pointer = Bytes().Put(offset);
    m_File.Overwrite(link, pointer.m_Data.data(), 8);
    return offset + bytes.m_Data.size() - 8;
  }

private:
  PyramidFile & m_File;
  std::uint64_t m_Count{ 0 };
  Bytes         m_Entries;
};

void
AddYCbCr(Directory & directory)
{
  directory.Add(530, Type::Short, 2, Bytes().Put(std::uint16_t{ 2 }).Put(std::uint16_t{ 2 }));
  Bytes reference; // black and white of full-range luma and chroma, as JPEG has them
  for (const unsigned value : { 0, 255, 128, 255, 128, 255 })
  {
    PutRational(reference, value);
  }
  directory.Add(532, Type::Rational, 6, reference);
}

void
AddResolution(Directory & directory, const PyramidFormat & format, std::size_t level)
{
  const bool known = format.pixelsPerCentimeter[0] > 0 && format.pixelsPerCentimeter[1] > 0;
  for (const unsigned axis : { 0, 1 })
  {
    const double resolution = std::ldexp(format.pixelsPerCentimeter[axis], -static_cast<int>(level));
    directory.AddRational(static_cast<std::uint16_t>(282 + axis), known ? resolution : 1.0);
  }
  directory.AddShort(284, 1); // channels interleaved
  directory.AddShort(296, known ? 3 : 1);
}

std::uint64_t
WriteDirectory(PyramidFile &                     file,
               const PyramidFormat &             format,
               const std::vector<std::uint8_t> & jpegTables,
               const PyramidLevel &              level,
               std::size_t                       index,
               std::uint64_t                     link)
{
  const bool jpeg = format.compression == PyramidFormat::Compression::JPEG;
  const bool color = format.channels == 3;
  Directory  directory(file);
  directory.AddLong(254, index > 0 ? 1 : 0);
  directory.AddLong(256, level.width);
  directory.AddLong(257, level.height);
  directory.Add(258, Type::Short, format.channels, Bytes().PutAll(std::vector<std::uint16_t>(format.channels, 8)));
  directory.AddShort(259, jpeg ? 7 : 8);
  directory.AddShort(262, color ? (jpeg ? 6 : 2) : 1);
  if (index == 0)
  {
    directory.AddText(270, format.description);
  }
  directory.AddShort(277, static_cast<std::uint16_t>(format.channels));
  AddResolution(directory, format, index);
  directory.AddText(305, "ITKGigapixel");
  if (format.HasPredictor())
  {
    directory.AddShort(317, 2);
  }
  directory.AddLong(322, format.tileSize);
  directory.AddLong(323, format.tileSize);
  directory.Add(324, Type::Long8, level.offsets.size(), Bytes().PutAll(level.offsets));
  directory.Add(325, Type::Long, level.byteCounts.size(), Bytes().PutAll(level.byteCounts));
  if (jpeg)
  {
    directory.Add(347, Type::Undefined, jpegTables.size(), Bytes().PutAll(jpegTables));
  }
  if (jpeg && color)
  {
    AddYCbCr(directory);
  }
  return directory.Write(link);
}
} // namespace

void
WriteHeader(PyramidFile & file)
{
  Bytes bytes;
  bytes.Put('I').Put('I').Put(std::uint16_t{ 43 }).Put(std::uint16_t{ 8 }).Put(std::uint16_t{ 0 });
  bytes.Put(std::uint64_t{ 0 });
  file.Append(bytes.m_Data.data(), bytes.m_Data.size());
}

void
WriteDirectories(PyramidFile &                     file,
                 const PyramidFormat &             format,
                 const std::vector<std::uint8_t> & jpegTables,
                 const std::vector<PyramidLevel> & levels)
{
  std::uint64_t link = 8; // where the header points to the first directory
  for (std::size_t i = 0; i < levels.size(); ++i)
  {
    link = WriteDirectory(file, format, jpegTables, levels[i], i, link);
  }
}

} // namespace gigapixel
