/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOnnxFile.h"
#include "gigapixelOnnxFunctions.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelPrintable.h"
#include "gigapixelProtobuf.h"
#include "kernels/gigapixelStoredNumbers.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Beyond this no file holds the numbers of an array. */
constexpr std::int64_t MostValues = std::int64_t{ 1 } << 40;

/** Of TensorProto.DataType. */
enum Type : std::int64_t
{
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Half = 10,
  Double = 11,
  BrainFloat = 16
};

std::string
ToText(std::string_view bytes)
{
  return { bytes.data(), bytes.size() };
}

/** The first message of a field; empty: there is none. */
std::string_view
Find(std::string_view bytes, std::uint64_t wanted)
{
  for (ProtobufMessage message(bytes); message.Next();)
  {
    if (message.GetField() == wanted)
    {
      return message.GetBytes();
    }
  }
  return {};
}

/** What becomes of a field of a message, by its number: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
struct Field
{
  std::uint64_t                                  number;
  std::function<void(const ProtobufMessage & m)> read;
};

using Fields = std::initializer_list<Field>;

/** A field that is none of these is left out. */
void
ReadField(const ProtobufMessage & message, Fields fields)
{
  const auto isIt = [&](const Field & field) { return field.number == message.GetField(); };
  const auto field = std::find_if(fields.begin(), fields.end(), isIt);
  field == fields.end() ? void() : field->read(message);
}

void
ReadFields(std::string_view bytes, Fields fields)
{
  for (ProtobufMessage message(bytes); message.Next();)
  {
    ReadField(message, fields);
  }
}

auto
To(std::string & text)
{
  return [&text](const ProtobufMessage & message) { text = ToText(message.GetBytes()); };
}

auto
To(std::string_view & bytes)
{
  return [&bytes](const ProtobufMessage & message) { bytes = message.GetBytes(); };
}

auto
To(std::int64_t & integer)
{
  return [&integer](const ProtobufMessage & message) { integer = message.GetInteger(); };
}

auto
To(float & number)
{
  return [&number](const ProtobufMessage & message) { number = message.GetFloat(); };
}

auto
AddTo(std::vector<std::string> & texts)
{
  return [&texts](const ProtobufMessage & message) { texts.push_back(ToText(message.GetBytes())); };
}

auto
AddTo(std::vector<std::int64_t> & integers)
{
  return [&integers](const ProtobufMessage & message) { message.AppendIntegers(integers); };
}

auto
AddTo(std::vector<float> & numbers)
{
  return [&numbers](const ProtobufMessage & message) { message.AppendFloats(numbers); };
}

void
ReadTensor(std::string_view bytes, OnnxTensor & tensor)
{
  const auto readPlace = [&](const ProtobufMessage & message) {
    tensor.external = true;
    tensor.place.emplace(ToText(Find(message.GetBytes(), 1)), ToText(Find(message.GetBytes(), 2)));
  };
  ReadFields(bytes,
             { { 1, AddTo(tensor.shape) },
               { 2, To(tensor.type) },
               { 4, AddTo(tensor.floats) },
               { 5, AddTo(tensor.integers) }, // of 32 bits
               { 7, AddTo(tensor.integers) }, // of 64
               { 8, To(tensor.name) },
               { 9, To(tensor.raw) },
               { 10, [&](const ProtobufMessage & message) { message.AppendDoubles(tensor.doubles); } },
               { 11, AddTo(tensor.integers) }, // without a sign
               { 13, readPlace },
               { 14, [&](const ProtobufMessage & message) {
                  tensor.external = tensor.external || message.GetInteger() != 0;
                } } });
}

/** Of the graph. \throw std::invalid_argument names the array */
OnnxTensor
ReadArray(std::string_view bytes, std::size_t index)
{
  OnnxTensor tensor;
  try
  {
    ReadTensor(bytes, tensor);
  }
  catch (const std::invalid_argument & error)
  {
    const std::string name = tensor.name.empty() ? "" : ", \"" + GetPrintable(tensor.name).substr(0, 200) + '"';
    Diagnostic        problem = Diagnostic::Of(error);
    problem.why += ", in its array number " + std::to_string(index + 1) + name;
    throw InvalidArgument(problem);
  }
  return tensor;
}

