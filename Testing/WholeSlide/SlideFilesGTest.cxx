/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlideFiles.h"

#include "gigapixelFileIdentity.h"

#include "TemporaryFolder.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

using gigapixel::IdentifySlide;

TEST(SlideFiles, WhatDescribesASlideTellsItFromOthers)
{
  const gigapixel::test::TemporaryFolder folder("slide-files");
  const std::string                      slide = folder.File("a.mrxs");
  const std::string                      description = folder.File("a/Slidedat.ini");
  const auto append = [](const std::string & file) { std::ofstream(file, std::ios::app) << "more"; };
  std::filesystem::create_directory(folder.File("a"));
  append(slide);
  EXPECT_EQ(gigapixel::FindSlideDescription(slide), description);
  const std::string alone = IdentifySlide(slide);
  EXPECT_EQ(alone, gigapixel::IdentifyFile(slide, gigapixel::HashedBytes::Samples));
  append(description);
  const std::string whole = IdentifySlide(slide);
  EXPECT_NE(whole, alone);
  append(folder.File("a/Index.dat"));
  EXPECT_EQ(IdentifySlide(slide), whole);
  append(description);
  EXPECT_NE(IdentifySlide(slide), whole);
}

TEST(SlideFiles, OtherFormatsDescribeThemselves)
{
  for (const char * const slide : { "a.svs", "a.vms", "a.tif", "a", "" })
  {
    EXPECT_EQ(gigapixel::FindSlideDescription(slide), "") << slide;
  }
}
