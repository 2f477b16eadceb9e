/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDevicePasses_h
#define gigapixelDevicePasses_h

#include "gigapixelDeviceKernels.h"
#include "gigapixelDeviceLoss.h"

#include "gigapixelNetworkGeometry.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelTilePasses.h"

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
 * Download(to, from, bytes), Clear(memory, bytes) and Run(kernel) are done one after the other, and whose Wait()
 * returns when they are. Each thread that computes tiles has a queue and maps of its own: while one reads its pixels,
 * the device works for another. The bytes of the pixels are all that goes up, the sums all that comes down. */
template <typename TDevice>
class DevicePasses : public TilePasses
{
public:
  DevicePasses(const NetworkDescription & network, TDevice device)
    : m_Network(network)
    , m_Layout(GetParameterLayout(network))
    , m_Skips(GetSkips(network.layers))
    , m_Scales(GetMapScales(network.layers))
    , m_End(network.layers.size() - 1)
    , m_Device(std::move(device))
    , m_Parameters(m_Device)
  {
    const Layer & last = network.layers.back();
    if (m_End == 0 || network.layers.front().kind != Layer::Kind::Convolution ||
        last.kind != Layer::Kind::TransposedConvolution || last.kernel != last.stride || last.padding != 0 ||
        !last.add.empty())
    {
      throw std::invalid_argument("the network \"" + network.name +
                                  "\" cannot be computed on this device, which wants a convolution as the first layer "
                                  "and as the last one a transposed convolution whose kernel is its stride, without "
                                  "padding and skip: use the CPU");
    }
    if (network.loss == NetworkDescription::Loss::Dice)
    {
      throw std::invalid_argument("the Dice loss is computed by the CPU alone: choose that device, or cross-entropy");
    }
  }

  void
  SetParameters(const std::vector<double> & parameters) override
  {
    const std::vector<float> values(parameters.begin(), parameters.end());
    typename TDevice::Queue  queue(m_Device);
    queue.Upload(m_Parameters.Take(values.size() * sizeof(float)), values.data(), values.size() * sizeof(float));
    queue.Wait();
  }

  void
  AddGradient(TileData & data, const LossTerms & terms, LossGradient & sum) const override
  {
    Context & context = GetContext();
    Forward(data, context);
    UploadTruth(data, terms, context);
    const std::size_t   parameters = m_Network.GetNumberOfParameters();
    std::vector<double> found(parameters + 1); // and the loss
    double * const      gradient = context.sums.template Take<double>(found.size());
    context.queue.Clear(gradient, found.size() * sizeof(double));
    AddLossGradient(data, context, gradient);
    for (std::size_t i = m_End; i-- > 0;)
    {
      AddLayerGradient(context, i, gradient);
    }
    context.queue.Download(found.data(), gradient, found.size() * sizeof(double));
    context.queue.Wait();
    sum.gradient.resize(parameters);
    std::transform(found.begin(), found.end() - 1, sum.gradient.begin(), sum.gradient.begin(), std::plus<>());
    sum.loss += found.back();
    for (const std::uint8_t truth : data.classes)
    {
      if (TakesPart(truth, m_Network.GetNumberOfOutputChannels()))
      {
        sum.weight += terms.weights[truth];
        ++sum.pixels;
      }
    }
  }

  void
  AddScore(TileData & data, const LossTerms & terms, Score & sum) const override
  {
    Context & context = GetContext();
    Forward(data, context);
    UploadTruth(data, terms, context);
    double * const loss = context.sums.template Take<double>(1);
    context.queue.Clear(loss, sizeof(double));
    AddLoss(data, context, nullptr, loss);
    std::vector<std::uint8_t> labels(data.classes.size());
    LabelCore(data, context, 0, labels.data());
    double found = 0;
    context.queue.Download(&found, loss, sizeof(double));
    context.queue.Wait();
    sum.SetNumberOfClasses(m_Network.GetNumberOfClasses());
    sum.loss += found;
    for (std::size_t i = 0; i < labels.size(); ++i)
    {
      if (TakesPart(data.classes[i], m_Network.GetNumberOfOutputChannels()))
      {
        sum.Count(data.classes[i], labels[i]);
        sum.weight += terms.weights[data.classes[i]];
      }
    }
  }

  void
  Predict(TileData & data, float * probabilities, std::ptrdiff_t pitch) const override
  {
    Context & context = GetContext();
    Forward(data, context);
    const Region &     core = data.tile.core;
    const std::int64_t row = core.width * m_Network.GetNumberOfOutputChannels();
    std::vector<float> found(row * core.height);
    float * const      values = context.results.template Take<float>(found.size());
    context.queue.Run(device::PredictPixels{ GetLogits(data, context), values });
    context.queue.Download(found.data(), values, found.size() * sizeof(float));
    context.queue.Wait();
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      std::copy_n(found.begin() + y * row, row, probabilities + y * pitch);
    }
  }

  void
  PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const override
  {
    Context & context = GetContext();
    Forward(data, context);
    const Region &            core = data.tile.core;
    std::vector<std::uint8_t> found(core.width * core.height);
    LabelCore(data, context, static_cast<float>(std::log(threshold / (1 - threshold))), found.data());
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      std::copy_n(found.begin() + y * core.width, core.width, labels + y * pitch);
    }
  }

