/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOnnxWalk.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelOnnxOperators.h"
#include "gigapixelJoinNames.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelPrintable.h"
#include "graph/gigapixelOperationSchema.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{

/** Of maps along an axis: what operators make of this many by their greatest numbers is still a 64-bit number. */
constexpr std::int64_t LargestSide = std::int64_t{ 1 } << 32;

/** "its node "conv1" (Conv)", as problems begin. */
std::string
NameNode(const OnnxNode & node)
{
  return "its node \"" + GetPrintable(node.name.empty() ? node.outputs.front() : node.name) + "\" (" +
         GetPrintable(node.type).substr(0, 100) + ")";
}

/** As a graph's operations are named: without slashes, quotes and spaces. */
std::string
MakeName(const std::string & text)
{
  std::string name = GetPrintable(text).substr(0, 200);
  std::replace_if(
    name.begin(), name.end(), [](char c) { return c == '/' || c == '"' || c == ' ' || c == '\\'; }, '.');
  name.erase(0, name.find_first_not_of('.'));
  return name.empty() || name.rfind("training", 0) == 0 ? "operation" + name : name;
}

bool
CheckRanges(const Operation & operation, const OperationSchema & schema)
{
  const auto isInside = [&](const AttributeSchema & attribute, std::int64_t value) {
    return value >= attribute.least && value <= attribute.greatest;
  };
  return std::all_of(schema.attributes.begin(), schema.attributes.end(), [&](const AttributeSchema & attribute) {
    const AttributeValue & value = operation.attributes.at(attribute.name);
    const auto             integer = std::get_if<std::int64_t>(&value);
    const auto             integers = std::get_if<std::vector<std::int64_t>>(&value);
    const auto             number = std::get_if<double>(&value);
    const auto             byDefault = std::get_if<double>(&attribute.defaultValue);
    const bool             mayLack = byDefault && std::isnan(*byDefault); // so a number that is not given is written
    return (!integer || isInside(attribute, *integer)) &&
           (!number || std::isfinite(*number) || (mayLack && std::isnan(*number))) &&
           (!integers || std::all_of(integers->begin(), integers->end(), [&](std::int64_t each) {
             return isInside(attribute, each);
           }));
  });
}

} // namespace

OnnxWalk::OnnxWalk(const OnnxFile & file, Arrays & arrays, const Extent & size, bool fixed)
  : m_File(file)
  , m_Arrays(arrays)
  , m_Image(size)
  , m_Fixed(fixed)
{}

void
OnnxWalk::AppendImages(const std::vector<OnnxImage> & images)
{
  std::int64_t all = 0;
  for (const OnnxImage & image : images)
  {
    all += image.channels;
  }
  const OnnxNode node{ images.size() == 1 ? images.front().name : "image", "Input", {}, {}, {} };
  m_ImageOperation = Append(node, "input", {}, { { "channels", all }, { "axes", std::int64_t{ GetNumberOfAxes() } } });
  std::int64_t start = 0;
  for (const OnnxImage & image : images)
  {
    const std::string map = images.size() == 1 ? m_ImageOperation
                                               : Append({ image.name, "Input", {}, {}, {} },
                                                        "slice_channels",
                                                        { m_ImageOperation },
                                                        { { "start", start }, { "channels", image.channels } });
    const std::string axes = image.channelsLast ? GetMapAxesLast() : GetMapAxes();
    m_Values[image.name] = { map, axes, GetShape(map, axes), nullptr, {} };
    start += image.channels;
  }
}

const OnnxWalkValue *
OnnxWalk::Find(const std::string & value)
{
  const auto found = m_Values.find(value);
  if (found != m_Values.end())
  {
    return &found->second;
  }
  const auto array = m_File.arrays.find(value);
  if (array == m_File.arrays.end())
  {
    return nullptr;
  }
  auto & read = m_Arrays[value];
  if (!read)
  {
    read = std::make_shared<OnnxConstant>(array->second.Read());
  }
  return &(m_Values[value] = { {}, {}, read->shape, read, value });
}

const OnnxNode *
OnnxWalk::FindProducer(const std::string & value) const
{
  const auto found = m_Producers.find(value);
  return found == m_Producers.end() ? nullptr : found->second;
}

