/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "gigapixelCohort.h"
#include "gigapixelTableReader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

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

std::string
GetRefusal(const std::string & content)
{
  const TemporaryFolder folder("table");
  std::ofstream(folder.File("t.csv"), std::ios::binary) << content;
  try
  {
    gigapixel::Cohort::Load(folder.File("t.csv"));
  }
  catch (const std::runtime_error & error)
  {
    return error.what();
  }
  return "";
}

TEST(TableReader, ShowsTheEndsOfAFieldWithoutEnd)
{
  std::string path;
  for (int i = 0; i < 100000; ++i)
  {
    path += "\xc3\xa4"; // two bytes, which are not taken apart
  }
  for (const std::string & shifted : { path, 'a' + path })
  {
    const std::string refusal = GetRefusal("slide,mask,split\n" + shifted + ".svs,m.tif,train\n");
    EXPECT_LT(refusal.size(), 1200u) << refusal;
    EXPECT_NE(refusal.find("line 2: there is no slide "), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(" bytes) ... \xc3"), std::string::npos) << refusal;
    EXPECT_EQ(refusal.substr(refusal.size() - 4), ".svs") << refusal;
    EXPECT_NE(refusal.find("\xa4 ... ("), std::string::npos) << refusal;
  }
  const std::string label = GetRefusal("slide,label,split\n" GIGAPIXEL_SOURCE_DIR "/LICENSE," + path + ",train\n");
  EXPECT_LT(label.size(), 1200u) << label;
  EXPECT_NE(label.find("is longer than the 255 bytes"), std::string::npos) << label;
}

TEST(TableReader, RefusesNamesThatAreNoUTF8)
{
  const std::string slide = GIGAPIXEL_SOURCE_DIR "/LICENSE,";
  const std::string latin = GetRefusal("slide,label,split\n" + slide + "gut,train\n" + slide + "b\xf6sartig,train\n");
  EXPECT_NE(latin.find("line 3: the label \"b\\xf6sartig\""), std::string::npos) << latin;
  EXPECT_NE(latin.find("CSV in UTF-8"), std::string::npos) << latin;
  const std::string column = GetRefusal("slide,label:b\xf6se,split\n" + slide + "1,train\n");
  EXPECT_NE(column.find("line 1: the column \"label:b\\xf6se\""), std::string::npos) << column;
}

TEST(TableReader, RefusesZeroBytes)
{
  // The name would end there for the system, which finds this file.
  std::string content = "slide,mask,split\n" GIGAPIXEL_SOURCE_DIR "/LICENSE";
  content += std::string("\0.svs,m.tif,train\n", 18);
  const std::string refusal = GetRefusal(content);
  EXPECT_NE(refusal.find("line 2: there is a zero byte"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("UTF-8"), std::string::npos) << refusal;
}

} // namespace
