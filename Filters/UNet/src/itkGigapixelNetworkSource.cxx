/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelNetworkSource.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelJoinNames.h"
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
#  include "itkWholeSlideImageIO.h"
#endif

#include <algorithm>

namespace itk
{
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
namespace
{

WholeSlideImageIO::Pointer
OpenQuietly(const std::string & fileName, const gigapixel::SlideContent & content)
{
  const auto slide = WholeSlideImageIO::New();
  slide->SetFileName(fileName);
  slide->SetContent(content);
  slide->GiveWarningsOff(); // whoever reads the slide gives them
  try
  {
    slide->ReadImageInformation();
  }
  catch (const ExceptionObject & error)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic::Of(error));
  }
  return slide;
}

/** Whether a plane can be chosen: not where the image is one, by its number or by a name of its own. */
bool
HasFocalPlanes(const std::string & fileName, gigapixel::SlideContent content)
{
  const std::string & image = content.image;
  if (!image.empty())
  {
    const auto images = OpenQuietly(fileName, content)->GetImages();
    const bool isNumber = image.find_first_not_of("0123456789") == std::string::npos || image.rfind("number:", 0) == 0;
    if (isNumber ||
        std::any_of(images.begin(), images.end(), [&image](const auto & each) { return each.name == image; }))
    {
      return false;
    }
  }
  content.plane = "1";
  try
  {
    OpenQuietly(fileName, content);
    return true;
  }
  catch (const gigapixel::Refusal & refusal)
  {
    if (refusal.GetDiagnostic().option == "--plane")
    {
      return false;
    }
    throw;
  }
}

/** The channels of the slide that a model was trained on; none, which stands for all as they are, where several of
 * these have one name. \throw std::runtime_error the slide does not have exactly one channel of each name */
std::vector<std::string>
FindChannelsOfModel(const WholeSlideImageIO & slide, const std::vector<std::string> & channels)
{
  const auto names = GigapixelChannelNames(slide);
  const auto isTwice = [&channels](const std::string & name) {
    return std::count(channels.begin(), channels.end(), name) > 1;
  };
  if (names == channels && std::any_of(channels.begin(), channels.end(), isTwice))
  {
    return {};
  }
  for (const std::string & name : channels)
  {
    const auto found = std::count(names.begin(), names.end(), name);
    if (found != 1)
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic("E-SLIDE-CHANNEL",
                                                     "it has " +
                                                       std::string(found == 0 ? "no channel" : "several channels") +
                                                       " '" + name + "', which the model was trained on",
                                                     "choose the channels that stand for " +
                                                       gigapixel::JoinNames(channels) + " (--channel, SetChannels())")
                                 .OfFile(slide.GetFileName())
                                 .OfValue(name));
    }
  }
  return channels;
}

} // namespace
#endif

gigapixel::SlideContent
GigapixelContentForModel(const std::string & fileName, gigapixel::SlideContent chosen, const gigapixel::Model & model)
{
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
  if (chosen.plane.empty() && !model.plane.empty() && HasFocalPlanes(fileName, chosen.OfImage()))
  {
    chosen.plane = model.plane;
  }
#endif
  const auto & channels = model.channels;
  if (channels.empty())
  {
    return chosen;
  }
  chosen.window = chosen.window.empty() ? model.window : chosen.window;
  if (chosen.channels.empty())
  {
#ifdef GIGAPIXEL_HAS_WHOLESLIDE
    chosen.channels = FindChannelsOfModel(*OpenQuietly(fileName, chosen.OfImage()), channels);
#else
    chosen.channels = channels;
#endif
    return chosen;
  }
  if (chosen.channels != channels && chosen.channels.size() == channels.size() &&
      std::is_permutation(chosen.channels.begin(), chosen.channels.end(), channels.begin()))
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SLIDE-CHANNEL",
                            "the channels are those that the model was trained on, in another order",
                            "leave them out, and they are found by their names: " + gigapixel::JoinNames(channels))
        .OfFile(fileName)
        .OfOption("--channel", gigapixel::JoinNames(chosen.channels)));
  }
  return chosen;
}