const OnnxWalkValue &
OnnxWalk::GetInput(const OnnxNode & node, std::size_t index)
{
  if (!HasInput(node, index))
  {
    throw MissingOperation("without an input");
  }
  const std::string & name = node.inputs[index];
  if (const OnnxWalkValue * value = this->Find(name))
  {
    return *value;
  }
  const OnnxNode * const producer = FindProducer(name);
  if (producer && producer != &node)
  {
    throw UnknownInput(name);
  }
  throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                   "its node \"" + GetPrintable(node.name) + "\" reads \"" + GetPrintable(name) +
                                     "\", which no earlier one gives"));
}

bool
OnnxWalk::IsOfPixels(const OnnxNode & node, std::size_t index)
{
  if (!HasInput(node, index))
  {
    return false;
  }
  const OnnxWalkValue * const value = this->Find(node.inputs[index]);
  const auto                  unknown = m_Unknown.find(node.inputs[index]);
  return value ? value->IsMap() : unknown != m_Unknown.end() && unknown->second;
}

const OnnxWalkValue &
OnnxWalk::GetMap(const OnnxNode & node, std::size_t index)
{
  const OnnxWalkValue & value = GetInput(node, index);
  if (!value.IsMap())
  {
    throw MissingOperation("of numbers");
  }
  if (value.axes != GetMapAxes())
  {
    throw MissingOperation("of axes in another order");
  }
  return value;
}

OnnxConstantPointer
OnnxWalk::GetConstant(const OnnxNode & node, std::size_t index)
{
  if (IsOfPixels(node, index))
  {
    throw MissingOperation("by a map");
  }
  return GetInput(node, index).constant;
}

std::vector<std::int64_t>
OnnxWalk::GetIntegers(const OnnxNode & node, std::size_t index, const char * attribute)
{
  if (!HasInput(node, index))
  {
    return node.GetIntegers(attribute);
  }
  const OnnxConstantPointer constant = GetConstant(node, index);
  if (constant->isFloat)
  {
    throw MissingOperation("by numbers that are not whole");
  }
  return constant->integers;
}

void
OnnxWalk::Set(const OnnxNode & node, const OnnxWalkValue & value, std::size_t output)
{
  if (output < node.outputs.size())
  {
    m_Values[node.outputs[output]] = value;
  }
}

std::string
OnnxWalk::TakeArray(const OnnxWalkValue & value, const std::vector<std::int64_t> & shape)
{
  std::int64_t count = 1;
  for (const std::int64_t length : shape)
  {
    count *= length;
  }
  if (!value.constant || !value.constant->isFloat || static_cast<std::int64_t>(value.constant->floats.size()) != count)
  {
    throw MissingOperation("with an array of another shape");
  }
  std::string name = value.array.empty() ? "array" + std::to_string(m_Result.arrays.size()) : value.array;
  auto        shaped = value.constant;
  if (shaped->shape != shape)
  {
    auto copy = std::make_shared<OnnxConstant>(*shaped);
    copy->shape = shape;
    shaped = copy;
  }
  // The same array in another shape is another one.
  for (auto found = m_Result.arrays.find(name); found != m_Result.arrays.end(); found = m_Result.arrays.find(name))
  {
    if (found->second->shape == shape && found->second->floats == shaped->floats)
    {
      return name;
    }
    name += '_';
  }
  if (value.constant->shape != shape)
  {
    m_Result.shapes[name] = value.constant->shape;
  }
  m_Result.arrays[name] = shaped;
  return name;
}

std::string
OnnxWalk::AddArray(const std::string & name, std::vector<float> values, std::vector<std::int64_t> shape)
{
  OnnxConstant constant;
  constant.isFloat = true;
  constant.shape = std::move(shape);
  constant.floats = std::move(values);
  return TakeArray({ {}, {}, constant.shape, std::make_shared<OnnxConstant>(constant), name }, constant.shape);
}

namespace
{

/** At once: what is made of them before the graph is validated takes memory, and more than so many overflow. */
[[noreturn]] void
RefuseSize(const std::string & name, const std::string & type, const std::string & what)
{
  throw InvalidArgument(
    Diagnostic("E-ONNX-FORMAT", "its node \"" + name + "\" (" + type + ") has more " + what + " than there may be")
      .OfValue(name));
}

} // namespace

