/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelTrainingSample.h"
#include "itkGigapixelNetworkSource.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelJoinNames.h"
#include "gigapixelMaskLabelSource.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelOneLabelSource.h"
#include "gigapixelRegionSource.h"
#include "gigapixelSampleIdentity.h"
#include "gigapixelTissueSource.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>

namespace itk
{
namespace
{

std::vector<std::string>
GetLabels(const std::vector<GigapixelTrainingSample> & samples)
{
  std::set<std::string> labels;
  for (const GigapixelTrainingSample & sample : samples)
  {
    labels.insert(sample.label);
  }
  labels.erase("");
  return { labels.begin(), labels.end() };
}

/** Level-0 pixels to those of the level, outwards to whole ones; at its end a level may be cut by a part of a pixel,
 * but not by more: what reaches beyond the slide is refused. */
gigapixel::Region
AtLevel(const gigapixel::Region & region, const std::array<double, 2> & downsamples, gigapixel::Size size)
{
  const auto down = [&](std::int64_t pixel, double downsample) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(pixel) / downsample));
  };
  const auto up = [&](std::int64_t pixel, double downsample, std::int64_t most) {
    const auto end = static_cast<std::int64_t>(std::ceil(static_cast<double>(pixel) / downsample));
    return downsample != 1 && end == most + 1 ? most : end;
  };
  gigapixel::Region result;
  result.x = down(region.x, downsamples[0]);
  result.y = down(region.y, downsamples[1]);
  result.width = up(region.x + region.width, downsamples[0], size.width) - result.x;
  result.height = up(region.y + region.height, downsamples[1], size.height) - result.y;
  return result;
}

/** Without any tissue a sample has no label that counts. */
void
RequireTissue(const gigapixel::TissueMask &    tissue,
              const std::string &              name,
              const gigapixel::PhysicalImage & pixels,
              const gigapixel::Region &        region)
{
  const gigapixel::Size size = pixels.grid.size;
  gigapixel::Region     part = AtLevel(region, pixels.downsamples, size);
  const bool            isInside = part.x >= 0 && part.y >= 0 && part.x + part.width <= size.width &&
                        part.y + part.height <= size.height; // else it is refused later
  if (isInside && !tissue.HasTissue(part))
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-MASK-EMPTY",
                                                   "the tissue mask " + name + " has no tissue " +
                                                     (region.width > 0 ? "in the region of " : "at all on ") +
                                                     pixels.name,
                                                   "give the right one, or leave out this sample")
                               .OfFile(name));
  }
}

std::shared_ptr<gigapixel::LabelSource>
MakeLabels(const gigapixel::PhysicalImage &      mask,
           const gigapixel::PhysicalImage &      pixels,
           const gigapixel::NetworkDescription & network)
{
  if (!mask.pixels)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic(
        "E-SAMPLE-TRUTH",
        "it has no mask, and the network " + network.name + " labels pixels",
        "give one (of a cohort in the column mask), or a network that labels images, such as resnet18")
        .OfFile(pixels.name));
  }
  return std::make_shared<gigapixel::MaskLabelSource>(mask,
                                                      pixels.grid,
                                                      pixels.name,
                                                      network.GetNumberOfClasses(),
                                                      network.ignoreUnscanned ? pixels.scanned
                                                                              : gigapixel::ScannedFunction(),
                                                      network.ignoredLabel);
}

/** The class of a whole image. */
std::shared_ptr<gigapixel::LabelSource>
FindLabel(const std::string & label, const std::string & image, const gigapixel::NetworkDescription & network)
{
  const auto & names = network.classNames;
  const auto   found = std::find(names.begin(), names.end(), label);
  if (label.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SAMPLE-TRUTH",
                            "it has no label, and the network " + network.name + " labels images",
                            "give it one (of a cohort in the column label), or another network")
        .OfFile(image));
  }
  if (found == names.end())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-LABEL-VALUE",
                                                   "it has the label \"" + label +
                                                     "\", which is no class of the network " + network.name + " (" +
                                                     gigapixel::JoinNames(names) + ")")
                               .OfFile(image)
                               .OfValue(label));
  }
  return std::make_shared<gigapixel::OneLabelSource>(static_cast<std::uint8_t>(found - names.begin()));
}