std::pair<std::string, OnnxAttribute>
ReadAttribute(std::string_view bytes)
{
  std::string   name;
  OnnxAttribute attribute;
  const auto    readTensor = [&](const ProtobufMessage & message) {
    OnnxTensor tensor;
    ReadTensor(message.GetBytes(), tensor);
    attribute.tensor = std::make_shared<OnnxConstant>(tensor.Read());
  };
  ReadFields(bytes,
             { { 1, To(name) },
               { 2, To(attribute.number) },
               { 3, To(attribute.integer) },
               { 4, To(attribute.text) },
               { 5, readTensor },
               { 6, To(attribute.graph) },
               { 7, AddTo(attribute.numbers) },
               { 8, AddTo(attribute.integers) },
               { 21, To(attribute.reference) } });
  return { name, attribute };
}

/** "node number 3, "conv1" (Conv)", as far as it is known. */
std::string
NameNode(const OnnxNode & node, std::size_t index)
{
  const std::string name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
  return "node number " + std::to_string(index + 1) +
         (name.empty() ? "" : ", \"" + GetPrintable(name).substr(0, 200) + '"') +
         (node.type.empty() ? "" : " (" + GetPrintable(node.type).substr(0, 100) + ")");
}

/** \class NodeCount
 * \brief Nodes that were read so far. An empty one is two bytes of a file, and much more here. */
class NodeCount
{
public:
  void
  Add()
  {
    constexpr int most = 1000000;
    if (++m_Number > most)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it has more than " + std::to_string(most) + " nodes"));
    }
  }

  /** Enters the branches of a node. */
  void
  Enter()
  {
    constexpr int mostLevels = 16;
    if (++m_Level > mostLevels)
    {
      throw InvalidArgument(Diagnostic(
        "E-ONNX-FORMAT", "its branches lie in each other on more than " + std::to_string(mostLevels) + " levels"));
    }
  }

  void
  Leave()
  {
    --m_Level;
  }

private:
  int m_Number{ 0 };
  int m_Level{ 0 };
};

/** \class NamesInOrder
 * \brief Names in the order in which they were added, each once. */
class NamesInOrder
{
public:
  void
  Add(const std::string & name)
  {
    if (m_Known.insert(name).second)
    {
      m_Names.push_back(name);
    }
  }

  const std::vector<std::string> &
  Get() const
  {
    return m_Names;
  }

private:
  std::set<std::string>    m_Known;
  std::vector<std::string> m_Names;
};

OnnxNode ReadNode(std::string_view bytes, std::size_t index, NodeCount & count);

void
RefuseSparse(const ProtobufMessage &)
{
  throw InvalidArgument(
    Diagnostic("E-ONNX-FORMAT", "it has sparse arrays, which are not read", "save it with dense ones"));
}

/** \param read values around it are added to them */
OnnxBranch
ReadBranch(std::string_view bytes, NamesInOrder & read, NodeCount & count)
{
  OnnxBranch            branch;
  std::set<std::string> given;
  const auto            give = [&given](const std::string & name) {
    if (!name.empty() && !given.insert(name).second)
    {
      throw InvalidArgument(
        Diagnostic("E-ONNX-FORMAT", "its branch gives \"" + GetPrintable(name).substr(0, 200) + "\" twice"));
    }
  };
  const auto readNode = [&](const ProtobufMessage & message) {
    branch.nodes.push_back(ReadNode(message.GetBytes(), branch.nodes.size(), count));
    std::for_each(branch.nodes.back().outputs.begin(), branch.nodes.back().outputs.end(), give);
  };
  const auto readArray = [&](const ProtobufMessage & message) {
    OnnxTensor        tensor = ReadArray(message.GetBytes(), branch.arrays.size());
    const std::string name = tensor.name;
    give(name);
    branch.arrays.emplace(name, std::move(tensor));
  };
  const auto readOutput = [&](const ProtobufMessage & message) {
    branch.outputs.push_back(ToText(Find(message.GetBytes(), 1)));
  };
  ReadFields(bytes, { { 1, readNode }, { 5, readArray }, { 12, readOutput }, { 15, RefuseSparse } });
  const auto note = [&](const std::string & name) {
    if (!name.empty() && given.insert(name).second)
    {
      read.Add(name);
    }
  };
  for (const OnnxNode & node : branch.nodes)
  {
    std::for_each(node.inputs.begin(), node.inputs.end(), note);
  }
  std::for_each(branch.outputs.begin(), branch.outputs.end(), note);
  return branch;
}

