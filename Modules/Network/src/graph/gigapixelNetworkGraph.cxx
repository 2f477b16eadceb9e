/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkGraph.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelGraphGeometry.h"
#include "gigapixelJoinNames.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

[[noreturn]] void
Refuse(const Operation & operation, const std::string & reason)
{
  throw InvalidArgument(
    Diagnostic("E-NETWORK-FORMAT", "operation \"" + operation.name + "\" (" + operation.type + "): " + reason)
      .OfValue(operation.name));
}

const OperationSchema &
FindSchema(const Operation & operation)
{
  const OperationSchema * schema = OperationSchema::Find(operation.type);
  if (!schema)
  {
    std::vector<std::string> types;
    for (const OperationSchema & known : OperationSchema::GetAll())
    {
      types.push_back(known.type);
    }
    throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION",
                                     "operation \"" + operation.name + "\": there is no type \"" + operation.type +
                                       "\" (there are: " + JoinNames(types) + ")")
                            .OfValue(operation.type));
  }
  return *schema;
}

/** A value that was made in C++ or read from JSON, as the schema's kind; what cannot be is refused. */
AttributeValue
Convert(const Operation & operation, const AttributeSchema & schema, const AttributeValue & value)
{
  using Kind = AttributeSchema::Kind;
  using Integers = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  const Kind kind = schema.kind;
  const auto integer = std::get_if<std::int64_t>(&value);
  const auto integers = std::get_if<Integers>(&value);
  const bool axes = kind == Kind::Axes || kind == Kind::AxesOrWord;
  const auto numberOfAxes = static_cast<std::size_t>(operation.axes);
  if (axes && integer)
  {
    return Integers(numberOfAxes, *integer);
  }
  if (axes && integers && (integers->size() == numberOfAxes || (integers->empty() && value == schema.defaultValue)))
  {
    return value;
  }
  if (kind == Kind::AxesNumbers)
  {
    if (const auto number = std::get_if<double>(&value))
    {
      return Numbers(numberOfAxes, *number);
    }
    if (integer)
    {
      return Numbers(numberOfAxes, static_cast<double>(*integer));
    }
    if (integers && integers->size() == numberOfAxes)
    {
      return Numbers(integers->begin(), integers->end());
    }
    const auto numbers = std::get_if<Numbers>(&value);
    if (numbers && (numbers->size() == numberOfAxes || value == schema.defaultValue))
    {
      return value;
    }
  }
  if ((kind == Kind::Flag && std::holds_alternative<bool>(value)) || (kind == Kind::Integer && integer) ||
      (kind == Kind::Number && std::holds_alternative<double>(value)))
  {
    return value;
  }
  if (kind == Kind::Number && integer)
  {
    return static_cast<double>(*integer);
  }
  const auto word = std::get_if<std::string>(&value);
  if (word && (kind == Kind::Word || kind == Kind::AxesOrWord))
  {
    if (std::find(schema.words.begin(), schema.words.end(), *word) == schema.words.end())
    {
      Refuse(operation,
             std::string("\"") + schema.name + "\" is \"" + *word + "\", not one of " + JoinNames(schema.words));
    }
    return value;
  }
  const char * const wanted[] = { "true or false",
                                  "a whole number, or one for each of ",
                                  "a whole number, \"same\", or a number for each of ",
                                  "a number, or one for each of ",
                                  "a whole number",
                                  "a number",
                                  "a word" };
  const bool         ofAxes = axes || kind == Kind::AxesNumbers;
  Refuse(operation,
         std::string("\"") + schema.name + "\" must be " + wanted[static_cast<int>(kind)] +
           (!ofAxes             ? ""
            : numberOfAxes == 2 ? "the two axes"
                                : "the three axes"));
}

/** What floats compute with: 0, or a number that they hold. */
void
CheckNumber(const Operation & operation, const AttributeSchema & schema, double value)
{
  using Limits = std::numeric_limits<float>;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << '"' << schema.name << "\" is " << value;
  if (schema.positive && !(value > 0))
  {
    Refuse(operation, text.str() + ", but has to be above 0");
  }
  const double size = std::abs(value);
  if (!(size <= Limits::max()) || (size > 0 && size < Limits::min()))
  {
    Refuse(operation, text.str() + ", which no float holds");
  }
}

