/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDevicePasses_h
#define gigapixelDevicePasses_h

#include "gigapixelDiagnostic.h"
#include "gigapixelDeviceBuffer.h"
#include "kernels/gigapixelDeviceKernels.h"
#include "gigapixelDeviceLoss.h"

#include "execute/gigapixelChainPasses.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace gigapixel
{

/** \class DevicePasses
 * \brief Computes tiles on a device with memory and threads of its own.
 *
 * TDevice has Allocate(bytes), Free(memory) and a class Queue, made from a TDevice, whose Upload(to, from, bytes),
 * Download(to, from, bytes) and Run(kernel) are done one after the other, and whose Wait() returns when they are. T is
 * how maps are stored. Each thread that computes tiles has a queue and maps of its own: while one reads its pixels, the
 * device works for another. The bytes of the pixels are all that goes up, the sums all that comes down. */
template <typename TDevice, typename T>
class DevicePasses : public ChainPasses
{
public:
  DevicePasses(const NetworkDescription & network, TDevice device, Precision precision)
    : ChainPasses(network, precision)
    , m_Device(std::move(device))
    , m_Parameters(m_Device)
  {}

  void
  SetParameters(const std::vector<double> & parameters) override
  {
    const std::vector<float> values = RoundWeights(m_Layout, parameters, &RoundTo<T>);
    typename TDevice::Queue  queue(m_Device);
    queue.Upload(m_Parameters.Take(values.size() * sizeof(float)), values.data(), values.size() * sizeof(float));
    queue.Wait();
  }

  void
  Differentiate(TileData & data, const LossTerms & terms, LossGradient & sum) const override
  {
    Context & context = GetContext();
    Forward(data, context);
    UploadTruth(data, terms, context);
    const std::size_t   parameters = m_Network.GetNumberOfParameters();
    std::vector<double> found(parameters);
    double * const      gradient = context.sums.template Take<double>(parameters);
    AddLossGradient(data, context, gradient);
    for (std::size_t i = m_End; i-- > 0;)
    {
      AddLayerGradient(context, i, gradient);
    }
    context.queue.Download(found.data(), gradient, parameters * sizeof(double));
    Score score;
    TakeScore(data, terms, context, score);
    sum.gradient.resize(parameters);
    std::transform(found.begin(), found.end(), sum.gradient.begin(), sum.gradient.begin(), std::plus<>());
    sum.loss += terms.HasSums() ? 0 : score.loss;
    sum.weight += score.weight;
    sum.pixels += score.pixels;
  }

  void
  AddScore(TileData & data, const LossTerms & terms, Score & sum) const override
  {
    Context & context = GetContext();
    Forward(data, context);
    UploadTruth(data, terms, context);
    TakeScore(data, terms, context, sum);
  }

  void
  Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const override
  {
    if (value == PixelValue::EachProbability)
    {
      throw Refusal(Diagnostic("E-MODEL-OUTPUT", "a chain of layers has no probabilities of each class by itself"));
    }
    const std::int64_t channels = m_Network.GetNumberOfOutputChannels();
    Take<float>(data, channels, values, pitch, [value](const device::Logits<T> & logits, float * target) {
      return device::ValuePixels<T>{ logits, value == PixelValue::Probability, target };
    });
  }

  void
  PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const override
  {
    const auto least = static_cast<float>(std::log(threshold / (1 - threshold)));
    Take<std::uint8_t>(data, 1, labels, pitch, [least](const device::Logits<T> & logits, std::uint8_t * values) {
      return device::LabelPixels<T>{ logits, least, values };
    });
  }

private:
  using Map = device::Map<T>;
  using Bytes = device::Bytes;
  using Filter = device::Filter;
  using Buffer = DeviceBuffer<TDevice>;

  /** What one thread computes with. */
  struct Context
  {
    Context(TDevice & device, std::size_t layers)
      : queue(device)
      , pixels(device)
      , classes(device)
      , terms(device)
      , results(device)
      , sums(device)
      , scores(device)
      , partial(device)
      , biasPartial(device)
      , scorePartial(device)
    {
      for (std::size_t i = 0; i < layers; ++i)
      {
        activatedMemory.emplace_back(device);
        outputMemory.emplace_back(device);
        gradientMemory.emplace_back(device);
      }
      activated.resize(layers);
      outputs.resize(layers);
      gradients.resize(layers);
    }

    typename TDevice::Queue queue;
    Buffer                  pixels, classes, terms, results, sums, scores, partial, biasPartial, scorePartial;
    std::vector<Buffer>     activatedMemory, outputMemory, gradientMemory;

    // Of the current tile.
    device::Pixels   input;
    Bytes            truth;
    device::Terms    lossTerms;
    std::vector<Map> activated; ///< before the skip is added
    std::vector<Map> outputs;
    std::vector<Map> gradients; ///< of the outputs; no values: nothing has been added so far
  };

  Context &
  GetContext() const
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    auto &                            context = m_Contexts[std::this_thread::get_id()];
    if (!context)
    {
      context = std::make_unique<Context>(m_Device, m_End);
    }
    return *context;
  }

  const float *
  GetParameters(std::size_t place) const
  {
    return static_cast<const float *>(m_Parameters.Get()) + place;
  }

  /** The layer, or its input's gradient (the other kind of convolution with the same weights). */
  Filter
  GetFilter(std::size_t i, bool gradient) const
  {
    const Layer & layer = m_Network.layers[i];
    return { GetParameters(m_Layout[i].weight),
             gradient ? nullptr : GetParameters(m_Layout[i].bias),
             layer.kernel,
             layer.stride,
             layer.padding,
             !gradient && layer.activation == Layer::Activation::ReLU };
  }

  Map
  TakeMap(Buffer & buffer, const TileData & data, std::size_t i) const
  {
    Map map;
    map.channels = m_Network.layers[i].outputChannels;
    map.height = data.tile.window.height * m_Scales[i].numerator / m_Scales[i].denominator;
    map.width = data.tile.window.width * m_Scales[i].numerator / m_Scales[i].denominator;
    map.values = buffer.template Take<T>(map.GetSize());
    return map;
  }

  /** Samples that the device reaches where they lie, or gets uploaded. */
  static Bytes
  Reach(Context &                         context,
        const SamplesInMemory &           inMemory,
        Buffer &                          buffer,
        const std::vector<std::uint8_t> & samples,
        std::int64_t                      channels,
        std::int64_t                      width)
  {
    if (inMemory.first)
    {
      return { inMemory.first, inMemory.column, inMemory.row };
    }
    std::uint8_t * const memory = buffer.template Take<std::uint8_t>(samples.size());
    context.queue.Upload(memory, samples.data(), samples.size());
    return { memory, channels, width * channels };
  }

  void
  Forward(const TileData & data, Context & context) const
  {
    const Region & window = data.tile.window;
    const Size     real = data.inMemory.pixels.first ? data.inMemory.real : Size{ window.width, window.height };
    const Bytes    bytes =
      Reach(context, data.inMemory.pixels, context.pixels, data.pixels, m_Network.channels, window.width);
    context.input = device::Pixels{ bytes,       m_Network.channels, window.height,   window.width,
                                    real.height, real.width,         m_Network.invert };
    for (std::size_t i = 0; i < m_End; ++i)
    {
      const Map    map = TakeMap(context.activatedMemory[i], data, i);
      const Filter filter = GetFilter(i, false);
      if (i == 0)
      {
        Convolve(context, IsPlain(i), context.input, filter, map);
      }
      else
      {
        Convolve(context, IsPlain(i), context.outputs[i - 1], filter, map);
      }
      context.activated[i] = map;
      context.outputs[i] = map;
      if (m_Skips[i] >= 0)
      {
        context.outputs[i] = TakeMap(context.outputMemory[i], data, i);
        context.queue.Run(device::Add<T>{ map, context.outputs[m_Skips[i]], context.outputs[i] });
      }
      context.gradients[i] = Map{};
    }
  }

  bool
  IsPlain(std::size_t i) const
  {
    return m_Network.layers[i].kind == Layer::Kind::Convolution;
  }

  /** \param plain a convolution, else a transposed one */
  template <typename TInput>
  static void
  Convolve(Context &      context,
           bool           plain,
           const TInput & input,
           const Filter & filter,
           const Map &    output,
           bool           accumulate = false)
  {
    if (plain)
    {
      context.queue.Run(device::Convolve<TInput, T>{ { input, filter, output, accumulate } });
    }
    else
    {
      context.queue.Run(device::ConvolveTransposed<TInput, T>{ { input, filter, output, accumulate } });
    }
  }

  // Loss --------------------------------------------------------------------------------------------------------------

  void
  UploadTruth(const TileData & data, const LossTerms & terms, Context & context) const
  {
    std::vector<float> values(terms.weights.begin(), terms.weights.end());
    values.insert(values.end(), terms.slopes.begin(), terms.slopes.end());
    values.insert(values.end(), terms.offsets.begin(), terms.offsets.end());
    const std::size_t   bytes = values.size() * sizeof(float);
    const float * const first = context.terms.template Take<float>(values.size());
    context.truth = Reach(context, data.inMemory.classes, context.classes, data.classes, 1, data.tile.core.width);
    context.queue.Upload(context.terms.Get(), values.data(), bytes);
    context.queue.Wait(); // for the values, which end here
    const float * const slopes = first + terms.weights.size();
    context.lossTerms = { terms.HasCrossEntropy() ? first : nullptr,
                          terms.HasSums() ? slopes : nullptr,
                          terms.HasSums() ? slopes + terms.slopes.size() : nullptr };
  }

  device::Logits<T>
  GetLogits(const TileData & data, const Context & context) const
  {
    const Region &    core = data.tile.core;
    const Region &    window = data.tile.window;
    const Layer &     layer = m_Network.layers.back();
    device::Logits<T> logits;
    logits.map = context.outputs[m_End - 1];
    logits.outputs = layer.outputChannels;
    if (m_FusedLast)
    {
      logits.weight = GetParameters(m_Layout.back().weight);
      logits.bias = GetParameters(m_Layout.back().bias);
      logits.stride = layer.stride;
    }
    logits.coreX = core.x - window.x;
    logits.coreY = core.y - window.y;
    logits.width = core.width;
    logits.height = core.height;
    logits.classes = context.truth;
    logits.terms = context.lossTerms;
    return logits;
  }

  /** Probabilities or labels of the core. \param makeKernel (logits, values) writes `channels` of each pixel */
  template <typename TValue, typename TMakeKernel>
  void
  Take(TileData & data, std::int64_t channels, TValue * output, std::ptrdiff_t pitch, const TMakeKernel & makeKernel)
    const
  {
    Context & context = GetContext();
    Forward(data, context);
    const Region &      core = data.tile.core;
    const std::int64_t  row = core.width * channels;
    std::vector<TValue> found(row * core.height);
    TValue * const      values = context.results.template Take<TValue>(found.size());
    context.queue.Run(makeKernel(GetLogits(data, context), values));
    context.queue.Download(found.data(), values, found.size() * sizeof(TValue));
    context.queue.Wait();
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      std::copy_n(found.begin() + y * row, row, output + y * pitch);
    }
  }

  void
  TakeScore(const TileData & data, const LossTerms & terms, Context & context, Score & sum) const
  {
    device::ScoreSums<T> kernel{ GetLogits(data, context), nullptr };
    const std::int64_t   values = kernel.GetValues(), taps = kernel.logits.GetTaps();
    const std::int64_t   slices = kernel.Threads() / taps;
    kernel.partial = context.scorePartial.template Take<double>(kernel.Threads() * values);
    double * const      sums = context.scores.template Take<double>((slices + 1) * values); // of slices, of all
    std::vector<double> found(values);
    context.queue.Run(kernel);
    context.queue.Run(device::AddSlices<double>{ kernel.partial, taps, values, slices, sums });
    context.queue.Run(device::AddSlices<double>{ sums, slices, values, 1, sums + slices * values });
    context.queue.Download(found.data(), sums + slices * values, values * sizeof(double));
    context.queue.Wait();
    AddFound(found, terms, sum);
  }

  /** \param found as ScoreSums says */
  void
  AddFound(const std::vector<double> & found, const LossTerms & terms, Score & sum) const
  {
    const int classes = m_Network.GetNumberOfClasses(), outputs = m_Network.GetNumberOfOutputChannels();
    sum.SetNumberOfClasses(classes);
    sum.loss += found[0];
    for (int c = 0; c < classes; ++c)
    {
      const double * counts = found.data() + 1 + 3 * c;
      sum.pixels += std::llround(counts[0]);
      sum.weight += (terms.HasSums() ? 1 : terms.weights[c]) * counts[0];
      sum.actual[c] += std::llround(counts[0]);
      sum.predicted[c] += std::llround(counts[1]);
      sum.both[c] += std::llround(counts[2]);
    }
    sum.SetNumberOfChannels(outputs);
    for (int o = 0; o < outputs && terms.HasSums(); ++o)
    {
      const double * ofOutput = found.data() + 1 + 3 * classes + 2 * o;
      sum.probabilities[o] += ofOutput[0];
      sum.hits[o] += ofOutput[1];
      sum.truths[o] += found[1 + 3 * (outputs == 1 ? 1 : o)];
    }
  }

  // Backward ----------------------------------------------------------------------------------------------------------

  void
  AddLossGradient(const TileData & data, Context & context, double * gradient) const
  {
    const device::Logits<T> logits = GetLogits(data, context);
    context.gradients[m_End - 1] = TakeMap(context.gradientMemory[m_End - 1], data, m_End - 1);
    context.queue.Run(device::LossMapGradient<T>{ logits, context.gradients[m_End - 1] });
    if (!m_FusedLast)
    {
      return;
    }
    const std::int64_t     taps = logits.GetTaps(), slices = device::GetNumberOfSlices(logits.map.height);
    const std::int64_t     outputs = logits.outputs, weights = logits.map.channels * outputs * taps;
    const ParameterPlace & place = m_Layout.back();
    float * const          weight = context.partial.template Take<float>(slices * weights);
    float * const          bias = context.biasPartial.template Take<float>(slices * taps * outputs);
    context.queue.Run(device::LossWeightGradient<T>{ logits, weight, bias });
    context.queue.Run(device::AddSlices<float>{ weight, slices, weights, 1, gradient + place.weight });
    context.queue.Run(device::AddSlices<float>{ bias, slices * taps, outputs, 1, gradient + place.bias });
  }

  /** A map like that of layer i for the gradient of its output. \return whether it holds something to add to */
  bool
  TakeGradient(Context & context, std::size_t i) const
  {
    if (context.gradients[i].values)
    {
      return true;
    }
    context.gradients[i] = context.outputs[i];
    context.gradients[i].values = context.gradientMemory[i].template Take<T>(context.outputs[i].GetSize());
    return false;
  }

  void
  AddLayerGradient(Context & context, std::size_t i, double * sum) const
  {
    auto &      queue = context.queue;
    const Map & gradient = context.gradients[i];
    if (m_Skips[i] >= 0)
    {
      const bool  accumulates = TakeGradient(context, m_Skips[i]);
      const Map & skip = context.gradients[m_Skips[i]];
      queue.Run(device::Add<T>{ gradient, accumulates ? skip : Map{}, skip });
    }
    float * const bias = context.biasPartial.template Take<float>(gradient.height * gradient.channels);
    const bool    relu = m_Network.layers[i].activation == Layer::Activation::ReLU;
    queue.Run(device::CloseReLU<T>{ relu ? context.activated[i] : Map{}, gradient, bias });
    queue.Run(device::AddSlices<float>{ bias, gradient.height, gradient.channels, 1, sum + m_Layout[i].bias });
    if (i == 0)
    {
      AddWeightGradient(context, i, context.input, sum);
      return;
    }
    AddWeightGradient(context, i, context.outputs[i - 1], sum);
    const bool accumulates = TakeGradient(context, i - 1);
    Convolve(context, !IsPlain(i), gradient, GetFilter(i, true), context.gradients[i - 1], accumulates);
  }

  /** A convolution leads from the large map to the small one, a transposed one from the small to the large. */
  template <typename TInput>
  void
  AddWeightGradient(Context & context, std::size_t i, const TInput & input, double * sum) const
  {
    const Layer & layer = m_Network.layers[i];
    const Map &   gradient = context.gradients[i];
    double *      target = sum + m_Layout[i].weight;
    if (IsPlain(i))
    {
      AddSlicesOf(
        context,
        device::WeightGradient<TInput, Map>{ input, gradient, layer.kernel, layer.stride, layer.padding, nullptr },
        target);
    }
    else
    {
      AddSlicesOf(
        context,
        device::WeightGradient<Map, TInput>{ gradient, input, layer.kernel, layer.stride, layer.padding, nullptr },
        target);
    }
  }

  template <typename TWeightGradient>
  static void
  AddSlicesOf(Context & context, TWeightGradient kernel, double * target)
  {
    kernel.partial = context.partial.template Take<float>(kernel.Threads());
    context.queue.Run(kernel);
    const std::int64_t slices = device::GetNumberOfSlices(kernel.small.height);
    context.queue.Run(device::AddSlices<float>{ kernel.partial, slices, kernel.GetWeights(), 1, target });
  }

  mutable TDevice    m_Device;
  Buffer             m_Parameters;
  mutable std::mutex m_Mutex; ///< of the contexts' table

  mutable std::map<std::thread::id, std::unique_ptr<Context>> m_Contexts;
};

/** \throw std::invalid_argument for Precision::Double */
template <typename TDevice>
std::unique_ptr<ChainPasses>
MakeDevicePasses(const NetworkDescription & network, const TDevice & device, Precision precision)
{
  switch (precision)
  {
    case Precision::Float:
      return std::make_unique<DevicePasses<TDevice, float>>(network, device, precision);
    case Precision::TensorFloat32:
      return std::make_unique<DevicePasses<TDevice, TensorFloat32>>(network, device, precision);
    case Precision::BFloat16:
      return std::make_unique<DevicePasses<TDevice, BFloat16>>(network, device, precision);
    case Precision::Float16:
      return std::make_unique<DevicePasses<TDevice, Float16>>(network, device, precision);
    case Precision::Double:
      break;
  }
  throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "devices compute in fp32, tf32, bf16 or fp16"));
}

} // namespace gigapixel

#endif