void
GigapixelRequireSampleType(gigapixel::SampleType                 type,
                           const gigapixel::NetworkDescription & network,
                           const std::string &                   name)
{
  if (!network.IsNormalized() && type != gigapixel::SampleType::UInt8)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-MODEL-INPUT",
                            "it has floats, and the network " + network.name + " takes 8 bit",
                            "cast it, or take a network with a normalization, such as unet:normalization=percentiles")
        .OfFile(name));
  }
}

namespace
{

/** By their names, where these are known. */
void
WarnOfFlatChannels(const gigapixel::KeptNormalization & kept, const gigapixel::PhysicalImage & image)
{
  std::vector<std::string> names;
  for (const std::size_t channel : kept.GetFlatChannels())
  {
    names.push_back(channel < image.channels.size() ? image.channels[channel] : std::to_string(channel + 1));
  }
  if (!names.empty())
  {
    GigapixelWarn(gigapixel::Diagnostic("W-SLIDE-CHANNEL-FLAT",
                                        "nearly all values are the same in channels that are normalized: " +
                                          gigapixel::JoinNames(names),
                                        "look at these channels, or train a network without them")
                    .OfFile(image.name)
                    .OfValue(std::to_string(names.size())));
  }
}

} // namespace

std::shared_ptr<gigapixel::KeptNormalization>
GigapixelFindNormalization(const gigapixel::PhysicalImage &      image,
                           const gigapixel::NetworkDescription & network,
                           const std::function<bool(double)> &   goesOn)
{
  auto       kept = std::make_shared<gigapixel::KeptNormalization>(network.normalization);
  const auto measured = gigapixel::AdaptChannels(
    image.measured ? image.measured : image.pixels, static_cast<unsigned>(network.channels), image.name);
  try
  {
    if (!kept->Find(measured, goesOn))
    {
      return nullptr;
    }
  }
  catch (const gigapixel::Refusal & refusal)
  {
    gigapixel::Diagnostic diagnostic = refusal.GetDiagnostic();
    diagnostic.why += diagnostic.code == "E-SLIDE-DAMAGED" ? "; statistics of its channels are of all pixels" : "";
    throw gigapixel::Refusal(diagnostic);
  }
  WarnOfFlatChannels(*kept, image);
  return kept;
}

std::shared_ptr<gigapixel::PixelSource>
GigapixelSourceForNetwork(const gigapixel::PhysicalImage &                     image,
                          const gigapixel::NetworkDescription &                network,
                          const std::shared_ptr<const gigapixel::TissueMask> & tissue,
                          const std::function<bool(double)> &                  goesOn)
{
  auto pixels = gigapixel::AdaptChannels(image.pixels, static_cast<unsigned>(network.channels), image.name);
  GigapixelRequireSampleType(pixels->GetSampleType(), network, image.name);
  pixels = tissue ? gigapixel::PaintGlass(pixels, tissue, network.GetGlass(pixels->GetSampleType())) : pixels;
  if (!network.IsNormalized())
  {
    return pixels;
  }
  const auto normalization = GigapixelFindNormalization(image, network, goesOn);
  if (!normalization)
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
  return normalization->Apply(pixels);
}

void
GigapixelRefuseWindow(const std::string & window, const gigapixel::NetworkDescription & network)
{
  if (!window.empty() && network.IsNormalized())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-CONFLICT",
                                                   "a window makes 8 bit of samples, and the network " + network.name +
                                                     " takes them as they are stored and normalizes them: " +
                                                     gigapixel::Describe(network.normalization),
                                                   "leave the window out, or take a network without a normalization")
                               .OfOption("--window", window));
  }
}

void
GigapixelRefuseSharedMemory(bool isAskedFor, const gigapixel::NetworkDescription & network)
{
  if (isAskedFor && network.TakesFloats())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-OPTION-APPLIES",
                            "networks for volumes or normalized values do not compute in shared memory",
                            "leave out shared memory (--shared-memory), the result is the same")
        .OfOption("--shared-memory"));
  }
}

} // namespace itk
