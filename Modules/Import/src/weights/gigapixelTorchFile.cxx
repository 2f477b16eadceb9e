/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchFile.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelPickle.h"
#include "gigapixelPrintable.h"
#include "gigapixelZipFile.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Kind = PickleValue::Kind;

constexpr std::string_view LegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10); ///< the file's first number
constexpr std::size_t      MostAxes = 64;
constexpr int              MostDepth = 16; ///< of dictionaries in dictionaries
constexpr std::size_t      LongestKey = 1000;

/** Of torch's storages: the type of their numbers as safetensors names it, and its bytes. */
struct StorageType
{
  const char * function;
  const char * type;
  std::size_t  bytes;
};

const StorageType StorageTypes[] = {
  { "torch.FloatStorage", "F32", 4 }, { "torch.DoubleStorage", "F64", 8 },    { "torch.HalfStorage", "F16", 2 },
  { "torch.LongStorage", "I64", 8 },  { "torch.BFloat16Storage", "BF16", 2 }, { "torch.IntStorage", "I32", 4 },
  { "torch.ShortStorage", "I16", 2 }, { "torch.CharStorage", "I8", 1 },       { "torch.ByteStorage", "U8", 1 },
  { "torch.BoolStorage", "BOOL", 1 },
};

/** ("storage", type, key, device, number of values), and in legacy files a part of another one. */
struct Storage
{
  const StorageType * type{ nullptr };
  std::string         key;
};

/** \return without a type: it is none that is known */
Storage
GetStorage(const PickleValue & value)
{
  if (value.kind != Kind::Stored || value.items.empty())
  {
    return {};
  }
  const auto & identity = value.items.front()->items;
  if (identity.size() < 5 || !identity[0]->IsText("storage") || identity[2]->kind != Kind::Text ||
      (identity.size() > 5 && identity[5]->kind != Kind::None))
  {
    return {};
  }
  const auto found = std::find_if(std::begin(StorageTypes), std::end(StorageTypes), [&](const StorageType & each) {
    return identity[1]->Is(each.function);
  });
  return { found == std::end(StorageTypes) ? nullptr : found, identity[2]->text };
}

/** Bytes of storages by their keys. */
using Storages = std::map<std::string, std::string_view>;

std::vector<std::int64_t>
GetIntegers(const PickleValue & list)
{
  std::vector<std::int64_t> integers;
  for (const PickleValue * item : list.items)
  {
    if (item->kind != Kind::Integer || item->integer < 0 || integers.size() >= MostAxes)
    {
      throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "an array of it has an impossible shape"));
    }
    integers.push_back(item->integer);
  }
  return integers;
}

// Functions of PyTorch, or calls of them.

bool
IsTensor(const PickleValue & value)
{
  return value.Is("torch._utils._rebuild_tensor_v2") || value.Is("torch._utils._rebuild_tensor");
}

bool
IsParameter(const PickleValue & value)
{
  return value.Is("torch._utils._rebuild_parameter") || value.Is("torch._utils._rebuild_parameter_with_state");
}

bool
IsWithAttributes(const PickleValue & value)
{
  return value.Is("torch._tensor._rebuild_from_type_v2");
}

// Functions of NumPy.

/** numpy.core.multiarray._reconstruct(ndarray, (0,), b"b"), set to (version, shape, type, whether the first axis is the
 * innermost, bytes). */
bool
IsNumPyArray(const PickleValue & value)
{
  return value.Is("numpy.core.multiarray._reconstruct") || value.Is("numpy._core.multiarray._reconstruct");
}

/** numpy.core.numeric._frombuffer(bytes, type, shape, "C" or "F"), of protocol 5. */
bool
IsNumPyBuffer(const PickleValue & value)
{
  return value.Is("numpy.core.numeric._frombuffer") || value.Is("numpy._core.numeric._frombuffer");
}

