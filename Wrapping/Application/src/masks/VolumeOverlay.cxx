/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "VolumeOverlay.h"
#include "gigapixelFormatCount.h"

#include "Doubt.h"
#include "Drawing.h"
#include "OutputCheck.h"
#include "PictureFile.h"
#include "VolumeFile.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelRunCommand.h"
#include "gigapixelVolumeOrientation.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace gigapixel::application
{
namespace
{
constexpr double   TintStrength = 0.35;
constexpr unsigned Gap = 4; // pixels between two slices

/** Of labels from 1 on, over and over: colors that people with any color vision tell apart (Okabe and Ito, 2008). */
constexpr std::array<Color, 7> Colors{ { { 230, 159, 0 },
                                         { 86, 180, 233 },
                                         { 0, 158, 115 },
                                         { 240, 228, 66 },
                                         { 0, 114, 178 },
                                         { 213, 94, 0 },
                                         { 204, 121, 167 } } };

/** A slice as radiologists look at it, along the patient's axes: 0 to the left, 1 to the back, 2 to the head. The
 * patient's right is at the left of the picture, the head, or of a slice across the body the front, is up. */
struct View
{
  std::size_t across; ///< what the slice is perpendicular to
  std::size_t right;  ///< always as the axis points
  std::size_t down;
  bool        isUpward; ///< that axis goes up in the picture
};
constexpr std::array<View, 3> Views{ { { 2, 0, 1, false }, { 1, 0, 2, true }, { 0, 1, 2, true } } };
constexpr const char *        Begins[] = { "R", "A", "I" }; // of the patient's axes: right, anterior, inferior
constexpr const char *        Ends[] = { "L", "P", "S" };
constexpr double              LetterSize = 14;
constexpr unsigned            LegendHeight = 20;

using Voxel = std::array<std::int64_t, 3>;

Voxel
GetLengths(const Size & size)
{
  return { size.width, size.height, size.depth };
}

/** The first channel of a slice, voxels in the order of the volume. */
std::vector<float>
ReadSlice(PixelSource & voxels, std::size_t across, std::int64_t place)
{
  const Size size = voxels.GetSize();
  Region     region{ 0, 0, size.width, size.height, 0, size.depth };
  (across == 0 ? region.x : across == 1 ? region.y : region.z) = place;
  (across == 0 ? region.width : across == 1 ? region.height : region.depth) = 1;
  const std::size_t  channels = voxels.GetNumberOfChannels();
  std::vector<float> samples(static_cast<std::size_t>(region.width * region.height * region.depth) * channels);
  voxels.Read(region, reinterpret_cast<std::uint8_t *>(samples.data()));
  std::vector<float> first;
  for (std::size_t i = 0; i < samples.size(); i += channels)
  {
    first.push_back(samples[i]);
  }
  return first;
}

/** Finds the axes of the volume that are nearest to the patient's: to the left, back and head. */
AxisOrder
FindPatient(const VolumeGrid & grid)
{
  return AxisOrder::Find(grid, "LPS");
}

/** What is shown of labels: along each of the volume's axes the slice with the most voxels that have a label, the first
 * of these, of none the middle. */
struct Shown
{
  Voxel         places{};
  std::set<int> labels; ///< that are in the volume, but 0
};

Shown
FindPlaces(PixelSource & labels)
{
  Shown                                    shown;
  const Voxel                              lengths = GetLengths(labels.GetSize());
  std::array<std::vector<std::int64_t>, 3> counts;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    counts[axis].resize(static_cast<std::size_t>(lengths[axis]));
  }
  for (std::int64_t z = 0; z < lengths[2]; ++z)
  {
    const auto slice = ReadSlice(labels, 2, z);
    for (std::size_t i = 0; i < slice.size(); ++i)
    {
      if (slice[i] != 0)
      {
        shown.labels.insert(static_cast<int>(slice[i]));
        ++counts[0][i % static_cast<std::size_t>(lengths[0])];
        ++counts[1][i / static_cast<std::size_t>(lengths[0])];
        ++counts[2][static_cast<std::size_t>(z)];
      }
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const auto most = std::max_element(counts[axis].begin(), counts[axis].end());
    shown.places[axis] = *most > 0 ? most - counts[axis].begin() : lengths[axis] / 2;
  }
  return shown;
}

/** What of the slices' values becomes black and white: nearly all of those that are not 0. */
std::array<float, 2>
FindWindow(const std::array<std::vector<float>, 3> & slices)
{
  std::vector<float> values;
  for (const auto & slice : slices)
  {
    std::copy_if(slice.begin(), slice.end(), std::back_inserter(values), [](float value) { return value != 0; });
  }
  if (values.empty())
  {
    return { 0, 1 };
  }
  const auto get = [&values](double share) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  const float low = get(0.005), high = get(0.995);
  return { low, high > low ? high : low + 1 };
}

/** \param label 0 has none */
const Color &
GetColor(int label)
{
  return Colors[static_cast<std::size_t>(std::max(label, 1) - 1) % Colors.size()];
}

/** \class Panel
 * \brief One slice in the picture. */
class Panel
{
public:
  /** \param scale pixels for each mm */
  Panel(const View & view, const VolumeGrid & grid, double scale)
    : m_View(view)
    , m_Patient(FindPatient(grid))
    , m_Lengths(GetLengths(grid.size))
    , m_RightSide(GetSide(grid, m_Patient.from[view.right], scale))
    , m_DownSide(GetSide(grid, m_Patient.from[view.down], scale))
  {}

  /** Of the volume: what the slice is perpendicular to. */
  std::size_t
  GetAcross() const
  {
    return m_Patient.from[m_View.across];
  }

  unsigned
  GetWidth() const
  {
    return m_RightSide;
  }

  unsigned
  GetHeight() const
  {
    return m_DownSide;
  }

  void
  Draw(const std::vector<float> &   values,
       const std::vector<float> &   labels,
       const std::array<float, 2> & window,
       unsigned                     left,
       Picture &                    picture) const
  {
    for (unsigned y = 0; y < m_DownSide; ++y)
    {
      for (unsigned x = 0; x < m_RightSide; ++x)
      {
        const float  share = (values[this->Find(x, y)] - window[0]) / (window[1] - window[0]);
        const double gray = 255 * std::clamp(static_cast<double>(share), 0.0, 1.0);
        const int    label = static_cast<int>(labels[this->Find(x, y)]);
        const bool   isBorder = (x > 0 && labels[this->Find(x - 1, y)] != static_cast<float>(label)) ||
                              (y > 0 && labels[this->Find(x, y - 1)] != static_cast<float>(label));
        const double strength = label == 0 ? 0 : isBorder ? 1 : TintStrength;
        const auto & color = GetColor(label);
        for (std::size_t channel = 0; channel < 3; ++channel)
        {
          picture.pixels[(std::size_t(y) * picture.width + left + x) * 3 + channel] =
            static_cast<unsigned char>(std::lround((1 - strength) * gray + strength * color[channel]));
        }
      }
    }
  }

  /** The sides of the patient. */
  void
  AddLetters(unsigned left, Drawing & letters) const
  {
    const double width = m_RightSide, height = m_DownSide, begin = left + 2.0, middle = (height + LetterSize) / 2;
    letters.AddText({ begin, middle }, Begins[m_View.right], LetterSize);
    letters.AddText({ left + width - 2, middle }, Ends[m_View.right], LetterSize, Drawing::Anchor::End);
    const char * const up = (m_View.isUpward ? Ends : Begins)[m_View.down];
    const char * const down = (m_View.isUpward ? Begins : Ends)[m_View.down];
    letters.AddText({ left + width / 2, LetterSize }, up, LetterSize, Drawing::Anchor::Middle);
    letters.AddText({ left + width / 2, height - 2 }, down, LetterSize, Drawing::Anchor::Middle);
  }

private:
  static unsigned
  GetSide(const VolumeGrid & grid, std::size_t axis, double scale)
  {
    const double mm = grid.spacing[axis] * static_cast<double>(GetLengths(grid.size)[axis]);
    return static_cast<unsigned>(std::max(1.0, std::floor(mm * scale)));
  }

  /** The voxel of the slice below a pixel's center. */
  std::size_t
  Find(unsigned x, unsigned y) const
  {
    const auto find = [this](unsigned pixel, unsigned side, std::size_t patient, bool isUpward) {
      const std::int64_t length = m_Lengths[m_Patient.from[patient]];
      const auto         at =
        std::min(length - 1, static_cast<std::int64_t>((pixel + 0.5) / side * static_cast<double>(length)));
      return m_Patient.isReversed[patient] != isUpward ? length - 1 - at : at;
    };
    const std::int64_t right = find(x, m_RightSide, m_View.right, false);
    const std::int64_t down = find(y, m_DownSide, m_View.down, m_View.isUpward);
    const std::size_t  rightAxis = m_Patient.from[m_View.right], downAxis = m_Patient.from[m_View.down];
    return static_cast<std::size_t>(rightAxis < downAxis ? down * m_Lengths[rightAxis] + right
                                                         : right * m_Lengths[downAxis] + down);
  }

  View      m_View;
  AxisOrder m_Patient;
  Voxel     m_Lengths;
  unsigned  m_RightSide;
  unsigned  m_DownSide;
};

/** Side by side, as large as the picture may be. */
std::vector<Panel>
MakePanels(const VolumeGrid & grid, std::int64_t longerSide)
{
  const Voxel     lengths = GetLengths(grid.size);
  const AxisOrder patientAxes = FindPatient(grid);
  const auto      mm = [&](std::size_t patient) {
    const std::size_t axis = patientAxes.from[patient];
    return grid.spacing[axis] * static_cast<double>(lengths[axis]);
  };
  const double       width = static_cast<double>(longerSide) - 2 * Gap;
  const double       height = static_cast<double>(longerSide) - LegendHeight;
  const double       scale = std::min(width / (2 * mm(0) + mm(1)), height / std::max(mm(1), mm(2)));
  std::vector<Panel> panels;
  std::transform(Views.begin(), Views.end(), std::back_inserter(panels), [&](const View & view) {
    return Panel(view, grid, scale);
  });
  return panels;
}

void
CheckLabels(const itk::GigapixelVolume & volume, const itk::GigapixelVolume & labels)
{
  if (labels.voxels->GetNumberOfChannels() != 1)
  {
    throw Refusal(Diagnostic("E-MASK-FORMAT",
                             "it has " + FormatCount(labels.voxels->GetNumberOfChannels(), "channel") +
                               ", and a volume of labels has one")
                    .OfFile(labels.name)
                    .OfValue(std::to_string(labels.voxels->GetNumberOfChannels())));
  }
  if (const std::string difference = volume.grid.DescribeDifference(labels.grid); !difference.empty())
  {
    throw Refusal(Diagnostic("E-VOLUME-GEOMETRY",
                             "it is not on the grid of " + volume.name + ": it " + difference,
                             "resample it to that grid")
                    .OfFile(labels.name));
  }
}

/** The labels that are there, each in its color, as far as there is room. */
void
DrawLegend(const std::set<int> & labels, Picture & picture, Drawing & letters)
{
  constexpr unsigned Side = 10;
  const unsigned     top = picture.height - LegendHeight + (LegendHeight - Side) / 2;
  double             left = 2;
  for (const int label : labels)
  {
    const std::string name = std::to_string(label);
    const double      next = left + Side + 4 + Drawing::GetTextWidth(name, LetterSize) + 14;
    if (next > picture.width)
    {
      break;
    }
    for (unsigned pixel = 0; pixel < Side * Side; ++pixel)
    {
      const std::size_t x = static_cast<std::size_t>(left) + pixel % Side, y = top + pixel / Side;
      std::copy_n(
        GetColor(label).begin(), 3, picture.pixels.begin() + static_cast<std::ptrdiff_t>(3 * (y * picture.width + x)));
    }
    letters.AddText({ left + Side + 4, static_cast<double>(top + Side) }, name, LetterSize);
    left = next;
  }
}

/** In white, where they are black. */
void
AddLetters(const Picture & letters, Picture & picture)
{
  for (std::size_t i = 0; i < std::min(letters.pixels.size(), picture.pixels.size()); ++i)
  {
    const int ink = 255 - letters.pixels[i];
    picture.pixels[i] = static_cast<unsigned char>((picture.pixels[i] * (255 - ink) + 255 * ink) / 255);
  }
}

Picture
DrawSlices(const itk::GigapixelVolume & volume,
           PixelSource &                labels,
           const Shown &                shown,
           const std::vector<Panel> &   panels)
{
  Picture picture;
  for (const Panel & panel : panels)
  {
    picture.width += panel.GetWidth() + (picture.width > 0 ? Gap : 0);
    picture.height = std::max(picture.height, panel.GetHeight());
  }
  picture.height += LegendHeight;
  picture.pixels.resize(std::size_t(picture.width) * picture.height * 3);
  std::array<std::vector<float>, 3> slices;
  std::transform(panels.begin(), panels.end(), slices.begin(), [&](const Panel & panel) {
    return ReadSlice(*volume.voxels, panel.GetAcross(), shown.places[panel.GetAcross()]);
  });
  const auto window = FindWindow(slices);
  Drawing    letters(picture.width, picture.height);
  unsigned   left = 0;
  for (std::size_t i = 0; i < panels.size(); ++i)
  {
    const std::size_t across = panels[i].GetAcross();
    panels[i].Draw(slices[i], ReadSlice(labels, across, shown.places[across]), window, left, picture);
    panels[i].AddLetters(left, letters);
    left += panels[i].GetWidth() + Gap;
  }
  DrawLegend(shown.labels, picture, letters);
  AddLetters(letters.Rasterize(1), picture);
  return picture;
}

} // namespace

int
RunVolumeOverlay(const ArgumentValues & values, const Session & session)
{
  const std::string name = values.GetText("SLIDE"), output = values.GetText("output");
  RefuseOptions(values, name + " is a volume");
  const itk::GigapixelVolume volume = OpenVolume(name, session), labels = OpenVolume(values.GetText("MASK"), session);
  CheckLabels(volume, labels);
  const auto        panels = MakePanels(volume.grid, values.GetInteger("picture-size"));
  const std::string madeBy =
    "overlay of slices along the patient size=" + std::to_string(values.GetInteger("picture-size")) + ' ' +
    itk::GigapixelIdentifyVolume(itk::GigapixelSplitModalities(name), HashedBytes::Samples) +
    " labels: " + itk::GigapixelIdentifyVolume({ labels.name }, HashedBytes::All);
  const bool             wasThere = !values.Has("overwrite") && HasValidPNG(output, madeBy);
  nlohmann::ordered_json json{
    { "picture", output }, { "volume", name }, { "labels", labels.name }, { "skipped", wasThere }
  };
  std::string text = output;
  if (!wasThere)
  {
    CheckOutput(output,
                3.0 * static_cast<double>(values.GetInteger("picture-size") * values.GetInteger("picture-size")));
    Progress    progress(session, "overlay");
    const Shown shown = FindPlaces(*labels.voxels);
    ThrowIfInterrupted();
    const Picture picture = DrawSlices(volume, *labels.voxels, shown, panels);
    if (shown.labels.empty())
    {
      DoubtMask(session, labels.name, "the label volume", 0);
    }
    WritePNG(picture, output, madeBy, values.Has("overwrite"));
    progress.Finish();
    json["width"] = picture.width;
    json["height"] = picture.height;
    json["voxel"] = shown.places;
    text += ": " + std::to_string(picture.width) + " x " + std::to_string(picture.height) +
            ", the slices through voxel " + std::to_string(shown.places[0]) + ", " + std::to_string(shown.places[1]) +
            ", " + std::to_string(shown.places[2]);
  }
  session.ShowResult(text + (wasThere ? " (was there already)" : ""), json);
  return Success;
}

} // namespace gigapixel::application
