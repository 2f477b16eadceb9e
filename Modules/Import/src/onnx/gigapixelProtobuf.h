/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelProtobuf_h
#define gigapixelProtobuf_h

#include <cstdint>
#include <string_view>
#include <vector>

namespace gigapixel
{

/** \class ProtobufMessage
 * \brief The fields of one message of Protocol Buffers, one after the other, as parts of the file's own bytes:
 * https://protobuf.dev/programming-guides/encoding. Nothing is copied, and no length is believed before the bytes are
 * there.
 *
 * All functions throw std::invalid_argument that says what is damaged. */
class ProtobufMessage
{
public:
  explicit ProtobufMessage(std::string_view bytes)
    : m_Rest(bytes)
  {}

  /** Goes to the next field. \return false: there is none left */
  bool Next();

  /** Number of the field, as the message's definition has it. */
  std::uint64_t
  GetField() const
  {
    return m_Field;
  }

  std::int64_t GetInteger() const;
  float        GetFloat() const;

  /** Of a text, an array of bytes, or a message. */
  std::string_view GetBytes() const;

  // Of repeated fields, one by one or packed.
  void AppendIntegers(std::vector<std::int64_t> & values) const;
  void AppendFloats(std::vector<float> & values) const;
  void AppendDoubles(std::vector<double> & values) const;

private:
  enum class Wire : unsigned
  {
    Variable = 0,
    EightBytes = 1,
    Bytes = 2,
    FourBytes = 5
  };

  void             Require(Wire wire) const;
  std::string_view Take(std::uint64_t count);

  template <typename T>
  void AppendFixed(Wire single, std::vector<T> & values) const;

  std::string_view m_Rest;
  std::uint64_t    m_Field{ 0 };
  Wire             m_Wire{ Wire::Variable };
  std::uint64_t    m_Integer{ 0 };
  std::string_view m_Bytes;
};

} // namespace gigapixel

#endif