/** numpy.dtype("f4", ...), set to (version, order of bytes, ...). \return null: no little-endian type of numbers */
const StorageType *
GetNumPyType(const PickleValue & value)
{
  static const std::map<std::string, const char *> types{ { "f2", "F16" }, { "f4", "F32" }, { "f8", "F64" },
                                                          { "i8", "I64" }, { "i4", "I32" }, { "i2", "I16" },
                                                          { "i1", "I8" },  { "u1", "U8" },  { "b1", "BOOL" } };
  const bool isType = value.Is("numpy.dtype") && value.items.size() == 3 && !value.items[1]->items.empty();
  const bool hasOrder = isType && value.items[2]->items.size() > 1;
  const auto found = hasOrder ? types.find(value.items[1]->items[0]->text) : types.end();
  if (found == types.end() || value.items[2]->items[1]->IsText(">"))
  {
    return nullptr;
  }
  return std::find_if(std::begin(StorageTypes), std::end(StorageTypes), [&](const StorageType & each) {
    return std::string_view(each.type) == found->second;
  });
}

/** Bytes that protocol 2 writes as text: _codecs.encode(text, "latin1"), of which UTF-8 makes two bytes of one. */
std::string
FromLatin1(const std::string & text)
{
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i)
  {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool isPair = (byte == 0xC2 || byte == 0xC3) && i + 1 < text.size();
    bytes.push_back(isPair ? static_cast<char>((byte & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F))
                           : text[i]);
  }
  return bytes;
}

/** \class ArrayReader
 * \brief Makes arrays of the calls that would make tensors. */
class ArrayReader
{
public:
  /** \param contents get the arrays' bytes */
  ArrayReader(const Storages & storages, std::size_t most, std::vector<std::shared_ptr<const std::string>> & contents)
    : m_Storages(storages)
    , m_Left(most)
    , m_Contents(contents)
  {}

  /** Of _rebuild_tensor_v2(storage, offset, size, stride, ...), a parameter of one, or one with attributes of its own,
   * _rebuild_from_type_v2(_rebuild_tensor_v2, class, (storage, ...), attributes). \return false: it is none */
  bool
  Read(const PickleValue & value, SafeTensors::Tensor & tensor)
  {
    if (IsNumPyArray(value) || IsNumPyBuffer(value))
    {
      return ReadNumPy(value, tensor);
    }
    const PickleValue * call = &value;
    if (IsParameter(*call) && IsCall(*call, 1))
    {
      call = call->items[1]->items[0];
    }
    const PickleValue * function = call;
    const PickleValue * arguments = IsCall(*call, 4) ? call->items[1] : nullptr;
    if (arguments && IsWithAttributes(*call))
    {
      function = arguments->items[0];
      arguments = arguments->items[2]->kind == Kind::List ? arguments->items[2] : nullptr;
    }
    if (!arguments || arguments->items.size() < 4 || !IsTensor(*function))
    {
      return false;
    }
    const auto &  given = arguments->items;
    const Storage storage = GetStorage(*given[0]);
    if (!storage.type || given[1]->kind != Kind::Integer)
    {
      return false;
    }
    const auto found = m_Storages.find(storage.key);
    if (found == m_Storages.end())
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED",
                                       "it is damaged or truncated: the numbers \"" +
                                         GetPrintable(storage.key).substr(0, 100) + "\" are missing"));
    }
    tensor.type = storage.type->type;
    tensor.shape = GetIntegers(*given[2]);
    Gather(found->second, storage.type->bytes, given[1]->integer, GetIntegers(*given[3]), tensor);
    return true;
  }

