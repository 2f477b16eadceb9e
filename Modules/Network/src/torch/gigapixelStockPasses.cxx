/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLogitMap.h"
#include "gigapixelNetworkGeometry.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchThreads.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/threshold_backward.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace gigapixel
{
namespace
{

/** What the forward pass leaves for the backward pass, per layer. */
struct Maps
{
  at::Tensor              input;
  std::vector<at::Tensor> activated; ///< before the skip is added: tells where ReLU was open
  std::vector<at::Tensor> outputs;
};

/** Adds a gradient that LibTorch computed to the sums in double. */
template <typename T>
void
AddTo(double * sum, const at::Tensor & gradient)
{
  const at::Tensor values = gradient.contiguous();
  const T *        data = values.data_ptr<T>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
  {
    sum[i] += data[i];
  }
}

template <typename T>
class StockPasses : public TilePasses
{
public:
  explicit StockPasses(const NetworkDescription & network)
    : m_Network(network)
    , m_Layout(GetParameterLayout(network))
    , m_Skips(GetSkips(network.layers))
  {}

  void
  SetParameters(const std::vector<double> & parameters) override
  {
    m_Weights.clear();
    m_Biases.clear();
    for (std::size_t i = 0; i < m_Layout.size(); ++i)
    {
      m_Weights.push_back(MakeTensor(parameters.data() + m_Layout[i].weight, m_Network.layers[i].GetWeightShape()));
      m_Biases.push_back(MakeTensor(parameters.data() + m_Layout[i].bias, { m_Network.layers[i].outputChannels }));
    }
  }

  void
  AddGradient(TileData & data, const LossTerms & terms, LossGradient & sum) const override
  {
    ComputeAlone();
    const c10::InferenceMode noGraph;
    Maps                     maps = Forward(data, true);
    sum.gradient.resize(m_Network.GetNumberOfParameters());
    at::Tensor gradient = maps.outputs.back().contiguous().clone();
    GetLogitMap(gradient, data).TakeLoss(terms, sum);
    Backward(maps, gradient, sum.gradient);
  }

  void
  AddScore(TileData & data, const LossTerms & terms, Score & sum) const override
  {
    ComputeAlone();
    const c10::InferenceMode noGraph;
    at::Tensor               logits = Forward(data, false).outputs.back().contiguous();
    sum.SetNumberOfClasses(m_Network.GetNumberOfClasses());
    GetLogitMap(logits, data).TakeScore(terms, sum);
  }

  void
  Predict(TileData & data, float * probabilities, std::ptrdiff_t pitch) const override
  {
    ComputeAlone();
    const c10::InferenceMode noGraph;
    at::Tensor               logits = Forward(data, false).outputs.back().contiguous();
    GetLogitMap(logits, data).Predict(probabilities, pitch);
  }

  void
  PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const override
  {
    ComputeAlone();
    const c10::InferenceMode noGraph;
    at::Tensor               logits = Forward(data, false).outputs.back().contiguous();
    GetLogitMap(logits, data).PredictLabels(threshold, labels, pitch);
  }

private:
  static constexpr at::ScalarType Type = std::is_same_v<T, float> ? at::kFloat : at::kDouble;

  static at::Tensor
  MakeTensor(const double * values, const std::vector<std::int64_t> & shape)
  {
    at::Tensor tensor = at::empty(shape, at::TensorOptions(Type));
    std::copy_n(values, tensor.numel(), tensor.template data_ptr<T>());
    return tensor;
  }

  static LogitMap<T>
  GetLogitMap(at::Tensor & logits, const TileData & data)
  {
    return { logits.template data_ptr<T>(), static_cast<int>(logits.size(1)), data };
  }

  at::Tensor
  MakeInput(const TileData & data) const
  {
    const Region &     window = data.tile.window;
    const int          channels = m_Network.channels;
    at::Tensor         input = at::empty({ 1, channels, window.height, window.width }, at::TensorOptions(Type));
    const std::int64_t pixels = window.width * window.height;
    T *                values = input.template data_ptr<T>();
    for (std::int64_t y = 0; y < window.height; ++y)
    {
      const std::uint8_t * sample = data.rows.first + y * data.rows.pitch;
      for (std::int64_t x = 0; x < window.width; ++x)
      {
        for (int c = 0; c < channels; ++c, ++sample)
        {
          values[c * pixels + y * window.width + x] = T(m_Network.invert ? 255 - *sample : *sample) / 255;
        }
      }
    }
    return input;
  }

  /** A transposed convolution is the gradient of a convolution with the same weights, and its gradient is that
   * convolution. Asked in this way, LibTorch 1.13 takes oneDNN for it, too, not the system's BLAS: faster, without
   * BLAS's own threads, and with bits that do not depend on which BLAS is installed. */
  at::Tensor
  Convolve(std::size_t i, const at::Tensor & input) const
  {
    const Layer & layer = m_Network.layers[i];
    if (layer.kind == Layer::Kind::Convolution)
    {
      return ConvolvePlainly(i, input, m_Biases[i]);
    }
    const at::Tensor shape = at::empty(
      { 1, layer.outputChannels, input.size(2) * layer.stride, input.size(3) * layer.stride }, input.options());
    at::Tensor output = std::get<0>(DifferentiatePlainly(i, input, shape, { true, false, false }));
    return output.add_(m_Biases[i].view({ 1, layer.outputChannels, 1, 1 }));
  }

  /** Convolution with the weights of layer i, of whichever kind it is. */
  at::Tensor
  ConvolvePlainly(std::size_t i, const at::Tensor & input, const c10::optional<at::Tensor> & bias) const
  {
    const Layer & layer = m_Network.layers[i];
    return at::convolution(input,
                           m_Weights[i],
                           bias,
                           { layer.stride, layer.stride },
                           { layer.padding, layer.padding },
                           { 1, 1 },
                           false,
                           { 0, 0 },
                           1);
  }

  /** Gradients of ConvolvePlainly() for its input, weights and bias. */
  std::tuple<at::Tensor, at::Tensor, at::Tensor>
  DifferentiatePlainly(std::size_t                 i,
                       const at::Tensor &          gradient,
                       const at::Tensor &          input,
                       const std::array<bool, 3> & wanted) const
  {
    const Layer &                   layer = m_Network.layers[i];
    const std::vector<std::int64_t> biasShape{ m_Weights[i].size(0) };
    return at::convolution_backward(gradient,
                                    input,
                                    m_Weights[i],
                                    at::OptionalIntArrayRef(biasShape),
                                    { layer.stride, layer.stride },
                                    { layer.padding, layer.padding },
                                    { 1, 1 },
                                    false,
                                    { 0, 0 },
                                    1,
                                    wanted);
  }

  /** \param keep for a backward pass; else maps are freed after their last use */
  Maps
  Forward(const TileData & data, bool keep) const
  {
    const std::size_t layers = m_Network.layers.size();
    Maps              maps;
    maps.activated.resize(layers);
    maps.outputs.resize(layers);
    maps.input = MakeInput(data);
    at::Tensor current = maps.input;
    for (std::size_t i = 0; i < layers; ++i)
    {
      current = Convolve(i, current);
      if (m_Network.layers[i].activation == Layer::Activation::ReLU)
      {
        current.relu_();
      }
      maps.activated[i] = current;
      if (m_Skips[i] >= 0)
      {
        const at::Tensor & skip = maps.outputs[m_Skips[i]];
        current = keep ? current.add(skip) : current.add_(skip);
      }
      maps.outputs[i] = current;
      if (!keep)
      {
        Release(maps, i);
      }
    }
    return maps;
  }

  void
  Release(Maps & maps, std::size_t i) const
  {
    maps.input.reset();
    maps.activated[i].reset();
    for (std::size_t j = 0; j < i; ++j)
    {
      const auto later = m_Skips.begin() + i + 1;
      if (std::find(later, m_Skips.end(), static_cast<int>(j)) == m_Skips.end())
      {
        maps.outputs[j].reset();
      }
    }
  }

  void
  Backward(Maps & maps, at::Tensor gradient, std::vector<double> & sum) const
  {
    std::vector<at::Tensor> skipGradients(m_Skips.size());
    for (std::size_t i = m_Skips.size(); i-- > 0;)
    {
      if (skipGradients[i].defined())
      {
        gradient = gradient.add(skipGradients[i]);
        skipGradients[i].reset();
      }
      if (m_Skips[i] >= 0)
      {
        at::Tensor & skip = skipGradients[m_Skips[i]];
        skip = skip.defined() ? skip.add(gradient) : gradient;
      }
      maps.outputs[i].reset();
      gradient = AddLayerGradient(i, maps, gradient, sum);
      maps.activated[i].reset();
    }
  }

  /** Adds the gradients of layer i. \return gradient of its input, for all layers but the first */
  at::Tensor
  AddLayerGradient(std::size_t i, Maps & maps, at::Tensor gradient, std::vector<double> & sum) const
  {
    const Layer & layer = m_Network.layers[i];
    if (layer.activation == Layer::Activation::ReLU)
    {
      gradient = at::threshold_backward(gradient, maps.activated[i], 0);
    }
    const at::Tensor & before = i == 0 ? maps.input : maps.outputs[i - 1];
    at::Tensor         input, weight, bias;
    if (layer.kind == Layer::Kind::Convolution)
    {
      std::tie(input, weight, bias) = DifferentiatePlainly(i, gradient, before, { i > 0, true, true });
    }
    else
    {
      weight = std::get<1>(DifferentiatePlainly(i, before, gradient, { false, true, false }));
      bias = gradient.sum({ 0, 2, 3 });
      input = i > 0 ? ConvolvePlainly(i, gradient, {}) : at::Tensor();
    }
    AddTo<T>(sum.data() + m_Layout[i].weight, weight);
    AddTo<T>(sum.data() + m_Layout[i].bias, bias);
    return input;
  }

  const KeepTorchThreads            m_Threads; ///< what threads of their own set is the process' number, too
  const NetworkDescription          m_Network;
  const std::vector<ParameterPlace> m_Layout;
  const std::vector<int>            m_Skips;
  std::vector<at::Tensor>           m_Weights;
  std::vector<at::Tensor>           m_Biases;
};

} // namespace

TilePasses *
torchmodule::MakeStockPasses(const NetworkDescription & network, Precision precision)
{
  if (precision == Precision::Float)
  {
    return new StockPasses<float>(network);
  }
  return new StockPasses<double>(network);
}

} // namespace gigapixel