std::string
OnnxWalk::Append(const OnnxNode &                              node,
                 const std::string &                           type,
                 const std::vector<std::string> &              inputs,
                 const std::map<std::string, AttributeValue> & attributes,
                 const std::map<std::string, std::string> &    parameters)
{
  if (m_Result.graph.operations.size() >= NetworkDescription::MostOperations)
  {
    throw InvalidArgument(Diagnostic(
      "E-ONNX-FORMAT", "it has more than " + std::to_string(NetworkDescription::MostOperations) + " operations"));
  }
  const OperationSchema & schema = *OperationSchema::Find(type);
  Operation               operation{ {}, type, inputs, attributes, parameters, GetNumberOfAxes() };
  for (const AttributeSchema & attribute : schema.attributes)
  {
    operation.attributes.emplace(attribute.name, attribute.GetDefault(operation.axes));
  }
  const std::string base = MakeName(!node.name.empty()     ? node.name
                                    : node.outputs.empty() ? type
                                                           : node.outputs.front());
  std::string       name = base;
  for (int & number = m_LastNumbers[base]; m_Channels.count(name) > 0;)
  {
    number = std::max(number, 1) + 1;
    name = base + "_" + std::to_string(number);
  }
  operation.name = name;
  if (inputs.size() > schema.mostInputs)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                     "its node \"" + name + "\" (" + type + ") has " +
                                       FormatCount(inputs.size(), "input") + ", and may have " +
                                       std::to_string(schema.mostInputs))
                            .OfValue(name));
  }
  std::vector<int> channels(inputs.size());
  std::transform(
    inputs.begin(), inputs.end(), channels.begin(), [this](const auto & input) { return m_Channels.at(input); });
  const std::string problem =
    CheckRanges(operation, schema) ? schema.check(operation, channels) : "its numbers are beyond what there may be";
  if (!problem.empty())
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", "its node \"" + name + "\" (" + type + "): " + problem).OfValue(name));
  }
  Extent size = m_Image;
  for (int axis = 0; axis < m_Image.GetNumberOfAxes() && !inputs.empty(); ++axis)
  {
    std::vector<std::int64_t> sides(inputs.size());
    std::transform(inputs.begin(), inputs.end(), sides.begin(), [this, axis](const auto & input) {
      return m_Result.sizes.at(input)[axis];
    });
    size[axis] = schema.getSize(operation, axis, sides);
    if (size[axis] < 1)
    {
      throw InvalidArgument(
        Diagnostic("E-NETWORK-IMAGE-SIZE",
                   "its node \"" + name + "\" (" + type + ") leaves no pixels of " + std::to_string(sides.front()))
          .OfValue(name));
    }
    if (size[axis] > LargestSide)
    {
      RefuseSize(name, type, "pixels");
    }
  }
  const int given = schema.getChannels(operation, channels);
  if (given > NetworkGraph::MostChannels)
  {
    RefuseSize(name, type, "channels");
  }
  m_Channels[name] = given;
  m_Result.sizes[name] = size;
  m_Result.graph.operations.push_back(std::move(operation));
  return name;
}

bool
OnnxWalk::IsReadOnce(const std::string & value) const
{
  const std::string & map = m_Values.at(value).map;
  const auto          isOfMap = [&](const auto & item) { return item.second.map == map; };
  return m_Readers.at(value) == 1 && std::count_if(m_Values.begin(), m_Values.end(), isOfMap) == 1;
}

void
OnnxWalk::RemoveLast()
{
  const std::string name = m_Result.graph.operations.back().name;
  m_Channels.erase(name);
  m_Result.sizes.erase(name);
  m_Result.graph.operations.pop_back();
}

const Operation *
OnnxWalk::FindLast(const OnnxNode & node, std::size_t index, const std::string & type)
{
  const Operation & last = this->GetLast();
  return last.name == this->GetInput(node, index).map && last.type == type && IsReadOnce(node.inputs[index]) ? &last
                                                                                                             : nullptr;
}

const Operation *
OnnxWalk::FindOperation(const std::string & name, const std::string & type) const
{
  const auto & operations = m_Result.graph.operations;
  const auto   found =
    std::find_if(operations.rbegin(), operations.rend(), [&](const Operation & each) { return each.name == name; });
  return found == operations.rend() || found->type != type ? nullptr : &*found;
}

void
OnnxWalk::PutAgain(const OnnxNode & node, const OnnxWalkValue & like, const Operation & changed)
{
  OnnxNode named = node;
  named.name = changed.name;
  this->RemoveLast();
  this->Put(named, changed.type, like, changed.inputs, changed.attributes, changed.parameters);
}

