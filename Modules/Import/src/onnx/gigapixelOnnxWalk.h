/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOnnxWalk_h
#define gigapixelOnnxWalk_h

#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxFile.h"
#include "gigapixelSizedGraphs.h"

#include <list>
#include <set>

namespace gigapixel
{

/** \class MissingOperation
 * \brief An operator that becomes no operation here, by what it does beyond its type: "with an array that is no factor
 * for each channel". Empty: by all that it does. */
struct MissingOperation : Refusal
{
  explicit MissingOperation(const std::string & how)
    : Refusal(Diagnostic("E-NETWORK-OPERATION", how))
  {}
};

/** \class MissingOperations
 * \brief All of them, by their names: one sentence. */
struct MissingOperations : InvalidArgument
{
  explicit MissingOperations(const std::string & sentence)
    : InvalidArgument(Diagnostic("E-NETWORK-OPERATION", sentence))
  {}
};

/** \class UnknownInput
 * \brief An operator reads what is not known, since an operator that is missing gives it, and needs to know it. */
struct UnknownInput : Refusal
{
  explicit UnknownInput(const std::string & name)
    : Refusal(Diagnostic("E-NETWORK-OPERATION", "the value \"" + name + "\" is not known").OfValue(name))
  {}
};

/** What flows between the nodes of an ONNX graph: a map, or numbers. */
struct OnnxWalkValue
{
  std::string map;  ///< the operation that computes it; empty: no map
  std::string axes; ///< of a map, in their order: 'b'atch, 'c'hannels, of volumes 'z', 'y', 'x', '1' for those of
                    ///< length 1, and of channels in 'g'roups, with 'p', all values of a group
  std::vector<std::int64_t> shape;
  OnnxConstantPointer       constant; ///< null: no numbers
  std::string               array;    ///< name of the numbers in the file, if they have one

  bool
  IsMap() const
  {
    return !map.empty();
  }
};

/** An image of a network's: those of several inputs lie behind each other in the channels of one. */
struct OnnxImage
{
  std::string  name;
  std::int64_t channels;
  bool         channelsLast;
  Extent       size; ///< that the file says; 0: any

  /** Whether the file is for images of one size. */
  bool IsOfFixedSize() const;
};

/** The images that a file's network takes. \throw std::invalid_argument says why they are none */
std::vector<OnnxImage> GetOnnxImages(const OnnxFile & file);

/** \class OnnxWalk
 * \brief Goes from node to node for an image of one size, as ONNX prescribes what each computes: what depends on pixels
 * becomes an operation of a graph, what depends on the image's size or on nothing becomes numbers. */
class OnnxWalk
{
public:
  using Arrays = std::map<std::string, OnnxConstantPointer>;

  /** \param arrays of the file, as far as they were read already; they are shared by several walks
   * \param output "": the first
   * \throw MissingOperations \throw std::invalid_argument why there is no network for this size */
  static SizedGraph Make(const OnnxFile &               file,
                         const std::vector<OnnxImage> & images,
                         Arrays &                       arrays,
                         const Extent &                 size,
                         const std::string &            output);

  // For operators.

  std::int64_t
  GetOpset() const
  {
    return m_File.opset;
  }

  /** The size of the image is the one that the file says, so that nothing can be told from other sizes. */
  bool
  IsOfFixedSize() const
  {
    return m_Fixed;
  }

  /** Whether the node has this input. */
  static bool
  HasInput(const OnnxNode & node, std::size_t index)
  {
    return index < node.inputs.size() && !node.inputs[index].empty();
  }

  /** Whatever it is. What an operator has to say of its attributes it says before: of what is not known it is asked no
   * more. \throw MissingOperation it is not given \throw UnknownInput */
  const OnnxWalkValue & GetInput(const OnnxNode & node, std::size_t index);

  /** Whether an input depends on the image's pixels, known or not; else it is numbers. */
  bool IsOfPixels(const OnnxNode & node, std::size_t index);

  /** \return null: it is not known */
  const OnnxWalkValue * Find(const std::string & value);

  /** The node that gives a value; null: it is none's. */
  const OnnxNode * FindProducer(const std::string & value) const;

  /** Of the image and of all maps: 2, or 3 of volumes. */
  int
  GetNumberOfAxes() const
  {
    return m_Image.GetNumberOfAxes();
  }

