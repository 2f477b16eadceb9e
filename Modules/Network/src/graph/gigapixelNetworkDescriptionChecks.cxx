/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelExecutor.h"
#include "gigapixelFormatCount.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelGraphGeometry.h"
#include "gigapixelImageKind.h"
#include "gigapixelLabelings.h"
#include "gigapixelLayerChain.h"
#include "gigapixelNetworkGeometry.h"
#include "gigapixelPrintable.h"
#include "gigapixelRefuseNetwork.h"
#include "gigapixelRequireAxes.h"
#include "gigapixelValueBounds.h"
#include "losses/gigapixelLossEntry.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

void
CheckShape(const Layer & layer, const std::string & where)
{
  if (layer.name.empty() || layer.name.find_first_of("./\" \t\n") != std::string::npos)
  {
    Refuse(where + ": a layer's name must not be empty nor hold a dot, slash, quote or space");
  }
  if (layer.name == "training")
  {
    Refuse(where + ": model files keep what a training needs under this name; use another one");
  }
  if (layer.inputChannels < 1 || layer.outputChannels < 1 || layer.kernel < 1 || layer.stride < 1 ||
      layer.inputChannels > 4096 || layer.outputChannels > 4096 || layer.kernel > 256 || layer.stride > 256)
  {
    Refuse(where + ": in and out must be 1 to 4096, kernel and stride 1 to 256");
  }
  // With n inputs, n a multiple of the stride, a convolution gives floor((n + 2p - k) / s) + 1 outputs, a transposed
  // one (n - 1) s - 2p + k: exactly n / s and n s only under these conditions.
  const int reach = layer.kernel - 2 * layer.padding;
  if (layer.kind == Layer::Kind::Convolution && (reach < 1 || reach > layer.stride))
  {
    Refuse(where + ": its output is not of its input's size divided by the stride; kernel - 2 * padding is " +
           std::to_string(reach) + " and must be from 1 to the stride (" + std::to_string(layer.stride) + ")");
  }
  if (layer.kind == Layer::Kind::TransposedConvolution && reach != layer.stride)
  {
    Refuse(where + ": its output is not of its input's size times the stride; kernel - 2 * padding is " +
           std::to_string(reach) + " and must be the stride (" + std::to_string(layer.stride) + ")");
  }
}

std::string
Describe(int channels, const MapScale & scale)
{
  return FormatCount(channels, "channel") + " at " + std::to_string(scale.numerator) + "/" +
         std::to_string(scale.denominator) + " of the input";
}

void
CheckChain(const NetworkDescription & network)
{
  if (network.channels < 1)
  {
    Refuse("the input must have at least one channel");
  }
  if (network.layers.empty())
  {
    Refuse("a network needs at least one layer");
  }
  // The product of the strides has to stay an integer.
  double stride = 1;
  for (const Layer & layer : network.layers)
  {
    CheckShape(layer, "layer \"" + layer.name + "\"");
    stride *= layer.kind == Layer::Kind::Convolution ? layer.stride : 1;
  }
  if (stride > 65536)
  {
    Refuse("the strides multiply to more than 65536");
  }
  const std::vector<MapScale> scales = GetMapScales(network.layers);
  std::set<std::string>       names;
  for (std::size_t i = 0; i < network.layers.size(); ++i)
  {
    const Layer &     layer = network.layers[i];
    const std::string where = "layer \"" + layer.name + "\"";
    const int         before = i == 0 ? network.channels : network.layers[i - 1].outputChannels;
    if (layer.inputChannels != before)
    {
      Refuse(where + " takes " + FormatCount(layer.inputChannels, "channel") + ", but what comes before it has " +
             std::to_string(before));
    }
    if (!layer.add.empty())
    {
      const auto end = network.layers.begin() + i;
      const auto skip = std::find_if(network.layers.begin(), end, [&](const Layer & l) { return l.name == layer.add; });
      if (skip == end)
      {
        Refuse(where + " adds \"" + layer.add + "\", which is no earlier layer");
      }
      const MapScale & scale = scales[skip - network.layers.begin()];
      if (skip->outputChannels != layer.outputChannels || !(scale == scales[i]))
      {
        Refuse(where + " (" + Describe(layer.outputChannels, scales[i]) + ") adds \"" + layer.add +
               "\", whose map has another shape (" + Describe(skip->outputChannels, scale) + ")");
      }
    }
    if (!names.insert(layer.name).second)
    {
      Refuse("two layers are named \"" + layer.name + "\"");
    }
  }
  if (!(scales.back() == MapScale{}))
  {
    Refuse("the output is not of the input's size: " + Describe(network.layers.back().outputChannels, scales.back()));
  }
  if (GetCanvasStride(network.layers) > 4096)
  {
    Refuse("the strides multiply to more than 4096");
  }
}

