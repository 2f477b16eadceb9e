/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
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

gigapixel::Diagnostic
GetRefusal(const std::string & content)
{
  const TemporaryFolder folder("table");
  std::ofstream(folder.File("t.csv"), std::ios::binary) << content;
  return gigapixel_test::FindRefusal([&] { gigapixel::Cohort::Load(folder.File("t.csv")); });
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
    const gigapixel::Diagnostic refusal = GetRefusal("slide,mask,split\n" + shifted + ".svs,m.tif,train\n");
    EXPECT_EQ(refusal.code, "E-FILE-MISSING");
    EXPECT_EQ(refusal.value, "2"); // the line
    const std::string & why = refusal.why;
    EXPECT_LT(why.size(), 1200u) << why;
    EXPECT_NE(why.find(" bytes) ... \xc3"), std::string::npos) << why;
    EXPECT_EQ(why.substr(why.size() - 4), ".svs") << why;
    EXPECT_NE(why.find("\xa4 ... ("), std::string::npos) << why;
  }
  const auto label = GetRefusal("slide,label,split\n" GIGAPIXEL_SOURCE_DIR "/LICENSE," + path + ",train\n");
  EXPECT_LT(label.why.size(), 1200u) << label.why;
  EXPECT_EQ(label.code, "E-COHORT-FORMAT");
}

TEST(TableReader, RefusesNamesThatAreNoUTF8)
{
  const std::string slide = GIGAPIXEL_SOURCE_DIR "/LICENSE,";
  const auto        latin = GetRefusal("slide,label,split\n" + slide + "gut,train\n" + slide + "b\xf6sartig,train\n");
  EXPECT_EQ(latin.code, "E-COHORT-FORMAT");
  EXPECT_EQ(latin.value, "3"); // the line
  EXPECT_NE(latin.why.find("b\\xf6sartig"), std::string::npos) << latin.why;
  const auto column = GetRefusal("slide,label:b\xf6se,split\n" + slide + "1,train\n");
  EXPECT_EQ(column.code, "E-COHORT-FORMAT");
  EXPECT_EQ(column.value, "1");
  EXPECT_NE(column.why.find("label:b\\xf6se"), std::string::npos) << column.why;
}

TEST(TableReader, RefusesZeroBytes)
{
  // The name would end there for the system, which finds this file.
  std::string content = "slide,mask,split\n" GIGAPIXEL_SOURCE_DIR "/LICENSE";
  content += std::string("\0.svs,m.tif,train\n", 18);
  const gigapixel::Diagnostic refusal = GetRefusal(content);
  EXPECT_EQ(refusal.code, "E-COHORT-FORMAT");
  EXPECT_EQ(refusal.value, "2");
}

} // namespace
