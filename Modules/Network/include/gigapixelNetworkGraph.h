/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkGraph_h
#define gigapixelNetworkGraph_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace gigapixel
{

/** Value of an attribute: a flag, a whole number for each axis of the map (y and x, or z, y and x), a number for each
 * axis, a whole number, a number, or a word. */
using AttributeValue =
  std::variant<bool, std::vector<std::int64_t>, std::vector<double>, std::int64_t, double, std::string>;

/** Whether they say the same; a number that is not given is the same as another one that is not. */
GigapixelNetwork_EXPORT bool IsSameValue(const AttributeValue & a, const AttributeValue & b);

/** \class Operation
 * \brief One operation of a network under PyTorch's name and with PyTorch's attributes, as its functional form has
 * them ("conv2d": stride, padding, dilation, groups ...).
 *
 * Which operations there are, their attributes and what they mean: src/graph/gigapixelOperationSchema.cxx. */
struct GigapixelNetwork_EXPORT Operation
{
  std::string              name;   ///< unique in its network
  std::string              type;   ///< name of the operation, such as "conv2d"
  std::vector<std::string> inputs; ///< names of earlier operations
  /** Attributes that are not given get their default in NetworkGraph::Validate(). */
  std::map<std::string, AttributeValue> attributes;
  /** Role ("weight", "bias", "running_mean" ...) to the name of the array in the model file. Roles that are not given
   * get "<name of the operation>.<role>" in NetworkGraph::Validate(). Two operations may share an array. */
  std::map<std::string, std::string> parameters;

  int axes{ 2 }; ///< of its map, as those of the whole graph: NetworkGraph::Validate() sets it

  // For a validated operation.
  bool                GetFlag(const char * attribute) const;    ///< true or false
  std::int64_t        GetInteger(const char * attribute) const; ///< a whole number
  double              GetNumber(const char * attribute) const;  ///< a number
  const std::string & GetWord(const char * attribute) const;    ///< one of the attribute's words
  /** Whether it holds a word where it might hold numbers, or the numbers that it has by default. */
  bool IsWord(const char * attribute) const;
  /** Along an axis, the last of which is x. 0 where none is given. */
  std::int64_t        GetAlong(const char * attribute, int axis) const;
  double              GetNumberAlong(const char * attribute, int axis) const;
  const std::string & GetParameter(const char * role) const; ///< name of the array of a role, such as "weight"
};

/** One array of numbers that a network has: a weight that is trained, or a statistic that is kept as it is. */
struct GigapixelNetwork_EXPORT ParameterDescription
{
  std::string               name;            ///< of the array in a model file
  std::vector<std::int64_t> shape;           ///< PyTorch's layout
  bool                      trained{ true }; ///< whether training changes it
  double                    initial{ 0 };    ///< what a training begins with, if it is not drawn

  std::int64_t GetNumberOfValues() const; ///< product of the shape
};

/** \class NetworkGraph
 * \brief A network as data: operations in topological order, from an operation of type "input" to the output.
 *
 * The spatial axes are those of PyTorch's tensors behind batch and channels: two, or three for volumes, as the
 * attribute "axes" of the input says. Maps of every size are possible: what an operation yields for an image is
 * computed for that image, as PyTorch does (GraphGeometry). */
class GigapixelNetwork_EXPORT NetworkGraph
{
public:
  static constexpr int MostChannels = 65536; ///< of a map

  std::vector<Operation> operations; ///< in topological order, the image first
  std::string            output;     ///< name of the operation whose map are the logits
  /** Arrays that every training leaves as they are, though operations have them for weights: numbers of a file or a
   * module that are none of its weights, such as the mean of pixels. */
  std::set<std::string> constants;
  /** Arrays that this training leaves as they are: no part of the network's description. */
  std::set<std::string> frozen;

  /** Whether there are no operations: the network was not read yet. */
  bool
  IsEmpty() const
  {
    return operations.empty();
  }

  /** Fills in defaults, writes out the statistics of norms over the whole image (operations "<name of the
   * norm>.statistics", which JSON leaves out), and finds out what LabelsImage() and SeesWholeImage() say.
   * \throw std::invalid_argument names the operation and what is wrong with it */
  void Validate();

  /** Whether an array is left as it is in training, whatever its operation has it for. */
  bool
  IsKept(const std::string & array) const
  {
    return constants.count(array) > 0 || frozen.count(array) > 0;
  }

  // For a validated graph.

  /** Place of an operation. \throw std::invalid_argument there is none of that name */
  int GetIndex(const std::string & name) const;

  /** For each operation the places of its inputs. */
  std::vector<std::vector<int>> GetInputs() const;

  /** Channels of each operation's map. */
  std::vector<int> GetChannels() const;

  int GetInputChannels() const; ///< of the image

  /** Axes of the image and of all maps: 2, or 3 for volumes. */
  int GetNumberOfAxes() const;

  int GetOutputChannels() const; ///< of the output

  /** Whether the output is one pixel for the whole image, computed from nothing but what operations have reduced it to.
   */
  bool
  LabelsImage() const
  {
    return m_LabelsImage;
  }

  /** Whether the output depends on what operations have reduced the whole image to: then each of them is a pass of its
   * own over the image. */
  bool
  SeesWholeImage() const
  {
    return m_SeesWholeImage;
  }

  /** In the order of the operations; an array that several operations share is there once. */
  std::vector<ParameterDescription> GetParameters() const;

  /** Types of operations that see the whole image: a graph that has some is read, and not computed. */
  static std::vector<std::string> GetWholeImageTypes();

  /** JSON arrays of the operations; the inverse of ToJSON(). Validates.
   * \throw std::invalid_argument says what is wrong */
  static NetworkGraph FromJSON(const std::string & operations, const std::string & output);

  /** Attributes that have their default are left out. */
  std::string ToJSON() const;

private:
  void WriteOutStatistics();

  bool m_LabelsImage{ false };
  bool m_SeesWholeImage{ false };
};

} // namespace gigapixel

#endif
