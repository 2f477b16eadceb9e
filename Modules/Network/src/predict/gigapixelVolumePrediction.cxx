/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePrediction.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelNonZeroVoxels.h"
#include "gigapixelPredictor.h"
#include "gigapixelRegionSource.h"
#include "gigapixelVolumePatchPredictor.h"
#include "gigapixelVolumeResampling.h"

#include <algorithm>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Of progress, what comes before the network takes. */
constexpr double ReadingPart = 0.05;

/** What the network is shown, and where it lies in the volume. */
struct ShownVolume
{
  std::shared_ptr<PixelSource>    voxels;
  Region                          box;
  std::optional<VolumeResampling> resampling; ///< of the box
};

using Progress = std::function<bool(double)>;

/** A part of the progress. */
Progress
GetPart(const Progress & progress, double from, double to)
{
  return [progress, from, to](double done) { return progress(from + (to - from) * done); };
}

Region
GetWholeRegion(const Size & size)
{
  return { 0, 0, size.width, size.height, 0, size.depth };
}

std::optional<VolumeResampling>
FindResampling(const Size & size, const std::array<double, 3> & spacing, const NetworkDescription & network)
{
  if (network.spacing == std::array<double, 3>{})
  {
    return {};
  }
  // Along z, y and x.
  const VolumeResampling resampling(size, { spacing[2], spacing[1], spacing[0] }, network.spacing);
  return resampling.ChangesSize() ? std::optional<VolumeResampling>(resampling) : std::nullopt;
}

/** \return none: it was stopped */
std::optional<ShownVolume>
Show(const std::shared_ptr<PixelSource> & voxels,
     const std::array<double, 3> &        spacing,
     const NetworkDescription &           network,
     const Progress &                     progress)
{
  ShownVolume shown{ nullptr, GetWholeRegion(voxels->GetSize()), {} };
  if (network.cropsToNonZero)
  {
    const auto there = NonZeroVoxels::Find(*voxels, GetPart(progress, 0, ReadingPart / 4));
    if (!there)
    {
      return {};
    }
    shown.box = there->GetBox();
  }
  shown.voxels = Normalize(voxels, network.normalization, GetPart(progress, ReadingPart / 4, ReadingPart / 2));
  if (!shown.voxels)
  {
    return {};
  }
  const Size size{ shown.box.width, shown.box.height, shown.box.depth };
  shown.voxels = network.cropsToNonZero ? MakeRegionSource(shown.voxels, shown.box) : shown.voxels;
  shown.resampling = FindResampling(size, spacing, network);
  if (shown.resampling)
  {
    shown.voxels = Resample(*shown.voxels, *shown.resampling, GetPart(progress, ReadingPart / 2, ReadingPart));
    if (!shown.voxels)
    {
      return {};
    }
  }
  return shown;
}

/** "3 x 1.5 x 1.5", along x, y and z. */
std::string
FormatSpacing(double x, double y, double z)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << x << " x " << y << " x " << z;
  return text.str();
}

std::string
FormatSize(const Size & size)
{
  return std::to_string(size.width) + " x " + std::to_string(size.height) + " x " + std::to_string(size.depth);
}

std::string
DescribeSteps(const VolumeGrid &         own,
              const VolumeGrid &         grid,
              const NetworkDescription & network,
              const ShownVolume &        shown)
{
  std::string  text;
  const Size & size = grid.size;
  const auto & spacing = grid.spacing;
  const auto   from = GetOrientation(own);
  if (IsOrientation(network.orientation) && from != network.orientation)
  {
    text += "oriented from " + from + " to " + network.orientation;
  }
  const Size box{ shown.box.width, shown.box.height, shown.box.depth };
  if (box.width * box.height * box.depth < size.width * size.height * size.depth)
  {
    text +=
      (text.empty() ? "" : ", ") + std::string("cropped to the ") + FormatSize(box) + " voxels around what is not 0";
  }
  if (const auto & resampling = shown.resampling)
  {
    text += (text.empty() ? "" : ", ") + std::string("resampled from ") +
            FormatSpacing(spacing[0], spacing[1], spacing[2]) + " mm to " +
            FormatSpacing(network.spacing[2], network.spacing[1], network.spacing[0]) + " mm (" +
            FormatSize(resampling->to) + " voxels)";
  }
  return text;
}

