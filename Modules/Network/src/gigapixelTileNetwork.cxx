/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileNetwork.h"
#include "gigapixelNetworkGeometry.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelPixelwise.h"

#include "kernels/gigapixelPixelConvolution.h"
#include "kernels/gigapixelPixelLoss.h"

#include <ATen/Parallel.h>
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
  at::Tensor              input;     ///< of the first layer, where LibTorch computes it
  std::vector<at::Tensor> activated; ///< before the skip is added: tells where ReLU was open
  std::vector<at::Tensor> outputs;
};

at::Tensor
MakeMap(std::int64_t channels, std::int64_t height, std::int64_t width, at::ScalarType type)
{
  // Channels last is what the low-resolution convolutions are fastest with.
  return at::empty({ 1, channels, height, width },
                   at::TensorOptions(type).memory_format(at::MemoryFormat::ChannelsLast));
}

template <typename T>
kernels::MapView<T>
View(const at::Tensor & map)
{
  return {
    map.data_ptr<std::remove_const_t<T>>(), map.size(2), map.size(3), map.stride(1), map.stride(2), map.stride(3)
  };
}

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

} // namespace

class TileNetwork::Passes
{
public:
  virtual ~Passes() = default;
  virtual void SetParameters(const std::vector<double> & parameters) = 0;
  virtual void AddGradient(const TileData & data, LossGradient & sum) const = 0;
  virtual void AddScore(const TileData & data, Score & sum) const = 0;
  virtual void Predict(const TileData & data, float * probabilities, std::ptrdiff_t pitch) const = 0;
};

namespace
{

template <typename T>
class TypedPasses : public TileNetwork::Passes
{
public:
  TypedPasses(const NetworkDescription & network, Path path)
    : m_Network(network)
    , m_Layout(GetParameterLayout(network))
    , m_Skips(GetSkips(network.layers))
  {
    const Layer & first = network.layers.front();
    const Layer & last = network.layers.back();
    const bool    fused = path == Path::Fused && std::is_same_v<T, float> && network.layers.size() > 1;
    m_FusedFirst = fused && first.kind == Layer::Kind::Convolution;
    m_FusedLast = fused && last.kind == Layer::Kind::TransposedConvolution && last.kernel == last.stride &&
                  last.padding == 0 && last.add.empty();
    m_End = network.layers.size() - (m_FusedLast ? 1 : 0);
  }

  void
  SetParameters(const std::vector<double> & parameters) override
  {
    m_Values.assign(parameters.begin(), parameters.end());
    m_Weights.clear();
    m_Biases.clear();
    for (std::size_t i = 0; i < m_Layout.size(); ++i)
    {
      m_Weights.push_back(MakeTensor(m_Layout[i].weight, m_Network.layers[i].GetWeightShape()));
      m_Biases.push_back(MakeTensor(m_Layout[i].bias, { m_Network.layers[i].outputChannels }));
    }
  }

  void
  AddGradient(const TileData & data, LossGradient & sum) const override
  {
    const c10::InferenceMode noGraph;
    Maps                     maps = Forward(data, true);
    sum.gradient.resize(m_Values.size());
    at::Tensor gradient;
    if (m_FusedLast)
    {
      gradient = FusedLoss(data, maps.outputs[m_End - 1], sum);
    }
    else
    {
      gradient = StockLoss(data, maps.outputs[m_End - 1], sum);
    }
    Backward(data, maps, gradient, sum.gradient);
  }

  void
  AddScore(const TileData & data, Score & sum) const override
  {
    const c10::InferenceMode noGraph;
    Maps                     maps = Forward(data, false);
    const int                classes = m_Network.GetNumberOfClasses();
    sum.both.resize(classes);
    sum.predicted.resize(classes);
    sum.actual.resize(classes);
    if (m_FusedLast)
    {
      FusedScore(data, maps.outputs[m_End - 1], sum);
    }
    else
    {
      StockScore(data, maps.outputs[m_End - 1], sum);
    }
  }

