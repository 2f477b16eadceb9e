/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// XML as the recommendation has it (W3C, XML 1.0 and Namespaces in XML), and what becomes of damaged XML.
#include "gigapixelXMLElements.h"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

using gigapixel::ReadXML;
using gigapixel::XMLElement;

namespace
{

std::vector<XMLElement>
ReadAll(const std::string & xml)
{
  std::vector<XMLElement> elements;
  EXPECT_EQ(ReadXML(xml,
                    [&elements](const XMLElement & element) {
                      elements.push_back(element);
                      return true;
                    }),
            "");
  return elements;
}

std::string
GetDamage(const std::string & xml)
{
  return ReadXML(xml, [](const XMLElement &) { return true; });
}

} // namespace

TEST(XMLElements, ComeInOrderWithTheirDepths)
{
  const auto  elements = ReadAll("<?xml version=\"1.0\"?>\n<a><b/><c><d></d></c></a>\n");
  std::string found;
  for (const XMLElement & element : elements)
  {
    found += element.name + std::to_string(element.depth);
  }
  EXPECT_EQ(found, "a0b1c1d2");
}

TEST(XMLElements, AttributesAreInAnyOrderAndQuotesWithTheirEntities)
{
  for (const char * const xml :
       { "<a one='1' two=\"&lt;&amp;&#181;&quot;\"/>", "<a two='&lt;&amp;\xc2\xb5\"'\n\tone = \"1\" />" })
  {
    const auto elements = ReadAll(xml);
    ASSERT_EQ(elements.size(), 1u);
    EXPECT_EQ(elements.front().Get("one"), "1");
    EXPECT_EQ(elements.front().Get("two"), "<&\xc2\xb5\"");
    EXPECT_EQ(elements.front().Get("three"), "");
  }
}

TEST(XMLElements, NamespacesCountAndPrefixesDoNot)
{
  for (const char * const xml : { "<Root xmlns='http://where'/>", "<p:Root xmlns:p='http://where'/>" })
  {
    const auto elements = ReadAll(xml);
    ASSERT_EQ(elements.size(), 1u);
    EXPECT_EQ(elements.front().name, "Root");
    EXPECT_EQ(elements.front().space, "http://where");
  }
}

TEST(XMLElements, TagsInCommentsAndCDATAAreNone)
{
  EXPECT_EQ(ReadAll("<a><!-- <b/> --><![CDATA[<c/>]]>&lt;d/&gt;<?e <f/> ?></a>").size(), 1u);
}

TEST(XMLElements, TextBehindAStartTagEndsWithTheNextTag)
{
  std::string text;
  const auto  visit = [&text](const XMLElement & element) {
    text += '<' + element.name + '>';
    return true;
  };
  ReadXML("<a>1<b> 2 &lt;&#181;<!-- 3 --><![CDATA[<4>]]></b> 5 <c/>6</a>", visit, [&text](const std::string & part) {
    text += part;
  });
  EXPECT_EQ(text, "<a>1<b> 2 <\xc2\xb5<4><c>");
}

/** Micrometers as old writers have them, whatever the XML says of itself. */
TEST(XMLElements, TextThatIsNoUTF8IsLatin1)
{
  EXPECT_EQ(ReadAll("<?xml version=\"1.0\" encoding=\"UTF-8\"?><a unit=\"\xb5m\"/>").front().Get("unit"), "\xc2\xb5m");
  EXPECT_EQ(ReadAll("<?xml version=\"1.0\" encoding=\"UTF-16\"?><a unit=\"\xc2\xb5m\"/>").front().Get("unit"),
            "\xc2\xb5m");
}

TEST(XMLElements, DamageIsToldWithItsLine)
{
  EXPECT_EQ(GetDamage(""), "no element found in line 1");
  EXPECT_EQ(GetDamage("no XML"), "syntax error in line 1");
  EXPECT_EQ(GetDamage("<a>\n<b>\n</a>"), "mismatched tag in line 3");
  EXPECT_EQ(GetDamage("<a>\n<b"), "unclosed token in line 2");
  EXPECT_EQ(GetDamage("<a>&nbsp;</a>"), "undefined entity in line 1");
  EXPECT_EQ(GetDamage("<a one=\"1\" one=\"2\"/>"), "duplicate attribute in line 1");
  EXPECT_NE(GetDamage("<a/><b/>"), "");
}

/** Entities that grow out of each other to gigabytes, and elements that would take all of a stack. */
TEST(XMLElements, AttacksEndInDamage)
{
  std::string laughs = "<!DOCTYPE a [<!ENTITY e0 \"0123456789\">";
  for (int i = 1; i < 12; ++i)
  {
    const std::string before = "&e" + std::to_string(i - 1) + ';';
    laughs += "<!ENTITY e" + std::to_string(i) + " \"";
    for (int j = 0; j < 10; ++j)
    {
      laughs += before;
    }
    laughs += "\">";
  }
  EXPECT_NE(GetDamage(laughs + "]><a>&e11;</a>"), "");
  std::string nested;
  for (int i = 0; i < 1000000; ++i)
  {
    nested += "<a>";
  }
  EXPECT_EQ(GetDamage(nested), "more than 256 elements inside of each other in line 1");
}

TEST(XMLElements, WhoHasEnoughReadsNoFurther)
{
  unsigned          count = 0;
  const std::string damage = ReadXML("<a><b/><b/></c>", [&count](const XMLElement &) { return ++count < 2; });
  EXPECT_EQ(damage, "");
  EXPECT_EQ(count, 2u);
}

TEST(XMLElements, ExceptionsOfTheVisitorPass)
{
  const auto stop = [](const auto &) -> bool { throw std::runtime_error("stop"); };
  EXPECT_THROW(ReadXML("<a/>", stop), std::runtime_error);
  EXPECT_THROW(ReadXML(
                 "<a>1</a>", [](const XMLElement &) { return true; }, stop),
               std::runtime_error);
}
