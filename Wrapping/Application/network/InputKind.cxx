/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "InputKind.h"

#include "SlideList.h"
#include "VolumeFile.h"

#include "itkGigapixelVolumeSource.h"

namespace gigapixel::application
{

const InputKind &
InputKind::Of(const NetworkDescription & network)
{
  static const SlideInput  slides;
  static const VolumeInput volumes;
  return network.graph.GetNumberOfAxes() > 2 ? static_cast<const InputKind &>(volumes) : slides;
}

void
SlideInput::RequireFile(const std::string & file, const std::string & what) const
{
  if (IsVolume(file))
  {
    throw Refusal(Diagnostic("E-MODEL-INPUT",
                             "it is a volume, and " + what + " takes slides",
                             "give it a slide, or take a network for volumes (\"axes\": 3)")
                    .OfFile(file));
  }
}

void
VolumeInput::RequireFile(const std::string & file, const std::string & what) const
{
  if (!IsVolume(file))
  {
    throw Refusal(Diagnostic("E-MODEL-INPUT",
                             "it is no volume (" + itk::GigapixelNameVolumeFormats() +
                               ", by its name, or the folder of a DICOM series), and " + what + " takes volumes",
                             "give it one, or take a network for slides")
                    .OfFile(file));
  }
}

void
VolumeInput::CheckOptions(const ArgumentValues & values, const std::string & what) const
{
  RefuseOptions(values, what + " takes volumes");
}

void
SlideInput::TakePatches(const ArgumentValues & values, const NetworkDescription & network, Tiling & tiling) const
{
  tiling.patches = GetPatches(values, network);
}

void
VolumeInput::TakePatches(const ArgumentValues & values, const NetworkDescription & network, Tiling & tiling) const
{
  tiling.volumePatches = GetVolumePatches(values, network);
}

SlideList
SlideInput::FindFiles(const std::vector<std::string> & names, const Session & session) const
{
  return FindSlides(names, session);
}

SlideList
VolumeInput::FindFiles(const std::vector<std::string> & names, const Session & session) const
{
  return FindVolumes(names, session);
}

} // namespace gigapixel::application
