/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchFile.h"
#include "gigapixelPickle.h"
#include "gigapixelPrintable.h"
#include "gigapixelZipFile.h"

#include <algorithm>
#include <cstring>
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
      throw std::invalid_argument("an array of it has an impossible shape");
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
      throw std::invalid_argument("it is damaged or truncated: the numbers \"" +
                                  GetPrintable(storage.key).substr(0, 100) + "\" are missing");
    }
    tensor.type = storage.type->type;
    tensor.shape = GetIntegers(*given[2]);
    Gather(found->second, storage.type->bytes, given[1]->integer, GetIntegers(*given[3]), tensor);
    return true;
  }

private:
  static bool
  IsCall(const PickleValue & value, std::size_t fewest)
  {
    return value.kind == Kind::Call && value.items[1]->kind == Kind::List && value.items[1]->items.size() >= fewest;
  }

  /** Values whose indices are the products of places and strides, in the shape's order. */
  void
  Gather(std::string_view                  numbers,
         std::size_t                       bytes,
         std::int64_t                      offset,
         const std::vector<std::int64_t> & strides,
         SafeTensors::Tensor &             tensor)
  {
    const auto   all = static_cast<std::int64_t>(numbers.size() / bytes);
    std::int64_t count = 1, last = offset;
    bool         fits = strides.size() == tensor.shape.size() && offset >= 0 && offset <= all;
    for (std::size_t i = 0; fits && i < strides.size(); ++i)
    {
      const std::int64_t length = tensor.shape[i];
      fits =
        length <= all && (length == 0 || count <= all / length) && (length < 2 || strides[i] <= all / (length - 1));
      count = fits ? count * length : 0;
      last += fits && length > 1 ? (length - 1) * strides[i] : 0;
    }
    if (!fits || (count > 0 && last >= all))
    {
      throw std::invalid_argument("it is damaged or truncated: an array is larger than its numbers");
    }
    const std::size_t size = static_cast<std::size_t>(count) * bytes;
    if (size > m_Left)
    {
      throw std::invalid_argument("its arrays have more numbers than the file");
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
  return IsTensor(value) || IsParameter(value) || IsWithAttributes(value);
}

/** The dictionary with most arrays, each of which is looked at once: they may hold each other. */
void
FindLargest(const PickleValue &             value,
            int                             depth,
            std::set<const PickleValue *> & seen,
            const PickleValue *&            largest,
            std::ptrdiff_t &                most)
{
  if (depth > MostDepth || (value.kind != Kind::Dictionary && value.kind != Kind::List) || !seen.insert(&value).second)
  {
    return;
  }
  if (value.kind == Kind::Dictionary)
  {
    const std::ptrdiff_t arrays =
      std::count_if(value.items.begin(), value.items.end(), [](const auto * item) { return LooksLikeArray(*item); });
    largest = arrays > most ? &value : largest;
    most = std::max(most, arrays);
  }
  for (const PickleValue * item : value.items)
  {
    FindLargest(*item, depth + 1, seen, largest, most);
  }
}

/** What DataParallel puts before all names. */
void
RemovePrefix(std::map<std::string, SafeTensors::Tensor> & tensors)
{
  const std::string prefix = "module.";
  if (!std::all_of(tensors.begin(), tensors.end(), [&](const auto & item) { return item.first.rfind(prefix, 0) == 0; }))
  {
    return;
  }
  std::map<std::string, SafeTensors::Tensor> renamed;
  for (auto & [name, tensor] : tensors)
  {
    renamed[name.substr(prefix.size())] = std::move(tensor);
  }
  tensors = std::move(renamed);
}

SafeTensors
ReadArrays(const PickleValue & root, const Storages & storages, std::size_t fileSize)
{
  std::set<const PickleValue *> seen;
  const PickleValue *           dictionary = nullptr;
  std::ptrdiff_t                most = 0;
  FindLargest(root, 0, seen, dictionary, most);
  SafeTensors file;
  // Arrays that are shared stand in the file once, and here under each of their names.
  ArrayReader reader(storages, 4 * fileSize, file.contents);
  for (std::size_t i = 0; dictionary && i + 1 < dictionary->items.size(); i += 2)
  {
    SafeTensors::Tensor tensor;
    if (dictionary->items[i]->kind == Kind::Text && reader.Read(*dictionary->items[i + 1], tensor))
    {
      file.tensors[dictionary->items[i]->text] = std::move(tensor);
    }
  }
  if (file.tensors.empty())
  {
    throw std::invalid_argument("it holds no arrays by their names; save a module's state_dict()");
  }
  RemovePrefix(file.tensors);
  return file;
}

SafeTensors
ReadArchive(std::string_view content)
{
  const auto files = ReadZip(content);
  const auto endsIn = [](const std::string & name, const std::string & end) {
    return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  const auto pickled =
    std::find_if(files.begin(), files.end(), [&](const auto & file) { return endsIn(file.first, "/data.pkl"); });
  if (pickled == files.end())
  {
    throw std::invalid_argument("its archive is none of torch.save: data.pkl is missing");
  }
  const std::string folder = pickled->first.substr(0, pickled->first.size() - std::string("data.pkl").size());
  const auto        order = files.find(folder + "byteorder");
  if (order != files.end() && order->second != "little")
  {
    throw std::invalid_argument("its numbers are big-endian, which are not read");
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
  return ReadArrays(root.GetValue(), storages, content.size());
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
      throw std::invalid_argument("it has numbers of a type that is not known here");
    }
    std::int64_t count = -1;
    if (content.size() >= sizeof count)
    {
      std::memcpy(&count, content.data(), sizeof count);
      content.remove_prefix(sizeof count);
    }
    if (count < 0 || static_cast<std::uint64_t>(count) > content.size() / found->second->bytes)
    {
      throw std::invalid_argument("it is damaged or truncated: the numbers \"" +
                                  GetPrintable(key->text).substr(0, 100) + "\" are not all there");
    }
    const std::size_t size = static_cast<std::size_t>(count) * found->second->bytes;
    storages[key->text] = content.substr(0, size);
    content.remove_prefix(size);
  }
  return storages;
}

/** Pickles of a number that marks the file, the format's version, and the system that wrote it; then the object, the
 * keys of its storages, and their numbers. */
SafeTensors
ReadLegacy(std::string_view content)
{
  constexpr std::int64_t version = 1001;
  const std::size_t      size = content.size();
  const Pickle           magic = Pickle::Take(content);
  if (!magic.GetValue().IsText(LegacyMagic) || TakeInteger(content) != version)
  {
    throw std::invalid_argument("it is none of torch.save's files, or one of a version that is not known here");
  }
  const Pickle system = Pickle::Take(content);
  if (IsBigEndian(system.GetValue()))
  {
    throw std::invalid_argument("its numbers are big-endian, which are not read");
  }
  const Pickle   root = Pickle::Take(content);
  const Pickle   keys = Pickle::Take(content);
  const Storages storages = TakeStorages(content, keys.GetValue(), root);
  return ReadArrays(root.GetValue(), storages, size);
}

bool
IsArchive(std::string_view content)
{
  return content.substr(0, 4) == "PK\3\4";
}

} // namespace

SafeTensors
ReadTorchFile(std::string_view content)
{
  return IsArchive(content) ? ReadArchive(content) : ReadLegacy(content);
}

} // namespace gigapixel
