/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationList.h"
#include "graph/gigapixelOperationSchema.h"

#include <gtest/gtest.h>

#include <set>

using namespace gigapixel;

TEST(NetworkDocument, DescribesEveryTypeOnce)
{
  std::multiset<std::string> described, known;
  for (const OperationDescription & operation : DescribeOperations())
  {
    described.insert(operation.type);
    if (!operation.typeOfVolumes.empty() && operation.typeOfVolumes != operation.type)
    {
      described.insert(operation.typeOfVolumes);
    }
  }
  for (const auto * schemas : { &OperationSchema::GetAll(), &OperationSchema::GetWholeImage() })
  {
    for (const OperationSchema & schema : *schemas)
    {
      known.insert(schema.type);
    }
  }
  known.erase(StatisticsType);
  EXPECT_EQ(described, known);
}

TEST(NetworkDocument, KnowsWhatAConvolutionIs)
{
  const auto operations = DescribeOperations();
  const auto found = std::find_if(
    operations.begin(), operations.end(), [](const OperationDescription & each) { return each.type == "conv2d"; });
  ASSERT_NE(found, operations.end());
  EXPECT_EQ(found->typeOfVolumes, "conv3d");
  EXPECT_FALSE(found->seesWholeImage);
  std::map<std::string, std::string> defaults;
  for (const OperationAttribute & attribute : found->attributes)
  {
    EXPECT_EQ(attribute.required, attribute.name == "out_channels" || attribute.name == "kernel_size");
    defaults[attribute.name] = attribute.defaultValue;
  }
  // The defaults of torch.nn.Conv2d.
  const std::map<std::string, std::string> ofPyTorch{
    { "out_channels", "" },          { "kernel_size", "" }, { "stride", "1" }, { "padding", "0" },
    { "padding_mode", "\"zeros\"" }, { "dilation", "1" },   { "groups", "1" }, { "bias", "true" }
  };
  EXPECT_EQ(defaults, ofPyTorch);
}
