/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef GraphReference_h
#define GraphReference_h

#include "gigapixelNetworkDescription.h"

#include <ATen/core/Tensor.h>

#include <optional>

namespace gigapixel
{
namespace test
{

/** An image and its labels in memory. */
struct LabeledImage
{
  Size                         size;
  std::vector<std::uint8_t>    pixels; ///< channels interleaved, row by row and slice by slice
  std::vector<std::uint8_t>    labels;
  std::vector<float>           floats{};  ///< in the place of pixels, if there are some
  std::vector<std::uint8_t>    counted{}; ///< 1 for the pixels of a pooled map that count; empty: all
  std::optional<OutputTargets> targets{}; ///< in the place of the only label, if there are some
};

struct GraphResult
{
  double              loss{ 0 };
  double              weight{ 0 };   ///< of the pixels that take part
  std::int64_t        pixels{ 0 };   ///< that take part
  std::vector<double> gradient;      ///< of the summed loss for the network's parameters
  std::vector<double> probabilities; ///< interleaved channels
};

/** The whole image at once, operation by operation as PyTorch has them, and LibTorch's autograd: no tiles, nothing
 * folded or lowered.
 * \param type kBFloat16: in double, but maps and the weights of convolutions are rounded to that, which the gradient
 * does not see \param maskSeed of dropout, whose masks are those of DropoutMask; none: nothing is dropped */
GraphResult ComputeReference(const NetworkDescription &   network,
                             const std::vector<double> &  parameters,
                             const LabeledImage &         image,
                             at::ScalarType               type,
                             std::optional<std::uint64_t> maskSeed = {});

/** Grad-CAM as pytorch-grad-cam computes it of this operation's map, before it scales it to 0..1: the channels,
 * weighted by the gradient of the class' logit, which is averaged over pixels by autograd; no less than 0. Row by row.
 * \param label of one output channel 1 is its logit, and 0 the negative one */
std::vector<double> ComputeGradCAM(const NetworkDescription &  network,
                                   const std::vector<double> & parameters,
                                   const LabeledImage &        image,
                                   const std::string &         operation,
                                   int                         label);

/** A map of the network, channel by channel. */
std::vector<double> ComputeMap(const NetworkDescription &  network,
                               const std::vector<double> & parameters,
                               const LabeledImage &        image,
                               const std::string &         operation);

/** The parameters, with the running statistics that PyTorch's batch norms have with momentum None when images of one
 * size went through them in training mode as one batch; the variance without the factor n / (n - 1). */
std::vector<double> ComputeRunningStatistics(const NetworkDescription &        network,
                                             const std::vector<double> &       parameters,
                                             const std::vector<LabeledImage> & images);

/** The graph's output for an input map of 1 x channels x height x width. */
at::Tensor ComputeMap(const NetworkGraph & graph, const std::vector<double> & parameters, const at::Tensor & input);

/** Random numbers. */
at::Tensor MakeInputMap(const NetworkGraph & graph, Size size, unsigned seed);

} // namespace test
} // namespace gigapixel

#endif