/** Labels of the box, x fastest. */
class BoxLabels
{
public:
  BoxLabels(const Region & box, const Size & volume)
    : m_Box(box)
    , m_Volume(volume)
  {}

  void
  PutSlice(std::int64_t z, const std::vector<std::uint8_t> & labels)
  {
    this->MakeRoom();
    for (std::int64_t y = 0; y < m_Box.height; ++y)
    {
      const std::int64_t row = ((m_Box.z + z) * m_Volume.height + m_Box.y + y) * m_Volume.width + m_Box.x;
      std::copy_n(labels.begin() + y * m_Box.width, m_Box.width, m_Labels.begin() + row);
    }
  }

  /** Those of all of the box, in which it makes no copy where the box is the volume. */
  void
  Put(std::vector<std::uint8_t> labels)
  {
    if (m_Box.width == m_Volume.width && m_Box.height == m_Volume.height && m_Box.depth == m_Volume.depth)
    {
      m_Labels = std::move(labels);
      return;
    }
    const std::int64_t slice = m_Box.width * m_Box.height;
    for (std::int64_t z = 0; z < m_Box.depth; ++z)
    {
      this->PutSlice(z, { labels.begin() + z * slice, labels.begin() + (z + 1) * slice });
    }
  }

  std::vector<std::uint8_t>
  Take()
  {
    this->MakeRoom();
    return std::move(m_Labels);
  }

private:
  /** Not before there is a label: the network is done then, or much of it. */
  void
  MakeRoom()
  {
    m_Labels.resize(static_cast<std::size_t>(m_Volume.width * m_Volume.height * m_Volume.depth));
  }

  Region                    m_Box;
  Size                      m_Volume;
  std::vector<std::uint8_t> m_Labels;
};

/** What gets the slices of the network's output: those of the box, or, where it was resampled, those that they are
 * brought back to. */
SliceResampler::Take
MakeTake(const ShownVolume & shown, int channels, const SliceResampler::Take & take)
{
  if (!shown.resampling)
  {
    return take;
  }
  const auto back = std::make_shared<SliceResampler>(*shown.resampling, channels, take);
  return [back](std::int64_t z, std::vector<float> & slice) { back->Add(z, slice); };
}

/** \return false: it was stopped */
bool
PredictPatches(const ShownVolume &    shown,
               VolumePatchPredictor & predictor,
               int                    channels,
               double                 threshold,
               BoxLabels &            labels,
               const Progress &       goesOn)
{
  std::vector<std::uint8_t> ofSlice(static_cast<std::size_t>(shown.box.width * shown.box.height));
  const auto                take = MakeTake(shown, channels, [&](std::int64_t z, std::vector<float> & logits) {
    predictor.GetLabels(logits, threshold, ofSlice.data());
    labels.PutSlice(z, ofSlice);
  });
  return predictor.PredictLogits(*shown.voxels, take, goesOn);
}

/** How many slices are brought back to another spacing together: of large ones few, whose floats are all in memory. */
std::int64_t
GetSlabDepth(const Size & size, int channels)
{
  constexpr std::int64_t Bytes = std::int64_t{ 32 } << 20,
                         Fewest = 8; // fewer cut tiles short, whose halo is computed again
  const std::int64_t slice = size.width * size.height * channels * static_cast<std::int64_t>(sizeof(float));
  return std::min(size.depth, std::max(Fewest, Bytes / slice));
}

/** The whole volume at once, exactly. What is brought back to another spacing are probabilities.
 * \return false: it was stopped */
