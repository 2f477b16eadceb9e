/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNearestNames.h"

#include <algorithm>
#include <numeric>

namespace gigapixel
{

std::size_t
GetEditDistance(const std::string & a, const std::string & b)
{
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j)
    {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({ substituted, row[j] + 1, row[j + 1] + 1 });
    }
  }
  return row.back();
}

std::vector<std::string>
FindNearestNames(const std::string & word, std::vector<std::string> names, std::size_t number)
{
  std::stable_sort(names.begin(), names.end(), [&](const std::string & a, const std::string & b) {
    return GetEditDistance(word, a) < GetEditDistance(word, b);
  });
  names.resize(std::min(names.size(), number));
  return names;
}

} // namespace gigapixel