private:
  bool
  ReadNumPy(const PickleValue & value, SafeTensors::Tensor & tensor)
  {
    const bool   isBuffer = IsNumPyBuffer(value);
    const auto   part = static_cast<std::size_t>(isBuffer ? 1 : 2);
    const auto   fewest = static_cast<std::size_t>(isBuffer ? 4 : 5);
    const auto & given = value.items.size() > part ? value.items[part]->items : value.items;
    if (value.kind != Kind::Call || value.items.size() <= part || given.size() < fewest)
    {
      return false;
    }
    const PickleValue & bytes = *given[isBuffer ? 0 : 4];
    const StorageType * type = GetNumPyType(*given[isBuffer ? 1 : 2]);
    const bool isText = bytes.Is("_codecs.encode") && bytes.kind == Kind::Call && !bytes.items[1]->items.empty();
    const bool isBytes = bytes.kind == Kind::Call &&
                         (bytes.Is("builtins.bytearray") || bytes.Is("__builtin__.bytearray")) &&
                         !bytes.items[1]->items.empty();
    if (!type || (bytes.kind != Kind::Text && !isText && !isBytes))
    {
      return false;
    }
    tensor.type = type->type;
    tensor.shape = GetIntegers(*given[isBuffer ? 2 : 1]);
    const bool                isTurned = isBuffer ? given[3]->IsText("F") : given[3]->integer != 0;
    std::vector<std::int64_t> strides(tensor.shape.size(), 1);
    for (std::size_t i = 1; i < strides.size(); ++i)
    {
      const std::size_t axis = isTurned ? i : strides.size() - 1 - i, inner = isTurned ? i - 1 : axis + 1;
      if (__builtin_mul_overflow(strides[inner], tensor.shape[inner], &strides[axis]))
      {
        throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "an array of it has an impossible shape"));
      }
    }
    const std::string & text = bytes.kind == Kind::Text ? bytes.text : bytes.items[1]->items[0]->text;
    if (text.size() > m_Left) // many arrays may be given the same text
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", "its arrays have more numbers than the file"));
    }
    m_Left -= text.size();
    const std::size_t held = m_Contents.size();
    m_Contents.push_back(std::make_shared<const std::string>(isText ? FromLatin1(text) : text));
    Gather(*m_Contents.back(), type->bytes, 0, strides, tensor);
    if (tensor.bytes.size() != m_Contents[held]->size()) // such as the escaped text of protocol 0
    {
      throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT",
                                       "an array of NumPy in it is written in a way that is not read",
                                       "save it with torch.save and its default protocol"));
    }
    return true;
  }

  static bool
  IsCall(const PickleValue & value, std::size_t fewest)
  {
    return value.kind == Kind::Call && value.items[1]->kind == Kind::List && value.items[1]->items.size() >= fewest;
  }

  static bool
  IsInOrder(const std::vector<std::int64_t> & shape, const std::vector<std::int64_t> & strides)
  {
    std::int64_t expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; expected *= shape[axis])
    {
      if (shape[axis] > 1 && strides[axis] != expected)
      {
        return false;
      }
    }
    return true;
  }

  /** Values whose indices are the sums of places times strides, in the shape's order. An expanded axis has the stride
   * 0: all of its places are one. Values that lie as they are needed stay where they are. */
  void
  Gather(std::string_view                  numbers,
         std::size_t                       bytes,
         std::int64_t                      offset,
         const std::vector<std::int64_t> & strides,
         SafeTensors::Tensor &             tensor)
  {
    const auto   all = static_cast<std::int64_t>(numbers.size() / bytes);
    const auto   most = static_cast<std::int64_t>(std::max(m_Left, numbers.size()) / bytes);
    std::int64_t count = 1, last = offset;
    bool         fits = strides.size() == tensor.shape.size() && offset >= 0 && offset <= all;
    for (std::size_t i = 0; fits && i < strides.size(); ++i)
    {
      const std::int64_t length = tensor.shape[i];
      fits = (length == 0 || count <= most / length) && (length < 2 || strides[i] <= all / (length - 1));
      count = fits ? count * length : 0;
      last += fits && length > 1 ? (length - 1) * strides[i] : 0;
    }
    if (!fits || (count > 0 && last >= all))
    {
      throw InvalidArgument(
        Diagnostic("E-FILE-DAMAGED", "it is damaged or truncated: an array is larger than its numbers"));
    }
    const std::size_t size = static_cast<std::size_t>(count) * bytes;
    if (IsInOrder(tensor.shape, strides))
    {
      tensor.bytes = numbers.substr(static_cast<std::size_t>(offset) * bytes, size);
      return;
    }
    if (size > m_Left)
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", "its arrays have more numbers than the file"));
    }
    m_Left -= size;
    const auto gathered = std::make_shared<std::string>(size, '\0');
    m_Contents.push_back(gathered);
    tensor.bytes = *gathered;
    std::vector<std::int64_t> place(strides.size(), 0);
    std::int64_t              index = offset;
    for (std::int64_t i = 0; i < count; ++i)
    {
      std::memcpy(gathered->data() + static_cast<std::size_t>(i) * bytes,
                  numbers.data() + static_cast<std::size_t>(index) * bytes,
                  bytes);
      for (std::size_t axis = place.size(); axis-- > 0;)
      {
        if (++place[axis] < tensor.shape[axis])
        {
          index += strides[axis];
          break;
        }
        index -= (place[axis] - 1) * strides[axis];
        place[axis] = 0;
      }
    }
  }

  const Storages & m_Storages;
  std::size_t      m_Left;

  std::vector<std::shared_ptr<const std::string>> & m_Contents;
};

