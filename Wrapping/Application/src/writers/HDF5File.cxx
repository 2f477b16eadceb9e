/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "HDF5File.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <type_traits>

namespace gigapixel::application
{
namespace
{

// Numbers of the specification; all of the file's own numbers are little-endian, as the machines that we run on.
const std::string       Signature("\x89HDF\r\n\x1a\n", 8);
const std::string       HeaderSignature = "OHDR";
constexpr std::uint64_t Undefined = ~std::uint64_t{ 0 };

enum MessageType : std::uint8_t
{
  Dataspace = 1,
  LinkInfo = 2,
  Datatype = 3,
  FillValue = 5,
  Link = 6,
  Layout = 8,
  GroupInfo = 10,
  Attribute = 12
};

/** \class Bytes
 * \brief Numbers and texts one behind the other. */
class Bytes
{
public:
  template <typename T>
  Bytes &
  Put(T value)
  {
    static_assert(std::is_arithmetic_v<T>);
    text.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }

  /** Each a byte. */
  Bytes &
  PutBytes(std::initializer_list<unsigned> values)
  {
    for (const unsigned value : values)
    {
      text += static_cast<char>(value);
    }
    return *this;
  }

  Bytes &
  Put(const std::string & bytes)
  {
    text += bytes;
    return *this;
  }

