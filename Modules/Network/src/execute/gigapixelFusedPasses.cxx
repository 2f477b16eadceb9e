/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelChainPasses.h"
#include "gigapixelDiagnostic.h"
#include "objective/gigapixelLogitMap.h"
#include "kernels/gigapixelStoredNumbers.h"

#include "kernels/gigapixelKernelTable.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace
{

using kernels::Convolution;
using Map = kernels::MapView<float>;

/** What the forward pass leaves for the backward pass, per layer. */
struct Maps
{
  Map              input;     ///< of the first layer, where the kernels do not read the pixels themselves
  std::vector<Map> activated; ///< before the skip is added: tells where ReLU was open
  std::vector<Map> outputs;
};

kernels::MapView<const float>
ToConst(const Map & map)
{
  return { map.values, map.height, map.width, map.channelStride, map.rowStride, map.columnStride };
}

/** result = a + b; maps of MapMemory are compact. */
void
Add(const Map & a, const Map & b, std::int64_t channels, const Map & result)
{
  const std::int64_t size = channels * a.channelStride;
  for (std::int64_t i = 0; i < size; ++i)
  {
    result.values[i] = a.values[i] + b.values[i];
  }
}

using Rounding = void (*)(float *, std::size_t);

/** Null: floats stay as they are. */
Rounding
GetRounding(Precision precision)
{
  return precision == Precision::TensorFloat32 ? &RoundTo<TensorFloat32>
         : precision == Precision::BFloat16    ? &RoundTo<BFloat16>
         : precision == Precision::Float16     ? &RoundTo<Float16>
                                               : nullptr;
}

class FusedPasses : public ChainPasses
{
public:
  FusedPasses(const NetworkDescription & network, Precision precision)
    : ChainPasses(network, precision)
    , m_Kernels(kernels::GetKernels())
    , m_FusedFirst(network.layers.front().kind == Layer::Kind::Convolution)
    , m_Round(GetRounding(precision))
  {}

  void
  SetParameters(const std::vector<double> & parameters) override
  {
    m_Values = RoundWeights(m_Layout, parameters, m_Round);
  }

  void
  Differentiate(TileData & data, const LossTerms & terms, LossGradient & sum) const override
  {
    Maps maps = Forward(data, true);
    sum.gradient.resize(m_Values.size());
    const Map gradient = m_FusedLast ? FusedLoss(data, maps, terms, sum) : PlainLoss(data, maps, terms, sum);
    Round(gradient, m_End - 1);
    Backward(data, maps, gradient, sum.gradient);
  }

  void
  AddScore(TileData & data, const LossTerms & terms, Score & sum) const override
  {
    const Maps maps = Forward(data, false);
    sum.SetNumberOfClasses(m_Network.GetNumberOfClasses());
    if (!m_FusedLast)
    {
      return GetLogitMap(maps, data).TakeScore(terms, sum);
    }
    // In bands of whole rows of the map: the labels of a tile would take as much memory as its pixels.
    const kernels::CoreRegion core = GetCore(data);
    const std::int64_t        bandRows = 32 * m_Network.layers.back().stride;
    const int                 channels = m_Network.GetNumberOfOutputChannels();
    LossSum                   loss; // its pixels are counted below
    std::vector<std::uint8_t> labels(std::min(bandRows, core.height) * core.width);
    for (std::int64_t y = 0; y < core.height; y += bandRows)
    {
      const kernels::CoreRegion  band{ core.x, core.y + y, core.width, std::min(bandRows, core.height - y) };
      const std::uint8_t * const classes = data.classes.data() + y * core.width;
      m_Kernels.scorePixels(
        ToConst(maps.outputs[m_End - 1]), GetLogits(), band, { classes, core.width }, terms, labels.data(), loss);
      for (std::int64_t i = 0; i < band.width * band.height; ++i)
      {
        if (TakesPart(classes[i], channels))
        {
          sum.Count(classes[i], labels[i]);
        }
      }
    }
    loss.pixels = 0;
    sum.LossSum::Add(loss);
  }

  void
  Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const override
  {
    if (value == PixelValue::EachProbability)
    {
      throw Refusal(Diagnostic("E-MODEL-OUTPUT", "a chain of layers has no probabilities of each class by itself"));
    }
    const Maps maps = Forward(data, false);
    if (!m_FusedLast)
    {
      return GetLogitMap(maps, data).Predict(value, values, pitch);
    }
    m_Kernels.predict(
      ToConst(maps.outputs[m_End - 1]), GetLogits(), GetCore(data), value, GetOutput(data, values, pitch));
  }

  void
  PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const override
  {
    const Maps maps = Forward(data, false);
    if (!m_FusedLast)
    {
      return GetLogitMap(maps, data).PredictLabels(threshold, labels, pitch);
    }
    m_Kernels.predictLabels(ToConst(maps.outputs[m_End - 1]), GetLogits(), GetCore(data), threshold, 1, labels, pitch);
  }

private:
  // Input -------------------------------------------------------------------------------------------------------------

  kernels::PixelView
  GetPixels(const TileData & data) const
  {
    const Region & window = data.tile.window;
    return { data.rows.first, window.width, window.height, data.rows.pitch, m_Network.channels, m_Network.invert };
  }

  Map
  MakeInput(TileData & data) const
  {
    const Region & window = data.tile.window;
    const int      channels = m_Network.channels;
    const Map      input = data.maps.Take(channels, window.height, window.width);
    for (std::int64_t y = 0; y < window.height; ++y)
    {
      const std::uint8_t * sample = data.rows.first + y * data.rows.pitch;
      for (std::int64_t x = 0; x < window.width; ++x)
      {
        for (int c = 0; c < channels; ++c, ++sample)
        {
          input.values[c * input.channelStride + y * input.rowStride + x] =
            static_cast<float>(m_Network.invert ? 255 - *sample : *sample) / 255.0f;
        }
      }
    }
    return input;
  }

  // Layers ------------------------------------------------------------------------------------------------------------

  /** What the precision keeps of a map like the output of layer i, or its gradient. */
  void
  Round(const Map & map, std::size_t i) const
  {
    if (m_Round)
    {
      m_Round(map.values, m_Network.layers[i].outputChannels * map.channelStride);
    }
  }

  /** fp16 ends early, also for networks whose floats do not: what comes after infinity would be a mask of one value.
   * The other precisions have a float's range, which CheckValueRange() answers for. */
  void
  CheckRange(const Map & map, std::size_t i) const
  {
    const std::int64_t size = m_Network.layers[i].outputChannels * map.channelStride;
    if (m_Precision == Precision::Float16 &&
        !std::all_of(map.values, map.values + size, [](float value) { return std::isfinite(value); }))
    {
      throw Refusal(Diagnostic("E-PRECISION",
                               "the layer \"" + m_Network.layers[i].name + "\" of the network \"" + m_Network.name +
                                 "\" comes to numbers beyond 65504, where fp16 ends",
                               "choose the precision fp32 or bf16")
                      .OfValue(m_Network.layers[i].name));
    }
  }

  /** The layer as a convolution, or as a transposed one. */
  Convolution
  GetConvolution(std::size_t i) const
  {
    const Layer & layer = m_Network.layers[i];
    return { layer.outputChannels,
             layer.kernel,
             layer.stride,
             layer.padding,
             m_Values.data() + m_Layout[i].weight,
             m_Values.data() + m_Layout[i].bias,
             layer.activation == Layer::Activation::ReLU,
             false };
  }

  /** Its gradient for the input: the other kind, with the same weights. */
  Convolution
  GetInputGradient(std::size_t i) const
  {
    const Layer & layer = m_Network.layers[i];
    return { layer.inputChannels,
             layer.kernel,
             layer.stride,
             layer.padding,
             m_Values.data() + m_Layout[i].weight,
             nullptr,
             false,
             false };
  }

  /** Memory for the output of a layer. */
  Map
  TakeOutput(TileData & data, std::size_t i) const
  {
    const Region & window = data.tile.window;
    const auto [numerator, denominator] = m_Scales[i];
    return data.maps.Take(m_Network.layers[i].outputChannels,
                          window.height * numerator / denominator,
                          window.width * numerator / denominator);
  }

  void
  Convolve(std::size_t i, const TileData & data, const Map & input, const Map & output, bool adds) const
  {
    const Layer & layer = m_Network.layers[i];
    Convolution   convolution = GetConvolution(i);
    convolution.adds = adds;
    if (i == 0 && m_FusedFirst)
    {
      m_Kernels.convolvePixels(GetPixels(data), convolution, output);
    }
    else if (layer.kind == Layer::Kind::Convolution)
    {
      m_Kernels.convolveMap({ ToConst(input), layer.inputChannels }, convolution, output);
    }
    else
    {
      m_Kernels.convolveMapTransposed({ ToConst(input), layer.inputChannels }, convolution, output);
    }
  }

  // Forward -----------------------------------------------------------------------------------------------------------

  /** The first m_End layers. \param keep for a backward pass; else maps are given back after their last use */
  Maps
  Forward(TileData & data, bool keep) const
  {
    data.maps.Begin(data.tile.window.width * data.tile.window.height, data.tile.greatestWindow);
    Maps maps;
    maps.activated.resize(m_End);
    maps.outputs.resize(m_End);
    if (!m_FusedFirst)
    {
      maps.input = MakeInput(data);
    }
    for (std::size_t i = 0; i < m_End; ++i)
    {
      const Map & input = i == 0 ? maps.input : maps.outputs[i - 1];
      if (!keep && TakesOverSkip(i))
      {
        Map & skip = maps.outputs[m_Skips[i]];
        Convolve(i, data, input, skip, true);
        maps.outputs[i] = std::exchange(skip, {});
        ReleaseUnused(data, maps, i);
        continue;
      }
      const Map output = TakeOutput(data, i);
      Convolve(i, data, input, output, false);
      Round(output, i);
      CheckRange(output, i);
      maps.activated[i] = output;
      maps.outputs[i] = output;
      if (m_Skips[i] >= 0)
      {
        maps.outputs[i] = keep ? TakeOutput(data, i) : output;
        Add(output, maps.outputs[m_Skips[i]], m_Network.layers[i].outputChannels, maps.outputs[i]);
        Round(maps.outputs[i], i);
        CheckRange(maps.outputs[i], i);
      }
      if (!keep)
      {
        ReleaseUnused(data, maps, i);
      }
    }
    return maps;
  }

  /** Whether layer i can add its output to the map of its skip: the last to read that map, which is not the one that it
   * computes from, and no sum of rounded maps. */
  bool
  TakesOverSkip(std::size_t i) const
  {
    return m_Skips[i] >= 0 && m_Skips[i] + 1 < static_cast<int>(i) && m_Round == nullptr &&
           std::find(m_Skips.begin() + i + 1, m_Skips.end(), m_Skips[i]) == m_Skips.end();
  }

  /** Gives back what no layer after layer i reads. */
  void
  ReleaseUnused(TileData & data, Maps & maps, std::size_t i) const
  {
    data.maps.Release(maps.input);
    const auto later = m_Skips.begin() + i + 1;
    for (std::size_t j = 0; j < i; ++j)
    {
      if (std::find(later, m_Skips.end(), static_cast<int>(j)) == m_Skips.end())
      {
        data.maps.Release(maps.outputs[j]);
      }
    }
  }

  // Loss --------------------------------------------------------------------------------------------------------------

  LogitMap<float>
  GetLogitMap(const Maps & maps, const TileData & data) const
  {
    return { maps.outputs[m_End - 1].values, m_Network.GetNumberOfOutputChannels(), data };
  }

  kernels::PixelLogits
  GetLogits() const
  {
    const Layer & layer = m_Network.layers.back();
    return { layer.inputChannels,
             layer.outputChannels,
             layer.stride,
             m_Values.data() + m_Layout.back().weight,
             m_Values.data() + m_Layout.back().bias };
  }

  /** Channels interleaved. */
  Map
  GetOutput(const TileData & data, float * values, std::ptrdiff_t pitch) const
  {
    const Region & core = data.tile.core;
    return { values, core.height, core.width, 1, pitch, m_Network.GetNumberOfOutputChannels() };
  }

  static kernels::CoreRegion
  GetCore(const TileData & data)
  {
    const Region & core = data.tile.core;
    const Region & window = data.tile.window;
    return { core.x - window.x, core.y - window.y, core.width, core.height };
  }

  static kernels::TruthView
  GetTruth(const TileData & data)
  {
    return { data.classes.data(), data.tile.core.width };
  }

  /** \return gradient of the last low-resolution map */
  Map
  FusedLoss(TileData & data, const Maps & maps, const LossTerms & terms, LossGradient & sum) const
  {
    const Map gradient = TakeOutput(data, m_End - 1);
    m_Kernels.addPixelLoss(
      ToConst(maps.outputs[m_End - 1]),
      GetLogits(),
      GetCore(data),
      GetTruth(data),
      terms,
      { gradient, sum.gradient.data() + m_Layout.back().weight, sum.gradient.data() + m_Layout.back().bias },
      sum);
    return gradient;
  }

  /** \return gradient of the logits */
  Map
  PlainLoss(TileData & data, const Maps & maps, const LossTerms & terms, LossGradient & sum) const
  {
    const int channels = m_Network.GetNumberOfOutputChannels();
    const Map gradient = TakeOutput(data, m_End - 1);
    std::copy_n(maps.outputs[m_End - 1].values, channels * gradient.channelStride, gradient.values);
    LogitMap<float>(gradient.values, channels, data).TakeLoss(terms, sum);
    return gradient;
  }

  // Backward ----------------------------------------------------------------------------------------------------------

  void
  Backward(TileData & data, Maps & maps, Map gradient, std::vector<double> & sum) const
  {
    std::vector<Map> skipGradients(m_End);
    for (std::size_t i = m_End; i-- > 0;)
    {
      const int channels = m_Network.layers[i].outputChannels;
      if (skipGradients[i].values != nullptr)
      {
        Add(gradient, skipGradients[i], channels, gradient);
        Round(gradient, i);
        data.maps.Release(skipGradients[i]);
      }
      if (i == 0 && m_FusedFirst)
      {
        m_Kernels.addPixelConvolutionGradient(GetPixels(data),
                                              GetConvolution(0),
                                              ToConst(maps.activated[0]),
                                              ToConst(gradient),
                                              sum.data() + m_Layout[0].weight,
                                              sum.data() + m_Layout[0].bias);
        return;
      }
      Map closed = gradient;
      if (m_Skips[i] >= 0)
      {
        Map & skip = skipGradients[m_Skips[i]];
        if (skip.values == nullptr)
        {
          skip = gradient;
          closed = TakeOutput(data, i);
        }
        else
        {
          Add(skip, gradient, channels, skip);
          Round(skip, i);
        }
      }
      gradient = AddLayerGradient(data, i, maps, gradient, closed, sum);
    }
  }

  /** \param closed takes the gradient before ReLU; it may be the gradient itself
   * \return gradient of the layer's input, for all layers but the first */
  Map
  AddLayerGradient(TileData &            data,
                   std::size_t           i,
                   Maps &                maps,
                   const Map &           gradient,
                   Map                   closed,
                   std::vector<double> & sum) const
  {
    const Layer & layer = m_Network.layers[i];
    const bool    relu = layer.activation == Layer::Activation::ReLU;
    const Map &   input = i == 0 ? maps.input : maps.outputs[i - 1];
    double *      weightGradient = sum.data() + m_Layout[i].weight;
    m_Kernels.closeReLU(ToConst(relu ? maps.activated[i] : Map{}),
                        layer.outputChannels,
                        ToConst(gradient),
                        closed,
                        sum.data() + m_Layout[i].bias);
    const kernels::InputMap in{ ToConst(input), layer.inputChannels };
    const kernels::InputMap out{ ToConst(closed), layer.outputChannels };
    const bool              plain = layer.kind == Layer::Kind::Convolution;
    const Convolution       back = GetInputGradient(i);
    if (plain)
    {
      m_Kernels.addMapConvolutionGradient(in, GetConvolution(i), out.view, weightGradient);
    }
    else
    {
      m_Kernels.addMapConvolutionGradient(out, back, in.view, weightGradient);
    }
    data.maps.Release(maps.outputs[i]);
    data.maps.Release(maps.activated[i]);
    Map before;
    if (i > 0)
    {
      before = TakeOutput(data, i - 1);
      (plain ? m_Kernels.convolveMapTransposed : m_Kernels.convolveMap)(out, back, before);
      Round(before, i - 1);
    }
    data.maps.Release(closed);
    return before;
  }

  const kernels::KernelTable & m_Kernels;
  const bool                   m_FusedFirst;
  const Rounding               m_Round;
  std::vector<float>           m_Values;
};

} // namespace

std::unique_ptr<ChainPasses>
MakeFusedPasses(const NetworkDescription & network, Precision precision)
{
  return std::make_unique<FusedPasses>(network, precision);
}

} // namespace gigapixel