std::vector<std::int64_t>
OnnxWalk::GetShape(const std::string & operation, const std::string & axes) const
{
  const Extent              size = GetSize(operation);
  std::vector<std::int64_t> shape;
  for (const char axis : axes)
  {
    const int place = FindPlace(axis);
    shape.push_back(axis == 'c' ? GetChannels(operation) : place >= 0 ? size[place] : 1);
  }
  return shape;
}

void
OnnxWalk::Put(const OnnxNode &                              node,
              const std::string &                           type,
              const OnnxWalkValue &                         like,
              const std::vector<std::string> &              inputs,
              const std::map<std::string, AttributeValue> & attributes,
              const std::map<std::string, std::string> &    parameters)
{
  const std::string               axes = like.axes;
  const std::vector<std::int64_t> shape = like.shape;
  const std::string               map = Append(node, type, inputs, attributes, parameters);
  const bool                      grouped = axes.find('g') != std::string::npos;
  Set(node, { map, axes, grouped ? shape : GetShape(map, axes), nullptr, {} });
}

/** What the node says; values that it does not give stay unknown. \return whether it ends a formula */
bool
OnnxWalk::Import(const OnnxNode & node)
{
  const bool behind = this->IsBehindMissing(node.inputs);
  try
  {
    if (ImportFormula(*this, node))
    {
      return true;
    }
    const OnnxOperator::Function function = OnnxOperator::Find(node.type);
    if (!function)
    {
      throw MissingOperation("");
    }
    function(*this, node);
  }
  catch (const UnknownInput &)
  {
    m_Unasked.insert(node.outputs.front());
  }
  catch (const MissingOperation & error)
  {
    this->Miss(node, error.GetDiagnostic().why);
    this->PutStandIn(node);
  }
  catch (const std::invalid_argument & error)
  {
    // All that is missing is said before what does not fit, and nothing fits what only stands in for it.
    Diagnostic problem = Diagnostic::Of(error);
    const bool named = problem.why.rfind("its node", 0) == 0;
    problem.why = named ? problem.why : NameNode(node) + ": " + problem.why;
    m_Problem = !m_Problem.IsEmpty() || behind ? m_Problem : problem;
  }
  catch (const std::out_of_range &)
  {
    m_Problem =
      !m_Problem.IsEmpty() || behind ? m_Problem : Diagnostic("E-ONNX-FORMAT", NameNode(node) + " lacks numbers");
  }
  return false;
}

void
OnnxWalk::Visit(const OnnxNode & node)
{
  for (const std::string & output : node.outputs)
  {
    m_Producers[output] = &node;
  }
  const bool isFormula = this->Import(node);
  if (m_Followed.count(&node) > 0)
  {
    return;
  }
  const std::string & first = node.outputs.front();
  const bool behind = m_Missing.count(first) > 0 || this->IsBehindMissing(isFormula ? m_Skips.at(first) : node.inputs);
  bool       ofPixels = false;
  for (std::size_t i = 0; i < node.inputs.size() && node.type != "Shape" && node.type != "Size"; ++i)
  {
    ofPixels = ofPixels || this->IsOfPixels(node, i);
  }
  for (const std::string & output : node.outputs)
  {
    if (behind)
    {
      m_Behind.insert(output);
    }
    if (m_Values.count(output) == 0)
    {
      m_Unknown[output] = ofPixels;
    }
  }
}

/** The number that a constant of the file holds, if it holds one. */
std::optional<double>
OnnxWalk::FindThreshold(const std::string & value) const
{
  const auto             array = m_File.arrays.find(value);
  const OnnxNode * const node = array == m_File.arrays.end() ? FindProducer(value) : nullptr;
  if (array != m_File.arrays.end())
  {
    const OnnxConstant constant = array->second.Read();
    return constant.GetCount() == 1 ? std::optional<double>(constant.Get(0)) : std::nullopt;
  }
  if (!node || node->type != "Constant")
  {
    return std::nullopt;
  }
  if (node->Has("value_float"))
  {
    return node->GetNumber("value_float", 0);
  }
  const auto tensor = node->Has("value") ? node->attributes.at("value").tensor : nullptr;
  return tensor && tensor->GetCount() == 1 ? std::optional<double>(tensor->Get(0)) : std::nullopt;
}

/** What a node makes of labels, which stay labels of the same classes. */
struct OnnxWalk::LabelStep
{
  std::string value; ///< the labels before it; empty: it is no such node
  bool        isRenaming{ false };
  bool        isInverting{ false };
  bool        isJoining{ false }; ///< all but 0 become 1
};