  void
  Predict(const TileData & data, float * probabilities, std::ptrdiff_t pitch) const override
  {
    const c10::InferenceMode noGraph;
    Maps                     maps = Forward(data, false);
    at::Tensor               output = maps.outputs[m_End - 1];
    const Region &           core = data.tile.core;
    const int                channels = m_Network.GetNumberOfOutputChannels();
    if (m_FusedLast)
    {
      if constexpr (std::is_same_v<T, float>)
      {
        kernels::PredictProbabilities(View<const float>(output),
                                      GetLogits(),
                                      GetCore(data),
                                      { probabilities, core.height, core.width, 1, pitch, channels });
      }
      return;
    }
    output = output.contiguous();
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      const LogitRow<T> row = GetRow(data, output, y);
      TakeProbabilities<T>({ row.values, row.channelStride, row.channels, row.pixels }, probabilities + y * pitch);
    }
  }

private:
  static constexpr at::ScalarType Type = std::is_same_v<T, float> ? at::kFloat : at::kDouble;

  at::Tensor
  MakeTensor(std::size_t first, const std::vector<std::int64_t> & shape) const
  {
    at::Tensor tensor = at::empty(shape, at::TensorOptions(Type));
    std::copy_n(m_Values.begin() + first, tensor.numel(), tensor.template data_ptr<T>());
    return tensor;
  }

  // Input -------------------------------------------------------------------------------------------------------------

  kernels::PixelView
  GetPixels(const TileData & data) const
  {
    const Region & window = data.tile.window;
    return { data.pixels.data(), window.width,    window.height, window.width * m_Network.channels,
             m_Network.channels, m_Network.invert };
  }

  at::Tensor
  MakeInput(const TileData & data) const
  {
    const Region &       window = data.tile.window;
    const int            channels = m_Network.channels;
    at::Tensor           input = at::empty({ 1, channels, window.height, window.width }, at::TensorOptions(Type));
    const std::int64_t   pixels = window.width * window.height;
    const std::uint8_t * sample = data.pixels.data();
    T *                  values = input.template data_ptr<T>();
    for (std::int64_t i = 0; i < pixels; ++i)
    {
      for (int c = 0; c < channels; ++c, ++sample)
      {
        values[c * pixels + i] = T(m_Network.invert ? 255 - *sample : *sample) / 255;
      }
    }
    return input;
  }

  // Forward -----------------------------------------------------------------------------------------------------------

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

  kernels::PixelConvolution
  GetPixelConvolution() const
  {
    if constexpr (std::is_same_v<T, float>)
    {
      const Layer & layer = m_Network.layers.front();
      return { layer.outputChannels,
               layer.kernel,
               layer.stride,
               layer.padding,
               m_Values.data() + m_Layout.front().weight,
               m_Values.data() + m_Layout.front().bias,
               layer.activation == Layer::Activation::ReLU };
    }
    return {};
  }

  at::Tensor
  ConvolvePixels(const TileData & data) const
  {
    const Layer &  layer = m_Network.layers.front();
    const Region & window = data.tile.window;
    at::Tensor     map =
      MakeMap(layer.outputChannels, window.height / layer.stride, window.width / layer.stride, at::kFloat);
    kernels::ConvolvePixels(GetPixels(data), GetPixelConvolution(), View<float>(map));
    return map;
  }

