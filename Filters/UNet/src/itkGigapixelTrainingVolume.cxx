/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelTrainingVolume.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelKeptNormalization.h"
#include "gigapixelLabeling.h"
#include "gigapixelVolumePrediction.h"
#include "itkGigapixelVolumeSource.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <locale>
#include <set>
#include <sstream>

namespace itk
{

/** What is in memory, and of which source. */
struct GigapixelTrainingVolumes::Held
{
  std::mutex                              mutex;
  const void *                            voxelsOf{ nullptr };
  const void *                            labelsOf{ nullptr };
  std::shared_ptr<gigapixel::PixelSource> voxels;
  std::shared_ptr<gigapixel::PixelSource> labels;
};

namespace
{

using Held = GigapixelTrainingVolumes::Held;

/** A volume that is opened again. \throw std::runtime_error it is another one than when its header was first read */
GigapixelVolume
OpenAgain(const std::string & name, const gigapixel::Size & size, unsigned channels)
{
  GigapixelVolume         volume = GigapixelVolumeSource(GigapixelSplitModalities(name));
  const gigapixel::Size & now = volume.grid.size;
  if (now.width != size.width || now.height != size.height || now.depth != size.depth ||
      volume.voxels->GetNumberOfChannels() != channels)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-FILE-CHANGED",
                                                   "it is another volume than it was when the training began",
                                                   "start it anew")
                               .OfFile(name));
  }
  return volume;
}

/** A volume's voxels, normalized; whoever reads takes the place of what was there. */
class Voxels : public gigapixel::PixelSource
{
public:
  Voxels(std::shared_ptr<Held> held, const GigapixelVolume & volume, const gigapixel::NetworkDescription & network)
    : m_Held(std::move(held))
    , m_Name(volume.name)
    , m_Size(volume.grid.size)
    , m_Order(gigapixel::FindAxisOrder(volume.grid, network))
    , m_Channels(volume.voxels->GetNumberOfChannels())
    , m_Normalization(network.normalization)
  {}

  gigapixel::Size
  GetSize() const override
  {
    return m_Order.Apply({ m_Size }).size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    return gigapixel::SampleType::Float;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    this->Get({})->Read(region, samples);
  }

  /** Opens and normalizes it, before threads read it. \return false: it was stopped */
  bool
  Prepare(const std::function<bool()> & goesOn)
  {
    return goesOn() && this->Get([&goesOn](double) { return goesOn(); }) != nullptr && goesOn();
  }

private:
  /** \return null: it was stopped */
  std::shared_ptr<gigapixel::PixelSource>
  Get(const std::function<bool(double)> & goesOn)
  {
    const std::lock_guard<std::mutex> lock(m_Held->mutex);
    if (m_Held->voxelsOf != this)
    {
      m_Held->voxelsOf = nullptr;
      m_Held->voxels.reset(); // before there is another one
      const auto voxels = gigapixel::MakeOrderedSource(OpenAgain(m_Name, m_Size, m_Channels).voxels, m_Order);
      m_Held->voxels = m_Normalization.Apply(voxels, goesOn);
      m_Held->voxelsOf = m_Held->voxels ? this : nullptr;
    }
    return m_Held->voxels;
  }

  std::shared_ptr<Held>        m_Held;
  const std::string            m_Name;
  const gigapixel::Size        m_Size; ///< of the file
  const gigapixel::AxisOrder   m_Order;
  const unsigned               m_Channels;
  gigapixel::KeptNormalization m_Normalization; ///< found when the first turn comes
};

/** The classes of a volume's voxels. */
class Classes : public gigapixel::LabelSource
{
public:
  /** \param grid of the volume, whose axes decide */
  Classes(std::shared_ptr<Held>                 held,
          const GigapixelVolume &               labels,
          const gigapixel::VolumeGrid &         grid,
          const gigapixel::NetworkDescription & network)
    : m_Held(std::move(held))
    , m_Name(labels.name)
    , m_Size(labels.grid.size)
    , m_Order(gigapixel::FindAxisOrder(grid, network))
    , m_IsObject(network.GetNumberOfClasses() == 2)
    , m_IgnoredLabel(network.ignoredLabel)
  {}

  gigapixel::Size
  GetSize() const override
  {
    return m_Order.Apply({ m_Size }).size;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * classes) override
  {
    std::vector<float> values(static_cast<std::size_t>(region.width * region.height * region.depth));
    this->Get()->Read(region, reinterpret_cast<std::uint8_t *>(values.data()));
    std::transform(values.begin(), values.end(), classes, [this](float value) { return this->ToClass(value); });
  }

private:
  std::shared_ptr<gigapixel::PixelSource>
  Get()
  {
    const std::lock_guard<std::mutex> lock(m_Held->mutex);
    if (m_Held->labelsOf != this)
    {
      m_Held->labelsOf = nullptr;
      m_Held->labels.reset();
      m_Held->labels = gigapixel::MakeOrderedSource(OpenAgain(m_Name, m_Size, 1).voxels, m_Order);
      m_Held->labelsOf = this;
    }
    return m_Held->labels;
  }