void
ReadBranches(OnnxNode & node, NodeCount & count)
{
  const auto onTrue = node.attributes.find("then_branch"), onFalse = node.attributes.find("else_branch");
  if (node.inputs.size() != 1 || onTrue == node.attributes.end() || onFalse == node.attributes.end())
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it has not one condition and two branches"));
  }
  count.Enter();
  NamesInOrder read;
  auto         branches = std::make_shared<OnnxBranches>();
  branches->onTrue = ReadBranch(onTrue->second.graph, read, count);
  branches->onFalse = ReadBranch(onFalse->second.graph, read, count);
  branches->read = read.Get();
  node.inputs.insert(node.inputs.end(), branches->read.begin(), branches->read.end());
  node.branches = branches;
  count.Leave();
}

void
ReadNode(std::string_view bytes, OnnxNode & node, NodeCount & count)
{
  count.Add();
  std::string domain;
  const auto  readAttribute = [&](const ProtobufMessage & message) {
    if (!node.attributes.insert(ReadAttribute(message.GetBytes())).second)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "an attribute is there twice"));
    }
  };
  ReadFields(bytes,
             { { 1, AddTo(node.inputs) },
               { 2, AddTo(node.outputs) },
               { 3, To(node.name) },
               { 4, To(node.type) },
               { 5, readAttribute },
               { 7, To(domain) } });
  if (!domain.empty() && domain != "ai.onnx")
  {
    node.type = domain + "." + node.type;
  }
  if (node.type == "If")
  {
    ReadBranches(node, count);
  }
}

/** \throw std::invalid_argument names the node */
OnnxNode
ReadNode(std::string_view bytes, std::size_t index, NodeCount & count)
{
  OnnxNode node;
  try
  {
    ReadNode(bytes, node, count);
  }
  catch (const std::invalid_argument & error)
  {
    Diagnostic problem = Diagnostic::Of(error);
    problem.why += ", in its " + NameNode(node, index);
    throw InvalidArgument(problem);
  }
  return node;
}

/** Under the type of the nodes that call it. */
void
ReadFunction(std::string_view bytes, OnnxFunctions & functions, NodeCount & count)
{
  OnnxFunction function;
  std::string  name, domain;
  const auto   readNode = [&](const ProtobufMessage & message) {
    function.nodes.push_back(ReadNode(message.GetBytes(), function.nodes.size(), count));
  };
  const auto readDefault = [&](const ProtobufMessage & message) {
    function.attributes.insert(ReadAttribute(message.GetBytes()));
  };
  ReadFields(bytes,
             { { 1, To(name) },
               { 4, AddTo(function.inputs) },
               { 5, AddTo(function.outputs) },
               { 7, readNode },
               { 10, To(domain) },
               { 11, readDefault } });
  const std::string type = domain.empty() || domain == "ai.onnx" ? name : domain + '.' + name;
  if (!functions.emplace(type, std::move(function)).second)
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", "it has two functions \"" + GetPrintable(type).substr(0, 200) + '"'));
  }
}

/** ValueInfoProto { name = 1; type = 2 }, TypeProto { tensor_type = 1 }, Tensor { shape = 2 }, TensorShapeProto
 * { dim = 1 }, Dimension { dim_value = 1; dim_param = 2 }. */
OnnxValue
ReadValue(std::string_view bytes)
{
  OnnxValue              value{ ToText(Find(bytes, 1)), {} };
  const std::string_view shape = Find(Find(Find(bytes, 2), 1), 2);
  for (ProtobufMessage dimensions(shape); dimensions.Next();)
  {
    std::int64_t length = -1;
    for (ProtobufMessage dimension(dimensions.GetBytes()); dimension.Next();)
    {
      length = dimension.GetField() == 1 ? dimension.GetInteger() : length;
    }
    value.shape.push_back(length > 0 ? length : -1);
  }
  return value;
}

void
ReadGraph(std::string_view bytes, OnnxFile & file, NodeCount & count)
{
  const auto readArray = [&](const ProtobufMessage & message) {
    OnnxTensor        tensor = ReadArray(message.GetBytes(), file.arrays.size());
    const std::string name = tensor.name;
    if (!file.arrays.emplace(name, std::move(tensor)).second)
    {
      throw InvalidArgument(
        Diagnostic("E-ONNX-FORMAT", "it has two arrays \"" + GetPrintable(name).substr(0, 200) + '"'));
    }
  };
  const auto addTo = [](std::vector<OnnxValue> & values) {
    return [&values](const ProtobufMessage & message) { values.push_back(ReadValue(message.GetBytes())); };
  };
  const auto readNode = [&](const ProtobufMessage & message) {
    file.nodes.push_back(ReadNode(message.GetBytes(), file.nodes.size(), count));
  };
  ReadFields(bytes,
             { { 1, readNode },
               { 5, readArray },
               { 11, addTo(file.inputs) },
               { 12, addTo(file.outputs) },
               { 15, RefuseSparse } });
  const auto isArray = [&](const OnnxValue & value) { return file.arrays.count(value.name) > 0; };
  file.inputs.erase(std::remove_if(file.inputs.begin(), file.inputs.end(), isArray), file.inputs.end());
}