  /** The first m_End layers. \param keep for a backward pass; else maps are freed after their last use */
  Maps
  Forward(const TileData & data, bool keep) const
  {
    Maps maps;
    maps.activated.resize(m_End);
    maps.outputs.resize(m_End);
    at::Tensor current = m_FusedFirst ? at::Tensor() : MakeInput(data);
    maps.input = current;
    for (std::size_t i = 0; i < m_End; ++i)
    {
      if (i == 0 && m_FusedFirst)
      {
        current = ConvolvePixels(data);
      }
      else
      {
        current = Convolve(i, current);
        if (m_Network.layers[i].activation == Layer::Activation::ReLU)
        {
          current.relu_();
        }
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

  // Loss --------------------------------------------------------------------------------------------------------------

  kernels::PixelLogits
  GetLogits() const
  {
    if constexpr (std::is_same_v<T, float>)
    {
      const Layer & layer = m_Network.layers.back();
      return { layer.inputChannels,
               layer.outputChannels,
               layer.stride,
               m_Values.data() + m_Layout.back().weight,
               m_Values.data() + m_Layout.back().bias };
    }
    return {};
  }

  static kernels::CoreRegion
  GetCore(const TileData & data)
  {
    const Region & core = data.tile.core;
    const Region & window = data.tile.window;
    return { core.x - window.x, core.y - window.y, core.width, core.height };
  }

  /** \return gradient of the last low-resolution map */
  at::Tensor
  FusedLoss(const TileData & data, const at::Tensor & map, LossGradient & sum) const
  {
    at::Tensor       gradient = MakeMap(map.size(1), map.size(2), map.size(3), at::kFloat);
    kernels::LossSum loss;
    kernels::AddPixelLoss(View<const float>(map),
                          GetLogits(),
                          GetCore(data),
                          data.classes.data(),
                          data.tile.core.width,
                          View<float>(gradient),
                          sum.gradient.data() + m_Layout.back().weight,
                          sum.gradient.data() + m_Layout.back().bias,
                          loss);
    sum.loss += loss.loss;
    sum.pixels += loss.pixels;
    return gradient;
  }

  /** Row y of the core among the logits of the window. */
  static LogitRow<T>
  GetRow(const TileData & data, const at::Tensor & logits, std::int64_t y)
  {
    const kernels::CoreRegion core = GetCore(data);
    return { logits.template data_ptr<T>() + (core.y + y) * logits.size(3) + core.x,
             logits.size(2) * logits.size(3),
             static_cast<int>(logits.size(1)),
             core.width };
  }

  /** \return gradient of the logits, zero outside the core */
  at::Tensor
  StockLoss(const TileData & data, at::Tensor & logits, LossGradient & sum) const
  {
    logits = logits.contiguous();
    at::Tensor     gradient = at::empty(logits.sizes(), logits.options()).zero_();
    const Region & core = data.tile.core;
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      const std::uint8_t * truth = data.classes.data() + y * core.width;
      const LogitRow<T>    from = GetRow(data, logits, y), to = GetRow(data, gradient, y);
      for (int c = 0; c < to.channels; ++c)
      {
        std::copy_n(from.values + c * from.channelStride, from.pixels, to.values + c * to.channelStride);
      }
      sum.loss += TakeLossGradient(to, truth);
      sum.pixels += std::count_if(truth, truth + core.width, [&](std::uint8_t t) { return TakesPart(t, to.channels); });
    }
    logits.reset();
    return gradient;
  }

  // Backward ----------------------------------------------------------------------------------------------------------

  void
  Backward(const TileData & data, Maps & maps, at::Tensor gradient, std::vector<double> & sum) const
  {
    std::vector<at::Tensor> skipGradients(m_End);
    for (std::size_t i = m_End; i-- > 0;)
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
      gradient =
        i == 0 && m_FusedFirst ? FusedFirstGradient(data, maps, gradient, sum) : StockGradient(i, maps, gradient, sum);
      maps.activated[i].reset();
    }
  }

  at::Tensor
  FusedFirstGradient(const TileData &      data,
                     const Maps &          maps,
                     const at::Tensor &    gradient,
                     std::vector<double> & sum) const
  {
    if constexpr (std::is_same_v<T, float>)
    {
      kernels::AddPixelConvolutionGradient(GetPixels(data),
                                           GetPixelConvolution(),
                                           View<const float>(maps.activated[0]),
                                           View<const float>(gradient),
                                           sum.data() + m_Layout[0].weight,
                                           sum.data() + m_Layout[0].bias);
    }
    return {};
  }

  /** Adds the gradients of layer i. \return gradient of its input, for all layers but the first */
  at::Tensor
  StockGradient(std::size_t i, Maps & maps, at::Tensor gradient, std::vector<double> & sum) const
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

  // Score -------------------------------------------------------------------------------------------------------------

  static void
  Count(std::uint8_t truth, int label, Score & sum)
  {
    ++sum.predicted[label];
    ++sum.actual[truth];
    sum.both[truth] += label == truth;
  }

  void
  FusedScore(const TileData & data, const at::Tensor & map, Score & sum) const
  {
    LossGradient loss;
    loss.gradient.resize(m_Values.size());
    FusedLoss(data, map, loss);
    sum.loss += loss.loss;
    sum.pixels += loss.pixels;
    std::vector<std::uint8_t> labels(data.classes.size());
    kernels::PredictLabels(
      View<const float>(map), GetLogits(), GetCore(data), 0.5, 1, labels.data(), data.tile.core.width);
    for (std::size_t i = 0; i < labels.size(); ++i)
    {
      if (TakesPart(data.classes[i], m_Network.GetNumberOfOutputChannels()))
      {
        Count(data.classes[i], labels[i], sum);
      }
    }
  }

  void
  StockScore(const TileData & data, at::Tensor & logits, Score & sum) const
  {
    logits = logits.contiguous();
    const Region & core = data.tile.core;
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      const std::uint8_t * truth = data.classes.data() + y * core.width;
      const LogitRow<T>    row = GetRow(data, logits, y);
      for (std::int64_t x = 0; x < row.pixels; ++x)
      {
        if (TakesPart(truth[x], row.channels))
        {
          Count(truth[x], GetLabel(row.values + x, row.channelStride, row.channels), sum);
          ++sum.pixels;
        }
      }
      sum.loss += TakeLossGradient(row, truth);
    }
  }