/** Some classes in the place of all: those of which a comparison with a number is true. */
struct OnnxWalk::ClassChoice
{
  std::string type; ///< of the comparison
  double      number{ 0 };
  bool        isTurned{ false }; ///< the number comes first
  bool        isInverted{ false };

  bool
  Has(int label) const
  {
    const double a = isTurned ? number : label, b = isTurned ? label : number;
    const bool   isTrue = type == "Equal"            ? a == b
                          : type == "Greater"        ? a > b
                          : type == "GreaterOrEqual" ? a >= b
                          : type == "Less"           ? a < b
                                                     : a <= b;
    return isTrue != isInverted;
  }
};

/** Goes through a node that changes the type, the shape or the numbers of labels alone, and leaves 0: 0 and 255 in
 * place of 0 and 1. */
OnnxWalk::LabelStep
OnnxWalk::StepThroughLabels(const OnnxNode & node) const
{
  static const std::set<std::string> passing{ "Cast",     "CastLike", "Squeeze", "Unsqueeze",
                                              "Identity", "Reshape",  "Flatten" };
  if (!HasInput(node, 0) || passing.count(node.type) > 0 || node.type == "Not")
  {
    constexpr std::int64_t ofTruth = 9;
    const bool             isJoining = node.type == "Cast" && node.GetInteger("to", 1) == ofTruth;
    return { HasInput(node, 0) ? node.inputs.front() : std::string(), false, node.type == "Not", isJoining };
  }
  if (node.type == "Where" && HasInput(node, 2))
  {
    const double where = FindThreshold(node.inputs[1]).value_or(-1),
                 elsewhere = FindThreshold(node.inputs[2]).value_or(-1);
    const bool areLabels = std::min(where, elsewhere) == 0 && where != elsewhere;
    return { areLabels ? node.inputs[0] : std::string(), areLabels && std::max(where, elsewhere) != 1, where == 0 };
  }
  if ((node.type == "Mul" || node.type == "Div") && HasInput(node, 1))
  {
    const auto   first = FindThreshold(node.inputs[0]), second = FindThreshold(node.inputs[1]);
    const bool   isTurned = node.type == "Mul" && first;
    const double number = (isTurned ? first : second).value_or(0);
    return { number > 0 ? node.inputs[isTurned ? 1 : 0] : std::string(), number != 1, false };
  }
  return {};
}

/** The ArgMax whose labels a value is, but for their type and shape; it and what lies between are added to nodes.
 * \return null: there is none */
const OnnxNode *
OnnxWalk::FindArgMax(std::string value, std::set<const OnnxNode *> & nodes) const
{
  std::set<const OnnxNode *> between;
  for (const OnnxNode * node = FindProducer(value); node && m_Readers.at(value) == 1; node = FindProducer(value))
  {
    const LabelStep step = StepThroughLabels(*node);
    between.insert(node);
    if (node->type == "ArgMax" && HasInput(*node, 0))
    {
      nodes.merge(between);
      return node;
    }
    if (step.value.empty() || step.isRenaming || step.isInverting || step.isJoining)
    {
      return nullptr;
    }
    value = step.value;
  }
  return nullptr;
}

/** Goes from the output back to what labels are made of: the greatest channel, or values above a number. The greatest
 * of the logits is what a mask is made of here, too. */
