/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelNetworkGraph.h"
#include "graph/gigapixelOperationSchema.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Json = nlohmann::ordered_json;

const char * const ReservedKeys[] = { "name", "type", "inputs", "parameters" };

/** \throw std::invalid_argument it is greater than any that 64 bits with a sign hold */
std::int64_t
ReadInteger(const Json & json, const std::string & where)
{
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", where + " is " + json.dump() + ", too large a number"));
  }
  return json.get<std::int64_t>();
}

/** Numbers of an array: whole ones if all are. */
AttributeValue
ReadNumbers(const Json & json, const std::string & where)
{
  const auto isNumber = [](const Json & value) { return value.is_number(); };
  if (json.empty() || json.size() > 8 || !std::all_of(json.begin(), json.end(), isNumber))
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-FORMAT", where + " must be a number for each axis, not " + json.dump().substr(0, 80)));
  }
  const bool whole =
    std::all_of(json.begin(), json.end(), [](const Json & value) { return value.is_number_integer(); });
  if (!whole)
  {
    return json.get<std::vector<double>>();
  }
  std::vector<std::int64_t> integers;
  for (const Json & value : json)
  {
    integers.push_back(ReadInteger(value, where));
  }
  return integers;
}

AttributeValue
ReadAttribute(const Json & json, const std::string & where)
{
  if (json.is_boolean())
  {
    return json.get<bool>();
  }
  if (json.is_number_integer())
  {
    return ReadInteger(json, where);
  }
  if (json.is_number())
  {
    return json.get<double>();
  }
  if (json.is_string())
  {
    return json.get<std::string>();
  }
  if (json.is_array())
  {
    return ReadNumbers(json, where);
  }
  throw InvalidArgument(
    Diagnostic("E-NETWORK-FORMAT", where + " must be true, false, a number, a word, or a number for each axis"));
}

const Json &
GetOfType(const Json & json, const std::string & where, const char * key, Json::value_t type, const char * wanted)
{
  if (!json.contains(key) || json.at(key).type() != type)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", where + " needs \"" + key + "\", " + wanted));
  }
  return json.at(key);
}

Operation
ReadOperation(const Json & json, std::size_t index)
{
  std::string where = "operation " + std::to_string(index + 1);
  if (!json.is_object())
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", where + " must be a JSON object"));
  }
  Operation operation;
  operation.name = GetOfType(json, where, "name", Json::value_t::string, "a word").get<std::string>();
  where = "operation \"" + operation.name + "\"";
  operation.type = GetOfType(json, where, "type", Json::value_t::string, "a word").get<std::string>();
  if (json.contains("inputs"))
  {
    for (const Json & input : GetOfType(json, where, "inputs", Json::value_t::array, "names of earlier operations"))
    {
      if (!input.is_string())
      {
        throw InvalidArgument(
          Diagnostic("E-NETWORK-FORMAT", where + ": its inputs must be names of earlier operations"));
      }
      operation.inputs.push_back(input.get<std::string>());
    }
  }
  if (json.contains("parameters"))
  {
    for (const auto & item : GetOfType(json, where, "parameters", Json::value_t::object, "names of arrays").items())
    {
      if (!item.value().is_string())
      {
        throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", where + ": its parameters must be names of arrays"));
      }
      operation.parameters[item.key()] = item.value().get<std::string>();
    }
  }
  for (const auto & item : json.items())
  {
    const auto isThis = [&](const char * key) { return item.key() == key; };
    if (std::none_of(std::begin(ReservedKeys), std::end(ReservedKeys), isThis))
    {
      operation.attributes[item.key()] = ReadAttribute(item.value(), where + ": \"" + item.key() + "\"");
    }
  }
  return operation;
}

/** Whether a norm's statistics are those that NetworkGraph::Validate() writes out. */
bool
HasOwnStatistics(const Operation & norm)
{
  return OperationSchema::Find(norm.type)->Is(Role::WholeImageNorm) && norm.inputs.size() == 2 &&
         norm.inputs[1] == GetNameOfStatistics(norm);
}

Json
WriteOperation(const Operation & operation)
{
  Json json{ { "name", operation.name }, { "type", operation.type } };
  if (!operation.inputs.empty())
  {
    json["inputs"] = operation.inputs;
  }
  if (HasOwnStatistics(operation))
  {
    json["inputs"].erase(1);
  }
  for (const AttributeSchema & schema : OperationSchema::Find(operation.type)->attributes)
  {
    const auto found = operation.attributes.find(schema.name);
    const bool touching = found != operation.attributes.end() && std::string("stride") == schema.name &&
                          schema.defaultValue == AttributeValue(std::vector<std::int64_t>()) &&
                          found->second == operation.attributes.at("kernel_size");
    const bool missing = schema.kind == AttributeSchema::Kind::Number && found != operation.attributes.end() &&
                         std::get<double>(found->second) != std::get<double>(found->second);
    if (found != operation.attributes.end() && !touching && !missing &&
        (schema.required || found->second != schema.GetDefault(operation.axes)))
    {
      std::visit([&](const auto & value) { json[schema.name] = value; }, found->second);
    }
  }
  Json parameters = Json::object();
  for (const auto & [role, name] : operation.parameters)
  {
    if (name != operation.name + "." + role)
    {
      parameters[role] = name;
    }
  }
  if (!parameters.empty())
  {
    json["parameters"] = parameters;
  }
  return json;
}

} // namespace

NetworkGraph
NetworkGraph::FromJSON(const std::string & operations, const std::string & output)
{
  const Json json = Json::parse(operations, nullptr, false);
  if (!json.is_array())
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", "\"operations\" must be an array of JSON objects"));
  }
  NetworkGraph graph;
  for (const Json & operation : json)
  {
    graph.operations.push_back(ReadOperation(operation, graph.operations.size()));
  }
  graph.output = output;
  graph.Validate();
  return graph;
}

std::string
NetworkGraph::ToJSON() const
{
  std::set<std::string> writtenOut;
  for (const Operation & operation : operations)
  {
    if (HasOwnStatistics(operation))
    {
      writtenOut.insert(operation.inputs[1]);
    }
  }
  Json json = Json::array();
  for (const Operation & operation : operations)
  {
    if (writtenOut.count(operation.name) == 0)
    {
      json.push_back(WriteOperation(operation));
    }
  }
  return json.dump();
}

} // namespace gigapixel