void
CheckLast(const Layer & last)
{
  if (last.activation != Layer::Activation::None)
  {
    Refuse("layer \"" + last.name + "\" is the last one and must have the activation \"none\": its output are logits");
  }
}

/** Whole numbers only, so that a hostile file costs no memory. */
void
CheckParameterArrays(const NetworkGraph & graph)
{
  double values = 0;
  for (const ParameterDescription & parameter : graph.GetParameters())
  {
    const std::string & name = parameter.name;
    const std::string   printable = GetPrintable(name);
    if (name.empty() || name.size() > 512 || name.rfind("training.", 0) == 0 || name.rfind("__", 0) == 0 ||
        printable != name)
    {
      Refuse("the name of an array, \"" + printable.substr(0, 512) +
             "\", is empty, too long, holds a control character, or is one that model files keep for other things");
    }
    double length = 1;
    for (const std::int64_t side : parameter.shape)
    {
      length *= static_cast<double>(side);
    }
    values += length;
  }
  if (values > static_cast<double>(NetworkDescription::MostParameters))
  {
    Refuse("the network has more than " + std::to_string(NetworkDescription::MostParameters) + " parameters");
  }
}

/** A size that an operation cannot compute is a mistake of the description here, not of an image. */
Extent
GetOutputSize(const NetworkGraph & graph, const Extent & image)
{
  try
  {
    return GraphGeometry(graph, image).GetSize(graph.GetIndex(graph.output));
  }
  catch (const InvalidArgument & error)
  {
    Diagnostic problem = error.GetDiagnostic();
    problem.code = "E-NETWORK-FORMAT";
    throw InvalidArgument(problem);
  }
}

/** Images have any size, and so has their output to have. */
void
CheckSizes(const NetworkGraph & graph)
{
  const std::int64_t stride = gigapixel::GetStride(graph);
  if (stride > 4096)
  {
    Refuse("the maps' scales multiply to more than 4096");
  }
  for (const Extent & sides : { Extent{ 1028 * stride - 2, 1024 * stride + 1, 1025 * stride - 1 },
                                Extent{ 1029 * stride + 2, 1026 * stride + stride / 2, 1027 * stride + 3 } })
  {
    Extent image(graph.GetNumberOfAxes());
    std::copy(sides.end() - image.GetNumberOfAxes(), sides.end(), image.begin());
    const Extent size = GetOutputSize(graph, image);
    if (size != ToExtent(Labeling::Of(graph).GetSize(ToSize(image)), image.GetNumberOfAxes()))
    {
      Refuse("the output is not of the input's size: for an image of " + ToText(image) + " pixels it has " +
             ToText(size) + "; end with a crop, pad or interpolate whose second input is the network's input");
    }
  }
}

void
CheckStandardization(const NetworkDescription & network)
{
  if (network.mean.empty() && network.deviation.empty())
  {
    return;
  }
  const auto channels = static_cast<std::size_t>(network.channels);
  const auto isFinite = [](double value) { return std::abs(value) <= 1e6; };
  const auto isPositive = [](double value) { return value >= 1e-6 && value <= 1e6; }; // pixels lie in 0..1
  if (network.mean.size() != channels || network.deviation.size() != channels || network.invert ||
      !std::all_of(network.mean.begin(), network.mean.end(), isFinite) ||
      !std::all_of(network.deviation.begin(), network.deviation.end(), isPositive))
  {
    Refuse("\"input\": mean and deviation need a number for each of the " + FormatCount(channels, "channel") +
           ", which are sizes of pixels from 0 to 1, deviations above 0, and the input must not be inverted");
  }
}

