/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DamagedTiles_h
#define DamagedTiles_h

#include <fstream>
#include <iterator>
#include <string>

namespace gigapixel_test
{

/** Lets the JPEG tiles of a file end early, all of them that are longer than a few bytes. */
inline void
DamageTiles(const std::string & fileName)
{
  std::fstream      file(fileName, std::ios::binary | std::ios::in | std::ios::out);
  std::string       bytes(std::istreambuf_iterator<char>(file), {});
  const std::string startOfScan = "\xff\xda";
  const std::string endOfImage = "\xff\xd9";
  for (auto scan = bytes.find(startOfScan); scan != std::string::npos; scan = bytes.find(startOfScan, scan + 2))
  {
    const auto end = bytes.find(endOfImage, scan);
    if (end != std::string::npos && end - scan > 200)
    {
      bytes.replace(scan + 100, 2, endOfImage);
    }
  }
  file.seekp(0);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace gigapixel_test

#endif
