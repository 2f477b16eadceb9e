/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFileKind.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace gigapixel
{
namespace
{

constexpr std::size_t HeadBytes = 64;

std::string
ReadHead(const std::string & path)
{
  std::string     head(HeadBytes, '\0');
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) // opening a pipe would wait for ever
  {
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

/** Behind blanks, however many, and the mark of UTF-8, which JSON may begin with; 0: nothing is there. */
char
FindFirstCharacter(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  std::string   mark(3, '\0');
  if (!file.read(mark.data(), static_cast<std::streamsize>(mark.size())) || mark != "\xef\xbb\xbf")
  {
    file.clear();
    file.seekg(0);
  }
  char first = '\0';
  file >> std::ws >> first;
  return first;
}

bool
HoldsText(const std::string & head)
{
  return std::none_of(head.begin(), head.end(), [](unsigned char c) {
    return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
  });
}

/** A zip archive, or before PyTorch 1.6 pickles one behind the other. A pickle of protocol 2 and later begins with the
 * number of its protocol, and no safetensors file is so large. */
bool
IsTorch(const std::string & head)
{
  return head.rfind("PK\3\4", 0) == 0 ||
         (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 && head[2] != '\0');
}

/** A length of 8 bytes, the last of which are 0, and JSON behind it. */
bool
IsSafeTensors(const std::string & head)
{
  return head.size() > 8 && head[7] == '\0' && head[6] == '\0' && head[8] == '{';
}

/** Its first field is the version of the format, a small number. */
bool
IsOnnx(const std::string & head)
{
  return head.size() > 2 && head[0] == '\x08' && head[1] > 0 && head[1] < 64;
}

} // namespace

FileKind
FindFileKind(const std::string & path)
{
  const std::string head = ReadHead(path);
  if (IsSafeTensors(head) || IsTorch(head) || IsOnnx(head))
  {
    return IsSafeTensors(head) ? FileKind::SafeTensors : IsTorch(head) ? FileKind::PyTorch : FileKind::ONNX;
  }
  const char first = head.empty() || !HoldsText(head) ? '\0' : FindFirstCharacter(path);
  return first == '\0' ? FileKind::Unknown : first == '{' || first == '[' ? FileKind::JSON : FileKind::Text;
}

Diagnostic
DescribeFileKind(FileKind kind)
{
  const char * const code = "E-FILE-KIND";
  switch (kind)
  {
    case FileKind::SafeTensors:
      return { code,
               "it is a model, which needs no import, or weights alone",
               "make weights alone a model with their network (gigapixel import NETWORK --weights FILE)" };
    case FileKind::PyTorch:
      return { code,
               "it holds weights of PyTorch without their network",
               "make a model of both (gigapixel import NETWORK --weights FILE), or train the network from them "
               "(gigapixel train --network NETWORK --weights FILE)" };
    case FileKind::ONNX:
      return { code, "it is an ONNX file", "make a model of it (gigapixel import FILE), and give that" };
    case FileKind::JSON:
      return {
        code,
        "it describes a network without weights",
        "train it (gigapixel train --network FILE), or make a model of it and its weights (gigapixel import FILE "
        "--weights WEIGHTS)"
      };
    case FileKind::Text:
      return { code, "it is a text, and no network, no model and no weights" };
    case FileKind::Unknown:
      break;
  }
  return {};
}

} // namespace gigapixel