void
CheckRange(const Operation & operation, const AttributeSchema & schema, const AttributeValue & value)
{
  const auto number = std::get_if<double>(&value);
  const auto missing = std::get_if<double>(&schema.defaultValue); // by a NaN
  if (number && !(std::isnan(*number) && missing && std::isnan(*missing)))
  {
    CheckNumber(operation, schema, *number);
  }
  std::vector<std::int64_t> integers;
  if (const auto integer = std::get_if<std::int64_t>(&value))
  {
    integers = { *integer };
  }
  else if (const auto several = std::get_if<std::vector<std::int64_t>>(&value))
  {
    integers = *several;
  }
  for (const std::int64_t integer : integers)
  {
    if (integer < schema.least || integer > schema.greatest)
    {
      Refuse(operation,
             std::string("\"") + schema.name + "\" is " + std::to_string(integer) + ", not from " +
               std::to_string(schema.least) + " to " + std::to_string(schema.greatest));
    }
  }
}

void
ValidateAttributes(Operation & operation, const OperationSchema & schema)
{
  std::vector<std::string> names;
  for (const AttributeSchema & attribute : schema.attributes)
  {
    names.push_back(attribute.name);
    const auto given = operation.attributes.find(attribute.name);
    if (given == operation.attributes.end())
    {
      if (attribute.required)
      {
        Refuse(operation, std::string("it needs \"") + attribute.name + "\"");
      }
      operation.attributes[attribute.name] = attribute.GetDefault(operation.axes);
      continue;
    }
    given->second = Convert(operation, attribute, given->second);
    CheckRange(operation, attribute, given->second);
  }
  for (const auto & item : operation.attributes)
  {
    if (std::find(names.begin(), names.end(), item.first) == names.end())
    {
      Refuse(operation,
             "it has no \"" + item.first + "\"" + (names.empty() ? "" : " (it has: " + JoinNames(names) + ")"));
    }
  }
  // PyTorch's default: windows that touch each other.
  const auto stride = operation.attributes.find("stride");
  if (stride != operation.attributes.end() && std::get<std::vector<std::int64_t>>(stride->second).empty())
  {
    stride->second = operation.attributes.at("kernel_size");
  }
}

void
ValidateParameters(Operation & operation, const OperationSchema & schema, const std::vector<int> & channels)
{
  std::vector<std::string> roles;
  for (const ParameterDescription & parameter : schema.getParameters(operation, channels))
  {
    roles.push_back(parameter.name);
    operation.parameters.try_emplace(parameter.name, operation.name + "." + parameter.name);
  }
  for (const auto & item : operation.parameters)
  {
    if (std::find(roles.begin(), roles.end(), item.first) == roles.end())
    {
      Refuse(operation, "it has no parameter \"" + item.first + "\"");
    }
  }
}

void
CheckName(const Operation & operation)
{
  const std::string & name = operation.name;
  const std::string   printable = GetPrintable(name);
  if (name.empty() || name.size() > 256 || name.find_first_of("/\" ") != std::string::npos || printable != name)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT",
                                     "the name of an operation, \"" + printable.substr(0, 256) +
                                       "\", is empty, too long, or holds a slash, quote, space or control character"));
  }
  if (name == "training" || name.rfind("training.", 0) == 0)
  {
    Refuse(operation, "model files keep what a training needs under this name; use another one");
  }
}

} // namespace

std::int64_t
ParameterDescription::GetNumberOfValues() const
{
  std::int64_t number = 1;
  for (const std::int64_t length : shape)
  {
    number *= length;
  }
  return number;
}

AttributeValue
AttributeSchema::GetDefault(int axes) const
{
  const auto one = std::get_if<std::vector<std::int64_t>>(&defaultValue);
  return one && one->size() == 1 ? std::vector<std::int64_t>(axes, one->front()) : defaultValue;
}

bool
IsSameValue(const AttributeValue & a, const AttributeValue & b)
{
  const auto isMissing = [](const AttributeValue & value) {
    return std::holds_alternative<double>(value) && std::isnan(std::get<double>(value));
  };
  return a == b || (isMissing(a) && isMissing(b));
}

