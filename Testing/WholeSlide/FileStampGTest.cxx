/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "slide/FileStamp.h"

#include "TemporaryFolder.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

using gigapixel::GetFileStamp;

TEST(FileStamp, IsAnotherOneWhereAnyFileOfTheSlideIs)
{
  const gigapixel::test::TemporaryFolder folder("file-stamp");
  std::filesystem::create_directory(folder.File("mirax"));
  const auto write = [&folder](const char * name, const std::string & text) {
    std::ofstream(folder.File(name)) << text;
  };
  write("mirax.mrxs", "JPEG");
  write("mirax/Slidedat.ini", "[GENERAL]");
  write("mirax/Index.dat", "1");
  write("hamamatsu.vms", "[Virtual Microscope Specimen]\nImageFile=first.jpg\n");
  write("first.jpg", "1");
  write("other.jpg", "1");
  write("alone.tif", "II*");
  const struct
  {
    const char * slide;
    const char * file;
    bool         belongs;
  } cases[] = { { "mirax.mrxs", "mirax.mrxs", true },       { "mirax.mrxs", "mirax/Slidedat.ini", true },
                { "mirax.mrxs", "mirax/Index.dat", true },  { "mirax.mrxs", "mirax/Data0000.dat", true },
                { "hamamatsu.vms", "hamamatsu.vms", true }, { "hamamatsu.vms", "first.jpg", true },
                { "hamamatsu.vms", "other.jpg", false },    { "alone.tif", "alone.tif", true },
                { "alone.tif", "first.jpg", false } };
  for (const auto & one : cases)
  {
    const auto before = GetFileStamp(folder.File(one.slide));
    EXPECT_EQ(GetFileStamp(folder.File(one.slide)), before);
    std::ofstream(folder.File(one.file), std::ios::app) << "\nmore=1\n";
    EXPECT_EQ(GetFileStamp(folder.File(one.slide)) != before, one.belongs) << one.slide << ' ' << one.file;
  }
}