/** \return bytes of a number */
template <typename T, typename TTo>
std::size_t
Convert(std::string_view bytes, std::vector<TTo> & values)
{
  values.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i)
  {
    T value;
    std::memcpy(static_cast<void *>(&value), bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<TTo>(value);
  }
  return sizeof(T);
}

/** \return bytes of a number; 0: the type is not known */
std::size_t
ReadRaw(const OnnxTensor & tensor, OnnxConstant & constant)
{
  switch (tensor.type)
  {
    case Float:
      return Convert<float>(tensor.raw, constant.floats);
    case Double:
      return Convert<double>(tensor.raw, constant.floats);
    case Half:
      return Convert<Float16>(tensor.raw, constant.floats);
    case BrainFloat:
      return Convert<BFloat16>(tensor.raw, constant.floats);
    case UInt8:
    case Bool:
      return Convert<std::uint8_t>(tensor.raw, constant.integers);
    case Int8:
      return Convert<std::int8_t>(tensor.raw, constant.integers);
    case UInt16:
      return Convert<std::uint16_t>(tensor.raw, constant.integers);
    case Int16:
      return Convert<std::int16_t>(tensor.raw, constant.integers);
    case Int32:
      return Convert<std::int32_t>(tensor.raw, constant.integers);
    case Int64:
      return Convert<std::int64_t>(tensor.raw, constant.integers);
    default:
      return 0;
  }
}

/** Floats of 16 bits stand in a list of whole numbers as their bits. */
template <typename T>
void
ConvertBits(const std::vector<std::int64_t> & bits, std::vector<float> & values)
{
  std::string bytes;
  for (const std::int64_t each : bits)
  {
    bytes.push_back(static_cast<char>(each & 0xff));
    bytes.push_back(static_cast<char>(each >> 8 & 0xff));
  }
  Convert<T>(bytes, values);
}

void
ReadLists(const OnnxTensor & tensor, OnnxConstant & constant)
{
  if (tensor.type == Half)
  {
    ConvertBits<Float16>(tensor.integers, constant.floats);
  }
  else if (tensor.type == BrainFloat)
  {
    ConvertBits<BFloat16>(tensor.integers, constant.floats);
  }
  else if (tensor.type == Double)
  {
    constant.floats.assign(tensor.doubles.begin(), tensor.doubles.end());
  }
  else if (tensor.type == Float)
  {
    constant.floats = tensor.floats;
  }
  else
  {
    constant.integers = tensor.integers;
  }
}

} // namespace

std::size_t
OnnxConstant::GetCount() const
{
  return isFloat ? floats.size() : integers.size();
}

double
OnnxConstant::Get(std::size_t index) const
{
  return isFloat ? floats.at(index) : static_cast<double>(integers.at(index));
}

OnnxConstant
OnnxConstant::OfIntegers(const std::vector<std::int64_t> & values)
{
  return { { static_cast<std::int64_t>(values.size()) }, Int64, false, {}, values };
}

std::pair<double, double>
OnnxConstant::GetLimits(std::int64_t type)
{
  switch (type)
  {
    case Int8:
      return { -128, 127 };
    case Int16:
      return { -32768, 32767 };
    case UInt16:
      return { 0, 65535 };
    default:
      return { 0, 255 };
  }
}

