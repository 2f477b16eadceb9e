/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "gigapixelTableReader.h"

#include <gtest/gtest.h>

using gigapixel::TableReader;
using gigapixel::ToField;
using gigapixel::test::TemporaryFolder;

namespace
{

TEST(TableReader, ReadsWhatToFieldWrites)
{
  const TemporaryFolder          folder("table");
  const std::vector<std::string> fields{
    "plain", "with, comma", "with \"quotes\"", "two\nlines", " spaces ", "", "\r"
  };
  std::string header, row;
  for (std::size_t i = 0; i < fields.size(); ++i)
  {
    header += (i > 0 ? "," : "") + ("c" + std::to_string(i));
    row += (i > 0 ? "," : "") + ToField(fields[i]);
  }
  std::ofstream(folder.File("t.csv"), std::ios::binary) << header << "\r\n" << row << "\n\n" << row;
  TableReader      reader(folder.File("t.csv"));
  TableReader::Row read;
  EXPECT_EQ(reader.FindColumn("c3"), 3);
  EXPECT_EQ(reader.FindColumn("C3"), -1);
  ASSERT_TRUE(reader.Next(read));
  EXPECT_EQ(read.fields, fields);
  EXPECT_EQ(read.line, 2);
  ASSERT_TRUE(reader.Next(read));
  EXPECT_EQ(read.fields, fields);
  EXPECT_EQ(read.line, 5) << "a field has a line break, and an empty line is skipped";
  EXPECT_FALSE(reader.Next(read));
}

TEST(TableReader, OfAnEmptyFileHasNoColumns)
{
  const TemporaryFolder folder("table");
  std::ofstream(folder.File("t.csv")) << "\n\n";
  TableReader      reader(folder.File("t.csv"));
  TableReader::Row row;
  EXPECT_TRUE(reader.GetHeader().fields.empty());
  EXPECT_FALSE(reader.Next(row));
}

} // namespace