bool
LooksLikeArray(const PickleValue & value)
{
  return IsTensor(value) || IsParameter(value) || IsWithAttributes(value) || IsNumPyArray(value) ||
         IsNumPyBuffer(value);
}

/** Visits each dictionary and list once: they may hold each other. */
class ArrayWalk
{
public:
  /** \param mostNames bytes of the names of all arrays together */
  ArrayWalk(ArrayReader & reader, std::size_t mostNames, TorchFile & file)
    : m_Reader(reader)
    , m_NamesLeft(mostNames)
    , m_File(file)
  {}

  /** \param prefix of the names of what the value holds */
  void
  Visit(const PickleValue & value, const std::string & prefix, int depth)
  {
    if (depth > MostDepth || (value.kind != Kind::Dictionary && value.kind != Kind::List) ||
        !m_Seen.insert(&value).second)
    {
      return;
    }
    const std::size_t step = value.kind == Kind::List ? 1 : 2;
    if (value.kind == Kind::List)
    {
      m_Lists.insert(prefix);
    }
    for (std::size_t i = 0; i + step <= value.items.size(); i += step)
    {
      const PickleValue & key = *value.items[i];
      const std::string   name = step == 1                   ? std::to_string(i)
                                 : key.kind == Kind::Integer ? std::to_string(key.integer)
                                 : key.kind == Kind::Text    ? key.text.substr(0, LongestKey + 1)
                                                             : std::string();
      if (!name.empty() && name.size() <= LongestKey)
      {
        VisitItem(*value.items[i + step - 1], prefix, name, depth);
      }
    }
  }

  /** Gives lists the names of a dictionary's trained arrays that have the same shapes in the same order. */
  void
  NameLists()
  {
    for (const std::string & list : m_Lists)
    {
      const std::vector<std::string> & items = m_Order[list];
      for (const auto & [prefix, names] : m_Order)
      {
        std::vector<std::string> trained;
        std::copy_if(names.begin(), names.end(), std::back_inserter(trained), [&](const std::string & name) {
          return this->IsTrained(prefix + name);
        });
        const auto haveSameShape = [&](const std::string & item, const std::string & name) {
          return m_File.arrays.tensors.at(list + item).shape == m_File.arrays.tensors.at(prefix + name).shape;
        };
        if (m_Lists.count(prefix) > 0 || items.size() < 2 ||
            !std::equal(items.begin(), items.end(), trained.begin(), trained.end(), haveSameShape))
        {
          continue;
        }
        for (std::size_t i = 0; i < items.size(); ++i)
        {
          m_File.arrays.tensors[list + trained[i]] = m_File.arrays.tensors.at(list + items[i]);
        }
        break;
      }
    }
  }

private:
  void
  VisitItem(const PickleValue & value, const std::string & prefix, const std::string & name, int depth)
  {
    if (value.kind == Kind::Dictionary || value.kind == Kind::List)
    {
      Visit(value, prefix + name + '.', depth + 1);
      return;
    }
    SafeTensors::Tensor tensor;
    if (!LooksLikeArray(value) || !m_Reader.Read(value, tensor))
    {
      return;
    }
    const std::size_t length = prefix.size() + name.size();
    if (length > m_NamesLeft)
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", "the names of its arrays are longer than the file"));
    }
    m_NamesLeft -= length;
    m_File.dictionaries.insert(prefix);
    m_Order[prefix].push_back(name);
    m_File.arrays.tensors[prefix + name] = std::move(tensor);
  }

  /** Weights that a module trains: no statistics and no counters. */
  bool
  IsTrained(const std::string & name) const
  {
    static const std::set<std::string> buffers{ "running_mean", "running_var", "num_batches_tracked" };
    const std::string &                type = m_File.arrays.tensors.at(name).type;
    return buffers.count(name.substr(name.rfind('.') + 1)) == 0 && (type[0] == 'F' || type == "BF16");
  }

  ArrayReader &                 m_Reader;
  std::size_t                   m_NamesLeft;
  TorchFile &                   m_File;
  std::set<const PickleValue *> m_Seen;
  std::set<std::string>         m_Lists; ///< as they stand before names

  std::map<std::string, std::vector<std::string>> m_Order; ///< names in dictionaries and lists, as the file has them
};