bool
Operation::GetFlag(const char * attribute) const
{
  return std::get<bool>(attributes.at(attribute));
}

std::int64_t
Operation::GetInteger(const char * attribute) const
{
  return std::get<std::int64_t>(attributes.at(attribute));
}

double
Operation::GetNumber(const char * attribute) const
{
  return std::get<double>(attributes.at(attribute));
}

const std::string &
Operation::GetWord(const char * attribute) const
{
  return std::get<std::string>(attributes.at(attribute));
}

bool
Operation::IsWord(const char * attribute) const
{
  const auto found = attributes.find(attribute);
  return found != attributes.end() && std::holds_alternative<std::string>(found->second);
}

std::int64_t
Operation::GetAlong(const char * attribute, int axis) const
{
  const auto & values = std::get<std::vector<std::int64_t>>(attributes.at(attribute));
  return values.empty() ? 0 : values.at(axis);
}

double
Operation::GetNumberAlong(const char * attribute, int axis) const
{
  const auto & values = std::get<std::vector<double>>(attributes.at(attribute));
  return values.empty() ? 0 : values.at(axis);
}

const std::string &
Operation::GetParameter(const char * role) const
{
  return parameters.at(role);
}

namespace
{

/** A norm's second input is what WriteOutStatistics() puts there, and no other map: its values are taken for means and
 * deviations. */
void
CheckStatistics(const Operation & norm, const std::vector<Operation> & all, std::size_t place)
{
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(place);
  const auto statistics = std::find_if(all.begin(), end, [&norm](const Operation & operation) {
    return norm.inputs.size() == 2 && operation.name == norm.inputs[1];
  });
  if (statistics == end || statistics->name != GetNameOfStatistics(norm) || statistics->type != StatisticsType ||
      statistics->inputs.size() != 1 || statistics->inputs.front() != norm.inputs.front())
  {
    Refuse(norm, "it has one input, from which its statistics are made");
  }
}

} // namespace

/** Of norms that are given without them. */
void
NetworkGraph::WriteOutStatistics()
{
  std::vector<Operation> all;
  all.reserve(operations.size());
  for (Operation & operation : operations)
  {
    const OperationSchema * const schema = OperationSchema::Find(operation.type);
    if (schema && schema->Is(Role::WholeImageNorm) && operation.inputs.size() == 1)
    {
      Operation statistics{ GetNameOfStatistics(operation), StatisticsType, operation.inputs, {}, {} };
      for (const char * name : { "num_groups", "eps" })
      {
        const auto found = operation.attributes.find(name);
        if (found != operation.attributes.end())
        {
          statistics.attributes.insert(*found);
        }
      }
      operation.inputs.push_back(statistics.name);
      all.push_back(std::move(statistics));
    }
    all.push_back(std::move(operation));
  }
  operations = std::move(all);
}

void
NetworkGraph::Validate()
{
  WriteOutStatistics();
  std::map<std::string, int> places;
  std::vector<int>           channels;
  int                        axes = 2;
  for (std::size_t i = 0; i < operations.size(); ++i)
  {
    Operation & operation = operations[i];
    CheckName(operation);
    const OperationSchema & schema = FindSchema(operation);
    operation.axes = axes;
    if (schema.axes != 0 && schema.axes != axes)
    {
      Refuse(operation,
             "it is for maps of " + std::to_string(schema.axes) + " axes, and the network's input has " +
               std::to_string(axes) + " (its \"axes\")");
    }
    ValidateAttributes(operation, schema);
    if (schema.Is(Role::NetworkInput))
    {
      axes = operation.axes = static_cast<int>(operation.GetInteger("axes"));
    }
    if (schema.Is(Role::WholeImageNorm))
    {
      CheckStatistics(operation, operations, i);
    }
    if (operation.inputs.size() < schema.fewestInputs || operation.inputs.size() > schema.mostInputs)
    {
      const std::string fewest = std::to_string(schema.fewestInputs), most = std::to_string(schema.mostInputs);
      Refuse(operation,
             "it has " + FormatCount(operation.inputs.size(), "input") + ", and " + operation.type + " takes " +
               (fewest == most ? fewest : fewest + " to " + most));
    }
    std::vector<int> inputs;
    for (const std::string & input : operation.inputs)
    {
      const auto found = places.find(input);
      if (found == places.end())
      {
        Refuse(operation, "its input \"" + input + "\" is no earlier operation");
      }
      inputs.push_back(channels[found->second]);
    }
    const std::string problem = schema.check(operation, inputs);
    if (!problem.empty())
    {
      Refuse(operation, problem);
    }
    ValidateParameters(operation, schema, inputs);
    channels.push_back(schema.getChannels(operation, inputs));
    if (channels.back() > MostChannels)
    {
      Refuse(operation, "it has more than " + std::to_string(MostChannels) + " channels");
    }
    if (!places.emplace(operation.name, static_cast<int>(i)).second)
    {
      Refuse(operation, "there is another operation of this name");
    }
    if (schema.Is(Role::NetworkInput) != (i == 0))
    {
      Refuse(operation, "the first operation, and no other one, is the network's input");
    }
  }
  if (places.find(output) == places.end())
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-FORMAT", "the output \"" + output + "\" is no operation of the network").OfValue(output));
  }
  GetParameters(); // checks that shared arrays are alike
  m_LabelsImage = IsOnePixelOfReductions(*this);
  m_SeesWholeImage = IsBehindReductions(*this);
}