void
OnnxWalk::FindEnd(const std::vector<const OnnxNode *> & nodes, const std::string & wanted)
{
  for (const OnnxNode * node : nodes)
  {
    for (const std::string & output : node->outputs)
    {
      m_Producers[output] = node;
    }
  }
  std::set<const OnnxNode *> behind;
  std::string                value = wanted;
  bool                       isRenamed = false, isInverted = false, isJoined = false;
  m_End = wanted;
  for (const OnnxNode * found = FindProducer(value); found && m_Readers.at(value) == 1; found = FindProducer(value))
  {
    const OnnxNode & node = *found;
    const LabelStep  step = StepThroughLabels(node);
    behind.insert(&node);
    value = HasInput(node, 0) ? node.inputs.front() : std::string();
    const bool isGreater = node.type == "Greater" || node.type == "GreaterOrEqual";
    const bool isLess = node.type == "Less" || node.type == "LessOrEqual";
    const bool compares = (isGreater || isLess || node.type == "Equal") && HasInput(node, 1);
    auto       number = compares ? FindThreshold(node.inputs[1]) : std::nullopt;
    const bool isTurned = compares && !number; // 0.3 < p
    if (isTurned)
    {
      number = FindThreshold(value);
      value = number ? node.inputs[1] : value;
    }
    const bool             isJoining = isJoined || isInverted; // labels above 0 are one
    const OnnxNode * const argMax = number                                    ? FindArgMax(value, behind)
                                    : node.type == "ArgMax" && !value.empty() ? &node
                                                                              : nullptr;
    if (argMax && (number || isJoining))
    {
      m_Choice = std::make_shared<ClassChoice>(number ? ClassChoice{ node.type, *number, isTurned, isInverted }
                                                      : ClassChoice{ "Greater", 0, false, isInverted });
      m_Labels = argMax;
      m_LabelNodes = std::move(behind);
      m_End = argMax->inputs.front();
      m_Result.isLabels = true;
      m_Result.isRenamed = isRenamed;
      break;
    }
    // Rounded values are labels if nothing is made of them: 255 p may be rounded, and divided by 255.
    const bool isMade =
      (number && node.type != "Equal") || argMax || (node.type == "Round" && !isRenamed && !isInverted);
    if (!value.empty() && isMade)
    {
      m_Labels = &node;
      m_LabelNodes = std::move(behind);
      m_End = value;
      m_Result.isLabels = true;
      m_Result.isRenamed = isRenamed;
      if (node.type != "ArgMax")
      {
        const bool isStrict = node.type == "Greater" || node.type == "Less";
        const bool isBelow = isLess != isTurned;
        m_Result.threshold =
          LabelThreshold{ number.value_or(0.5), isBelow != isInverted, isStrict != isInverted, node.type == "Round" };
      }
      break;
    }
    if (step.value.empty() || !FindProducer(step.value))
    {
      break;
    }
    value = step.value;
    isRenamed = isRenamed || step.isRenaming;
    isInverted = isInverted != step.isInverting;
    isJoined = isJoined || step.isJoining;
  }
  m_Producers.clear();
}

/** Whether the axes are these, without those of the image or of a lone channel that the file takes off at the end. */
bool
OnnxWalk::IsMapWithout(const OnnxWalkValue & value, std::string axes) const
{
  const auto isTakenOff = [&](char axis) {
    return value.axes.find(axis) == std::string::npos && (axis == 'b' || (axis == 'c' && GetChannels(value.map) == 1));
  };
  axes.erase(std::remove_if(axes.begin(), axes.end(), isTakenOff), axes.end());
  return value.axes == axes;
}

/** The greatest of some channels less the greatest of the others: above 0 where the label is one of these. */
std::string
OnnxWalk::AppendChoice(const std::string & map)
{
  // The greatest probability of a softmax is that of the greatest logit.
  const Operation * const softmax = FindOperation(map, "softmax");
  const std::string       logits = softmax ? softmax->inputs.front() : map;
  const int               channels = GetChannels(logits);
  const OnnxNode          named{ m_End + ".classes", "ArgMax", {}, {}, {} };
  std::string             greatest[2];
  for (const bool isChosen : { false, true })
  {
    std::vector<std::string> parts;
    std::int64_t             all = 0;
    for (int first = 0, end = 0; first < channels; first = end)
    {
      for (end = first + 1; end < channels && m_Choice->Has(end) == m_Choice->Has(first); ++end)
      {}
      if (m_Choice->Has(first) == isChosen)
      {
        const std::int64_t number = end - first;
        parts.push_back(
          Append(named, "slice_channels", { logits }, { { "start", std::int64_t{ first } }, { "channels", number } }));
        all += number;
      }
    }
    if (parts.empty())
    {
      throw MissingOperations(
        "its labels are all alike: no class is on one side of the number that they are compared with");
    }
    const std::string & joined = parts.size() == 1 ? parts.front() : Append(named, "cat", parts);
    greatest[isChosen] = all == 1 ? joined : Append(named, "channel_max", { joined });
  }
  return Append(named, "sub", { greatest[1], greatest[0] });
}

