/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelOnnxOperators.h"

namespace gigapixel
{
namespace
{

using Integers = std::vector<std::int64_t>;

/** A map whose channels come last, which linear layers and norms of channels are of. */
OnnxWalkValue
GetChannelsLast(OnnxWalk & walk, const OnnxNode & node)
{
  OnnxWalkValue map = walk.GetInput(node, 0);
  if (map.axes.empty() || map.axes.back() != 'c')
  {
    throw MissingOperation("not over the channels");
  }
  return map;
}

/** A matrix of inputs x outputs as the weight of a convolution of single pixels: outputs x inputs (x 1 x 1). */
OnnxWalkValue
Turn(const OnnxWalkValue & matrix)
{
  const std::int64_t inputs = matrix.shape[0], outputs = matrix.shape[1];
  auto               turned = std::make_shared<OnnxConstant>(*matrix.constant);
  turned->shape = { outputs, inputs };
  for (std::int64_t i = 0; i < inputs; ++i)
  {
    for (std::int64_t j = 0; j < outputs; ++j)
    {
      turned->floats[j * inputs + i] = matrix.constant->floats[i * outputs + j];
    }
  }
  return { {}, {}, turned->shape, turned, matrix.array };
}

/** A convolution of single pixels. \param turned the matrix is of outputs x inputs */
void
PutLinear(OnnxWalk & walk, const OnnxNode & node, bool turned)
{
  if (!walk.IsOfPixels(node, 0))
  {
    throw MissingOperation("of numbers");
  }
  if (walk.IsOfPixels(node, 1))
  {
    throw MissingOperation("of two maps (attention, which sees the whole image)");
  }
  OnnxWalkValue             matrix = walk.GetInput(node, 1);
  const OnnxConstantPointer numbers = walk.GetConstant(node, 1);
  const Integers            shape = numbers->shape;
  const auto                count = static_cast<std::int64_t>(numbers->GetCount());
  if (shape.size() != 2 || !numbers->isFloat || shape[0] < 1 || shape[1] < 1 || count / shape[0] != shape[1])
  {
    throw MissingOperation("by what is no matrix");
  }
  const OnnxWalkValue map = GetChannelsLast(walk, node);
  const std::int64_t  channels = walk.GetChannels(map.map);
  if (shape[turned ? 1 : 0] != channels)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                     "its node \"" + node.outputs.front() + "\" has a matrix for " +
                                       FormatCount(shape[turned ? 1 : 0], "channel") + ", and its map has " +
                                       std::to_string(channels))
                            .OfValue(node.outputs.front()));
  }
  const std::int64_t outputs = shape[turned ? 0 : 1];
  matrix = turned ? matrix : Turn(matrix);
  Integers weight = walk.Repeat(1);
  weight.insert(weight.begin(), { outputs, channels });
  std::map<std::string, std::string> parameters{ { "weight", walk.TakeArray(matrix, weight) } };
  const bool                         bias = OnnxWalk::HasInput(node, 2);
  if (bias)
  {
    parameters["bias"] = walk.TakeArray(walk.GetInput(node, 2), { outputs });
  }
  walk.Put(node,
           walk.GetType("conv"),
           map,
           { map.map },
           { { "out_channels", outputs }, { "kernel_size", walk.Repeat(1) }, { "bias", bias } },
           parameters);
}

void
ImportMatrixProduct(OnnxWalk & walk, const OnnxNode & node)
{
  PutLinear(walk, node, false);
}

void
ImportGemm(OnnxWalk & walk, const OnnxNode & node)
{
  if (node.GetInteger("transA", 0) != 0)
  {
    throw MissingOperation("of a map that is turned");
  }
  if (node.GetNumber("alpha", 1) != 1 || node.GetNumber("beta", 1) != 1)
  {
    walk.Miss(node, "with factors");
  }
  PutLinear(walk, node, node.GetInteger("transB", 0) != 0);
}

void
ImportLayerNorm(OnnxWalk & walk, const OnnxNode & node)
{
  if (!walk.IsOfPixels(node, 0))
  {
    throw MissingOperation("of numbers");
  }
  const OnnxWalkValue map = walk.GetInput(node, 0);
  const std::size_t   axis = GetOnnxAxis(node.GetInteger("axis", -1), map.axes.size());
  if (axis + 1 != map.axes.size() || map.axes[axis] != 'c')
  {
    throw MissingOperation("over more than the channels (it sees the whole image)");
  }
  const std::int64_t channels = walk.GetChannels(map.map);
  const std::string  weight = walk.TakeArray(walk.GetInput(node, 1), { channels });
  const std::string  bias =
    OnnxWalk::HasInput(node, 2)
       ? walk.TakeArray(walk.GetInput(node, 2), { channels })
       : walk.KeepConstant(walk.AddArray(weight + ".bias", std::vector<float>(channels, 0), { channels }));
  walk.Put(node,
           "layer_norm",
           map,
           { map.map },
           { { "eps", node.GetNumber("epsilon", 1e-5) } },
           { { "weight", weight }, { "bias", bias } });
}

} // namespace

std::vector<OnnxOperator>
GetOnnxLinear()
{
  return { { "MatMul", &ImportMatrixProduct }, { "Gemm", &ImportGemm }, { "LayerNormalization", &ImportLayerNorm } };
}

} // namespace gigapixel