int
NetworkGraph::GetIndex(const std::string & name) const
{
  for (std::size_t i = 0; i < operations.size(); ++i)
  {
    if (operations[i].name == name)
    {
      return static_cast<int>(i);
    }
  }
  throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", "the network has no operation \"" + name + "\"").OfValue(name));
}

std::vector<std::vector<int>>
NetworkGraph::GetInputs() const
{
  std::map<std::string, int>    places;
  std::vector<std::vector<int>> inputs;
  for (const Operation & operation : operations)
  {
    inputs.emplace_back();
    for (const std::string & input : operation.inputs)
    {
      inputs.back().push_back(places.at(input));
    }
    places.emplace(operation.name, static_cast<int>(places.size()));
  }
  return inputs;
}

std::vector<int>
NetworkGraph::GetChannels() const
{
  const auto       inputs = GetInputs();
  std::vector<int> channels;
  for (std::size_t i = 0; i < operations.size(); ++i)
  {
    std::vector<int> ofInputs;
    for (const int input : inputs[i])
    {
      ofInputs.push_back(channels[input]);
    }
    channels.push_back(OperationSchema::Find(operations[i].type)->getChannels(operations[i], ofInputs));
  }
  return channels;
}

int
NetworkGraph::GetInputChannels() const
{
  return static_cast<int>(operations.front().GetInteger("channels"));
}

int
NetworkGraph::GetNumberOfAxes() const
{
  return IsEmpty() ? 2 : operations.front().axes;
}

int
NetworkGraph::GetOutputChannels() const
{
  return GetChannels()[GetIndex(output)];
}

std::vector<ParameterDescription>
NetworkGraph::GetParameters() const
{
  const auto                         inputs = GetInputs();
  const auto                         channels = GetChannels();
  std::vector<ParameterDescription>  all;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < operations.size(); ++i)
  {
    const Operation & operation = operations[i];
    std::vector<int>  ofInputs;
    for (const int input : inputs[i])
    {
      ofInputs.push_back(channels[input]);
    }
    for (ParameterDescription & parameter : OperationSchema::Find(operation.type)->getParameters(operation, ofInputs))
    {
      parameter.name = operation.GetParameter(parameter.name.c_str());
      parameter.trained = parameter.trained && !IsKept(parameter.name);
      const auto found = places.emplace(parameter.name, all.size());
      if (found.second)
      {
        all.push_back(parameter);
      }
      const ParameterDescription & shared = all[found.first->second];
      if (shared.shape != parameter.shape)
      {
        Refuse(operation, "it shares the array \"" + parameter.name + "\", which has another shape elsewhere");
      }
      if (shared.trained != parameter.trained)
      {
        Refuse(operation,
               "it shares the array \"" + parameter.name +
                 "\", which is a weight that is trained in one place and a statistic that is kept in another");
      }
    }
  }
  return all;
}

} // namespace gigapixel
