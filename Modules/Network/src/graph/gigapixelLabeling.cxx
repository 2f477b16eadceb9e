/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelLabelings.h"

#include <algorithm>
#include <utility>

namespace gigapixel
{

Labeling::Labeling(std::string labeled, std::string command)
  : name(std::move(labeled))
  , m_Command(std::move(command))
{}

PixelLabeling::PixelLabeling()
  : Labeling("pixels", "segment (itk::GigapixelUNetImageFilter)")
{}

ImageLabeling::ImageLabeling()
  : Labeling("images", "classify (itk::GigapixelClassifier)")
{}

const Labeling &
Labeling::OfPixels()
{
  static const PixelLabeling ofPixels;
  return ofPixels;
}

const Labeling &
Labeling::OfImages()
{
  static const ImageLabeling ofImages;
  return ofImages;
}

const Labeling &
Labeling::Of(const NetworkGraph & graph)
{
  return graph.LabelsImage() ? OfImages() : OfPixels();
}

void
Labeling::Require(const NetworkDescription & network, const std::string & file, const std::string & remedy) const
{
  const Labeling & found = Of(network.graph);
  if (&found != this)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-OUTPUT",
                                     "the network \"" + network.name + "\" labels " + found.name + ", and no " + name,
                                     remedy.empty() ? "use " + found.m_Command : remedy)
                            .OfFile(file));
  }
}

Size
PixelLabeling::GetSize(const Size & image) const
{
  return image;
}

Size
ImageLabeling::GetSize(const Size &) const
{
  return { 1, 1 };
}

std::string
PixelLabeling::GetMask(const std::string & file) const
{
  return file;
}

std::string
ImageLabeling::GetMask(const std::string &) const
{
  return {};
}

/** Their score is Dice, and class weights balance them. */
const ObjectiveKind &
PixelLabeling::GetKind(const NetworkDescription &) const
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "classes of pixels";
    entry.score = "Dice";
    entry.scoreColumn = "validation_dice";
    return entry;
  }();
  return kind;
}

const ObjectiveKind &
ImageLabeling::GetKind(const NetworkDescription & network) const
{
  return network.objective.GetKind();
}

void
ImageLabeling::PadToMultiple(NetworkGraph &, std::int64_t multiple) const
{
  throw InvalidArgument(
    Diagnostic("E-NETWORK-OPERATION",
               "it labels images whose sides are multiples of " + std::to_string(multiple) +
                 " alone: of others the pixels that they would be padded with would count in the mean"));
}

/** The image is padded by its last pixels, and the output cut off. */
void
PixelLabeling::PadToMultiple(NetworkGraph & graph, std::int64_t multiple) const
{
  const auto makeName = [&](std::string name) {
    const auto isTaken = [&](const Operation & operation) { return operation.name == name; };
    while (std::any_of(graph.operations.begin(), graph.operations.end(), isTaken))
    {
      name += '_';
    }
    return name;
  };
  const std::string image = graph.operations.front().name, padded = makeName("padded"), cropped = makeName("cropped");
  for (Operation & operation : graph.operations)
  {
    std::replace(operation.inputs.begin(), operation.inputs.end(), image, padded);
  }
  const Operation pad{
    padded, "pad", { image }, { { "multiple", multiple }, { "mode", std::string("replicate") } }, {}
  };
  graph.operations.insert(graph.operations.begin() + 1, pad);
  graph.operations.push_back({ cropped, "crop", { graph.output, image }, {}, {} });
  graph.output = cropped;
}

} // namespace gigapixel
