/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationList.h"
#include "gigapixelOperationSchema.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace gigapixel
{
namespace
{

std::string
FormatDefault(const AttributeSchema & attribute)
{
  if (const auto * number = std::get_if<double>(&attribute.defaultValue); number && std::isnan(*number))
  {
    return {};
  }
  if (const auto * integers = std::get_if<std::vector<std::int64_t>>(&attribute.defaultValue))
  {
    return integers->empty() ? std::string() : std::to_string(integers->front());
  }
  if (std::holds_alternative<std::vector<double>>(attribute.defaultValue))
  {
    return {};
  }
  nlohmann::json json;
  std::visit([&](const auto & value) { json = value; }, attribute.defaultValue);
  return json.dump();
}

OperationDescription
Describe(const OperationSchema & schema, bool seesWholeImage)
{
  const char * const   typeOfAll = schema.axes == 0 ? schema.type : "";
  OperationDescription description{
    schema.type, schema.typeOfVolumes ? schema.typeOfVolumes : typeOfAll, schema.summary, seesWholeImage, {}
  };
  for (const AttributeSchema & attribute : schema.attributes)
  {
    const std::string value = attribute.required ? std::string() : FormatDefault(attribute);
    description.attributes.push_back({ attribute.name, value, attribute.words, attribute.required });
  }
  return description;
}

} // namespace

std::vector<OperationDescription>
DescribeOperations()
{
  std::vector<OperationDescription> descriptions;
  for (const auto * schemas : { &OperationSchema::GetAll(), &OperationSchema::GetWholeImage() })
  {
    for (const OperationSchema & schema : *schemas)
    {
      // A type for volumes stands with the one for images, and statistics belong to norms.
      if (schema.axes != 3 && schema.type != std::string(StatisticsType))
      {
        descriptions.push_back(Describe(schema, schemas == &OperationSchema::GetWholeImage()));
      }
    }
  }
  return descriptions;
}

} // namespace gigapixel
