/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSafeTensors.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"
#include "graph/json/gigapixelUniqueKeys.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelFileRefusal.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

[[noreturn]] void
Refuse(const std::string & path, const std::string & reason, const char * code = "E-FILE-DAMAGED")
{
  constexpr std::size_t most = 500; // names of arrays may be as long as the file
  const bool            isDamaged = std::string(code) == "E-FILE-DAMAGED";
  throw Refusal(Diagnostic(code,
                           "it " + GetPrintable(reason.substr(0, most)) + (reason.size() > most ? " ..." : ""),
                           isDamaged ? "get the file again from where it came"
                                     : "name a .safetensors file, or a run's folder, that train or import has written")
                  .OfFile(path));
}

/** Of the format's types. \return 0: it has none of this name */
std::size_t
GetBytesPerValue(const std::string & type)
{
  static const std::map<std::string, std::size_t> bytes{ { "BOOL", 1 },    { "U8", 1 },  { "I8", 1 },  { "F8_E4M3", 1 },
                                                         { "F8_E5M2", 1 }, { "U16", 2 }, { "I16", 2 }, { "F16", 2 },
                                                         { "BF16", 2 },    { "U32", 4 }, { "I32", 4 }, { "F32", 4 },
                                                         { "U64", 8 },     { "I64", 8 }, { "F64", 8 } };
  const auto                                      found = bytes.find(type);
  return found == bytes.end() ? 0 : found->second;
}

SafeTensors::Tensor
ReadTensor(const std::string & path, const std::string & name, const nlohmann::json & entry, std::string_view data)
{
  SafeTensors::Tensor tensor;
  entry.at("dtype").get_to(tensor.type);
  entry.at("shape").get_to(tensor.shape);
  const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (GetBytesPerValue(tensor.type) == 0)
  {
    Refuse(
      path, "holds \"" + name + "\" as " + tensor.type + ", which is no type of number known here", "E-MODEL-FORMAT");
  }
  constexpr std::uint64_t most = std::uint64_t{ 1 } << 40;
  std::uint64_t           bytes = GetBytesPerValue(tensor.type);
  for (const std::int64_t length : tensor.shape)
  {
    const auto wanted = static_cast<std::uint64_t>(length); // a negative one is beyond all
    if (wanted > most || (wanted > 0 && bytes > most / wanted))
    {
      Refuse(path, "gives \"" + name + "\" an impossible shape");
    }
    bytes *= wanted;
  }
  if (offsets.size() != 2 || offsets[1] < offsets[0] || offsets[1] > data.size() || offsets[1] - offsets[0] != bytes)
  {
    Refuse(path, "is truncated or damaged: the place of \"" + name + "\" does not fit the file");
  }
  tensor.bytes = data.substr(offsets[0], bytes);
  return tensor;
}

template <typename T>
SafeTensors::Tensor
MakeTensor(const char * type, const std::vector<std::int64_t> & shape, const std::vector<T> & values)
{
  return { type, shape, { reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T) } };
}

constexpr std::uint64_t MostHeaderBytes = 100000000; ///< as in the format's own implementation
constexpr std::size_t   DeepestHeader = 16;          ///< arrays are three levels of it

/** \param head the first bytes of a file of `size` bytes \return length of its header */
std::uint64_t
CheckHead(const std::string & head, std::uint64_t size, const std::string & path)
{
  std::uint64_t length = 0;
  for (int i = 7; i >= 0 && size >= 8; --i)
  {
    length = length << 8 | static_cast<unsigned char>(head[i]);
  }
  if (size < 10 || length > MostHeaderBytes || head[8] != '{')
  {
    Refuse(path, "is no safetensors file", "E-MODEL-FORMAT");
  }
  if (length > size - 8)
  {
    Refuse(path, "is cut short");
  }
  return length;
}

/** Takes a header apart. */
template <typename TTake>
void
ParseHeader(std::string_view text, const std::string & path, const TTake & take)
{
  try
  {
    const auto header = ParseUniqueKeys<nlohmann::json>(text, DeepestHeader);
    for (const auto & item : header.items())
    {
      take(item.key(), item.value());
    }
  }
  catch (const nlohmann::json::parse_error & error) // whose text would show all that the header holds
  {
    Refuse(path,
           "is no safetensors file, or a damaged one: its header is no JSON from byte " + std::to_string(error.byte) +
             " on");
  }
  catch (const std::invalid_argument & error)
  {
    Refuse(path, "is no safetensors file, or a damaged one: of its header, " + Diagnostic::Of(error).why);
  }
  catch (const nlohmann::json::exception &)
  {
    Refuse(path,
           "is no safetensors file, or a damaged one: its header does not describe all arrays by dtype, shape and "
           "data_offsets");
  }
}

constexpr const char * MetadataKey = "__metadata__";

[[noreturn]] void
RefuseRest(const std::string & path, std::uint64_t bytes)
{
  Refuse(path,
         "is damaged, or something else stands behind it: " + std::to_string(bytes) +
           " bytes at its end belong to no array");
}

/** The arrays fill the file, one behind the other: so the format asks for, and so nothing hides there. */
void
CheckCoverage(const SafeTensors & file, std::string_view data, const std::string & path)
{
  std::map<const char *, std::size_t> places;
  for (const auto & item : file.tensors)
  {
    const std::string_view bytes = item.second.bytes;
    if (!bytes.empty() && !places.emplace(bytes.data(), bytes.size()).second)
    {
      Refuse(path, "is damaged: \"" + item.first + "\" and another array lie in the same place");
    }
  }
  const char * end = data.data();
  for (const auto & [begin, size] : places)
  {
    if (begin != end)
    {
      Refuse(path, "is damaged: its arrays do not lie one behind the other");
    }
    end += size;
  }
  const auto left = data.data() + data.size() - end;
  if (left != 0)
  {
    RefuseRest(path, static_cast<std::uint64_t>(left));
  }
}

