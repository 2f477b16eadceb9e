/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What tells files apart: an edit of one byte, wherever it is, for all but slides.
#include "TemporaryFolder.h"
#include "gigapixelFileIdentity.h"

#include <gtest/gtest.h>

using gigapixel::HashedBytes;
using gigapixel::IdentifyFile;
using gigapixel::test::TemporaryFolder;

namespace
{

constexpr std::size_t Size = 3 << 20;
constexpr std::size_t Between = 150000; // the first sample ends at 65536, the second one begins at 205346

std::string
Write(const std::string & path, const std::string & content)
{
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string
Edit(std::string bytes)
{
  bytes[Between] = 'x';
  return bytes;
}

/** The same file before and after. */
void
ExpectDiffers(const std::string & file, const std::string & changed, const std::string & to, bool differs = true)
{
  const std::string before = IdentifyFile(file, HashedBytes::All);
  const std::string content = gigapixel::test::ReadAll(changed);
  Write(changed, to);
  EXPECT_EQ(IdentifyFile(file, HashedBytes::All) != before, differs) << file << ", " << changed;
  Write(changed, content);
  EXPECT_EQ(IdentifyFile(file, HashedBytes::All), before) << file << ", " << changed;
}

} // namespace

TEST(FileIdentity, OneByteTellsFilesApartUnlessTheyAreSlides)
{
  const TemporaryFolder folder("identity");
  const std::string     bytes(Size, '\0');
  const std::string     mask = Write(folder.path + "/mask.nrrd", bytes);
  const std::string     copy = Write(folder.path + "/copy.nrrd", bytes);
  EXPECT_EQ(IdentifyFile(mask, HashedBytes::All), IdentifyFile(copy, HashedBytes::All));
  EXPECT_EQ(IdentifyFile(mask, HashedBytes::Samples), IdentifyFile(copy, HashedBytes::Samples));
  ExpectDiffers(mask, mask, Edit(bytes));
  Write(copy, Edit(bytes));
  EXPECT_EQ(IdentifyFile(mask, HashedBytes::Samples), IdentifyFile(copy, HashedBytes::Samples));
  EXPECT_NE(IdentifyFile(mask, HashedBytes::Samples), IdentifyFile(Write(copy, bytes + '\0'), HashedBytes::Samples));
  // The hash is FNV-1a's of "foobar", as its authors publish it.
  EXPECT_EQ(IdentifyFile(Write(copy, "foobar"), HashedBytes::All), "bytes=6 hash=85944171f73967e8");
  EXPECT_EQ(IdentifyFile(Write(copy, ""), HashedBytes::All), "bytes=0 hash=cbf29ce484222325");
}

TEST(FileIdentity, PixelsOfDetachedHeadersCount)
{
  const TemporaryFolder folder("identity");
  const std::string     bytes(Size, '\0');
  const auto            file = [&](const std::string & name) { return folder.path + '/' + name; };
  Write(file("pixels.raw"), bytes);
  for (const std::string & header : { Write(file("mask.mhd"), "NDims = 2\nElementDataFile = pixels.raw\n"),
                                      Write(file("colon.mhd"), "NDims: 2\nElementDataFile: pixels.raw\n"),
                                      Write(file("mask.mha"), "NDims = 2\nElementDataFile=pixels.raw\n"),
                                      Write(file("mask.nrrd"), "NRRD0004\nData File: pixels.raw\n"),
                                      Write(file("other.nhdr"), "NRRD0004\nDATAFILE: pixels.raw\n"),
                                      Write(file("mask.nhdr"), "NRRD0004\ndata file: pixels.raw\n"),
                                      Write(file("list.nhdr"), "NRRD0004\ndata file: LIST\npixels.raw\n") })
  {
    ExpectDiffers(header, file("pixels.raw"), Edit(bytes));
    ExpectDiffers(header, file("pixels.raw"), bytes + '\0');
  }
}

TEST(FileIdentity, OfNumberedFilesThoseOfTheFormatCount)
{
  const TemporaryFolder folder("identity");
  const auto            file = [&](const std::string & name) { return folder.path + '/' + name; };
  const std::string     padded = Write(file("padded.mhd"), "ElementDataFile = plane%03d.raw 1 9 1\n");
  const std::string     plain = Write(file("plain.nhdr"), "NRRD0004\ndata file: %d.raw 0 9 1\n");
  for (const char * name : { "plane001.raw", "plane002.raw", "plane1000.raw" })
  {
    Write(file(name), "before");
    ExpectDiffers(padded, file(name), "after");
  }
  Write(file("0.raw"), "before");
  ExpectDiffers(plain, file("0.raw"), "after");
  for (const char * name : { "plane-notes.txt",
                             "plane01.raw",
                             "plane0001.raw",
                             "plane001.raw.bak",
                             "plane.raw",
                             "00.raw",
                             "x1.raw",
                             "notes.txt" })
  {
    Write(file(name), "before");
    ExpectDiffers(padded, file(name), "after", false);
    ExpectDiffers(plain, file(name), "after", false);
  }
}

TEST(FileIdentity, NamesInHeadersMayBeOfAnyLength)
{
  const TemporaryFolder folder("identity");
  const std::string     name(400000, 'a'), digits(100, '9');
  for (const std::string & pixels : { '%' + name, "%0" + digits + "d.raw 1 2 1", '%' + digits })
  {
    const std::string text = "NDims = 2\nElementDataFile = " + pixels + '\n';
    const std::string bytes = "bytes=" + std::to_string(text.size()) + ' ';
    EXPECT_EQ(IdentifyFile(Write(folder.path + "/long.mhd", text), HashedBytes::All).rfind(bytes, 0), 0u);
  }
}

TEST(FileIdentity, OfFilesThatCannotBeReadIsRefused)
{
  const TemporaryFolder folder("identity");
  const std::string     header = Write(folder.path + "/mask.mhd", "ElementDataFile = pixels\n");
  EXPECT_NO_THROW(IdentifyFile(header, HashedBytes::All)); // whoever reads its pixels says that there are none
  std::filesystem::create_directory(folder.path + "/pixels");
  for (const HashedBytes bytes : { HashedBytes::All, HashedBytes::Samples })
  {
    EXPECT_THROW(IdentifyFile(folder.path + "/none", bytes), std::runtime_error);
    EXPECT_THROW(IdentifyFile(folder.path, bytes), std::runtime_error);
    EXPECT_THROW(IdentifyFile(header, bytes), std::runtime_error);
    if (std::filesystem::exists("/proc/self/mem"))
    {
      EXPECT_THROW(IdentifyFile("/proc/self/mem", bytes), std::runtime_error); // it opens, but reading it fails
    }
  }
}
