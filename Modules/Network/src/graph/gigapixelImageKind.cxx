/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelImageKind.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelRefuseNetwork.h"
#include "gigapixelVolumeOrientation.h"

#include <algorithm>
#include <array>

namespace gigapixel
{
namespace
{

/** What is done by whoever opens a volume is of volumes alone. */
void
CheckImageInput(const NetworkDescription & network)
{
  using Voxels = Normalization::Voxels;
  const auto isOfShape = [](const Normalization & n) { return n.voxels == Voxels::Box || n.voxels == Voxels::Filled; };
  if (std::any_of(network.normalization.begin(), network.normalization.end(), isOfShape))
  {
    Refuse("\"input\": a normalization of images takes the \"voxels\" \"all\" or \"non-zero\"; the others are of "
           "volumes (\"axes\": 3)");
  }
  if (network.spacing != std::array<double, 3>{} || network.cropsToNonZero || network.patches.IsKnown())
  {
    Refuse("\"spacing\", \"crop\" and \"patches\" are of networks for volumes (\"axes\": 3)");
  }
  if (!network.orientation.empty() || network.takesXFirst)
  {
    Refuse("\"orientation\" and \"axis order\" are of networks for volumes (\"axes\": 3)");
  }
}

void
CheckVolumeInput(const NetworkDescription & network)
{
  if (network.invert)
  {
    Refuse("\"input\": the values of volumes have no end to be inverted at: leave \"invert\" out");
  }
  const std::array<double, 3> & spacing = network.spacing;
  const bool                    hasSpacing = spacing != std::array<double, 3>{};
  if (hasSpacing && !std::all_of(spacing.begin(), spacing.end(), [](double mm) { return mm >= 1e-6 && mm <= 1e6; }))
  {
    Refuse("\"input\": \"spacing\" must be three numbers above 0, in mm, along z, y and x");
  }
  if (!network.orientation.empty() && network.orientation != StoredOrientation && !IsOrientation(network.orientation))
  {
    Refuse("\"input\": \"orientation\" must be three letters, as \"RAS\": one of R and L, one of A and P, and one of S "
           "and I; or \"stored\"; not \"" +
           network.orientation + "\"");
  }
  if (network.patches.IsKnown())
  {
    network.patches.Validate(network);
  }
}

} // namespace

const ImageKind &
ImageKind::Of(int axes)
{
  static const ImageKind ofSlides{
    "px",
    "pixels of the slide",
    true,
    false,
    true,
    false,
    { { 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096 }, { 512, 1024, 2048 }, 1024, 256, 2048 },
    &CheckImageInput
  };
  static const ImageKind ofVolumes{ "voxels",
                                    "the volume and its labels",
                                    false,
                                    true,
                                    false,
                                    true,
                                    { { 32, 48, 64, 96, 128, 192, 256, 384, 512 }, { 64, 96, 128 }, 64, 32, 128 },
                                    &CheckVolumeInput };
  return axes == 2 ? ofSlides : ofVolumes;
}

} // namespace gigapixel
