/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef GraphCases_h
#define GraphCases_h

#include "GraphFixture.h"

namespace gigapixel
{
namespace test
{

constexpr std::int64_t Width = 37;
constexpr std::int64_t Height = 29;
constexpr Size         VolumeSize{ 11, 12, 9 };

struct OperationCase
{
  std::string             name;
  std::string             type;
  std::vector<Attributes> variants;
  /** Further inputs by what they are: "same": a map of the same size and channels; "one": of one channel; "large",
   * "small": twice, half of the size. */
  std::string second{};
  int         axes{ 2 };

  Size
  GetImageSize() const
  {
    return axes == 2 ? Size{ Width, Height } : VolumeSize;
  }
};

inline std::string
AppendInput(NetworkGraph & graph, const OperationCase & test, std::int64_t channels)
{
  return Append(graph, "input", {}, { { "channels", channels }, { "axes", std::int64_t{ test.axes } } });
}

/** The operation's inputs beside the first one, which has so many channels. */
inline std::vector<std::string>
AppendInputs(NetworkGraph & graph, const OperationCase & test, const std::string & first, std::int64_t channels = 4)
{
  std::vector<std::string> inputs{ first };
  if (test.second == "same")
  {
    inputs.push_back(AppendConvolution(graph, first, channels, 3, 1));
  }
  else if (test.second == "one")
  {
    inputs.push_back(AppendConvolution(graph, first, 1, 3, 1));
  }
  else if (test.second == "first")
  {
    inputs.push_back(first);
  }
  else if (test.second == "large")
  {
    const Attributes ofImage{ { "before", Pair(3, 2) }, { "after", Pair(9, 20) } };
    const Attributes ofVolume{ { "before", Triple(2, 3, 1) }, { "after", Triple(4, 7, 6) } };
    inputs.push_back(Append(graph, "pad", { first }, test.axes == 2 ? ofImage : ofVolume));
  }
  else if (test.second == "small")
  {
    const AttributeValue start = test.axes == 2 ? Pair(1, 0) : Triple(0, 1, 0);
    inputs.push_back(Append(graph, "slice", { first }, { { "step", std::int64_t{ 2 } }, { "start", start } }));
  }
  return inputs;
}

/** input -> convolution -> the operation -> size of the image -> logits: parameters before and behind it. */
inline NetworkGraph
MakeGraph(const OperationCase & test, const Attributes & attributes)
{
  NetworkGraph graph;
  const auto   input = AppendInput(graph, test, 2);
  const auto   first = AppendConvolution(graph, input, 4, 3, 1);
  const auto   tested = Append(graph, test.type, AppendInputs(graph, test, first), attributes);
  // Behind it the map is read twice: once as it is, once through a window.
  const auto window = AppendConvolution(graph, tested, 3, 3, 1);
  const auto both = Append(graph, "cat", { window, tested });
  const auto sized = Append(graph, "interpolate", { both, input }, { { "mode", GetLinearMode(graph) } });
  AppendConvolution(graph, sized, 1, 1, 0);
  return graph;
}

/** The operation alone. */
inline NetworkGraph
MakeBareGraph(const OperationCase & test, const Attributes & attributes)
{
  NetworkGraph             graph;
  const auto               input = AppendInput(graph, test, 4);
  std::vector<std::string> inputs =
    test.second == "same" ? std::vector<std::string>{ input, Append(graph, "sigmoid", { input }) }
    : test.second == "one"
      ? std::vector<std::string>{ input,
                                  Append(graph, "slice_channels", { input }, { { "channels", std::int64_t(1) } }) }
      : AppendInputs(graph, test, input);
  Append(graph, test.type, inputs, attributes);
  graph.Validate();
  return graph;
}

inline std::vector<OperationCase>
GetImageCases()
{
  const auto word = [](const char * text) { return AttributeValue(std::string(text)); };
  const auto integer = [](std::int64_t value) { return AttributeValue(value); };
  return {
    { "conv2d",
      "conv2d",
      { { { "out_channels", integer(3) }, { "kernel_size", Pair(1, 1) } },
        { { "out_channels", integer(5) }, { "kernel_size", Pair(1, 1) }, { "stride", Pair(2, 3) }, { "bias", false } },
        { { "out_channels", integer(3) }, { "kernel_size", Pair(3, 5) }, { "padding", Pair(1, 2) } },
        { { "out_channels", integer(3) }, { "kernel_size", Pair(3, 3) }, { "padding", Pair(2, 1) }, { "bias", false } },
        { { "out_channels", integer(4) },
          { "kernel_size", Pair(7, 7) },
          { "stride", Pair(2, 2) },
          { "padding", Pair(3, 3) } },
        { { "out_channels", integer(4) },
          { "kernel_size", Pair(4, 2) },
          { "stride", Pair(3, 5) },
          { "padding", Pair(1, 0) } },
        { { "out_channels", integer(4) },
          { "kernel_size", Pair(3, 3) },
          { "dilation", Pair(4, 3) },
          { "padding", Pair(4, 3) } },
        { { "out_channels", integer(4) },
          { "kernel_size", Pair(3, 3) },
          { "groups", integer(4) },
          { "padding", Pair(1, 1) } },
        { { "out_channels", integer(6) },
          { "kernel_size", Pair(3, 3) },
          { "groups", integer(2) },
          { "stride", Pair(2, 2) } },
        { { "out_channels", integer(6) }, { "kernel_size", Pair(1, 1) }, { "groups", integer(2) } },
        { { "out_channels", integer(8) },
          { "kernel_size", Pair(1, 1) },
          { "groups", integer(4) },
          { "stride", Pair(2, 2) },
          { "padding_mode", word("reflect") } },
        { { "out_channels", integer(3) }, { "kernel_size", Pair(4, 6) }, { "padding", word("same") } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(2, 3) },
          { "padding", word("same") },
          { "dilation", Pair(3, 2) } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(5, 5) },
          { "padding", Pair(3, 2) },
          { "padding_mode", word("reflect") } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(5, 3) },
          { "padding", Pair(2, 1) },
          { "stride", Pair(2, 2) },
          { "padding_mode", word("replicate") } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(4, 4) },
          { "padding", word("same") },
          { "padding_mode", word("replicate") } } } },
    { "conv_transpose2d",
      "conv_transpose2d",
      { { { "out_channels", integer(3) }, { "kernel_size", Pair(2, 2) }, { "stride", Pair(2, 2) } },
        { { "out_channels", integer(3) }, { "kernel_size", Pair(3, 2) }, { "stride", Pair(3, 2) }, { "bias", false } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(4, 4) },
          { "stride", Pair(2, 2) },
          { "padding", Pair(1, 1) } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(3, 3) },
          { "stride", Pair(2, 2) },
          { "padding", Pair(1, 1) },
          { "output_padding", Pair(1, 1) } },
        { { "out_channels", integer(3) },
          { "kernel_size", Pair(1, 2) },
          { "stride", Pair(3, 4) },
          { "output_padding", Pair(2, 3) } },
        { { "out_channels", integer(4) },
          { "kernel_size", Pair(3, 3) },
          { "groups", integer(2) },
          { "dilation", Pair(2, 3) },
          { "bias", false } },
        { { "out_channels", integer(4) },
          { "kernel_size", Pair(5, 3) },
          { "stride", Pair(3, 1) },
          { "padding", Pair(0, 2) },
          { "dilation", Pair(1, 2) } } } },
    { "max_pool2d",
      "max_pool2d",
      { { { "kernel_size", Pair(2, 2) } },
        { { "kernel_size", Pair(3, 3) }, { "stride", Pair(2, 2) }, { "padding", Pair(1, 1) } },
        { { "kernel_size", Pair(3, 2) }, { "stride", Pair(2, 3) }, { "ceil_mode", true } },
        { { "kernel_size", Pair(3, 3) },
          { "stride", Pair(1, 1) },
          { "padding", Pair(1, 1) },
          { "dilation", Pair(1, 2) } },
        { { "kernel_size", Pair(5, 4) },
          { "stride", Pair(4, 3) },
          { "padding", Pair(2, 2) },
          { "ceil_mode", true } } } },
    { "avg_pool2d",
      "avg_pool2d",
      { { { "kernel_size", Pair(2, 2) } },
        { { "kernel_size", Pair(3, 3) }, { "stride", Pair(2, 2) }, { "padding", Pair(1, 1) } },
        { { "kernel_size", Pair(3, 3) },
          { "stride", Pair(2, 2) },
          { "padding", Pair(1, 1) },
          { "count_include_pad", false } },
        { { "kernel_size", Pair(4, 3) }, { "stride", Pair(3, 2) }, { "padding", Pair(2, 1) }, { "ceil_mode", true } },
        { { "kernel_size", Pair(4, 5) },
          { "stride", Pair(3, 4) },
          { "padding", Pair(2, 2) },
          { "ceil_mode", true },
          { "count_include_pad", false } } } },
    { "interpolate",
      "interpolate",
      { { { "scale_factor", NumberPair(2, 2) } },
        { { "scale_factor", NumberPair(2, 2) }, { "mode", word("bilinear") } },
        { { "scale_factor", NumberPair(2, 2) }, { "mode", word("bilinear") }, { "align_corners", true } },
        { { "scale_factor", NumberPair(0.5, 0.4) } },
        { { "scale_factor", NumberPair(0.5, 1.7) }, { "mode", word("bilinear") } },
        { { "scale_factor", NumberPair(2.02, 2.02) }, { "mode", word("bilinear") } },
        { { "scale_factor", NumberPair(3, 1) } },
        { { "scale_factor", NumberPair(1, 1) }, { "mode", word("bilinear") } },
        { { "size", Pair(41, 19) } },
        { { "size", Pair(58, 74) }, { "mode", word("bilinear") } },
        { { "size", Pair(11, 90) }, { "mode", word("bilinear") } },
        { { "size", Pair(11, 90) }, { "mode", word("bilinear") }, { "align_corners", true } },
        { { "size", Pair(1, 1) }, { "mode", word("bilinear") }, { "align_corners", true } } } },
    { "interpolate_like", "interpolate", { {}, { { "mode", word("bilinear") } } }, "large" },
    { "interpolate_to_less", "interpolate", { {}, { { "mode", word("bilinear") } } }, "small" },
    { "cat", "cat", { {} }, "same" },
    { "cat_twice", "cat", { {} }, "first" },
    { "add", "add", { {} }, "same" },
    { "add_twice", "add", { {} }, "first" },
    { "add_number", "add", { { { "other", 0.7 } } } },
    { "sub", "sub", { {} }, "same" },
    { "sub_number", "sub", { { { "other", 0.7 } } } },
    { "mul", "mul", { {} }, "same" },
    { "mul_twice", "mul", { {} }, "first" },
    { "mul_by_one_channel", "mul", { {} }, "one" },
    { "mul_number", "mul", { { { "other", -1.3 } } } },
    { "pad",
      "pad",
      { { { "before", Pair(1, 2) }, { "after", Pair(3, 0) } },
        { { "before", Pair(9, 0) }, { "after", Pair(0, 11) }, { "value", 0.5 } },
        { { "multiple", integer(16) } },
        { { "multiple", integer(16) }, { "mode", word("replicate") } },
        { { "before", Pair(5, 3) }, { "after", Pair(2, 7) }, { "mode", word("reflect") } },
        { { "before", Pair(5, 30) }, { "after", Pair(20, 7) }, { "mode", word("replicate") } } } },
    { "pad_like", "pad", { {}, { { "mode", word("replicate") } }, { { "mode", word("reflect") } } }, "large" },
    { "crop", "crop", { { { "before", Pair(2, 0) }, { "after", Pair(1, 5) } } } },
    { "crop_like", "crop", { {}, { { "center", true } } }, "small" },
    { "slice",
      "slice",
      { { { "start", Pair(1, 0) }, { "step", Pair(3, 2) } }, { { "step", Pair(1, 5) }, { "start", Pair(4, 4) } } } },
    { "pad_channels",
      "pad_channels",
      { { { "before", integer(1) }, { "after", integer(2) } }, { { "after", integer(3) } } } },
    { "slice_channels",
      "slice_channels",
      { { { "start", integer(1) }, { "channels", integer(2) } }, { { "channels", integer(4) } } } },
    { "channel_mean", "channel_mean", { {} } },
    { "relu", "relu", { {} } },
    { "leaky_relu", "leaky_relu", { {}, { { "negative_slope", 0.3 } } } },
    { "prelu", "prelu", { {}, { { "num_parameters", integer(4) } } } },
    { "elu", "elu", { {}, { { "alpha", 0.4 } } } },
    { "gelu", "gelu", { {}, { { "approximate", word("tanh") } } } },
    { "silu", "silu", { {} } },
    { "mish", "mish", { {} } },
    { "hardswish", "hardswish", { {} } },
    { "sigmoid", "sigmoid", { {} } },
    { "hardsigmoid", "hardsigmoid", { {} } },
    { "tanh", "tanh", { {} } },
    { "hardtanh", "hardtanh", { {}, { { "min_val", -0.2 }, { "max_val", 0.4 } } } },
    { "softmax", "softmax", { {} } },
    { "softplus", "softplus", { {}, { { "beta", 2.0 }, { "threshold", 8.0 } } } },
    { "log", "log", { { { "eps", 0.1 } } } },
    { "logit", "logit", { { { "eps", 0.1 } } } },
    { "channel_max", "channel_max", { {} } },
    { "maximum", "maximum", { {} }, "same" },
    { "maximum_number", "maximum", { { { "other", 0.1 } } } },
    { "minimum", "minimum", { {} }, "same" },
    { "minimum_number", "minimum", { { { "other", -0.1 } } } },
    { "pixel_shuffle",
      "pixel_shuffle",
      { { { "upscale_factor", integer(2) } }, { { "upscale_factor", integer(1) } } } },
    { "batch_norm", "batch_norm", { {}, { { "eps", 1e-3 }, { "affine", false } } } },
    { "affine", "affine", { {}, { { "bias", false } }, { { "num_parameters", integer(1) } } } },
    { "shift", "shift", { {} } },
    { "dropout", "dropout", { {}, { { "p", 0.2 } } } },
    { "dropout2d", "dropout2d", { { { "p", 0.3 } } } },
    { "layer_norm", "layer_norm", { {}, { { "eps", 1e-3 }, { "affine", false } } } },
  };
}