OnnxConstant
OnnxTensor::Read() const
{
  const std::string where = "its array \"" + GetPrintable(name) + "\" ";
  if (external)
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT",
                 where + "is a constant in another file, and only the network's own arrays are read from there",
                 "write it anew by onnx.save(onnx.load(...), ...)"));
  }
  std::int64_t most = 1; // if none of the lengths is 0
  bool         isEmpty = false;
  for (const std::int64_t length : shape)
  {
    if (length < 0 || length > MostValues || (length > 0 && most > MostValues / length))
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", where + "has an impossible shape"));
    }
    most *= std::max<std::int64_t>(1, length);
    isEmpty = isEmpty || length == 0;
  }
  const std::int64_t count = isEmpty ? 0 : most;
  OnnxConstant       constant;
  constant.shape = shape;
  constant.type = type;
  constant.isFloat = type == Float || type == Double || type == Half || type == BrainFloat;
  constexpr std::int64_t MostWidth = 8;
  if (!constant.isFloat && static_cast<std::int64_t>(raw.size()) / MostWidth > count) // each will take eight bytes
  {
    throw InvalidArgument(Diagnostic("E-FILE-DAMAGED",
                                     where + "is damaged: it has " + std::to_string(raw.size()) +
                                       " bytes, and its shape says " + FormatCount(count, "number")));
  }
  const std::size_t width = ReadRaw(*this, constant);
  if (width == 0)
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", where + "is of a type that is no number known here (" + std::to_string(type) + ")"));
  }
  if (raw.empty())
  {
    ReadLists(*this, constant);
  }
  if (static_cast<std::int64_t>(constant.GetCount()) != count || raw.size() % width != 0)
  {
    throw InvalidArgument(Diagnostic("E-FILE-DAMAGED",
                                     where + "is damaged or truncated: it has " + std::to_string(constant.GetCount()) +
                                       (raw.size() % width == 0 ? "" : " and a part of") +
                                       " numbers, and its shape says " + std::to_string(count)));
  }
  return constant;
}

bool
OnnxNode::Has(const char * attribute) const
{
  return attributes.count(attribute) > 0;
}

std::int64_t
OnnxNode::GetInteger(const char * attribute, std::int64_t otherwise) const
{
  return Has(attribute) ? attributes.at(attribute).integer : otherwise;
}

double
OnnxNode::GetNumber(const char * attribute, double otherwise) const
{
  if (!Has(attribute))
  {
    return otherwise;
  }
  // 0.01 was meant, and not the nearest float in all of its digits.
  char   text[32];
  double value = 0;
  std::from_chars(text, std::to_chars(text, text + sizeof text, attributes.at(attribute).number).ptr, value);
  return value;
}

std::string
OnnxNode::GetText(const char * attribute, const std::string & otherwise) const
{
  return Has(attribute) ? attributes.at(attribute).text : otherwise;
}

std::vector<std::int64_t>
OnnxNode::GetIntegers(const char * attribute) const
{
  return Has(attribute) ? attributes.at(attribute).integers : std::vector<std::int64_t>();
}

OnnxFile
OnnxFile::Parse(std::string_view content)
{
  OnnxFile      file;
  std::string   version;
  bool          hasGraph = false;
  OnnxFunctions functions;
  NodeCount     count;
  file.size = content.size();
  // Of ModelProto, those for people, for training and of functions among them, as of version 14 of the format. Each new
  // field comes with a new version, which stands first: before version 15 others are none of a network's.
  const std::set<std::uint64_t> fields{ 1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26 };
  constexpr std::int64_t        knownVersion = 14;
  const auto readGraph = [&](const ProtobufMessage & message) { ReadGraph(message.GetBytes(), file, count); };
  const auto readOpset = [&](const ProtobufMessage & message) {
    std::string  domain;
    std::int64_t opset = file.opset;
    ReadFields(message.GetBytes(), { { 1, To(domain) }, { 2, To(opset) } });
    file.opset = domain.empty() || domain == "ai.onnx" ? opset : file.opset;
  };
  const auto readFunction = [&](const ProtobufMessage & message) {
    ReadFunction(message.GetBytes(), functions, count);
  };
  for (ProtobufMessage message(content); message.Next();)
  {
    // Messages that stand behind each other are one, in which the later fields are added: none that is meant.
    constexpr std::uint64_t graphField = 7;
    const bool              isGraph = message.GetField() == graphField;
    const bool              isOfLater = file.version > knownVersion && message.GetField() > *fields.rbegin();
    if ((fields.count(message.GetField()) == 0 && !isOfLater) || (isGraph && hasGraph))
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED",
                                       "it is damaged, or something else stands behind its network: " +
                                         (isGraph ? std::string("it has two of them")
                                                  : "ONNX files have no field " + std::to_string(message.GetField()))));
    }
    hasGraph = hasGraph || isGraph;
    ReadField(message,
              { { 1, To(file.version) },
                { 2, To(file.producer) },
                { 3, To(version) },
                { 7, readGraph },
                { 8, readOpset },
                { 25, readFunction } });
  }
  ExpandFunctions(functions, file.nodes);
  file.producer += version.empty() ? "" : " " + version;
  if (file.nodes.empty() || file.outputs.empty())
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it is no ONNX file, or one without a network"));
  }
  return file;
}

} // namespace gigapixel
