/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelChosenPatches.h"
#include "gigapixelDiagnostic.h"

#include <array>

namespace gigapixel
{
namespace
{
constexpr const char * Constant = "constant"; ///< of --blending
} // namespace

std::optional<Patches>
ChoosePatches(const PatchOptions & options)
{
  if (!options.slidingWindow)
  {
    return {};
  }
  Patches patches;
  patches.side = options.side.value_or(patches.side);
  patches.overlap = options.overlap.value_or(patches.overlap);
  patches.blending = options.blending == Constant ? Patches::Blending::Constant : Patches::Blending::Gaussian;
  patches.mirror = options.mirror;
  return patches;
}

PatchOptions
ToOptions(const Patches & patches)
{
  const bool isConstant = patches.blending == Patches::Blending::Constant;
  return { true, patches.side, patches.overlap, isConstant ? Constant : "gaussian", patches.mirror };
}

std::optional<VolumePatches>
ChooseVolumePatches(const PatchOptions & options, const NetworkDescription & network)
{
  if (!options.slidingWindow)
  {
    return {};
  }
  const VolumePatches & trained = network.patches;
  VolumePatches         patches = trained;
  if (options.side)
  {
    patches.size = { *options.side, *options.side, *options.side };
  }
  else if (!trained.IsKnown())
  {
    throw InvalidArgument(Diagnostic("E-OPTION-NEEDS",
                                     "--sliding-window needs --patch: the network " + network.name +
                                       " does not say what patches it was trained on")
                            .OfOption("--patch"));
  }
  patches.overlap = options.overlap.value_or(trained.overlap);
  patches.gaussian = options.blending ? *options.blending != Constant : trained.gaussian;
  constexpr std::array<bool, 3> None{}, All{ true, true, true };
  if (options.mirror && trained.IsKnown() && trained.mirror == None)
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-APPLIES", "--mirror: the network " + network.name + " was not trained on mirrored patches")
        .OfOption("--mirror"));
  }
  patches.mirror = !options.mirror ? None : trained.IsKnown() ? trained.mirror : All;
  return patches;
}

} // namespace gigapixel
