/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOnnxOperators_h
#define gigapixelOnnxOperators_h

#include "gigapixelOnnxWalk.h"

namespace gigapixel
{

/** \class OnnxOperator
 * \brief What an operator of ONNX becomes, https://onnx.ai/onnx/operators. */
struct OnnxOperator
{
  /** Reads the node's inputs and sets its outputs. \throw MissingOperation */
  using Function = void (*)(OnnxWalk & walk, const OnnxNode & node);

  const char * type;
  Function     function;

  /** \return null: there is none of this type */
  static Function Find(const std::string & type);
};

// The families, each in a file of its own.

std::vector<OnnxOperator> GetOnnxWindows();    ///< convolutions, pooling and norms
std::vector<OnnxOperator> GetOnnxLinear();     ///< matrices and norms of the channels of each pixel
std::vector<OnnxOperator> GetOnnxPointwise();  ///< activations
std::vector<OnnxOperator> GetOnnxArithmetic(); ///< of two maps, or of a map and numbers
std::vector<OnnxOperator> GetOnnxPlacement();  ///< pixels and channels that move
std::vector<OnnxOperator> GetOnnxLayout();     ///< axes that are named anew
std::vector<OnnxOperator> GetOnnxWholeImage(); ///< what sees the whole image, and means of channels
std::vector<OnnxOperator> GetOnnxNumbers();    ///< what is computed from sizes and constants
std::vector<OnnxOperator> GetOnnxBranches();   ///< nodes of which a condition chooses some

/** Whether the node is the last one of a formula that is an operation here: GELU or the norm of channels, written out,
 * or the mean of maps that are stacked.
 * Then its output is set. */
bool ImportFormula(OnnxWalk & walk, const OnnxNode & node);

/** An operator of numbers alone; of a map another function. \throw MissingOperation it is of neither */
void ComputeNumbers(OnnxWalk & walk, const OnnxNode & node);

/** Whether all inputs that are given are numbers. \throw UnknownInput they are, and some are not known */
bool IsOfNumbers(OnnxWalk & walk, const OnnxNode & node);

/** The shape that arrays of these shapes are broadcast to. \throw std::invalid_argument they do not fit each other */
std::vector<std::int64_t> BroadcastShapes(const std::vector<std::int64_t> & a, const std::vector<std::int64_t> & b);

/** a * b of numbers that are not negative, or `most` where it is greater: what a file says of lengths may overflow. */
std::int64_t MultiplyUpTo(std::int64_t a, std::int64_t b, std::int64_t most);

/** The axis counted from the front. \throw MissingOperation there is none */
std::size_t GetOnnxAxis(std::int64_t axis, std::size_t rank);

} // namespace gigapixel

#endif