  const NetworkDescription          m_Network;
  const std::vector<ParameterPlace> m_Layout;
  const std::vector<int>            m_Skips;
  bool                              m_FusedFirst{ false };
  bool                              m_FusedLast{ false };
  std::size_t                       m_End{ 0 }; ///< layers that Forward() computes
  std::vector<T>                    m_Values;
  std::vector<at::Tensor>           m_Weights;
  std::vector<at::Tensor>           m_Biases;
};

} // namespace

TileNetwork::TileNetwork(const NetworkDescription & network, Precision precision, Path path)
{
  network.Validate();
  if (precision == Precision::Float)
  {
    m_Passes = std::make_unique<TypedPasses<float>>(network, path);
  }
  else
  {
    m_Passes = std::make_unique<TypedPasses<double>>(network, path);
  }
}

TileNetwork::~TileNetwork() = default;

void
TileNetwork::SetParameters(const std::vector<double> & parameters)
{
  m_Passes->SetParameters(parameters);
}

void
TileNetwork::AddGradient(const TileData & data, LossGradient & sum) const
{
  m_Passes->AddGradient(data, sum);
}

void
TileNetwork::AddScore(const TileData & data, Score & sum) const
{
  m_Passes->AddScore(data, sum);
}

void
TileNetwork::Predict(const TileData & data, float * probabilities, std::ptrdiff_t pitch) const
{
  m_Passes->Predict(data, probabilities, pitch);
}

void
TileNetwork::ComputeInThisThreadAlone()
{
  // Asked first: LibTorch takes the process' number over when it is first asked in a thread, which would undo ours.
  at::get_num_threads();
  at::set_num_threads(1);
}

KeepTorchThreads::KeepTorchThreads()
  : m_Threads(at::get_num_threads())
{}

KeepTorchThreads::~KeepTorchThreads()
{
  at::set_num_threads(m_Threads);
}

} // namespace gigapixel