/** The same for volumes, whose z has what the x of images has: no less anisotropic, and not larger than a volume of a
 * test should be. */
inline OperationCase
ToVolumes(OperationCase test)
{
  const auto toDepth = [](auto & values) {
    for (auto & value : values)
    {
      value = value > 24 ? value / 3 : value;
    }
    values.insert(values.begin(), values.back());
  };
  test.axes = 3;
  test.name += "_of_volumes";
  if (test.type.compare(test.type.size() - 2, 2, "2d") == 0)
  {
    test.type.replace(test.type.size() - 2, 2, "3d");
  }
  for (Attributes & variant : test.variants)
  {
    for (auto & attribute : variant)
    {
      if (const auto integers = std::get_if<std::vector<std::int64_t>>(&attribute.second))
      {
        toDepth(*integers);
      }
      else if (const auto numbers = std::get_if<std::vector<double>>(&attribute.second))
      {
        toDepth(*numbers);
      }
      else if (attribute.second == AttributeValue(std::string("bilinear")))
      {
        attribute.second = std::string("trilinear");
      }
    }
  }
  return test;
}

inline std::vector<OperationCase>
GetOperationCases()
{
  std::vector<OperationCase>       cases = GetImageCases();
  const std::vector<OperationCase> ofImages = cases;
  for (const OperationCase & test : ofImages)
  {
    if (OperationSchema::Find(test.type)->axes == 0 || OperationSchema::Find(test.type)->typeOfVolumes)
    {
      cases.push_back(ToVolumes(test));
    }
  }
  return cases;
}

} // namespace test
} // namespace gigapixel

#endif
