/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSafeTensors_h
#define gigapixelSafeTensors_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gigapixel
{

/** \class SafeTensors
 * \brief A file of named arrays and text, in the format of https://github.com/huggingface/safetensors: eight bytes
 * with the header's length (little-endian), a JSON header, the arrays' bytes.
 *
 * Arrays are not copied: a network's weights and moments may be most of what a process has in memory. */
struct GigapixelNetwork_EXPORT SafeTensors
{
  using Metadata = std::map<std::string, std::string>;

  struct Tensor
  {
    std::string               type; ///< "F32", "F64", or of other programs' files another one of the format, "BF16"
    std::vector<std::int64_t> shape;
    std::string_view          bytes; ///< in one of `contents`, or of an array that was added
  };

  std::map<std::string, Tensor>                   tensors;
  Metadata                                        metadata;
  std::vector<std::shared_ptr<const std::string>> contents; ///< what was read

  /** \throw std::runtime_error names the file and what is wrong with it */
  static SafeTensors Load(const std::string & path);

  /** The texts of a file alone, whose arrays are not read. \throw as Load() */
  static Metadata LoadMetadata(const std::string & path);

  /** The content of a file; the path is for messages. */
  static SafeTensors Parse(std::string content, const std::string & path);

  /** Appears by atomic rename; the same content gives the same bytes. \param mayReplace see AtomicFile */
  void Save(const std::string & path, bool mayReplace = true) const;

  /** \param values have to live as long as this */
  void Add(const std::string & name, const std::vector<std::int64_t> & shape, const std::vector<float> & values);
  void Add(const std::string & name, const std::vector<std::int64_t> & shape, const std::vector<double> & values);
  void Add(const std::string & name, const std::vector<std::int64_t> & shape, std::vector<float> && values) = delete;
  void Add(const std::string & name, const std::vector<std::int64_t> & shape, std::vector<double> && values) = delete;
};

/** The content of a file. \throw std::runtime_error names the file */
GigapixelNetwork_EXPORT std::string ReadFile(const std::string & path);

} // namespace gigapixel

#endif