  std::uint8_t
  ToClass(float value) const
  {
    if (value != std::floor(value) || value < 0 || value > gigapixel::LabelSource::Ignored)
    {
      std::ostringstream text;
      text.imbue(std::locale::classic());
      text << std::setprecision(9) << value;
      throw gigapixel::Refusal(gigapixel::Diagnostic("E-LABEL-VALUE",
                                                     "it has the value " + text.str() +
                                                       ", and labels to train on are whole numbers from 0 to 255",
                                                     "number the classes from 0 on")
                                 .OfFile(m_Name)
                                 .OfValue(text.str()));
    }
    const int label = static_cast<int>(value);
    // Masks of two classes are written as 0 and 255, which is also the label that is ignored by default.
    constexpr std::uint8_t Ignored = gigapixel::LabelSource::Ignored;
    return m_IsObject && label == Ignored ? std::uint8_t{ 1 }
           : label == m_IgnoredLabel      ? Ignored
                                          : static_cast<std::uint8_t>(label);
  }

  std::shared_ptr<Held>      m_Held;
  const std::string          m_Name;
  const gigapixel::Size      m_Size; ///< of the file
  const gigapixel::AxisOrder m_Order;
  const bool                 m_IsObject; ///< what is 255
  const int                  m_IgnoredLabel;
};

} // namespace

gigapixel::Sample
GigapixelTrainingVolumes::Add(const std::string &                   volume,
                              const std::string &                   labels,
                              const gigapixel::NetworkDescription & network)
{
  // Labels of whole volumes are not learned yet.
  gigapixel::Labeling::OfPixels().Require(network, volume, "give a network that labels voxels, such as unet3d");
  if (labels.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-SAMPLE-TRUTH",
                            "it has no labels, and the network " + network.name + " labels voxels",
                            "give a volume of them (of a cohort in the column mask)")
        .OfFile(volume));
  }
  const auto            files = GigapixelSplitModalities(volume);
  const GigapixelVolume voxels = GigapixelVolumeSource(files), classes = GigapixelVolumeSource({ labels });
  if (classes.voxels->GetNumberOfChannels() != 1)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-MASK-FORMAT",
                            "it has " + gigapixel::FormatCount(classes.voxels->GetNumberOfChannels(), "channel") +
                              ", and a volume of labels has one")
        .OfFile(labels));
  }
  if (const std::string difference = voxels.grid.DescribeDifference(classes.grid); !difference.empty())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-VOLUME-GEOMETRY",
                                                   "it is not on the grid of " + volume + ": it " + difference,
                                                   "resample it to that grid")
                               .OfFile(labels));
  }
  for (const auto & warnings : { voxels.warnings, classes.warnings })
  {
    m_Warnings.insert(m_Warnings.end(), warnings.begin(), warnings.end());
  }
  m_Held = m_Held ? m_Held : std::make_shared<Held>();
  m_HeldBytes =
    std::max(m_HeldBytes, std::max(voxels.readingBytes, voxels.heldBytes + classes.readingBytes) + classes.heldBytes);
  gigapixel::Sample sample;
  sample.name = volume;
  const auto source = std::make_shared<Voxels>(m_Held, voxels, network);
  sample.pixels = source;
  sample.prepare = [source](const std::function<bool()> & goesOn) { return source->Prepare(goesOn); };
  sample.labels = std::make_shared<Classes>(m_Held, classes, voxels.grid, network);
  const auto spacing = gigapixel::FindAxisOrder(voxels.grid, network).Apply(voxels.grid).spacing;
  sample.square = std::abs(spacing[0] / spacing[1] - 1) < 0.01;
  sample.identity = GigapixelIdentifyVolume(files, gigapixel::HashedBytes::Samples) +
                    " labels: " + GigapixelIdentifyVolume({ labels }, gigapixel::HashedBytes::All);
  return sample;
}

std::string
GigapixelTrainingVolumes::FindOrientation(const std::vector<std::string> & volumes)
{
  std::set<std::string> found;
  for (const std::string & volume : volumes)
  {
    found.insert(gigapixel::GetOrientation(GigapixelVolumeSource(GigapixelSplitModalities(volume)).grid));
  }
  return found.empty() ? "" : found.size() == 1 ? *found.begin() : "RAS";
}

} // namespace itk
