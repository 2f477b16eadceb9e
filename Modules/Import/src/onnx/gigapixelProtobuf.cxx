/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProtobuf.h"

#include "gigapixelDiagnostic.h"

#include <cstring>
#include <stdexcept>

namespace gigapixel
{
namespace
{

[[noreturn]] void
Refuse(const char * reason)
{
  throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", std::string("it is damaged or truncated: ") + reason));
}

/** Seven bits a byte, the lowest first; the last byte has no eighth bit. */
std::uint64_t
TakeVariable(std::string_view & bytes)
{
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7)
  {
    if (bytes.empty())
    {
      Refuse("a number ends behind its message");
    }
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
    {
      return value;
    }
  }
  Refuse("a number has more than 64 bits");
}

/** The file's numbers are little-endian, and so is every machine that this runs on. */
template <typename T>
T
Read(std::string_view bytes)
{
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

} // namespace

std::string_view
ProtobufMessage::Take(std::uint64_t count)
{
  if (count > m_Rest.size())
  {
    Refuse("a field ends behind its message");
  }
  const std::string_view taken = m_Rest.substr(0, count);
  m_Rest.remove_prefix(count);
  return taken;
}

bool
ProtobufMessage::Next()
{
  if (m_Rest.empty())
  {
    return false;
  }
  const std::uint64_t tag = TakeVariable(m_Rest);
  m_Field = tag >> 3;
  m_Wire = static_cast<Wire>(tag & 7);
  m_Bytes = {};
  switch (m_Wire)
  {
    case Wire::Variable:
      m_Integer = TakeVariable(m_Rest);
      return true;
    case Wire::EightBytes:
      m_Bytes = Take(8);
      return true;
    case Wire::Bytes:
      m_Bytes = Take(TakeVariable(m_Rest));
      return true;
    case Wire::FourBytes:
      m_Bytes = Take(4);
      return true;
  }
  Refuse("a field is of no kind that there is");
}

void
ProtobufMessage::Require(Wire wire) const
{
  if (m_Wire != wire)
  {
    Refuse("a field is of another kind than its definition says");
  }
}

std::int64_t
ProtobufMessage::GetInteger() const
{
  Require(Wire::Variable);
  return static_cast<std::int64_t>(m_Integer);
}

float
ProtobufMessage::GetFloat() const
{
  Require(Wire::FourBytes);
  return Read<float>(m_Bytes);
}

std::string_view
ProtobufMessage::GetBytes() const
{
  Require(Wire::Bytes);
  return m_Bytes;
}

void
ProtobufMessage::AppendIntegers(std::vector<std::int64_t> & values) const
{
  if (m_Wire == Wire::Variable)
  {
    values.push_back(GetInteger());
    return;
  }
  std::string_view packed = GetBytes();
  while (!packed.empty())
  {
    values.push_back(static_cast<std::int64_t>(TakeVariable(packed)));
  }
}

template <typename T>
void
ProtobufMessage::AppendFixed(Wire single, std::vector<T> & values) const
{
  const std::string_view packed = m_Wire == single ? m_Bytes : GetBytes();
  if (packed.size() % sizeof(T) != 0)
  {
    Refuse("a list of numbers ends within one");
  }
  for (std::size_t i = 0; i < packed.size(); i += sizeof(T))
  {
    values.push_back(Read<T>(packed.substr(i)));
  }
}

void
ProtobufMessage::AppendFloats(std::vector<float> & values) const
{
  AppendFixed(Wire::FourBytes, values);
}

void
ProtobufMessage::AppendDoubles(std::vector<double> & values) const
{
  AppendFixed(Wire::EightBytes, values);
}

} // namespace gigapixel