private:
  /** Memory of the device that stays for the next tile. */
  class Buffer
  {
  public:
    explicit Buffer(TDevice & device)
      : m_Device(&device)
    {}
    Buffer(Buffer && other) noexcept
      : m_Device(other.m_Device)
      , m_Memory(std::exchange(other.m_Memory, nullptr))
      , m_Bytes(other.m_Bytes)
    {}
    ~Buffer()
    {
      if (m_Memory)
      {
        m_Device->Free(m_Memory);
      }
    }

    /** At least so many bytes, whose values are not set. */
    void *
    Take(std::size_t bytes)
    {
      if (bytes > m_Bytes)
      {
        if (m_Memory)
        {
          m_Device->Free(std::exchange(m_Memory, nullptr));
        }
        m_Memory = m_Device->Allocate(bytes);
        m_Bytes = bytes;
      }
      return m_Memory;
    }

    template <typename T>
    T *
    Take(std::size_t values)
    {
      return static_cast<T *>(Take(values * sizeof(T)));
    }

    void *
    Get() const
    {
      return m_Memory;
    }

  private:
    TDevice *   m_Device;
    void *      m_Memory{ nullptr };
    std::size_t m_Bytes{ 0 };
  };

  /** What one thread computes with. */
  struct Context
  {
    Context(TDevice & device, std::size_t layers)
      : queue(device)
      , pixels(device)
      , classes(device)
      , weights(device)
      , results(device)
      , sums(device)
      , partial(device)
      , biasPartial(device)
      , lossPartial(device)
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
    Buffer                  pixels, classes, weights, results, sums, partial, biasPartial, lossPartial;
    std::vector<Buffer>     activatedMemory, outputMemory, gradientMemory;

    // Of the current tile.
    device::Pixels           input;
    std::vector<device::Map> activated; ///< before the skip is added
    std::vector<device::Map> outputs;
    std::vector<device::Map> gradients; ///< of the outputs; no values: nothing has been added so far
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
  device::Filter
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

  device::Map
  TakeMap(Buffer & buffer, const TileData & data, std::size_t i) const
  {
    device::Map map;
    map.channels = m_Network.layers[i].outputChannels;
    map.height = data.tile.window.height * m_Scales[i].numerator / m_Scales[i].denominator;
    map.width = data.tile.window.width * m_Scales[i].numerator / m_Scales[i].denominator;
    map.values = buffer.template Take<float>(map.GetSize());
    return map;
  }

  void
  Forward(const TileData & data, Context & context) const
  {
    auto & queue = context.queue;
    queue.Upload(context.pixels.Take(data.pixels.size()), data.pixels.data(), data.pixels.size());
    context.input = { static_cast<const std::uint8_t *>(context.pixels.Get()),
                      m_Network.channels,
                      data.tile.window.height,
                      data.tile.window.width,
                      m_Network.invert };
    for (std::size_t i = 0; i < m_End; ++i)
    {
      const device::Map    map = TakeMap(context.activatedMemory[i], data, i);
      const device::Filter filter = GetFilter(i, false);
      context.activated[i] = map;
      if (i == 0)
      {
        queue.Run(device::Convolve<device::Pixels>{ context.input, filter, map, false });
      }
      else if (m_Network.layers[i].kind == Layer::Kind::Convolution)
      {
        queue.Run(device::Convolve<device::Map>{ context.outputs[i - 1], filter, map, false });
      }
      else
      {
        queue.Run(device::ConvolveTransposed{ context.outputs[i - 1], filter, map, false });
      }
      context.outputs[i] = map;
      if (m_Skips[i] >= 0)
      {
        context.outputs[i] = TakeMap(context.outputMemory[i], data, i);
        queue.Run(device::Add{ map, context.outputs[m_Skips[i]], context.outputs[i] });
      }
      context.gradients[i] = device::Map{};
    }
  }

  void
  UploadTruth(const TileData & data, const LossTerms & terms, Context & context) const
  {
    const std::vector<float> weights(terms.weights.begin(), terms.weights.end());
    const std::size_t        bytes = weights.size() * sizeof(float);
    context.queue.Upload(context.classes.Take(data.classes.size()), data.classes.data(), data.classes.size());
    context.queue.Upload(context.weights.Take(bytes), weights.data(), bytes);
    context.queue.Wait(); // for the weights, which end here
  }

  device::Logits
  GetLogits(const TileData & data, const Context & context) const
  {
    const Region & core = data.tile.core;
    const Region & window = data.tile.window;
    const Layer &  layer = m_Network.layers.back();
    return { context.outputs[m_End - 1],
             GetParameters(m_Layout.back().weight),
             GetParameters(m_Layout.back().bias),
             layer.outputChannels,
             layer.stride,
             core.x - window.x,
             core.y - window.y,
             core.width,
             core.height,
             static_cast<const std::uint8_t *>(context.classes.Get()),
             static_cast<const float *>(context.weights.Get()) };
  }

  void
  LabelCore(const TileData & data, Context & context, float least, std::uint8_t * labels) const
  {
    const std::size_t    pixels = data.tile.core.width * data.tile.core.height;
    std::uint8_t * const values = context.results.template Take<std::uint8_t>(pixels);
    context.queue.Run(device::LabelPixels{ GetLogits(data, context), least, values });
    context.queue.Download(labels, values, pixels);
    context.queue.Wait();
  }

  /** \param gradient of all parameters; null: only the loss is wanted */
  void
  AddLoss(const TileData & data, Context & context, double * gradient, double * loss) const
  {
    device::LossWeightGradient kernel{ GetLogits(data, context), nullptr, nullptr, nullptr };
    const std::int64_t         taps = kernel.GetTaps(), slices = kernel.GetSlices();
    const std::int64_t         outputs = kernel.logits.outputs, weights = kernel.logits.map.channels * outputs * taps;
    kernel.lossPartial = context.lossPartial.template Take<double>(slices * taps);
    if (gradient)
    {
      kernel.weightPartial = context.partial.template Take<float>(slices * weights);
      kernel.biasPartial = context.biasPartial.template Take<float>(slices * taps * outputs);
    }
    context.queue.Run(kernel);
    context.queue.Run(device::AddSlices<double>{ kernel.lossPartial, slices * taps, 1, loss });
    if (gradient)
    {
      const ParameterPlace & place = m_Layout.back();
      context.queue.Run(device::AddSlices<float>{ kernel.weightPartial, slices, weights, gradient + place.weight });
      context.queue.Run(device::AddSlices<float>{ kernel.biasPartial, slices * taps, outputs, gradient + place.bias });
    }
  }

  void
  AddLossGradient(const TileData & data, Context & context, double * gradient) const
  {
    AddLoss(data, context, gradient, gradient + m_Network.GetNumberOfParameters());
    context.gradients[m_End - 1] = TakeMap(context.gradientMemory[m_End - 1], data, m_End - 1);
    context.queue.Run(device::LossMapGradient{ GetLogits(data, context), context.gradients[m_End - 1] });
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
    context.gradients[i].values = context.gradientMemory[i].template Take<float>(context.outputs[i].GetSize());
    return false;
  }

  void
  AddLayerGradient(Context & context, std::size_t i, double * sum) const
  {
    auto &            queue = context.queue;
    const Layer &     layer = m_Network.layers[i];
    const device::Map gradient = context.gradients[i];
    if (m_Skips[i] >= 0)
    {
      const bool          more = TakeGradient(context, m_Skips[i]);
      const device::Map & skip = context.gradients[m_Skips[i]];
      queue.Run(device::Add{ gradient, more ? skip : device::Map{}, skip });
    }
    float * const bias = context.biasPartial.template Take<float>(gradient.height * gradient.channels);
    const bool    relu = layer.activation == Layer::Activation::ReLU;
    queue.Run(device::CloseReLU{ relu ? context.activated[i] : device::Map{}, gradient, bias });
    queue.Run(device::AddSlices<float>{ bias, gradient.height, gradient.channels, sum + m_Layout[i].bias });
    if (i == 0)
    {
      AddWeightGradient(context, 0, context.input, gradient, sum);
      return;
    }
    const device::Map & input = context.outputs[i - 1];
    const bool          plain = layer.kind == Layer::Kind::Convolution;
    AddWeightGradient(context, i, plain ? input : gradient, plain ? gradient : input, sum);
    const bool           more = TakeGradient(context, i - 1);
    const device::Map &  before = context.gradients[i - 1];
    const device::Filter filter = GetFilter(i, true);
    if (plain)
    {
      queue.Run(device::ConvolveTransposed{ gradient, filter, before, more });
    }
    else
    {
      queue.Run(device::Convolve<device::Map>{ gradient, filter, before, more });
    }
  }

  template <typename TLarge>
  void
  AddWeightGradient(Context & context, std::size_t i, const TLarge & large, const device::Map & small, double * sum)
    const
  {
    const Layer &                  layer = m_Network.layers[i];
    device::WeightGradient<TLarge> kernel{ large, small, layer.kernel, layer.stride, layer.padding, nullptr };
    kernel.partial = context.partial.template Take<float>(kernel.Threads());
    context.queue.Run(kernel);
    const std::int64_t slices = device::GetNumberOfSlices(small.height);
    context.queue.Run(
      device::AddSlices<float>{ kernel.partial, slices, kernel.GetWeights(), sum + m_Layout[i].weight });
  }

  const NetworkDescription          m_Network;
  const std::vector<ParameterPlace> m_Layout;
  const std::vector<int>            m_Skips;
  const std::vector<MapScale>       m_Scales;
  const std::size_t                 m_End; ///< layers before the last one, which is fused with the loss

  mutable TDevice    m_Device;
  Buffer             m_Parameters;
  mutable std::mutex m_Mutex; ///< of the contexts' table

  mutable std::map<std::thread::id, std::unique_ptr<Context>> m_Contexts;
};

} // namespace gigapixel

#endif