/** Whether a pickle holds an object of PyTorch's modules, with all that it is set to. */
bool
HoldsModule(const Pickle & pickle)
{
  const auto & values = pickle.GetAllValues();
  return std::any_of(
    values.begin(), values.end(), [](const PickleValue & value) { return value.IsText("_parameters"); });
}

TorchFile
ReadArrays(const Pickle & pickle, const Storages & storages, std::size_t fileSize, std::size_t mostExpanded)
{
  TorchFile file;
  // Arrays that are shared stand in the file once, and here under each of their names.
  ArrayReader reader(storages, 4 * fileSize + mostExpanded, file.arrays.contents);
  ArrayWalk   walk(reader, MostDepth * fileSize, file);
  walk.Visit(pickle.GetValue(), "", 0);
  walk.NameLists();
  if (file.arrays.tensors.empty())
  {
    throw InvalidArgument(
      HoldsModule(pickle)
        ? Diagnostic("E-FILE-KIND",
                     "it holds a whole module (torch.save(module)), which is a program, and no state_dict",
                     "save its weights (torch.save(module.state_dict(), \"weights.pth\"))")
        : Diagnostic("E-WEIGHTS-FORMAT", "it holds no arrays by their names", "save a module's state_dict()"));
  }
  return file;
}

/** What torch.jit.save and torch.export.save write beside arrays, whose values stand in programs. */
void
RefusePrograms(const std::map<std::string, std::string_view> & files)
{
  for (const auto & file : files)
  {
    const std::string name = file.first.substr(file.first.find('/') + 1);
    if (name.rfind("code/", 0) == 0 || name == "constants.pkl")
    {
      throw InvalidArgument(
        Diagnostic("E-FILE-KIND",
                   "it is a TorchScript archive (torch.jit.save), and no state_dict",
                   "save its weights (torch.save(torch.jit.load(FILE).state_dict(), \"weights.pth\"))"));
    }
    if (name == "archive_format" || name.rfind("models/", 0) == 0 || name.rfind("serialized_", 0) == 0)
    {
      throw InvalidArgument(
        Diagnostic("E-FILE-KIND",
                   "it is an exported program (torch.export.save), and no state_dict",
                   "save its weights (torch.save(torch.export.load(FILE).state_dict, \"weights.pth\"))"));
    }
  }
}

