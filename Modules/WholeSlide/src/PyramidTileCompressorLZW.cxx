/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidTileCompressor.h"

#include <array>

namespace gigapixel
{
namespace
{
constexpr unsigned ClearCode = 256;
constexpr unsigned EndCode = 257;
constexpr unsigned FirstCode = 258;
constexpr unsigned LastCode = 4093; // the table is cleared before a code would need 13 bits
constexpr unsigned FirstWidth = 9;

/** Codes of the strings met so far: a string is a known one (its code) and one byte more. */
class StringTable
{
public:
  StringTable() { Clear(); }

  void
  Clear()
  {
    m_Keys.fill(Empty);
  }

  /** Where the string stands, or is to stand. */
  std::size_t
  Find(std::uint32_t key) const
  {
    std::size_t slot = (key * 2654435761u) >> 19; // Knuth's multiplicative hash, 13 bits
    while (m_Keys[slot] != key && m_Keys[slot] != Empty)
    {
      slot = (slot + 1) % Slots;
    }
    return slot;
  }

  bool
  Has(std::size_t slot) const
  {
    return m_Keys[slot] != Empty;
  }

  unsigned
  GetCode(std::size_t slot) const
  {
    return m_Codes[slot];
  }

  void
  Set(std::size_t slot, std::uint32_t key, unsigned code)
  {
    m_Keys[slot] = key;
    m_Codes[slot] = static_cast<std::uint16_t>(code);
  }

private:
  static constexpr std::uint32_t   Empty = 0xFFFFFFFF;
  static constexpr std::size_t     Slots = 8192; // twice the strings
  std::array<std::uint32_t, Slots> m_Keys;
  std::array<std::uint16_t, Slots> m_Codes;
};

class CodeWriter
{
public:
  explicit CodeWriter(std::vector<std::uint8_t> & bytes)
    : m_Bytes(bytes)
  {}

  void
  Put(unsigned code)
  {
    m_Buffer = m_Buffer << m_Width | code;
    m_Bits += m_Width;
    while (m_Bits >= 8)
    {
      m_Bits -= 8;
      m_Bytes.push_back(static_cast<std::uint8_t>(m_Buffer >> m_Bits));
    }
  }

  /** Counts the string that the last code has begun; returns its code, or 0 where the table was full and is cleared. */
  unsigned
  TakeNextCode()
  {
    const unsigned code = m_Next++;
    if (code == LastCode)
    {
      Start();
      return 0;
    }
    if (m_Next == 1u << m_Width)
    {
      ++m_Width;
    }
    return code;
  }

  void
  Start()
  {
    Put(ClearCode);
    m_Width = FirstWidth;
    m_Next = FirstCode;
  }

  void
  Finish()
  {
    Put(EndCode);
    if (m_Bits > 0)
    {
      m_Bytes.push_back(static_cast<std::uint8_t>(m_Buffer << (8 - m_Bits)));
    }
  }

private:
  std::vector<std::uint8_t> & m_Bytes;
  std::uint32_t               m_Buffer{ 0 };
  unsigned                    m_Bits{ 0 };
  unsigned                    m_Width{ FirstWidth };
  unsigned                    m_Next{ FirstCode };
};
} // namespace

void
EncodeLZW(const std::uint8_t * bytes, std::size_t size, std::vector<std::uint8_t> & compressed)
{
  StringTable table;
  CodeWriter  writer(compressed);
  writer.Start();
  unsigned prefix = bytes[0];
  for (std::size_t i = 1; i < size; ++i)
  {
    const std::uint32_t key = prefix << 8 | bytes[i];
    const std::size_t   slot = table.Find(key);
    if (table.Has(slot))
    {
      prefix = table.GetCode(slot);
      continue;
    }
    writer.Put(prefix);
    const unsigned code = writer.TakeNextCode();
    code != 0 ? table.Set(slot, key, code) : table.Clear();
    prefix = bytes[i];
  }
  writer.Put(prefix);
  writer.TakeNextCode();
  writer.Finish();
}

} // namespace gigapixel