/** Of a network that labels images, which takes the class 0 for granted where it learns something else. */
std::shared_ptr<gigapixel::LabelSource>
MakeLabelOfImage(const GigapixelTruth & truth, const std::string & image, const gigapixel::NetworkDescription & network)
{
  if (!network.objective.HasTargets())
  {
    return FindLabel(truth.label, image, network);
  }
  if (truth.truth.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic(
        "E-SAMPLE-TRUTH",
        "it has no truth, and the network " + network.name + " learns " + network.objective.GetKind().name,
        "give it some (of a cohort: " + network.objective.GetKind().Describe() + "), or another network")
        .OfFile(image));
  }
  return std::make_shared<gigapixel::OneLabelSource>(std::uint8_t{ 0 });
}

/** \throw std::runtime_error truths are not as many as the objective's names, are none of its kind, or not known */
void
CheckTruth(const gigapixel::ImageTruth & truth, const std::string & image, const gigapixel::Objective & objective)
{
  const gigapixel::ObjectiveKind & kind = objective.GetKind();
  const std::size_t                wanted = objective.CountTruths();
  if (truth.size() != wanted || wanted == 0)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SAMPLE-TRUTH",
                            "it has " + gigapixel::FormatCount(truth.size(), "number") + ", and " +
                              std::to_string(wanted) + " are learnt (" + kind.name +
                              (kind.HasNames() ? ": " + gigapixel::JoinNames(objective.names) : "") + ")",
                            "give one for each, NaN where it is not known")
        .OfFile(image)
        .OfValue(std::to_string(truth.size())));
  }
  bool isKnown = false;
  for (std::size_t column = 0; column < truth.size(); ++column)
  {
    const double value = truth[column];
    if (kind.HasNames() && std::isnan(value))
    {
      continue;
    }
    try
    {
      kind.readTruth(column, gigapixel::FormatTruth(value));
    }
    catch (const std::invalid_argument & error)
    {
      const std::string given = gigapixel::FormatTruth(value);
      const auto        reason = gigapixel::Diagnostic::Of(error);
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-SAMPLE-TRUTH", "the truth " + given + " of " + image + ' ' + reason.why, reason.remedy)
          .OfFile(image)
          .OfValue(given));
    }
    isKnown = true;
  }
  if (!isKnown)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic(
        "E-SAMPLE-TRUTH", "none of the " + std::string(kind.name) + " of " + image + " is known", "leave it out")
        .OfFile(image));
  }
}

std::string
DescribeTruth(const GigapixelTruth & truth, const gigapixel::NetworkDescription & network)
{
  if (truth.truth.empty())
  {
    return " label: " + truth.label;
  }
  const gigapixel::Objective & objective = network.objective;
  std::string                  text = std::string(" ") + objective.GetKind().name + ':';
  for (const std::string & known : objective.GetKind().describe(objective, truth.truth))
  {
    text += ' ' + known;
  }
  return text;
}

} // namespace

gigapixel::Sample
MakeTrainingSample(const gigapixel::PhysicalImage &      pixels,
                   const GigapixelTruth &                truth,
                   const gigapixel::PhysicalImage *      tissue,
                   const gigapixel::Region &             region,
                   const gigapixel::NetworkDescription & network,
                   const std::function<bool(double)> &   goesOn)
{
  gigapixel::Sample sample;
  sample.name = pixels.name;
  std::shared_ptr<const gigapixel::TissueMask> mask;
  if (tissue)
  {
    mask = std::make_shared<const gigapixel::TissueMask>(*tissue, pixels.grid, pixels.name);
    RequireTissue(*mask, tissue->name, pixels, region);
  }
  const auto cut = [&](const auto & source) {
    try
    {
      return region.width > 0
               ? gigapixel::MakeRegionSource(source, AtLevel(region, pixels.downsamples, pixels.grid.size))
               : source;
    }
    catch (const std::runtime_error & error)
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic::Of(error).OfFile(pixels.name));
    }
  };
  std::string identity; // of the labels
  if (network.LabelsImage())
  {
    sample.labels = MakeLabelOfImage(truth, pixels.name, network);
    sample.truth = truth.truth;
    identity = DescribeTruth(truth, network);
  }
  else
  {
    const auto labels = MakeLabels(truth.mask, pixels, network);
    sample.labels = cut(mask ? gigapixel::IgnoreGlass(labels, mask) : labels);
    identity = truth.mask.content.empty() ? "" : " mask: " + truth.mask.content;
  }
  sample.pixels = cut(GigapixelSourceForNetwork(pixels, network, mask, goesOn));
  if (!pixels.content.empty() && !identity.empty())
  {
    sample.identity = pixels.content + " region=" + std::to_string(region.x) + ',' + std::to_string(region.y) + ',' +
                      std::to_string(region.width) + ',' + std::to_string(region.height) + identity +
                      (tissue ? gigapixel::TissueIdentity + tissue->content : "");
  }
  return sample;
}