void
CheckNormalization(const NetworkDescription & network)
{
  const Normalizations & normalizations = network.normalization;
  std::for_each(normalizations.begin(), normalizations.end(), [](const Normalization & n) { n.Validate(); });
  if (network.IsNormalized() && network.invert)
  {
    Refuse("\"input\": normalized values have no end to be inverted at: leave \"invert\" out");
  }
  if (normalizations.size() > 1 && normalizations.size() != static_cast<std::size_t>(network.channels))
  {
    Refuse("\"input\": there are " + FormatCount(normalizations.size(), "normalization") + " for " +
           FormatCount(network.channels, "channel") + ": give one for each, or one for all");
  }
}

bool
IsSame(const Operation & a, const Operation & b)
{
  const auto same = [](const auto & x, const auto & y) {
    return x.first == y.first && IsSameValue(x.second, y.second);
  };
  return a.parameters == b.parameters &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(), same);
}

void
CheckGraph(const NetworkDescription & network)
{
  const NetworkGraph & graph = network.graph;
  if (graph.IsEmpty())
  {
    Refuse("a network needs at least one operation; layers have to be expanded to some (ExpandLayers())");
  }
  if (graph.operations.size() > NetworkDescription::MostOperations)
  {
    Refuse("a network has at most " + std::to_string(NetworkDescription::MostOperations) + " operations");
  }
  NetworkGraph validated = graph;
  validated.Validate();
  if (&Labeling::Of(validated) != &Labeling::Of(graph) ||
      !std::equal(graph.operations.begin(), graph.operations.end(), validated.operations.begin(), IsSame))
  {
    Refuse("the network's graph was not validated (NetworkGraph::Validate()), which fills in what it leaves out");
  }
  const std::string problem = GetRunProblem(graph);
  if (!problem.empty())
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION", problem));
  }
  if (network.channels != graph.GetInputChannels())
  {
    Refuse("the input has " + FormatCount(network.channels, "channel") + ", the network's operation \"" +
           graph.operations.front().name + "\" " + std::to_string(graph.GetInputChannels()));
  }
  CheckParameterArrays(graph);
  CheckSizes(graph);
  CheckStandardization(network);
  const Operation & last = graph.operations[graph.GetIndex(graph.output)];
  if (last.inputs.empty())
  {
    Refuse("the output \"" + last.name + "\" is the network's input: there is nothing to compute");
  }
  const std::vector<ParameterDescription> parameters = graph.GetParameters();
  if (std::none_of(parameters.begin(), parameters.end(), [](const auto & parameter) { return parameter.trained; }) &&
      graph.constants.empty())
  {
    Refuse("the network has no weights: no operation of it can be trained");
  }
  // What is measured may lie between the same bounds.
  if (!network.objective.GetKind().hasUnits && FindOutputValues(graph).kind == OutputValues::Kind::Probabilities)
  {
    Refuse("the output \"" + last.name + "\" (" + last.type +
           ") is probabilities, but has to be logits: the loss and the prediction apply what they need");
  }
}

void
CheckOutput(const NetworkDescription & network)
{
  const int         channels = network.GetNumberOfOutputChannels();
  const LossEntry & loss = network.GetLoss();
  if (!loss.IsFor(channels))
  {
    Refuse("the loss \"" + loss.name + "\" needs " + (loss.most > 0 ? "at most " + std::to_string(loss.most) : "") +
           (loss.least > 1 ? "at least " + std::to_string(loss.least) : "") + " output channels, the network has " +
           std::to_string(channels) + "; choose another loss");
  }
  if (network.probabilities == NetworkDescription::Probabilities::Sigmoid &&
      (channels < 2 || !network.objective.GetKind().takesProbabilities))
  {
    Refuse("\"probabilities\" by \"sigmoid\" are of several classes: leave it out");
  }
}

void
CheckClassNames(const NetworkDescription & network)
{
  const std::set<std::string> names(network.classNames.begin(), network.classNames.end());
  if (!names.empty() && (static_cast<int>(network.classNames.size()) != network.GetNumberOfClasses() ||
                         names.size() != network.classNames.size()))
  {
    Refuse("\"class names\" must be a name for each of the " + std::to_string(network.GetNumberOfClasses()) +
           " classes, none twice");
  }
  if (std::any_of(
        names.begin(), names.end(), [](const auto & name) { return name.empty() || GetPrintable(name) != name; }))
  {
    Refuse("a class name is empty or holds what is no printable character");
  }
}