bool
PredictWhole(const ShownVolume & shown,
             Predictor &         predictor,
             double              threshold,
             BoxLabels &         labels,
             const Progress &    goesOn)
{
  const Size                size = shown.voxels->GetSize();
  const auto                channels = static_cast<std::size_t>(predictor.GetNumberOfOutputChannels());
  std::vector<std::uint8_t> ofSlice(static_cast<std::size_t>(shown.box.width * shown.box.height));
  const auto take = MakeTake(shown, static_cast<int>(channels), [&](std::int64_t z, std::vector<float> & slice) {
    auto label = ofSlice.begin();
    for (auto p = slice.begin(); p != slice.end(); p += static_cast<std::ptrdiff_t>(channels))
    {
      *label++ = static_cast<std::uint8_t>(
        channels == 1 ? *p >= threshold : std::max_element(p, p + static_cast<std::ptrdiff_t>(channels)) - p);
    }
    labels.PutSlice(z, ofSlice);
  });
  if (!shown.resampling)
  {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(size.width * size.height * size.depth));
    if (!predictor.PredictLabels(*shown.voxels, GetWholeRegion(size), threshold, all.data(), goesOn))
    {
      return false;
    }
    labels.Put(std::move(all));
    return true;
  }
  const std::int64_t depth = std::min(GetSlabDepth(size, static_cast<int>(channels)), predictor.GetTileSize());
  std::vector<float> probabilities(static_cast<std::size_t>(size.width * size.height * depth) * channels);
  const std::size_t  slice = static_cast<std::size_t>(size.width * size.height) * channels;
  for (std::int64_t z = 0; z < size.depth; z += depth)
  {
    const Region slab{ 0, 0, size.width, size.height, z, std::min(depth, size.depth - z) };
    const auto   all = static_cast<double>(size.depth);
    if (!predictor.Predict(*shown.voxels, slab, probabilities.data(), [&](double done) {
          return goesOn((static_cast<double>(z) + done * static_cast<double>(slab.depth)) / all);
        }))
    {
      return false;
    }
    for (std::int64_t i = 0; i < slab.depth; ++i)
    {
      const auto first = probabilities.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * slice);
      std::vector<float> ofOne(first, first + static_cast<std::ptrdiff_t>(slice));
      take(z + i, ofOne);
    }
  }
  return true;
}

} // namespace

AxisOrder
FindAxisOrder(const VolumeGrid & grid, const NetworkDescription & network)
{
  AxisOrder order = network.orientation.empty() ? AxisOrder() : AxisOrder::Find(grid, network.orientation);
  if (network.takesXFirst)
  {
    std::swap(order.from[0], order.from[2]);
    std::swap(order.isReversed[0], order.isReversed[2]);
  }
  return order;
}

std::optional<Diagnostic>
DoubtOrientation(const VolumeGrid & grid, const NetworkDescription & network)
{
  const std::string own = GetOrientation(grid);
  if (!network.orientation.empty() || network.provenance.empty() || own == "RAS")
  {
    return {};
  }
  return Diagnostic("W-VOLUME-ORIENTATION",
                    "its axes point to the sides " + own + " of the patient, and the model \"" + network.name +
                      "\" does not say in which orientation it was trained: in another one its labels may be wrong",
                    "import the model with --orientation: RAS, for instance, to which volumes are brought then, or "
                    "stored where the training took volumes as their files have them")
    .OfValue(own);
}

Size
GetShownSize(const VolumeGrid & grid, const NetworkDescription & network)
{
  const VolumeGrid shown = FindAxisOrder(grid, network).Apply(grid);
  const auto       resampling = FindResampling(shown.size, shown.spacing, network);
  return resampling ? resampling->to : shown.size;
}