/** Before all of a file is read: a slide that is given for a model has gigabytes. \return length of its header; 0: it
 * is no regular file, or an empty one */
std::uint64_t
ReadHead(const std::string & path)
{
  std::error_code error;
  const auto      size = std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
  if (error || size == 0)
  {
    return 0;
  }
  RequireReadable(path);
  std::string head(9, '\0');
  std::ifstream(path, std::ios::binary).read(&head[0], static_cast<std::streamsize>(head.size()));
  return CheckHead(head, size, path);
}

std::string
ReadHeader(const std::string & path, std::uint64_t length)
{
  std::string header(length, '\0');
  if (length == 0)
  {
    Refuse(path, "has an empty header");
  }
  if (!std::ifstream(path, std::ios::binary).seekg(8).read(&header[0], static_cast<std::streamsize>(length)))
  {
    Refuse(path, "cannot be read", "E-FILE-ACCESS");
  }
  return header;
}

/** Before all of it is read: what stands behind a model may be larger than memory. Of what is not, Parse() says more.
 * \param length of the header */
void
CheckSize(const std::string & path, std::uint64_t length)
{
  if (length == 0)
  {
    return; // which reading it says more of
  }
  constexpr std::uint64_t large = std::uint64_t{ 1 } << 26;
  std::uint64_t           end = 0;
  ParseHeader(ReadHeader(path, length), path, [&end](const std::string & key, const nlohmann::json & value) {
    if (key != MetadataKey)
    {
      end = std::max(end, value.at("data_offsets").at(1).get<std::uint64_t>());
    }
  });
  std::error_code     error;
  const std::uint64_t size = std::filesystem::file_size(path, error), before = 8 + length;
  if (!error && size - before > large && end < size - before - large)
  {
    RefuseRest(path, size - before - end);
  }
}

} // namespace

std::string
ReadFile(const std::string & path)
{
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
  {
    Refuse(path, "is no regular file", "E-FILE-KIND"); // opening a pipe would wait for ever
  }
  const auto    size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::string   content(error ? 0 : size, '\0');
  if (!file.read(content.data(), static_cast<std::streamsize>(content.size())))
  {
    Refuse(path, file.is_open() ? "cannot be read" : "cannot be opened", "E-FILE-ACCESS");
  }
  if (content.empty())
  {
    Refuse(path, "is empty");
  }
  return content;
}

SafeTensors
SafeTensors::Load(const std::string & path)
{
  const std::uint64_t length = ReadHead(path);
  std::string         content;
  try
  {
    CheckSize(path, length);
    content = ReadFile(path);
    return Parse(std::move(content), path);
  }
  catch (const std::runtime_error & damage)
  {
    Diagnostic problem = Diagnostic::Of(damage);
    problem.remedy = problem.code == "E-FILE-DAMAGED" ? "get it again, or make it anew" : problem.remedy;
    throw Refusal(problem);
  }
}

SafeTensors::Metadata
SafeTensors::LoadMetadata(const std::string & path)
{
  const std::uint64_t length = ReadHead(path);
  const std::string   header = ReadHeader(path, length);
  Metadata            metadata;
  ParseHeader(header, path, [&](const std::string & key, const nlohmann::json & value) {
    if (key == MetadataKey)
    {
      value.get_to(metadata);
    }
  });
  return metadata;
}

SafeTensors
SafeTensors::Parse(std::string content, const std::string & path)
{
  const std::uint64_t length = CheckHead(content, content.size(), path);
  SafeTensors         file;
  file.contents.push_back(std::make_shared<const std::string>(std::move(content)));
  const std::string_view all = *file.contents.back(), data = all.substr(8 + length);
  ParseHeader(all.substr(8, length), path, [&](const std::string & key, const nlohmann::json & value) {
    if (key == MetadataKey)
    {
      value.get_to(file.metadata);
    }
    else
    {
      file.tensors[key] = ReadTensor(path, key, value, data);
    }
  });
  CheckCoverage(file, data, path);
  return file;
}

void
SafeTensors::Save(const std::string & path, bool mayReplace) const
{
  nlohmann::ordered_json header;
  std::size_t            end = 0;
  header[MetadataKey] = metadata;
  for (const auto & [name, tensor] : tensors)
  {
    header[name] = { { "dtype", tensor.type },
                     { "shape", tensor.shape },
                     { "data_offsets", { end, end + tensor.bytes.size() } } };
    end += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // the format asks for aligned data
  std::string head;
  for (std::uint64_t i = 0, length = text.size(); i < 8; ++i)
  {
    head.push_back(static_cast<char>(length >> (8 * i)));
  }
  AtomicFile file(path, mayReplace);
  file.Append(head);
  file.Append(text);
  for (const auto & [name, tensor] : tensors)
  {
    file.Append(tensor.bytes.data(), tensor.bytes.size());
  }
  file.Commit();
}

void
SafeTensors::Add(const std::string & name, const std::vector<std::int64_t> & shape, const std::vector<float> & values)
{
  tensors[name] = MakeTensor("F32", shape, values);
}

void
SafeTensors::Add(const std::string & name, const std::vector<std::int64_t> & shape, const std::vector<double> & values)
{
  tensors[name] = MakeTensor("F64", shape, values);
}

} // namespace gigapixel
