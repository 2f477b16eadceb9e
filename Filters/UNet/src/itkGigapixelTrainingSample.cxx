/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelTrainingSample.h"

#include "gigapixelJoinNames.h"
#include "gigapixelMaskLabelSource.h"
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
AtLevel(const gigapixel::Region & region, double downsample, gigapixel::Size size)
{
  const auto down = [&](std::int64_t pixel) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(pixel) / downsample));
  };
  const auto up = [&](std::int64_t pixel, std::int64_t most) {
    const auto end = static_cast<std::int64_t>(std::ceil(static_cast<double>(pixel) / downsample));
    return downsample != 1 && end == most + 1 ? most : end;
  };
  gigapixel::Region result;
  result.x = down(region.x);
  result.y = down(region.y);
  result.width = up(region.x + region.width, size.width) - result.x;
  result.height = up(region.y + region.height, size.height) - result.y;
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
  gigapixel::Region     part = AtLevel(region, pixels.downsample, size);
  const bool            isInside = part.x >= 0 && part.y >= 0 && part.x + part.width <= size.width &&
                        part.y + part.height <= size.height; // else it is refused later
  if (isInside && !tissue.HasTissue(part))
  {
    throw std::runtime_error("the tissue mask " + name + " has no tissue " +
                             (region.width > 0 ? "in the region of " : "at all on ") + pixels.name +
                             ": give the right one, or leave out this sample");
  }
}

std::shared_ptr<gigapixel::LabelSource>
MakeLabels(const gigapixel::PhysicalImage &      mask,
           const gigapixel::PhysicalImage &      pixels,
           const gigapixel::NetworkDescription & network)
{
  if (!mask.pixels)
  {
    throw std::runtime_error(pixels.name + " has no mask, and the network " + network.name +
                             " labels pixels: give one (of a cohort in the column mask), or a network that labels "
                             "images, such as resnet18");
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
    throw std::runtime_error(image + " has no label, and the network " + network.name +
                             " labels images: give it one (of a cohort in the column label), or another network");
  }
  if (found == names.end())
  {
    throw std::runtime_error(image + " has the label \"" + label + "\", which is no class of the network " +
                             network.name + " (" + gigapixel::JoinNames(names) + ")");
  }
  return std::make_shared<gigapixel::OneLabelSource>(static_cast<std::uint8_t>(found - names.begin()));
}

} // namespace

gigapixel::Sample
MakeTrainingSample(const gigapixel::PhysicalImage &      pixels,
                   const GigapixelTruth &                truth,
                   const gigapixel::PhysicalImage *      tissue,
                   const gigapixel::Region &             region,
                   const gigapixel::NetworkDescription & network)
{
  gigapixel::Sample sample;
  sample.name = pixels.name;
  sample.pixels = gigapixel::AdaptChannels(pixels.pixels, static_cast<unsigned>(network.channels), pixels.name);
  const bool labelsImage = network.LabelsImage();
  sample.labels = labelsImage ? FindLabel(truth.label, pixels.name, network) : MakeLabels(truth.mask, pixels, network);
  if (!pixels.content.empty() && (labelsImage || !truth.mask.content.empty()))
  {
    sample.identity = pixels.content + " region=" + std::to_string(region.x) + ',' + std::to_string(region.y) + ',' +
                      std::to_string(region.width) + ',' + std::to_string(region.height) +
                      (labelsImage ? " label: " + truth.label : " mask: " + truth.mask.content) +
                      (tissue ? gigapixel::TissueIdentity + tissue->content : "");
  }
  if (tissue)
  {
    const auto mask = std::make_shared<const gigapixel::TissueMask>(*tissue, pixels.grid, pixels.name);
    RequireTissue(*mask, tissue->name, pixels, region);
    sample.pixels = gigapixel::MakeGlassWhite(sample.pixels, mask);
    sample.labels = labelsImage ? sample.labels : gigapixel::IgnoreGlass(sample.labels, mask);
  }
  if (region.width > 0)
  {
    try
    {
      const gigapixel::Region part = AtLevel(region, pixels.downsample, pixels.grid.size);
      sample.pixels = gigapixel::MakeRegionSource(sample.pixels, part);
      sample.labels = labelsImage ? sample.labels : gigapixel::MakeRegionSource(sample.labels, part);
    }
    catch (const std::runtime_error & error)
    {
      throw std::runtime_error(pixels.name + ": " + error.what());
    }
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
  return onlyLabels ? "resnet18:classes=" + std::to_string(std::max<std::size_t>(2, GetLabels(samples).size()))
                    : "remedios2023";
}

std::vector<std::string>
GetClassNames(const std::vector<GigapixelTrainingSample> & samples, const gigapixel::NetworkDescription & network)
{
  std::vector<std::string> labels = GetLabels(samples);
  if (labels.size() == 1)
  {
    throw std::runtime_error("all slides have the label " + labels.front() + ": there is nothing to tell apart");
  }
  if (!labels.empty() && static_cast<int>(labels.size()) != network.GetNumberOfClasses())
  {
    throw std::runtime_error(
      "the slides have " + std::to_string(labels.size()) + " labels (" + gigapixel::JoinNames(labels) +
      "), and the network " + network.name + " tells " + std::to_string(network.GetNumberOfClasses()) +
      " classes apart: give a network of as many, such as resnet18:classes=" + std::to_string(labels.size()));
  }
  return labels;
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
  if (m_Mpp <= 0)
  {
    m_Mpp = mpp;
    m_Name = image.name;
  }
  else if (std::abs(mpp / m_Mpp - 1) > gigapixel::ResolutionTolerance)
  {
    std::ostringstream text;
    text << "all samples have to be of one resolution: " << m_Name << " has " << m_Mpp << " micrometers per pixel, "
         << image.name << " has " << mpp
         << "; choose slides that agree, or one resolution for all (--mpp, SetMicronsPerPixel())";
    throw std::runtime_error(text.str());
  }
}

std::string
CommonResolution::GetWarning() const
{
  if (m_Unknown.empty())
  {
    return std::string();
  }
  return m_Unknown + " has no known resolution; " +
         (m_Mpp > 0 ? "it is taken for that of " + m_Name : "the model will not know the one it was trained at");
}

} // namespace itk
