/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPlainMessage.h"

#include <gtest/gtest.h>

using gigapixel::CleanMessage;

TEST(PlainMessage, IsTheSentenceAlone)
{
  EXPECT_EQ(CleanMessage("WARNING: In /a b/itkX.cxx, line 12\nX<float, 2> (0x55d0c0ffee): It is odd.\n\n"),
            "It is odd.");
  EXPECT_EQ(CleanMessage("/src/itkX.cxx:12:\nITK ERROR: itk::X<2>(0x1): no file"), "no file");
  EXPECT_EQ(CleanMessage("itk::ERROR: X(0x1): no file"), "no file");
  EXPECT_EQ(CleanMessage("a.tif: /x.h:1:\nITK ERROR: A(0x1): one, ITK ERROR: B(0x2): two"), "a.tif: one, two");
  EXPECT_EQ(CleanMessage("ITK ERROR: X(0x1): Read: Error 7\nof 9 "), "Error 7 of 9");
  EXPECT_EQ(CleanMessage("WARNING: ReadImageInformation: Error 7"), "ReadImageInformation: Error 7");
  EXPECT_EQ(CleanMessage("a: [nrrd] one: two\n[nrrd] three: four\n"), "a: four");
  for (const char * const sentence :
       { "", "Read: 7", "ITK ERROR: X: 7", "ITK ERROR: X(0xg): 7", "WARNING: In one line X(0x1): 7" })
  {
    const std::string text = sentence;
    EXPECT_EQ(CleanMessage(text), text.rfind("WARNING: ", 0) == 0 ? text.substr(9) : text);
  }
  EXPECT_EQ(CleanMessage(" \n "), "");
}

TEST(PlainMessage, MayBeOfAnyLength)
{
  constexpr std::size_t length = 10000000;
  const std::string     text(length, 'x');
  EXPECT_EQ(CleanMessage("ITK ERROR: X(0x1): of " + text), "of " + text);
  std::string beginnings;
  while (beginnings.size() < length / 10)
  {
    beginnings += "ITK ERROR: WARNING: In a:1:";
  }
  EXPECT_EQ(CleanMessage(beginnings), beginnings);
}