TorchFile
ReadArchive(std::string_view content, std::size_t mostExpanded)
{
  const auto files = ReadZip(content);
  const auto endsIn = [](const std::string & name, const std::string & end) {
    return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  RefusePrograms(files);
  if (std::any_of(files.begin(), files.end(), [](const auto & file) { return !file.second.data(); }))
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "its archive is compressed, which PyTorch's are not"));
  }
  const auto pickled =
    std::find_if(files.begin(), files.end(), [&](const auto & file) { return endsIn(file.first, "/data.pkl"); });
  if (pickled == files.end())
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "its archive is none of torch.save: data.pkl is missing"));
  }
  const std::string folder = pickled->first.substr(0, pickled->first.size() - std::string("data.pkl").size());
  const auto        order = files.find(folder + "byteorder");
  if (order != files.end() && order->second != "little")
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "its numbers are big-endian, which are not read"));
  }
  Storages storages;
  for (const auto & [name, bytes] : files)
  {
    const std::string data = folder + "data/";
    if (name.rfind(data, 0) == 0)
    {
      storages[name.substr(data.size())] = bytes;
    }
  }
  std::string_view pickle = pickled->second;
  const Pickle     root = Pickle::Take(pickle);
  return ReadArrays(root, storages, content.size(), mostExpanded);
}

/** One number that says what follows. */
std::int64_t
TakeInteger(std::string_view & content)
{
  const Pickle pickle = Pickle::Take(content);
  return pickle.GetValue().kind == Kind::Integer ? pickle.GetValue().integer : -1;
}

bool
IsBigEndian(const PickleValue & system)
{
  for (std::size_t i = 0; i + 1 < system.items.size(); i += 2)
  {
    if (system.items[i]->IsText("little_endian"))
    {
      return system.items[i + 1]->integer == 0;
    }
  }
  return false;
}

/** Behind the pickles: for each of the listed keys the number of values, and these. */
Storages
TakeStorages(std::string_view & content, const PickleValue & keys, const Pickle & pickle)
{
  std::map<std::string, const StorageType *> types;
  for (const PickleValue & value : pickle.GetAllValues())
  {
    if (const Storage storage = GetStorage(value); storage.type)
    {
      types[storage.key] = storage.type;
    }
  }
  Storages storages;
  for (const PickleValue * key : keys.items)
  {
    const auto found = types.find(key->text);
    if (found == types.end())
    {
      throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "it has numbers of a type that is not known here"));
    }
    std::int64_t count = -1;
    if (content.size() >= sizeof count)
    {
      std::memcpy(&count, content.data(), sizeof count);
      content.remove_prefix(sizeof count);
    }
    if (count < 0 || static_cast<std::uint64_t>(count) > content.size() / found->second->bytes)
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED",
                                       "it is damaged or truncated: the numbers \"" +
                                         GetPrintable(key->text).substr(0, 100) + "\" are not all there"));
    }
    const std::size_t size = static_cast<std::size_t>(count) * found->second->bytes;
    storages[key->text] = content.substr(0, size);
    content.remove_prefix(size);
  }
  return storages;
}

/** Pickles of a number that marks the file, the format's version, and the system that wrote it; then the object, the
 * keys of its storages, and their numbers. */
TorchFile
ReadLegacy(std::string_view content, std::size_t mostExpanded)
{
  constexpr std::int64_t version = 1001;
  const std::size_t      size = content.size();
  const Pickle           magic = Pickle::Take(content);
  if (!magic.GetValue().IsText(LegacyMagic) || TakeInteger(content) != version)
  {
    throw InvalidArgument(
      Diagnostic("E-WEIGHTS-FORMAT", "it is none of torch.save's files, or one of a version that is not known here"));
  }
  const Pickle system = Pickle::Take(content);
  if (IsBigEndian(system.GetValue()))
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT", "its numbers are big-endian, which are not read"));
  }
  const Pickle   root = Pickle::Take(content);
  const Pickle   keys = Pickle::Take(content);
  const Storages storages = TakeStorages(content, keys.GetValue(), root);
  return ReadArrays(root, storages, size, mostExpanded);
}

bool
IsArchive(std::string_view content)
{
  return content.substr(0, 4) == "PK\3\4";
}

} // namespace

TorchFile
ReadTorchFile(std::string content, std::size_t mostExpanded)
{
  const auto kept = std::make_shared<const std::string>(std::move(content));
  TorchFile  file = IsArchive(*kept) ? ReadArchive(*kept, mostExpanded) : ReadLegacy(*kept, mostExpanded);
  file.arrays.contents.push_back(kept);
  return file;
}

} // namespace gigapixel