std::string
GetDefaultNetwork(const std::vector<GigapixelTrainingSample> & samples)
{
  const bool onlyLabels =
    !samples.empty() && std::all_of(samples.begin(), samples.end(), [](const GigapixelTrainingSample & sample) {
      return !sample.label.empty() && sample.maskFile.empty() && !sample.mask.pixels;
    });
  const bool onlyTruths =
    !samples.empty() && std::all_of(samples.begin(), samples.end(), [](const GigapixelTrainingSample & sample) {
      return !sample.truth.empty() && sample.maskFile.empty() && !sample.mask.pixels;
    });
  return onlyTruths   ? "resnet18"
         : onlyLabels ? "resnet18:classes=" + std::to_string(std::max<std::size_t>(2, GetLabels(samples).size()))
                      : DefaultOfMasks;
}

std::vector<std::string>
GetClassNames(const std::vector<GigapixelTrainingSample> & samples, const gigapixel::NetworkDescription & network)
{
  std::vector<std::string> labels = GetLabels(samples);
  if (labels.size() == 1)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SAMPLE-TRUTH",
                            "all slides have the label " + labels.front() + ": there is nothing to tell apart")
        .OfValue(labels.front()));
  }
  if (!labels.empty() && static_cast<int>(labels.size()) != network.GetNumberOfClasses())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-MODEL-OUTPUT",
                            "the slides have " + gigapixel::FormatCount(labels.size(), "label") + " (" +
                              gigapixel::JoinNames(labels) + "), and the network " + network.name + " tells " +
                              std::to_string(network.GetNumberOfClasses()) + " classes apart",
                            "give a network of as many, such as resnet18:classes=" + std::to_string(labels.size()))
        .OfValue(std::to_string(network.GetNumberOfClasses())));
  }
  return labels;
}

void
LearnObjective(const std::vector<GigapixelTrainingSample> & samples, gigapixel::Objective & objective)
{
  std::vector<gigapixel::ImageTruth> all, training;
  for (const GigapixelTrainingSample & sample : samples)
  {
    const std::string & image = sample.pixels.pixels ? sample.pixels.name : sample.pixelsFile;
    if (sample.truth.empty())
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-SAMPLE-TRUTH",
                              std::string("it has no truth, and others have ") + objective.GetKind().name,
                              "give all samples of one kind")
          .OfFile(image));
    }
    CheckTruth(sample.truth, image, objective);
    all.push_back(sample.truth);
    if (!sample.validates)
    {
      training.push_back(sample.truth);
    }
  }
  objective.GetKind().learn(objective, all, training);
}

std::string
GiveOutputs(const std::string &                   text,
            const gigapixel::NetworkDescription & network,
            const gigapixel::Objective &          objective)
{
  const gigapixel::NetworkPreset * const preset = gigapixel::NetworkPreset::Find(text);
  const int  wanted = objective.GetKind().countOutputs(static_cast<int>(objective.names.size()));
  const bool isGiven = text.find("classes=") != std::string::npos || text.find("outputs=") != std::string::npos;
  const bool takesOutputs =
    preset && std::any_of(preset->options.begin(), preset->options.end(), [](const gigapixel::PresetOption & option) {
      return option.name == "outputs";
    });
  if (network.GetNumberOfOutputChannels() == wanted || isGiven || !takesOutputs)
  {
    return text;
  }
  return text + (text.find(':') == std::string::npos ? ':' : ',') + "outputs=" + std::to_string(wanted);
}