/** Of classes there is nothing to check but their own names. */
void
CheckObjective(const NetworkDescription & network)
{
  const Objective & objective = network.objective;
  const auto &      names = objective.names;
  if (!objective.HasTargets())
  {
    if (!names.empty() || !objective.means.empty() || !objective.deviations.empty())
    {
      Refuse("the objective \"classes\" has no names and numbers: \"class names\" are theirs");
    }
    return;
  }
  const std::string           kind = objective.GetKind().name;
  const std::set<std::string> different(names.begin(), names.end());
  if (names.empty() || different.size() != names.size() || !network.classNames.empty() ||
      objective.GetKind().countOutputs(static_cast<int>(names.size())) != network.GetNumberOfOutputChannels())
  {
    Refuse("the objective \"" + kind + "\" has " + std::to_string(different.size()) +
           " different names, and the network " + std::to_string(network.GetNumberOfOutputChannels()) +
           " output channels" + (network.classNames.empty() ? "" : " and class names, which it cannot have as well"));
  }
  if (std::any_of(
        names.begin(), names.end(), [](const auto & name) { return name.empty() || GetPrintable(name) != name; }))
  {
    Refuse("a name of the objective \"" + kind + "\" is empty or holds what is no printable character");
  }
  try
  {
    objective.GetKind().checkNames == nullptr ? void() : objective.GetKind().checkNames(names);
  }
  catch (const std::invalid_argument & error)
  {
    Refuse("a name of the objective \"" + kind + "\" " + Diagnostic::Of(error).why);
  }
  const std::size_t numbers = objective.GetKind().hasUnits ? names.size() : 0;
  const auto        isWrong = [](double deviation) { return !(deviation > 0); };
  if (objective.means.size() != numbers || objective.deviations.size() != numbers ||
      std::any_of(objective.deviations.begin(), objective.deviations.end(), isWrong))
  {
    Refuse("the objective \"" + kind + "\" must have " + std::to_string(numbers) +
           " \"means\" and as many \"deviations\" above 0");
  }
}

void
CheckLoss(const NetworkDescription & network)
{
  const int    classes = network.GetNumberOfClasses();
  const auto & weights = network.classWeights;
  if (!weights.empty() && static_cast<int>(weights.size()) != classes)
  {
    Refuse("there are " + std::to_string(weights.size()) + " class weights, but the network tells " +
           std::to_string(classes) + " classes apart");
  }
  // Sums of products with them stay within what doubles hold; that floats hold them is seen in training.
  const auto isWrong = [](double weight) { return weight != 0 && !(weight >= 1e-60 && weight <= 1e60); };
  if (std::any_of(weights.begin(), weights.end(), isWrong))
  {
    Refuse("class weights must be 0, or numbers from 1e-60 to 1e60");
  }
  if (!weights.empty() && std::count(weights.begin(), weights.end(), 0.0) == classes)
  {
    Refuse("one class weight must be above 0");
  }
  if (network.ignoredLabel < std::min(classes, NetworkDescription::MostLabels) || network.ignoredLabel > 255)
  {
    Refuse("the ignored label must be one that stands for no class, " + std::to_string(classes) +
           " to 255; a class is left out by the class weight 0");
  }
}

} // namespace

void
PixelLabeling::Check(const NetworkDescription & network) const
{
  if (network.GetNumberOfOutputChannels() > NetworkDescription::MostLabels)
  {
    Refuse("a network that labels pixels has at most " + std::to_string(NetworkDescription::MostLabels) +
           " output channels, one for each class, not " + std::to_string(network.GetNumberOfOutputChannels()));
  }
  if (network.objective.HasTargets())
  {
    Refuse("the objective \"" + network.objective.GetKind().name +
           "\" is of whole images, and the network labels pixels");
  }
}

void
ImageLabeling::Check(const NetworkDescription & network) const
{
  if (!network.GetLoss().formula.isOfImages || !network.classWeights.empty())
  {
    Refuse(
      "a network that labels images takes cross-entropy as its loss, and no class weights: of one label a Dice says "
      "little, and its weight cancels; training balances the classes (--balance)");
  }
}

void
CheckLayers(const NetworkDescription & network)
{
  CheckChain(network);
  CheckLast(network.layers.back());
  if (network.IsNormalized() || !network.mean.empty())
  {
    Refuse("\"input\": a chain of layers takes 8 bit and no normalization; write the network as a graph of operations");
  }
  if (network.probabilities == NetworkDescription::Probabilities::Sigmoid || !network.graph.constants.empty())
  {
    Refuse("\"probabilities\" by \"sigmoid\" and \"constants\" are of networks of operations: leave them out");
  }
}