  std::string text;
};

std::uint32_t
Turn(std::uint32_t value, int bits)
{
  return (value << bits) | (value >> (32 - bits));
}

/** Of all metadata: Bob Jenkins' lookup3 (2006, in the public domain), hashlittle() with 0. */
std::uint32_t
ComputeChecksum(const std::string & bytes)
{
  const auto    length = static_cast<std::uint32_t>(bytes.size());
  std::uint32_t a = 0xdeadbeef + length, b = a, c = a;
  const auto    add = [&](std::size_t first) {
    std::array<unsigned char, 12> block{};
    std::memcpy(block.data(), bytes.data() + first, std::min<std::size_t>(block.size(), bytes.size() - first));
    std::array<std::uint32_t, 3> words{};
    std::memcpy(words.data(), block.data(), block.size());
    a += words[0];
    b += words[1];
    c += words[2];
  };
  const auto mix = [](std::uint32_t & x, std::uint32_t y, std::uint32_t & z, int bits) {
    x = (x - z) ^ Turn(z, bits);
    z += y;
  };
  std::size_t first = 0;
  for (; bytes.size() - first > 12; first += 12)
  {
    add(first);
    mix(a, b, c, 4);
    mix(b, c, a, 6);
    mix(c, a, b, 8);
    mix(a, b, c, 16);
    mix(b, c, a, 19);
    mix(c, a, b, 4);
  }
  add(first);
  c = (c ^ b) - Turn(b, 14);
  a = (a ^ c) - Turn(c, 11);
  b = (b ^ a) - Turn(a, 25);
  c = (c ^ b) - Turn(b, 16);
  a = (a ^ c) - Turn(c, 4);
  b = (b ^ a) - Turn(a, 14);
  return (c ^ b) - Turn(b, 24);
}

std::string
MakeMessage(MessageType type, const std::string & body)
{
  return Bytes().Put<std::uint8_t>(type).Put(static_cast<std::uint16_t>(body.size())).PutBytes({ 0 }).Put(body).text;
}

std::string
MakeIntegerType()
{
  return Bytes().PutBytes({ 0x10, 0x08, 0, 0 }).Put<std::uint32_t>(8).Put<std::uint16_t>(0).Put<std::uint16_t>(64).text;
}

/** As IEEE 754 has it. */
std::string
MakeFloatType(unsigned bytes)
{
  const unsigned bits = 8 * bytes, mantissa = bytes == 4 ? 23 : 52;
  return Bytes()
    .PutBytes({ 0x11, 0x20, bits - 1, 0 })
    .Put<std::uint32_t>(bytes)
    .Put<std::uint16_t>(0)
    .Put(static_cast<std::uint16_t>(bits))
    .PutBytes({ mantissa, bits - 1 - mantissa, 0, mantissa })
    .Put<std::uint32_t>(bytes == 4 ? 127 : 1023)
    .text;
}

/** Of this many bytes, UTF-8, padded with zeros. */
std::string
MakeTextType(std::size_t length)
{
  return Bytes().PutBytes({ 0x13, 0x11, 0, 0 }).Put(static_cast<std::uint32_t>(length)).text;
}

std::string
MakeSpace(const std::vector<std::uint64_t> & sizes)
{
  Bytes space;
  space.PutBytes({ 2, static_cast<unsigned>(sizes.size()), 0, sizes.empty() ? 0u : 1u });
  for (const std::uint64_t size : sizes)
  {
    space.Put(size);
  }
  return space.text;
}

std::string
MakeAttribute(const std::string & name, const HDF5Writer::Value & value)
{
  std::string type, data;
  if (const auto * const text = std::get_if<std::string>(&value))
  {
    data = text->empty() ? std::string(1, '\0') : *text;
    type = MakeTextType(data.size());
  }
  else if (const auto * const integer = std::get_if<std::int64_t>(&value))
  {
    data = Bytes().Put(*integer).text;
    type = MakeIntegerType();
  }
  else
  {
    data = Bytes().Put(std::get<double>(value)).text;
    type = MakeFloatType(8);
  }
  const std::string space = MakeSpace({});
  return MakeMessage(Attribute,
                     Bytes()
                       .PutBytes({ 3, 0 })
                       .Put(static_cast<std::uint16_t>(name.size() + 1))
                       .Put(static_cast<std::uint16_t>(type.size()))
                       .Put(static_cast<std::uint16_t>(space.size()))
                       .PutBytes({ 1 })
                       .Put(name)
                       .PutBytes({ 0 })
                       .Put(type)
                       .Put(space)
                       .Put(data)
                       .text);
}

std::string
MakeAttributes(const HDF5Writer::Attributes & attributes)
{
  std::string messages;
  for (const auto & [name, value] : attributes)
  {
    messages += MakeAttribute(name, value);
  }
  return messages;
}

std::uint64_t
GetBytes(HDF5Writer::Type type)
{
  return type == HDF5Writer::Type::Float32 ? 4 : 8;
}

/** \param root where its header lies \param end of the file */
std::string
MakeSuperblock(std::uint64_t root, std::uint64_t end)
{
  const std::string block =
    Bytes().Put(Signature).PutBytes({ 2, 8, 8, 0 }).Put<std::uint64_t>(0).Put(Undefined).Put(end).Put(root).text;
  return block + Bytes().Put(ComputeChecksum(block)).text;
}

} // namespace

HDF5Writer::HDF5Writer(const std::string & target, bool mayReplace)
  : m_File(target, mayReplace)
{
  m_File.Append(MakeSuperblock(0, 0)); // known in the end
}

void
HDF5Writer::BeginArray(const std::string & name, Type type, std::uint64_t columns, Attributes attributes)
{
  m_Arrays.push_back({ name, type, columns, std::move(attributes), m_File.Align() });
}

void
HDF5Writer::Append(const std::vector<float> & values)
{
  m_File.Append(values.data(), values.size() * sizeof(float));
  m_Arrays.back().values += values.size();
}

void
HDF5Writer::Append(const std::vector<std::int64_t> & values)
{
  m_File.Append(values.data(), values.size() * sizeof(std::int64_t));
  m_Arrays.back().values += values.size();
}

/** \return where it lies */
std::uint64_t
HDF5Writer::AppendHeader(const std::string & messages)
{
  const std::string header =
    Bytes().Put(HeaderSignature).PutBytes({ 2, 2 }).Put(static_cast<std::uint32_t>(messages.size())).Put(messages).text;
  const std::uint64_t place = m_File.Align();
  m_File.Append(header + Bytes().Put(ComputeChecksum(header)).text);
  return place;
}

void
HDF5Writer::Commit(const Attributes & attributes)
{
  std::string group = MakeAttributes(attributes) +
                      MakeMessage(LinkInfo, Bytes().PutBytes({ 0, 0 }).Put(Undefined).Put(Undefined).text) +
                      MakeMessage(GroupInfo, Bytes().PutBytes({ 0, 0 }).text);
  for (const Array & array : m_Arrays)
  {
    const bool                 isTable = array.columns > 0;
    std::vector<std::uint64_t> sizes{ array.values };
    if (isTable)
    {
      sizes = { array.values / array.columns, array.columns };
    }
    const std::uint64_t bytes = array.values * GetBytes(array.type);
    const std::uint64_t header = AppendHeader(
      MakeMessage(Dataspace, MakeSpace(sizes)) +
      MakeMessage(Datatype, array.type == Type::Float32 ? MakeFloatType(4) : MakeIntegerType()) +
      MakeMessage(FillValue, Bytes().PutBytes({ 3, 0x0a }).text) +
      MakeMessage(Layout, Bytes().PutBytes({ 3, 1 }).Put(bytes > 0 ? array.offset : Undefined).Put(bytes).text) +
      MakeAttributes(array.attributes));
    group += MakeMessage(
      Link, Bytes().PutBytes({ 1, 0, static_cast<unsigned>(array.name.size()) }).Put(array.name).Put(header).text);
  }
  const std::uint64_t root = AppendHeader(group);
  const std::string   superblock = MakeSuperblock(root, m_File.Align());
  m_File.Overwrite(0, superblock.data(), superblock.size());
  m_File.Commit();
}

namespace
{

/** \return nothing where the file is too short */
std::string
ReadBytes(std::ifstream & file, std::uint64_t offset, std::size_t count)
{
  std::string bytes(count, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  return file.read(bytes.data(), static_cast<std::streamsize>(count)) ? bytes : std::string();
}

template <typename T>
T
Get(const std::string & bytes, std::size_t place)
{
  T value{};
  if (place + sizeof(value) <= bytes.size())
  {
    std::memcpy(&value, bytes.data() + place, sizeof(value));
  }
  return value;
}

} // namespace

std::string
ReadHDF5Text(const std::string & name, const std::string & attribute)
{
  constexpr std::size_t SuperblockBytes = 48, HeaderBytes = 10, MessageBytes = 4, AttributeBytes = 9;
  constexpr std::size_t TypeAndSpaceBytes = 12; // of a text
  std::error_code       error;
  const auto            size = std::filesystem::file_size(name, error);
  std::ifstream         file(name, std::ios::binary);
  const std::string     superblock = ReadBytes(file, 0, SuperblockBytes);
  const auto            end = Get<std::uint64_t>(superblock, 28);
  const auto            root = Get<std::uint64_t>(superblock, 36);
  if (error || superblock.compare(0, Signature.size(), Signature) != 0 || superblock[8] != 2 || end != size ||
      root > size)
  {
    return {};
  }
  const std::string header = ReadBytes(file, root, HeaderBytes);
  const auto        bytes = Get<std::uint32_t>(header, 6);
  if (header.compare(0, HeaderSignature.size(), HeaderSignature) != 0 || bytes > size)
  {
    return {};
  }
  const std::string messages = ReadBytes(file, root + HeaderBytes, bytes);
  for (std::size_t place = 0; place + MessageBytes <= messages.size();)
  {
    const auto        length = Get<std::uint16_t>(messages, place + 1);
    const std::string body = messages.substr(place + MessageBytes, length);
    const std::size_t text = AttributeBytes + attribute.size() + 1 + TypeAndSpaceBytes;
    if (static_cast<std::uint8_t>(messages[place]) == Attribute && body.size() > text &&
        body.compare(AttributeBytes, attribute.size() + 1, attribute.c_str(), attribute.size() + 1) == 0)
    {
      return body.substr(text);
    }
    place += MessageBytes + length;
  }
  return {};
}

} // namespace gigapixel::application
