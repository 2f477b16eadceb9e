/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "JPEG2000Passes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace gigapixel
{
namespace
{

/** Thrown where a stream says something that is not followed here. */
struct Unknown
{
};

/** Thrown where the bytes end before the packets do. */
struct EndsEarly
{
};

/** Numbers of the stream, most significant byte first. */
class Bytes
{
public:
  explicit Bytes(ByteSpan bytes)
    : m_Bytes(bytes)
  {}

  std::size_t
  GetLeft() const
  {
    return m_Bytes.size;
  }

  unsigned
  Peek(std::size_t place) const
  {
    return place < m_Bytes.size ? m_Bytes.data[place] : 0u;
  }

  ByteSpan
  Take(std::size_t count)
  {
    if (count > m_Bytes.size)
    {
      throw EndsEarly();
    }
    const ByteSpan taken{ m_Bytes.data, count };
    m_Bytes.data += count;
    m_Bytes.size -= count;
    return taken;
  }

  std::uint32_t
  TakeNumber(unsigned bytes)
  {
    const ByteSpan taken = this->Take(bytes);
    std::uint32_t  number = 0;
    for (unsigned i = 0; i < bytes; ++i)
    {
      number = number << 8 | taken.data[i];
    }
    return number;
  }

private:
  ByteSpan m_Bytes;
};

/** Bits of a packet's header; behind a byte of ones stands a bit that fills up. */
class HeaderBits
{
public:
  explicit HeaderBits(Bytes & bytes)
    : m_Bytes(bytes)
  {}

  unsigned
  Take(unsigned count)
  {
    unsigned number = 0;
    for (unsigned i = 0; i < count; ++i)
    {
      if (m_Left == 0)
      {
        m_Left = m_Byte == 0xFF ? 7 : 8;
        m_Byte = m_Bytes.TakeNumber(1);
      }
      --m_Left;
      number = number << 1 | (m_Byte >> m_Left & 1u);
    }
    return number;
  }

  void
  End()
  {
    if (m_Byte == 0xFF)
    {
      m_Bytes.Take(1);
    }
  }

private:
  Bytes &  m_Bytes;
  unsigned m_Byte{ 0 };
  unsigned m_Left{ 0 };
};

std::uint32_t
DivideUp(std::uint64_t number, std::uint64_t by)
{
  return static_cast<std::uint32_t>((number + by - 1) / by);
}

/** Numbers of a grid as a quad tree of their minima (B.10.2). */
class TagTree
{
public:
  TagTree(std::uint32_t width, std::uint32_t height)
  {
    for (;; width = DivideUp(width, 2), height = DivideUp(height, 2))
    {
      m_Levels.push_back({ width, std::vector<Node>(std::size_t{ width } * height) });
      if (width <= 1 && height <= 1)
      {
        break;
      }
    }
  }

  /** Whether the number of a place is below the limit, as far as bits have to be read for that. */
  bool
  IsBelow(HeaderBits & bits, std::uint32_t x, std::uint32_t y, unsigned limit)
  {
    unsigned least = 0;
    for (std::size_t level = m_Levels.size(); level-- > 0;)
    {
      Level & grid = m_Levels[level];
      Node &  node = grid.nodes[std::size_t{ y >> level } * grid.width + (x >> level)];
      node.least = std::max(node.least, least);
      while (!node.isKnown && node.least < limit)
      {
        node.isKnown = bits.Take(1) != 0;
        node.least += node.isKnown ? 0 : 1;
      }
      least = node.least;
    }
    const Node & leaf = m_Levels.front().nodes[std::size_t{ y } * m_Levels.front().width + x];
    return leaf.isKnown && leaf.least < limit;
  }

private:
  struct Node
  {
    unsigned least = 0;
    bool     isKnown = false;
  };
  struct Level
  {
    std::uint32_t     width;
    std::vector<Node> nodes;
  };
  std::vector<Level> m_Levels; // finest first
};

struct Block
{
  bool     isIncluded = false;
  unsigned lengthBits = 3;
  unsigned passes = 0;
  unsigned allPasses = 0;
};

/** Blocks of a subband in a precinct. */
struct Part
{
  Part(std::uint32_t width, std::uint32_t height, unsigned bitPlanes)
    : across(width)
    , down(height)
    , planes(bitPlanes)
    , blocks(std::size_t{ width } * height)
    , inclusion(width, height)
    , empty(width, height)
  {}

  std::uint32_t      across;
  std::uint32_t      down;
  unsigned           planes;
  std::vector<Block> blocks;
  TagTree            inclusion;
  TagTree            empty;
};

using Precinct = std::vector<Part>;

/** What the main header says. */
struct Coding
{
  std::array<std::uint32_t, 4> image{}; // left, top, right, bottom
  std::array<std::uint32_t, 4> tile{};  // left and top of the first one, width, height
  std::vector<unsigned>        stepsX;  // of the components' samples
  std::vector<unsigned>        stepsY;
  unsigned                     style = 0;
  unsigned                     progression = 0;
  unsigned                     layers = 0;
  unsigned                     levels = 0;
  unsigned                     blockWidth = 0; // logarithms
  unsigned                     blockHeight = 0;
  std::vector<unsigned>        precincts;
  std::vector<unsigned>        planes; // of each subband, before those that are empty
};

void
ReadSize(Bytes marker, Coding & coding)
{
  marker.Take(2);
  std::array<std::uint32_t, 8> numbers{};
  std::generate(numbers.begin(), numbers.end(), [&marker] { return marker.TakeNumber(4); });
  coding.image = { numbers[2], numbers[3], numbers[0], numbers[1] };
  coding.tile = { numbers[6], numbers[7], numbers[4], numbers[5] };
  const unsigned     components = marker.TakeNumber(2);
  constexpr unsigned mostComponents = 4;
  for (unsigned i = 0; i < std::min(components, mostComponents + 1); ++i)
  {
    marker.Take(1);
    coding.stepsX.push_back(marker.TakeNumber(1));
    coding.stepsY.push_back(marker.TakeNumber(1));
    if (coding.stepsX.back() == 0 || coding.stepsY.back() == 0 || i == mostComponents)
    {
      throw Unknown();
    }
  }
}

void
ReadCoding(Bytes marker, Coding & coding)
{
  constexpr unsigned severalLengths = 1 | 4; // of the passes of a block: arithmetic coder left out, or ended each time
  coding.style = marker.TakeNumber(1);
  coding.progression = marker.TakeNumber(1);
  coding.layers = marker.TakeNumber(2);
  marker.Take(1);
  coding.levels = marker.TakeNumber(1);
  coding.blockWidth = marker.TakeNumber(1) + 2;
  coding.blockHeight = marker.TakeNumber(1) + 2;
  const unsigned blockStyle = marker.TakeNumber(1);
  marker.Take(1);
  constexpr unsigned mostLevels = 32;
  if ((blockStyle & severalLengths) != 0 || blockStyle >= 64 || coding.levels > mostLevels || coding.blockWidth > 10 ||
      coding.blockHeight > 10)
  {
    throw Unknown();
  }
  constexpr unsigned largest = 0xFF; // two logarithms: 15
  for (unsigned level = 0; level <= coding.levels; ++level)
  {
    coding.precincts.push_back((coding.style & 1) != 0 ? marker.TakeNumber(1) : largest);
  }
}

void
ReadPlanes(Bytes marker, Coding & coding)
{
  const unsigned style = marker.TakeNumber(1);
  if ((style & 31) != 0) // quantized
  {
    throw Unknown();
  }
  while (marker.GetLeft() > 0)
  {
    coding.planes.push_back(marker.TakeNumber(1) / 8 + style / 32);
  }
}

/** Bytes of the tiles by their numbers. */
using Tiles = std::map<unsigned, std::vector<unsigned char>>;

void
ReadTilePart(Bytes & stream, Bytes marker, Tiles & tiles)
{
  constexpr std::uint32_t headerSize = 12; // marker, its length, and what it says
  const unsigned          number = marker.TakeNumber(2);
  const std::uint32_t     size = marker.TakeNumber(4);
  if (size != 0 && size < headerSize)
  {
    throw Unknown();
  }
  if (size > headerSize + stream.GetLeft())
  {
    throw EndsEarly();
  }
  const std::size_t endOfImage = 2;
  Bytes part(stream.Take(size == 0 ? stream.GetLeft() - std::min(endOfImage, stream.GetLeft()) : size - headerSize));
  while (part.GetLeft() > 0)
  {
    constexpr unsigned startOfData = 0xFF93, lengths = 0xFF58, comment = 0xFF64;
    const unsigned     name = part.TakeNumber(2);
    if (name == startOfData)
    {
      const ByteSpan data = part.Take(part.GetLeft());
      tiles[number].insert(tiles[number].end(), data.data, data.data + data.size);
    }
    else if (name == lengths || name == comment)
    {
      part.Take(std::max(part.TakeNumber(2), 2u) - 2);
    }
    else // another way of coding, in this tile alone
    {
      throw Unknown();
    }
  }
}

/** The headers and the tiles' bytes. */
Coding
ReadStream(Bytes & stream, Tiles & tiles)
{
  constexpr unsigned size = 0xFF51, codingStyle = 0xFF52, quantization = 0xFF5C, tilePart = 0xFF90, end = 0xFFD9;
  constexpr unsigned allowed[] = {
    0xFF50, 0xFF55, 0xFF57, 0xFF63, 0xFF64
  }; // capabilities, lengths, registration, comment
  Coding coding;
  while (stream.GetLeft() > 1)
  {
    const unsigned name = stream.TakeNumber(2);
    if (name == end)
    {
      return coding;
    }
    const Bytes marker(stream.Take(std::max(stream.TakeNumber(2), 2u) - 2));
    switch (name)
    {
      case size:
        ReadSize(marker, coding);
        break;
      case codingStyle:
        ReadCoding(marker, coding);
        break;
      case quantization:
        ReadPlanes(marker, coding);
        break;
      case tilePart:
        ReadTilePart(stream, marker, tiles);
        break;
      default:
        if (std::find(std::begin(allowed), std::end(allowed), name) == std::end(allowed))
        {
          throw Unknown();
        }
    }
  }
  return coding;
}

/** One axis of a tile's component. */
struct Axis
{
  std::uint64_t begin;
  std::uint64_t end;
};

Axis
Reduce(const Axis & axis, unsigned levels)
{
  return { DivideUp(axis.begin, std::uint64_t{ 1 } << levels), DivideUp(axis.end, std::uint64_t{ 1 } << levels) };
}

/** Of a subband (B-15). */
Axis
ReduceToBand(const Axis & axis, unsigned levels, bool isHigh)
{
  const std::uint64_t offset = isHigh ? std::uint64_t{ 1 } << (levels - 1) : 0;
  const auto          reduce = [&](std::uint64_t place) {
    return place <= offset ? 0u : DivideUp(place - offset, std::uint64_t{ 1 } << levels);
  };
  return { reduce(axis.begin), reduce(axis.end) };
}

/** Precincts of an axis: number of the first, and how many. */
std::array<std::uint64_t, 2>
CountPrecincts(const Axis & axis, unsigned size)
{
  const std::uint64_t first = axis.begin >> size;
  return { first, axis.end > axis.begin ? DivideUp(axis.end, std::uint64_t{ 1 } << size) - first : 0 };
}

/** Blocks of an axis of a subband in a precinct. */
std::uint32_t
CountBlocks(const Axis & band, std::uint64_t precinct, unsigned size, unsigned blockSize)
{
  const std::uint64_t begin = std::max(band.begin, precinct << size);
  const std::uint64_t end = std::min(band.end, (precinct + 1) << size);
  return end > begin ? static_cast<std::uint32_t>(DivideUp(end, std::uint64_t{ 1 } << blockSize) - (begin >> blockSize))
                     : 0;
}

/** The precincts of a resolution of a component, row by row. */
std::vector<Precinct>
MakePrecincts(const Coding & coding, const Axis & x, const Axis & y, unsigned resolution)
{
  const unsigned left = coding.levels - resolution;
  const unsigned width = coding.precincts[resolution] & 15u;
  const unsigned height = coding.precincts[resolution] >> 4;
  const bool     isLowest = resolution == 0;
  if (!isLowest && (width == 0 || height == 0))
  {
    throw Unknown();
  }
  const auto            columns = CountPrecincts(Reduce(x, left), width);
  const auto            rows = CountPrecincts(Reduce(y, left), height);
  const unsigned        half = isLowest ? 0 : 1;
  const unsigned        bandLevels = left + half;
  std::vector<Precinct> precincts;
  constexpr std::size_t most = 1 << 16; // of a tile: what is beyond may be damage
  std::size_t           blocks = 0;
  if (columns[1] * rows[1] > most)
  {
    throw Unknown();
  }
  for (std::uint64_t i = 0; i < columns[1] * rows[1]; ++i)
  {
    Precinct precinct;
    for (unsigned band = isLowest ? 0 : 1; band <= (isLowest ? 0u : 3u); ++band)
    {
      const Axis     bandX = ReduceToBand(x, bandLevels, (band & 1) != 0);
      const Axis     bandY = ReduceToBand(y, bandLevels, (band & 2) != 0);
      const unsigned number = isLowest ? 0 : 3 * (resolution - 1) + band;
      if (number >= coding.planes.size())
      {
        throw Unknown();
      }
      const std::uint32_t across =
        CountBlocks(bandX, columns[0] + i % columns[1], width - half, std::min(coding.blockWidth, width - half));
      const std::uint32_t down =
        CountBlocks(bandY, rows[0] + i / columns[1], height - half, std::min(coding.blockHeight, height - half));
      blocks += std::size_t{ across } * down;
      if (blocks > most)
      {
        throw Unknown();
      }
      precinct.emplace_back(across, down, std::max(coding.planes[number], 1u) - 1);
    }
    precincts.push_back(std::move(precinct));
  }
  return precincts;
}

/** How many coding passes a packet adds to a block (B.10.6). */
unsigned
TakePasses(HeaderBits & bits)
{
  if (bits.Take(1) == 0)
  {
    return 1;
  }
  if (bits.Take(1) == 0)
  {
    return 2;
  }
  unsigned more = bits.Take(2);
  if (more < 3)
  {
    return 3 + more;
  }
  more = bits.Take(5);
  return more < 31 ? 6 + more : 37 + bits.Take(7);
}

/** What a packet's header says of a block. \return bytes of the block in the packet */
std::size_t
ReadBlock(HeaderBits & bits, Part & part, std::uint32_t x, std::uint32_t y, unsigned layer)
{
  Block & block = part.blocks[std::size_t{ y } * part.across + x];
  if (!(block.isIncluded ? bits.Take(1) != 0 : part.inclusion.IsBelow(bits, x, y, layer + 1)))
  {
    return 0;
  }
  if (!block.isIncluded)
  {
    block.isIncluded = true;
    unsigned empty = 0;
    while (!part.empty.IsBelow(bits, x, y, empty + 1))
    {
      if (++empty > part.planes)
      {
        throw Unknown();
      }
    }
    const unsigned planes = part.planes - std::min(empty, part.planes);
    block.allPasses = planes == 0 ? 0 : 3 * planes - 2;
  }
  const unsigned passes = TakePasses(bits);
  block.passes += passes;
  while (bits.Take(1) != 0)
  {
    ++block.lengthBits;
  }
  unsigned length = block.lengthBits;
  for (unsigned rest = passes; rest > 1; rest /= 2)
  {
    ++length;
  }
  if (length > 32)
  {
    throw Unknown();
  }
  return bits.Take(length);
}

void
ReadPacket(const Coding & coding, Bytes & data, Precinct & precinct, unsigned layer)
{
  if ((coding.style & 2) != 0 && data.Peek(0) == 0xFF && data.Peek(1) == 0x91) // marker of its start
  {
    data.Take(6);
  }
  std::size_t length = 0;
  HeaderBits  bits(data);
  if (bits.Take(1) != 0)
  {
    for (Part & part : precinct)
    {
      for (std::uint32_t i = 0; i < part.across * part.down; ++i)
      {
        length += ReadBlock(bits, part, i % part.across, i / part.across, layer);
      }
    }
  }
  bits.End();
  if ((coding.style & 4) != 0 && data.Peek(0) == 0xFF && data.Peek(1) == 0x92) // marker of the header's end
  {
    data.Take(2);
  }
  data.Take(length);
}

/** Reads the packets of a tile in their order. */
void
ReadPackets(const Coding & coding, Bytes data, std::vector<std::vector<std::vector<Precinct>>> & components)
{
  constexpr unsigned layersFirst = 0, resolutionsFirst = 1, positionsOfResolution = 2, positionsFirst = 3;
  const unsigned     resolutions = coding.levels + 1;
  const auto         read = [&](unsigned layer, unsigned resolution, std::size_t component) {
    for (Precinct & precinct : components[component][resolution])
    {
      ReadPacket(coding, data, precinct, layer);
    }
  };
  const bool isSimple = std::all_of(components.begin(), components.end(), [](const auto & component) {
    return std::all_of(component.begin(), component.end(), [](const auto & each) { return each.size() <= 1; });
  });
  if (coding.progression > 4 || (coding.progression > resolutionsFirst && !isSimple))
  {
    throw Unknown(); // the place of each precinct matters
  }
  const std::uint64_t all = std::uint64_t{ coding.layers } * resolutions * components.size();
  for (std::uint64_t i = 0; i < all; ++i)
  {
    const auto     count = components.size();
    const unsigned layers = coding.layers;
    switch (coding.progression)
    {
      case layersFirst:
        read(static_cast<unsigned>(i / count / resolutions), static_cast<unsigned>(i / count % resolutions), i % count);
        break;
      case resolutionsFirst:
        read(static_cast<unsigned>(i / count % layers), static_cast<unsigned>(i / count / layers), i % count);
        break;
      case positionsOfResolution:
        read(static_cast<unsigned>(i % layers), static_cast<unsigned>(i / layers / count), i / layers % count);
        break;
      case positionsFirst: // and then components, as in the last order
      default:
        read(
          static_cast<unsigned>(i % layers), static_cast<unsigned>(i / layers % resolutions), i / layers / resolutions);
    }
  }
}

bool
LacksPasses(const Coding & coding, unsigned number, ByteSpan data)
{
  const std::uint64_t right = coding.image[2];
  const std::uint64_t bottom = coding.image[3];
  if (coding.tile[2] == 0 || coding.tile[3] == 0 || right <= coding.tile[0] || coding.planes.empty() ||
      coding.layers == 0)
  {
    throw Unknown();
  }
  const std::uint32_t across = DivideUp(right - coding.tile[0], coding.tile[2]);
  const auto          cut = [&](std::uint64_t index, std::size_t axis, std::uint64_t end, unsigned step) {
    const std::uint64_t begin = coding.tile[axis] + index * coding.tile[axis + 2];
    return Axis{ DivideUp(std::max<std::uint64_t>(begin, coding.image[axis]), step),
                 DivideUp(std::min(begin + coding.tile[axis + 2], end), step) };
  };
  std::vector<std::vector<std::vector<Precinct>>> components;
  for (std::size_t i = 0; i < coding.stepsX.size(); ++i)
  {
    const Axis x = cut(number % across, 0, right, coding.stepsX[i]);
    const Axis y = cut(number / across, 1, bottom, coding.stepsY[i]);
    components.emplace_back();
    for (unsigned resolution = 0; resolution <= coding.levels; ++resolution)
    {
      components.back().push_back(MakePrecincts(coding, x, y, resolution));
    }
  }
  ReadPackets(coding, Bytes(data), components);
  for (const auto & component : components)
  {
    for (const auto & resolution : component)
    {
      for (const Precinct & precinct : resolution)
      {
        for (const Part & part : precinct)
        {
          if (std::any_of(part.blocks.begin(), part.blocks.end(), [](const Block & block) {
                return block.passes < block.allPasses;
              }))
          {
            return true;
          }
        }
      }
    }
  }
  return false;
}

} // namespace

bool
LacksJPEG2000Passes(ByteSpan stream)
{
  // Without the boxes of a JP2 file, in which the codestream is the last part.
  const unsigned char start[] = { 0xFF, 0x4F, 0xFF, 0x51 };
  const auto * const  end = stream.data + stream.size;
  const auto * const  found = std::search(stream.data, end, std::begin(start), std::end(start));
  if (found == end)
  {
    return false;
  }
  Bytes bytes({ found + 2, static_cast<std::size_t>(end - found) - 2 });
  try
  {
    Tiles        tiles;
    const Coding coding = ReadStream(bytes, tiles);
    return std::any_of(tiles.begin(), tiles.end(), [&coding](const auto & tile) {
      return LacksPasses(coding, tile.first, { tile.second.data(), tile.second.size() });
    });
  }
  catch (const EndsEarly &)
  {
    return true;
  }
  catch (const Unknown &)
  {
    return false;
  }
}

} // namespace gigapixel
