/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphBuilder_h
#define gigapixelGraphBuilder_h

#include "gigapixelNetworkGraph.h"

namespace gigapixel
{

/** \class GraphBuilder
 * \brief Writes the operations of a network one behind the other. Each function names its operation, as a PyTorch
 * module names what does the same, and returns that name. */
class GraphBuilder
{
public:
  using Name = std::string;

  /** \param axes 2, or 3 for volumes */
  explicit GraphBuilder(int axes = 2)
    : m_Axes(axes)
  {}

  Name Input(int channels);

  /** Keeps the size, or divides it by the stride: padded by half of the odd kernel. */
  Name Convolve(const Name & name, const Name & input, int channels, int kernel, int stride, bool bias);

  /** Keeps the size: padded by half of the odd kernel's reach. */
  Name ConvolveDilated(const Name & name, const Name & input, int channels, int kernel, int dilation, bool bias);

  /** Kernels that touch each other: times the stride. */
  Name ConvolveTransposed(const Name & name, const Name & input, int channels, int stride);

  /** With frozen statistics. */
  Name Normalize(const Name & name, const Name & input);

  /** With the statistics of each channel of the whole image. */
  Name NormalizeInstance(const Name & name, const Name & input);

  /** With those of each group of channels. */
  Name NormalizeGroups(const Name & name, const Name & input, int groups);

  /** Adds one number to all values; the array has the operation's name. */
  Name Shift(const Name & name, const Name & input);

  /** Multiplies all values by one number, the array "scale", and adds another one, "bias". */
  Name ScaleAndShift(const Name & scale, const Name & bias, const Name & input);

  Name Rectify(const Name & name, const Name & input);

  /** An operation of one map without numbers of its own, such as "elu". */
  Name Activate(const std::string & operation, const Name & name, const Name & input);

  Name PoolMaximum(const Name & name, const Name & input, int kernel, int stride, int padding);

  /** To one pixel: the mean of all. */
  Name AverageAll(const Name & name, const Name & input);

  /** To one pixel: the greatest of each channel. */
  Name PoolGreatest(const Name & name, const Name & input);

  /** To one pixel, between these two: log(mean(exp(r x))) / r. */
  Name PoolLogSum(const Name & name, const Name & input);

  /** To one pixel: the mean, weighted by the softmax over all pixels of a score that gated attention gives each (Ilse
   * et al., Attention-based deep multiple instance learning, ICML 2018, equation 9): w (tanh(V x) * sigmoid(U x)),
   * under the names "attention_V", "attention_U" and "attention_w", which has no bias: it would cancel. \param hidden
   * channels of V x */
  Name PoolByAttention(const Name & name, const Name & input, int hidden);

  Name Add(const Name & name, const Name & a, const Name & b);

  Name Concatenate(const Name & name, const Name & a, const Name & b);

  /** Zeros behind, up to another map's size. */
  Name PadLike(const Name & name, const Name & input, const Name & like);

  /** Repeats the last pixels behind, up to a multiple of this. */
  Name PadToMultiple(const Name & name, const Name & input, int multiple);

  /** Cuts off behind, down to another map's size. */
  Name CropLike(const Name & name, const Name & input, const Name & like);

  /** Linearly, to twice the size. */
  Name EnlargeTwofold(const Name & name, const Name & input);

  /** Nearest pixels, to another map's size. */
  Name EnlargeLike(const Name & name, const Name & input, const Name & like);

  /** \throw std::invalid_argument what was built is no network */
  NetworkGraph Finish(const Name & output);

private:
  Name Append(Operation operation);

  /** Of a type that PyTorch calls by the number of axes. */
  std::string OfAxes(const char * type) const;

  const int    m_Axes;
  NetworkGraph m_Graph;
};

} // namespace gigapixel

#endif