void
CheckOutputs(const gigapixel::NetworkDescription & network, const gigapixel::Objective & objective)
{
  const int wanted = objective.GetKind().countOutputs(static_cast<int>(objective.names.size()));
  if (network.GetNumberOfOutputChannels() != wanted)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-MODEL-OUTPUT",
                            std::string("the slides' ") + objective.GetKind().name + " (" +
                              gigapixel::JoinNames(objective.names) + ") want " +
                              gigapixel::FormatCount(wanted, "output") + ", and the network " + network.name + " has " +
                              std::to_string(network.GetNumberOfOutputChannels()),
                            "give a network of as many, such as resnet18:outputs=" + std::to_string(wanted))
        .OfValue(std::to_string(network.GetNumberOfOutputChannels())));
  }
}

std::size_t
CountTrainingSlides(const std::vector<GigapixelTrainingSample> & samples)
{
  std::size_t                     images = 0;
  std::set<std::filesystem::path> files;
  for (const GigapixelTrainingSample & sample : samples)
  {
    std::error_code error;
    const auto      file = std::filesystem::canonical(sample.pixelsFile, error);
    if (sample.pixelsFile.empty() || error)
    {
      ++images;
    }
    else
    {
      files.insert(file);
    }
  }
  return images + files.size();
}

void
CommonResolution::Add(const gigapixel::PhysicalImage & image)
{
  const double mpp = image.grid.GetMicronsPerPixel();
  if (mpp <= 0)
  {
    m_Unknown = m_Unknown.empty() ? image.name : m_Unknown;
    return;
  }
  const auto &  spacing = image.grid.spacing;
  constexpr int micrometers = 1000; // in a millimeter
  if (std::abs(spacing[0] / spacing[1] - 1) > gigapixel::ResolutionTolerance)
  {
    std::ostringstream text;
    text << "its pixels are not square (" << spacing[0] * micrometers << " x " << spacing[1] * micrometers
         << " micrometers), and a model has one resolution";
    throw gigapixel::Refusal(
      gigapixel::Diagnostic(
        "E-SLIDE-RESOLUTION", text.str(), "choose a resolution to which it is resampled (--mpp, SetMicronsPerPixel())")
        .OfFile(image.name));
  }
  if (m_Mpp <= 0)
  {
    m_Mpp = mpp;
    m_Name = image.name;
  }
  else if (std::abs(mpp / m_Mpp - 1) > gigapixel::ResolutionTolerance)
  {
    std::ostringstream text;
    text << "all samples have to be of one resolution: " << m_Name << " has " << m_Mpp << " micrometers per pixel, "
         << image.name << " has " << mpp;
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SLIDE-RESOLUTION",
                            text.str(),
                            "choose slides that agree, or one resolution for all (--mpp, SetMicronsPerPixel())")
        .OfFile(image.name));
  }
}

gigapixel::Diagnostic
CommonResolution::GetWarning() const
{
  if (m_Unknown.empty())
  {
    return {};
  }
  return gigapixel::Diagnostic(
           "W-SLIDE-RESOLUTION",
           "it has no known resolution; " +
             (m_Mpp > 0 ? "it is taken for that of " + m_Name : "the model will not know the one it was trained at"),
           "state it (--slide-mpp, SetLevelZeroMicronsPerPixel())")
    .OfFile(m_Unknown)
    .OfValue("0");
}

void
CommonChannels::Add(const gigapixel::PhysicalImage & image)
{
  if (m_Name.empty())
  {
    m_Name = image.name;
    m_Channels = image.channels;
  }
  if (image.channels != m_Channels)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SLIDE-CHANNELS",
                            "its channels are " + gigapixel::JoinNames(image.channels) + ", and those of " + m_Name +
                              " are " + gigapixel::JoinNames(m_Channels),
                            "choose channels by names that all slides have (--channel, SetSlideChannels())")
        .OfFile(image.name));
  }
}

} // namespace itk