void
NetworkDescription::Validate() const
{
  if (GetPrintable(name) != name)
  {
    Refuse("the network's name, \"" + GetPrintable(name) + "\", holds what is no printable character");
  }
  CheckGraph(*this);
  if (!layers.empty())
  {
    CheckLayers(*this);
    if (!IsChainOf(graph, *this))
    {
      Refuse("the network's graph is another one than that of its layers (ExpandLayers())");
    }
  }
  CheckOutput(*this);
  Labeling::Of(graph).Check(*this);
  CheckNormalization(*this);
  this->GetImageKind().checkInput(*this);
  CheckClassNames(*this);
  CheckObjective(*this);
  CheckLoss(*this);
  if (learningRate != 0 && !(learningRate >= LeastLearningRate && learningRate <= GreatestLearningRate))
  {
    Refuse("a learning rate is a number from 1e-9 to 10");
  }
}

void
RequireAxes(const NetworkDescription & network, int axes, const std::string & file)
{
  if (network.graph.GetNumberOfAxes() != axes)
  {
    const bool wantsVolumes = axes > 2;
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     "the network \"" + network.name +
                                       (wantsVolumes ? "\" takes images of two axes, and no volumes"
                                                     : "\" takes volumes, and no images of two axes"),
                                     wantsVolumes
                                       ? "take one for volumes, such as unet3d, or use itk::GigapixelUNetImageFilter"
                                       : "use gigapixel segment (in Python segment_volume), and give it volumes")
                            .OfFile(file));
  }
}

void
NetworkDescription::CheckChannels(const PixelSource & pixels) const
{
  if (static_cast<int>(pixels.GetNumberOfChannels()) != channels)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     "the image has " + FormatCount(pixels.GetNumberOfChannels(), "channel") +
                                       ", the network \"" + name + "\" takes " + std::to_string(channels)));
  }
  if (this->IsNormalized() && !this->GetImageKind().areFloats && pixels.GetSampleType() != SampleType::Float)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     "the network \"" + name + "\" takes normalized values, and these are bytes",
                                     "give values that are normalized already, as floats"));
  }
  Executor::Of(*this).CheckSamples(*this, pixels);
}

void
NetworkDescription::CheckTileSize(std::int64_t side) const
{
  const std::int64_t stride = GetStride();
  if (side >= stride && side % stride == 0)
  {
    return;
  }
  const std::int64_t below = side < stride ? 0 : side - side % stride;
  throw InvalidArgument(
    Diagnostic("E-OPTION-VALUE",
               "the tile size " + std::to_string(side) + " is no multiple of the network's stride " +
                 std::to_string(stride),
               "take " + (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + stride))
      .OfValue(std::to_string(side)));
}

void
NetworkDescription::CheckImage(const Size & image) const
{
  constexpr std::int64_t Most = 4096; // no network that is too large for such an image is looked into further
  const auto             inputs = graph.GetInputs();
  const auto             find = [&](const Size & size) -> std::string {
    try
    {
      GetMapSizes(graph, inputs, ToExtent(size, graph.GetNumberOfAxes()));
      return {};
    }
    catch (const std::invalid_argument & problem)
    {
      return Diagnostic::Of(problem).why;
    }
  };
  const std::string problem = find(image);
  if (problem.empty())
  {
    return;
  }
  std::int64_t least = 1;
  const auto   makeCube = [this](std::int64_t side) { return ToSize(Extent(graph.GetNumberOfAxes(), side)); };
  while (least < Most && !find(makeCube(least)).empty())
  {
    ++least;
  }
  const Extent extent = ToExtent(image, graph.GetNumberOfAxes());
  if (least == Most || *std::min_element(extent.begin(), extent.end()) >= least)
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-IMAGE-SIZE", "the network \"" + this->name + "\" cannot compute it: " + problem));
  }
  throw InvalidArgument(Diagnostic("E-NETWORK-IMAGE-SIZE",
                                   "its " + ToText(extent) + " pixels are too few for the network \"" + this->name +
                                     "\", which needs " + ToText(ToExtent(makeCube(least), graph.GetNumberOfAxes())),
                                   "take a finer level, or another image")
                          .OfValue(ToText(extent)));
}

} // namespace gigapixel