  /** "yx", or "zyx" of volumes. */
  std::string
  GetPlaces() const
  {
    return std::string("zyx").substr(3 - GetNumberOfAxes());
  }

  /** Of maps as PyTorch has them: batch, channels, of volumes z, y and x. */
  std::string
  GetMapAxes() const
  {
    return "bc" + this->GetPlaces();
  }

  /** The same where channels come last. */
  std::string
  GetMapAxesLast() const
  {
    return "b" + this->GetPlaces() + "c";
  }

  /** Place of an axis in (y, x), or in (z, y, x); -1: it is none of them. */
  int
  FindPlace(char axis) const
  {
    const std::size_t place = GetMapAxes().find(axis, 2);
    return place == std::string::npos ? -1 : static_cast<int>(place) - 2;
  }

  /** The type of operations that have another name in volumes: "conv" is conv2d or conv3d. */
  std::string
  GetType(const char * kind) const
  {
    return kind + std::to_string(GetNumberOfAxes()) + "d";
  }

  /** The same number along each axis. */
  std::vector<std::int64_t>
  Repeat(std::int64_t number) const
  {
    return std::vector<std::int64_t>(GetNumberOfAxes(), number);
  }

  /** An input that is a map of axes as GetMapAxes(). \throw MissingOperation \throw UnknownInput */
  const OnnxWalkValue & GetMap(const OnnxNode & node, std::size_t index = 0);

  /** An input that is numbers. \throw MissingOperation \throw UnknownInput */
  OnnxConstantPointer GetConstant(const OnnxNode & node, std::size_t index);

  /** Whole numbers of an input or, in earlier opsets, of an attribute; empty: not given. */
  std::vector<std::int64_t> GetIntegers(const OnnxNode & node, std::size_t index, const char * attribute);

  void Set(const OnnxNode & node, const OnnxWalkValue & value, std::size_t output = 0);

  /** Takes an array of the file for an operation. \param shape that the operation wants; the same number of values
   * \return its name */
  std::string TakeArray(const OnnxWalkValue & value, const std::vector<std::int64_t> & shape);

  /** An array that the file does not have. */
  std::string AddArray(const std::string & name, std::vector<float> values, std::vector<std::int64_t> shape);

  /** An operation has an array for a weight that is none: no training changes it. \return its name */
  std::string
  KeepConstant(const std::string & array)
  {
    m_Result.graph.constants.insert(array);
    return array;
  }

  const OnnxConstant &
  GetArray(const std::string & name) const
  {
    return *m_Result.arrays.at(name);
  }

  /** Appends an operation. \return its name, which is the wanted one or, if there is one of it, like it */
  std::string Append(const OnnxNode &                              node,
                     const std::string &                           type,
                     const std::vector<std::string> &              inputs,
                     const std::map<std::string, AttributeValue> & attributes = {},
                     const std::map<std::string, std::string> &    parameters = {});

  /** Appends an operation whose map has its axes like another one, and sets the node's output to it. */
  void Put(const OnnxNode &                              node,
           const std::string &                           type,
           const OnnxWalkValue &                         like,
           const std::vector<std::string> &              inputs,
           const std::map<std::string, AttributeValue> & attributes = {},
           const std::map<std::string, std::string> &    parameters = {});

  /** The shape of an operation's map along these axes. */
  std::vector<std::int64_t> GetShape(const std::string & operation, const std::string & axes) const;

  int
  GetChannels(const std::string & operation) const
  {
    return m_Channels.at(operation);
  }

  /** (y, x), or (z, y, x). */
  Extent
  GetSize(const std::string & operation) const
  {
    return m_Result.sizes.at(operation);
  }

  const Operation &
  GetLast() const
  {
    return m_Result.graph.operations.back();
  }

  /** \return null: the operation of this name is none of this type */
  const Operation * FindOperation(const std::string & name, const std::string & type) const;

  /** The last operation, if it is of this type and this input of the node alone reads it; else null. */
  const Operation * FindLast(const OnnxNode & node, std::size_t index, const std::string & type);

  /** Puts the last operation anew, changed, as what the node gives. */
  void PutAgain(const OnnxNode & node, const OnnxWalkValue & like, const Operation & changed);

  /** The node's output is computed from these values alone: what lies between is a formula that has an operation of
   * its own. */
  void
  Skip(const OnnxNode & node, const std::vector<std::string> & values)
  {
    m_Skips[node.outputs.front()] = values;
  }

