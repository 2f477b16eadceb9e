/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSafeTensors_h
#define gigapixelSafeTensors_h

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gigapixel
{

/** \class SafeTensors
 * \brief A file of named arrays and text, in the format of https://github.com/huggingface/safetensors: eight bytes
 * with the header's length (little-endian), a JSON header, the arrays' bytes. */
struct SafeTensors
{
  struct Tensor
  {
    std::string               type; ///< "F32", "F64", or of other programs' files another one of the format, "BF16"
    std::vector<std::int64_t> shape;
    std::vector<char>         bytes;
  };

  std::map<std::string, Tensor>      tensors;
  std::map<std::string, std::string> metadata;

  /** \throw std::runtime_error names the file and what is wrong with it */
  static SafeTensors Load(const std::string & path);

  /** The content of a file; the path is for messages. */
  static SafeTensors Parse(const std::string & content, const std::string & path);

  /** Appears by atomic rename; the same content gives the same bytes. */
  void Save(const std::string & path) const;

  void Add(const std::string & name, const std::vector<std::int64_t> & shape, const std::vector<float> & values);

  void Add(const std::string & name, const std::vector<std::int64_t> & shape, const std::vector<double> & values);
};

/** The content of a file. \throw std::runtime_error names the file */
std::string ReadFile(const std::string & path);

} // namespace gigapixel

#endif