std::int64_t
GetResamplingBytes(const VolumeGrid & grid, const NetworkDescription & network)
{
  const VolumeGrid own = FindAxisOrder(grid, network).Apply(grid);
  const auto       resampling = FindResampling(own.size, own.spacing, network);
  if (!resampling)
  {
    return 0;
  }
  constexpr std::int64_t Between = 3; // slices of the output: one that is taken, and two that the others lie between
  const Size &           shown = resampling->to;
  const int              channels = network.GetNumberOfOutputChannels();
  const std::int64_t     outputs = (GetSlabDepth(shown, channels) + Between) * channels;
  return shown.width * shown.height * (shown.depth * network.channels + outputs) *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t
GetResultBytes(const VolumeGrid & grid, const NetworkDescription & network, bool isProbability)
{
  const bool         isReordered = !FindAxisOrder(grid, network).ChangesNothing();
  const std::int64_t voxels = grid.size.width * grid.size.height * grid.size.depth;
  return isProbability ? (isReordered ? 2 : 1) * voxels * network.GetNumberOfOutputChannels() *
                           static_cast<std::int64_t>(sizeof(float))
                       : (isReordered ? 3 : 2) * voxels; // the caller copies labels
}

std::optional<VolumePrediction>
PredictVolume(const std::shared_ptr<PixelSource> & voxels,
              const VolumeGrid &                   grid,
              const Model &                        model,
              const VolumeRun &                    run,
              const std::function<bool(double)> &  progress)
{
  const AxisOrder  order = FindAxisOrder(grid, model.network);
  const VolumeGrid ordered = order.Apply(grid);
  const Size       size = ordered.size;
  const auto       shown = Show(MakeOrderedSource(voxels, order), ordered.spacing, model.network, progress);
  if (!shown)
  {
    return {};
  }
  const auto goesOn = GetPart(progress, ReadingPart, 1);
  BoxLabels  labels(shown->box, size);
  bool       finished = false;
  if (run.patches)
  {
    VolumePatchPredictor predictor(model, *run.patches, run.threads, run.device);
    const int            channels = model.network.GetNumberOfOutputChannels();
    finished = PredictPatches(*shown, predictor, channels, run.threshold, labels, goesOn);
  }
  else
  {
    Predictor predictor(model, run.threads, run.device, {}, run.tileSize, run.scratch, run.segments);
    finished = PredictWhole(*shown, predictor, run.threshold, labels, goesOn);
  }
  if (!finished)
  {
    return {};
  }
  const std::string steps = DescribeSteps(grid, ordered, model.network, *shown);
  VolumePrediction  prediction{ labels.Take(), steps };
  if (!order.ChangesNothing())
  {
    const auto shownLabels = std::move(prediction.labels);
    prediction.labels = std::vector<std::uint8_t>(shownLabels.size());
    order.BringBack(shownLabels, grid.size, prediction.labels.data());
  }
  return prediction;
}

bool
PredictVolumeProbabilities(const std::shared_ptr<PixelSource> & voxels,
                           const VolumeGrid &                   grid,
                           const Model &                        model,
                           const VolumeRun &                    run,
                           float *                              probabilities,
                           const std::function<bool(double)> &  progress)
{
  const AxisOrder  order = FindAxisOrder(grid, model.network);
  const VolumeGrid ordered = order.Apply(grid);
  const Size       size = ordered.size;
  if (run.patches || model.network.cropsToNonZero || FindResampling(size, ordered.spacing, model.network))
  {
    throw Refusal(Diagnostic("E-MODEL-OUTPUT",
                             "the network \"" + model.network.name +
                               "\" is shown another volume than this one (patches, a box of it, or another spacing), "
                               "of which there are labels, and no probabilities"));
  }
  const auto shown = Show(MakeOrderedSource(voxels, order), ordered.spacing, model.network, progress);
  Predictor  predictor(model, run.threads, run.device, {}, run.tileSize, run.scratch, run.segments);
  const auto goesOn = GetPart(progress, ReadingPart, 1);
  if (order.ChangesNothing())
  {
    return shown && predictor.Predict(*shown->voxels, GetWholeRegion(size), probabilities, goesOn);
  }
  const auto         channels = static_cast<std::size_t>(predictor.GetNumberOfOutputChannels());
  std::vector<float> ofShown(static_cast<std::size_t>(size.width * size.height * size.depth) * channels);
  if (!shown || !predictor.Predict(*shown->voxels, GetWholeRegion(size), ofShown.data(), goesOn))
  {
    return false;
  }
  order.BringBack(ofShown, grid.size, probabilities, channels);
  return true;
}

} // namespace gigapixel