  /** The operator is missing, but what it gives has a known shape: that is still to be set, so that what reads it is
   * asked as well. \param why as of MissingOperation */
  void Miss(const OnnxNode & node, const std::string & why);

  /** In place of what a missing operator gives. \param axes as of OnnxWalkValue */
  void SetStandIn(const OnnxNode & node, const std::string & axes, const std::vector<std::int64_t> & shape);

  /** Whether nothing is read from a value but the logits. */
  bool
  IsEnd(const std::string & value) const
  {
    return value == m_End && m_Readers.at(value) == 1;
  }

  /** Numbers that nodes compute stay in memory: a file of few bytes could ask for any amount of them. \throw
   * std::invalid_argument there are too many already */
  void CheckRoom() const;

  void
  TakeRoom(std::size_t numbers)
  {
    m_Computed += numbers;
  }

  /** Whether just one node reads a value, and its map has no other name. */
  bool IsReadOnce(const std::string & value) const;

  /** Takes the last operation off, to put another one into its place. */
  void RemoveLast();

  /** Visits the nodes of the branch of If that its condition chooses. */
  void FollowBranch(const OnnxNode & node);

  void
  LeaveOut(const std::string & what)
  {
    m_Result.leftOut.insert(what);
  }

private:
  struct LabelStep;
  struct ClassChoice;

  OnnxWalk(const OnnxFile & file, Arrays & arrays, const Extent & size, bool fixed);

  void AppendImages(const std::vector<OnnxImage> & images);
  void Visit(const OnnxNode & node);
  bool Import(const OnnxNode & node);

  std::map<std::string, std::string> NameValues(const OnnxNode & node, const OnnxBranch & branch) const;

  bool                  IsBehindMissing(const std::vector<std::string> & values) const;
  const OnnxWalkValue * FindStandIn(const OnnxNode & node);
  void                  PutStandIn(const OnnxNode & node);
  void                  CheckMissing() const;
  void                  FindEnd(const std::vector<const OnnxNode *> & nodes, const std::string & wanted);
  std::optional<double> FindThreshold(const std::string & value) const;
  LabelStep             StepThroughLabels(const OnnxNode & node) const;
  const OnnxNode *      FindArgMax(std::string value, std::set<const OnnxNode *> & nodes) const;
  std::string           AppendChoice(const std::string & map);
  bool                  IsMapWithout(const OnnxWalkValue & value, std::string axes) const;
  void                  FindOutput();
  void                  RemoveUnread();

  const OnnxFile &                                m_File;
  Arrays &                                        m_Arrays;
  Extent                                          m_Image;
  bool                                            m_Fixed;
  SizedGraph                                      m_Result;
  std::map<std::string, OnnxWalkValue>            m_Values;
  std::map<std::string, int>                      m_Readers;
  std::map<std::string, int>                      m_Channels;    ///< of operations
  std::map<std::string, int>                      m_LastNumbers; ///< behind the names of operations
  std::map<std::string, const OnnxNode *>         m_Producers;   ///< of values
  std::map<std::string, std::vector<std::string>> m_Skips;       ///< of values: what they are computed from
  std::map<std::string, std::string>              m_Missing;     ///< of values: the missing operator that gives them
  std::set<std::string>                           m_Behind;      ///< values that depend on a missing operator's
  std::map<std::string, bool>                     m_Unknown;     ///< values; whether they depend on the image's pixels
  std::set<std::string>                           m_Unasked;     ///< values of operators that read unknown ones
  Diagnostic                                      m_Problem;     ///< the first one; empty: none
  std::string                                     m_End;         ///< the value of the logits
  const OnnxNode *                                m_Labels{ nullptr }; ///< what makes labels of it; null: nothing
  std::set<const OnnxNode *>                      m_LabelNodes;        ///< this one and those behind it
  std::shared_ptr<const ClassChoice>              m_Choice;            ///< among the labels of ArgMax; null: all
  std::list<OnnxNode>                             m_OfBranches;        ///< nodes of the chosen ones
  std::set<const OnnxNode *>                      m_Followed;          ///< nodes in whose place a branch was visited
  std::string                                     m_ImageOperation;
  std::size_t                                     m_Computed{ 0 }; ///< numbers
};

} // namespace gigapixel

#endif