void
OnnxWalk::FindOutput()
{
  const std::string     name = m_End;
  const OnnxWalkValue & value = m_Values[name];
  const bool            isGreatest = m_Labels && m_Labels->type == "ArgMax";
  if (m_Labels)
  {
    LeaveOut(m_Labels->type + " at the end");
  }
  if (isGreatest && !m_Choice && m_Result.isRenamed && value.IsMap() && GetChannels(value.map) > 2)
  {
    throw MissingOperations("it gives its labels other numbers than 0, 1, 2 and so on behind ArgMax");
  }
  if (isGreatest && value.IsMap() && value.axes[GetOnnxAxis(m_Labels->GetInteger("axis", 0), value.axes.size())] != 'c')
  {
    throw MissingOperations("it needs operations that there are not here: ArgMax not over the channels");
  }
  const bool isMap = value.IsMap() && (IsMapWithout(value, GetMapAxes()) || IsMapWithout(value, GetMapAxesLast()));
  // Classes of the image: of a network that is refused for what it needs.
  const bool isOfImage = value.IsMap() && !ListWholeImage(m_Result.graph).empty();
  if (!isOfImage && (!isMap || GetSize(value.map) != m_Image))
  {
    std::string shape;
    for (const std::int64_t length : value.shape)
    {
      shape += (shape.empty() ? "" : " x ") + std::to_string(length);
    }
    throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION",
                                     "its output \"" + GetPrintable(name) + "\" is " +
                                       (shape.empty() ? "nothing" : shape) + " for an image of " + ToText(m_Image) +
                                       " pixels: no logits of each pixel"));
  }
  m_Result.graph.output = m_Choice ? AppendChoice(value.map) : value.map;
}

/** Parts of formulas that became operations. */
void
OnnxWalk::RemoveUnread()
{
  auto &                operations = m_Result.graph.operations;
  std::set<std::string> read{ m_Result.graph.output, m_ImageOperation };
  for (auto each = operations.rbegin(); each != operations.rend(); ++each)
  {
    if (read.count(each->name) > 0)
    {
      read.insert(each->inputs.begin(), each->inputs.end());
    }
  }
  const auto isUnread = [&](const Operation & operation) { return read.count(operation.name) == 0; };
  operations.erase(std::remove_if(operations.begin(), operations.end(), isUnread), operations.end());
  std::set<std::string> constants;
  for (const Operation & operation : operations)
  {
    for (const auto & [role, name] : operation.parameters)
    {
      if (m_Result.graph.constants.count(name) > 0)
      {
        constants.insert(name);
      }
    }
  }
  m_Result.graph.constants = std::move(constants);
}

SizedGraph
OnnxWalk::Make(const OnnxFile &               file,
               const std::vector<OnnxImage> & images,
               Arrays &                       arrays,
               const Extent &                 size,
               const std::string &            output)
{
  const std::string wanted = output.empty() ? file.outputs.front().name : output;
  const auto        isWanted = [&](const OnnxValue & value) { return value.name == wanted; };
  if (std::none_of(file.outputs.begin(), file.outputs.end(), isWanted))
  {
    std::string names;
    for (const OnnxValue & value : file.outputs)
    {
      names += (names.empty() ? "" : ", ") + GetPrintable(value.name);
    }
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "it has no output \"" + GetPrintable(wanted) + "\" (it has: " + names + ")"));
  }
  // What the output does not depend on, as the outputs of deep supervision, is not asked for.
  std::set<std::string>         needed{ wanted };
  std::vector<const OnnxNode *> nodes;
  for (auto node = file.nodes.rbegin(); node != file.nodes.rend(); ++node)
  {
    if (std::any_of(node->outputs.begin(), node->outputs.end(), [&](const auto & o) { return needed.count(o) > 0; }))
    {
      needed.insert(node->inputs.begin(), node->inputs.end());
      nodes.insert(nodes.end(), &*node);
    }
  }
  std::reverse(nodes.begin(), nodes.end());
  OnnxWalk walk(file, arrays, size, images.front().IsOfFixedSize());
  walk.m_Readers[wanted] = 1;
  for (const OnnxNode * node : nodes)
  {
    for (const std::string & input : node->inputs)
    {
      ++walk.m_Readers[input];
    }
  }
  walk.AppendImages(images);
  walk.FindEnd(nodes, wanted);
  for (const OnnxNode * node : nodes)
  {
    if (walk.m_LabelNodes.count(node) == 0)
    {
      walk.Visit(*node);
    }
  }
  walk.CheckMissing();
  walk.FindOutput();
  walk.RemoveUnread();
  return std::move(walk.m_Result);
}

} // namespace gigapixel
