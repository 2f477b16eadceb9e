/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOnnxFile_h
#define gigapixelOnnxFile_h

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gigapixel
{

/** \class OnnxConstant
 * \brief An array of numbers that is the same for all images, or, at one size of the image, all images of it. */
struct OnnxConstant
{
  std::vector<std::int64_t> shape;
  std::int64_t              type{ 0 }; ///< in the file, of whole numbers; 0: not known
  bool                      isFloat{ false };
  std::vector<float>        floats;   ///< of floats of any width
  std::vector<std::int64_t> integers; ///< of whole numbers and truth values

  std::size_t GetCount() const;

  double Get(std::size_t index) const;

  static OnnxConstant OfIntegers(const std::vector<std::int64_t> & values);

  /** The least and greatest number of a type of quantized numbers; 0: of 8 bits without a sign. */
  static std::pair<double, double> GetLimits(std::int64_t type);
};

using OnnxConstantPointer = std::shared_ptr<const OnnxConstant>;

/** An array as it stands in the file: TensorProto. */
struct OnnxTensor
{
  std::string               name;
  std::vector<std::int64_t> shape;
  std::int64_t              type{ 0 };
  bool                      external{ false }; ///< in another file, and not read
  std::string_view          raw;               ///< little-endian, or in one of:
  std::vector<float>        floats;
  std::vector<double>       doubles;
  std::vector<std::int64_t> integers;

  /** Where in which other file: "location", "offset", "length". */
  std::map<std::string, std::string> place;

  /** \throw std::invalid_argument names the array: its numbers are in another file, of a type that is none of weights,
   * or not as many as its shape says */
  OnnxConstant Read() const;
};

struct OnnxAttribute
{
  float                     number{ 0 };
  std::int64_t              integer{ 0 };
  std::string               text;
  std::vector<float>        numbers;
  std::vector<std::int64_t> integers;
  OnnxConstantPointer       tensor;    ///< null: it is none
  std::string_view          graph;     ///< bytes of a body; empty: it is none
  std::string               reference; ///< in a function: which attribute of the call it is; empty: it is here
};

struct OnnxBranches;

struct OnnxNode
{
  std::string                          name;
  std::string                          type;   ///< "Conv"; of other domains than ONNX's own "domain.Type"
  std::vector<std::string>             inputs; ///< "": not given
  std::vector<std::string>             outputs;
  std::map<std::string, OnnxAttribute> attributes;
  std::shared_ptr<const OnnxBranches>  branches{}; ///< of If, which has what they read for further inputs

  bool                      Has(const char * attribute) const;
  std::int64_t              GetInteger(const char * attribute, std::int64_t otherwise) const;
  double                    GetNumber(const char * attribute, double otherwise) const; ///< as it is written in decimals
  std::string               GetText(const char * attribute, const std::string & otherwise) const;
  std::vector<std::int64_t> GetIntegers(const char * attribute) const; ///< empty: not given
};

struct OnnxValue
{
  std::string               name;
  std::vector<std::int64_t> shape; ///< -1: any; empty: not said
};

/** One of the two bodies of If. */
struct OnnxBranch
{
  std::vector<OnnxNode>             nodes;
  std::map<std::string, OnnxTensor> arrays;
  std::vector<std::string>          outputs;
};

struct OnnxBranches
{
  OnnxBranch               onTrue;
  OnnxBranch               onFalse;
  std::vector<std::string> read; ///< values around them: the node's inputs from the second one on
};

/** \class OnnxFile
 * \brief An ONNX file, https://onnx.ai/onnx/repo-docs/IR.html, as far as networks of maps need it. Calls of the file's
 * functions are replaced by their nodes. Bodies of loops are not read, nor are texts for people. */
struct OnnxFile
{
  std::string                       producer;     ///< with its version
  std::int64_t                      version{ 0 }; ///< of the format
  std::int64_t                      opset{ 0 };
  std::vector<OnnxNode>             nodes;
  std::vector<OnnxValue>            inputs; ///< arrays with given values are none of them
  std::vector<OnnxValue>            outputs;
  std::map<std::string, OnnxTensor> arrays;
  std::size_t                       size{ 0 }; ///< bytes, with those of the files that ReadBeside() has read

  /** Of ReadBeside(), by their names. */
  std::map<std::string, std::shared_ptr<const std::string>> beside;

  /** \param content which has to live as long as the file \throw std::invalid_argument says what is wrong */
  static OnnxFile Parse(std::string_view content);

  /** Reads the arrays that lie in files beside this one, "external data" as exporters write it. \param folder of the
   * file \throw std::invalid_argument names the array and what is wrong with its place */
  void ReadBeside(const std::string & folder);
};

} // namespace gigapixel

#endif
