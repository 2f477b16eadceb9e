/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOperationCall_h
#define gigapixelOperationCall_h

#include "gigapixelMapAxes.h"
#include "schedule/gigapixelTileProgram.h"

#include <ATen/core/Tensor.h>

#include <optional>

namespace gigapixel::torchmodule
{

/** One operation of a tile: what its forward pass is given and leaves, and its backward pass is given.
 *
 * Maps are tensors of 1 x channels x height x width, or 1 x channels x depth x height x width, whose channels lie
 * beside each other (NHWC, NDHWC); they may be parts of larger ones. */
struct OperationCall
{
  const Operation &                         operation;
  const TileProgram::Step &                 step;
  const std::map<std::string, at::Tensor> & weights;  ///< by role
  std::vector<std::int64_t>                 channels; ///< of the inputs
  at::TensorOptions                         options;
  /** Only operators that every device has, whose results do not change from run to run: what lies on no CPU. */
  bool plain;
  bool inPlace; ///< the first input is nobody else's, and may become the output

  /** The parts that are read, undefined where only the size counts. In the backward pass: if step.keeps says so. */
  std::vector<at::Tensor> inputs;
  at::Tensor              output; ///< in the backward pass, likewise
  std::vector<at::Tensor> kept;   ///< what the forward pass leaves for the backward pass beside these

  std::vector<bool>                 wanted;          ///< backward pass: of which inputs the gradient is asked for
  std::map<std::string, at::Tensor> weightGradients; ///< which the backward pass leaves, by role
  std::optional<std::uint64_t>      maskSeed{};      ///< of dropout, see GraphPasses::SetMaskSeed()

  // Of an operation that reduces the image.
  const std::vector<std::uint8_t> * counted{ nullptr }; ///< see TileData::counted
  const std::vector<double> *       sums{ nullptr };    ///< in the backward pass: of the whole image

  /** Null: there is none of this role. */
  at::Tensor GetWeight(const char * role) const;

  /** For a map of the size of an input's part, whose values are not set. */
  at::Tensor MakeInputMap(std::size_t input) const;
};

/** A map's memory with channels beside each other, without gaps; itself where it is so. */
at::Tensor MakeDense(const at::Tensor & map);

/** Of a map of a part. */
std::vector<std::int64_t> GetShape(std::int64_t channels, const Box & box);

at::Tensor MakeMap(std::int64_t channels, const Box & box, const at::TensorOptions & options);

/** Values along an axis of a map of so many axes, likewise. */
at::Tensor AlongAxis(const at::Tensor & values, int axis, int axes);

/** What `wanted` shows of a map that covers `covered`: a part of it where it shows no more, else a copy, with a value
 * beyond. */
at::Tensor Show(const at::Tensor & map, const Box & covered, const Box & wanted, double value = 0);

/** Whether nobody else holds this tensor's memory. */
bool IsAlone(const at::Tensor & tensor);

/** The tensor if nobody else holds its memory, else a copy. */
at::Tensor MakeOwn(at::Tensor && tensor);

/** Values at these indices of an axis. */
at::Tensor Gather(const at::Tensor & map, int axis, const std::vector<std::int64_t> & indices);

/** Gradient of Gather() for a map of this length along the axis.
 * \param plain see OperationCall: on a GPU other operators add to the same value in any order */
at::Tensor Scatter(const at::Tensor &                gradient,
                   int                               axis,
                   const std::vector<std::int64_t> & indices,
                   std::int64_t                      length,
                   bool                              plain);

/** What `wanted`, which may end beyond the real map of the call's first input, shows of it: pixels of the map there.
 * The part itself, where it shows no more. \param mode reflect or replicate */
at::Tensor ShowMirrored(const OperationCall & call,
                        const at::Tensor &    map,
                        const Box &           wanted,
                        const std::string &   mode);

/** Gradient of ShowMirrored(): of the first input's part. */
at::Tensor DifferentiateMirrored(const OperationCall & call,
                                 const at::Tensor &    gradient,
                                 const Box &           wanted,
                                 const std::string &   mode);

/** \class TorchOperation
 * \brief How LibTorch computes the operations of one type. An object of it in the file of their functions makes them
 * known. */
class TorchOperation
{
public:
  using Forward = at::Tensor (*)(OperationCall & call);
  /** \return gradients of the inputs' parts, if they are wanted. \param gradient of the output, which may be changed if
   * it is nobody else's */
  using Backward = std::vector<at::Tensor> (*)(OperationCall & call, const at::Tensor & gradient);

  TorchOperation(const char * type, Forward forwardPass, Backward backwardPass);

  static const TorchOperation & Find(const std::string & type);

  const Forward  forward;
  const Backward backward;
};

} // namespace gigapixel::torchmodule

#endif
