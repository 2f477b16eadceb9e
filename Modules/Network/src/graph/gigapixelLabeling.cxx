/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLabelings.h"

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

} // namespace gigapixel
