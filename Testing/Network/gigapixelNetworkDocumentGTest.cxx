/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "graph/gigapixelOperationSchema.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

using namespace gigapixel;

namespace
{

/** Reads the table under a heading of Documentation/reference/operations.md: the word of the first column, and all
 * words in `code` of the second one. */
std::map<std::string, std::set<std::string>>
ReadTable(const std::string & heading)
{
  const std::string text = test::ReadAll(GIGAPIXEL_SOURCE_DIR "/Documentation/reference/operations.md");
  const std::size_t begin = text.find("\n## " + heading + "\n");
  if (begin == std::string::npos)
  {
    ADD_FAILURE() << "no heading " << heading;
    return {};
  }
  std::map<std::string, std::set<std::string>> table;
  const std::regex                             row("\\| `([^`]+)` \\|([^|]*)\\|.*");
  const std::regex                             word("`([a-z_]+)`");
  std::stringstream                            section(text.substr(begin + 1, text.find("\n## ", begin + 1) - begin));
  for (std::string line; std::getline(section, line);)
  {
    std::smatch cells;
    if (std::regex_match(line, cells, row))
    {
      const std::string second = cells[2];
      auto &            words = table[cells[1]];
      for (std::sregex_iterator found(second.begin(), second.end(), word), end; found != end; ++found)
      {
        words.insert((*found)[1]);
      }
    }
  }
  return table;
}

std::map<std::string, std::set<std::string>>
GetAttributes(const std::vector<OperationSchema> & schemas)
{
  std::map<std::string, std::set<std::string>> known;
  for (const OperationSchema & schema : schemas)
  {
    if (schema.axes == 3) // named under "Volumes", with the attributes of the type for images
    {
      continue;
    }
    auto & attributes = known[schema.type];
    for (const AttributeSchema & attribute : schema.attributes)
    {
      attributes.insert(attribute.name);
    }
  }
  known.erase(StatisticsType); // which belong to norms
  return known;
}

} // namespace

TEST(NetworkDocument, ListsEveryOperationWithItsAttributes)
{
  EXPECT_EQ(ReadTable("Operations"), GetAttributes(OperationSchema::GetAll()));
  EXPECT_EQ(ReadTable("What sees the whole image"), GetAttributes(OperationSchema::GetWholeImage()));
}

TEST(NetworkDocument, NamesTheTypesOfVolumes)
{
  const std::string text = test::ReadAll(GIGAPIXEL_SOURCE_DIR "/Documentation/reference/operations.md");
  const std::size_t begin = text.find("\n## Volumes\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  for (const auto * schemas : { &OperationSchema::GetAll(), &OperationSchema::GetWholeImage() })
  {
    for (const OperationSchema & schema : *schemas)
    {
      const bool isNamed = section.find('`' + std::string(schema.type) + '`') != std::string::npos;
      EXPECT_EQ(isNamed, schema.axes == 3 || schema.type == std::string("pixel_shuffle")) << schema.type;
    }
  }
}
