/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "VolumeOverlay.h"

#include "OutputCheck.h"
#include "PictureFile.h"
#include "VolumeFile.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelProgram.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace gigapixel::commandline
{
namespace
{
constexpr double   TintStrength = 0.35;
constexpr unsigned Gap = 4; // pixels between two slices

/** Of labels from 1 on, over and over: colors that people with any color vision tell apart (Okabe and Ito, 2008). */
constexpr std::array<std::array<unsigned char, 3>, 7> Colors{ { { 230, 159, 0 },
                                                                { 86, 180, 233 },
                                                                { 0, 158, 115 },
                                                                { 240, 228, 66 },
                                                                { 0, 114, 178 },
                                                                { 213, 94, 0 },
                                                                { 204, 121, 167 } } };

/** A slice as it is shown: the volume's axes that go to the right and down. */
struct View
{
  const char * name;
  std::size_t  across; ///< axis that the slice is perpendicular to; 0: x
  std::size_t  right;
  std::size_t  down;
};
constexpr std::array<View, 3> Views{ { { "x and y", 2, 0, 1 }, { "x and z", 1, 0, 2 }, { "y and z", 0, 1, 2 } } };

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

/** Along each axis the slice with the most voxels that have a label, the first of these; of none the middle. */
Voxel
FindPlaces(PixelSource & labels, bool & hasLabels)
{
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
        ++counts[0][i % static_cast<std::size_t>(lengths[0])];
        ++counts[1][i / static_cast<std::size_t>(lengths[0])];
        ++counts[2][static_cast<std::size_t>(z)];
      }
    }
  }
  Voxel places{};
  hasLabels = false;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const auto most = std::max_element(counts[axis].begin(), counts[axis].end());
    hasLabels = hasLabels || *most > 0;
    places[axis] = *most > 0 ? most - counts[axis].begin() : lengths[axis] / 2;
  }
  return places;
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

/** \class Panel
 * \brief One slice in the picture. */
class Panel
{
public:
  /** \param scale pixels for each mm */
  Panel(const View & view, const VolumeGrid & grid, double scale)
    : m_View(view)
    , m_Lengths(GetLengths(grid.size))
    , m_RightSide(GetSide(grid, view.right, scale))
    , m_DownSide(GetSide(grid, view.down, scale))
    // The head is up, where slices are shown from the side.
    , m_IsUpward(view.down == 2 && grid.axes[2][2] > 0)
  {}

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
        const auto & color = Colors[static_cast<std::size_t>(std::max(label, 1) - 1) % Colors.size()];
        for (std::size_t channel = 0; channel < 3; ++channel)
        {
          picture.pixels[(std::size_t(y) * picture.width + left + x) * 3 + channel] =
            static_cast<unsigned char>(std::lround((1 - strength) * gray + strength * color[channel]));
        }
      }
    }
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
    const auto find = [](unsigned pixel, unsigned side, std::int64_t length) {
      return std::min(length - 1, static_cast<std::int64_t>((pixel + 0.5) / side * static_cast<double>(length)));
    };
    const std::int64_t column = find(x, m_RightSide, m_Lengths[m_View.right]);
    const std::int64_t row = find(m_IsUpward ? m_DownSide - 1 - y : y, m_DownSide, m_Lengths[m_View.down]);
    return static_cast<std::size_t>(row * m_Lengths[m_View.right] + column);
  }

  View     m_View;
  Voxel    m_Lengths;
  unsigned m_RightSide;
  unsigned m_DownSide;
  bool     m_IsUpward;
};

/** Side by side, as large as the picture may be. */
std::vector<Panel>
MakePanels(const VolumeGrid & grid, std::int64_t longerSide)
{
  const Voxel        lengths = GetLengths(grid.size);
  const auto         mm = [&](std::size_t axis) { return grid.spacing[axis] * static_cast<double>(lengths[axis]); };
  const auto         side = static_cast<double>(longerSide);
  const double       scale = std::min((side - 2 * Gap) / (2 * mm(0) + mm(1)), side / std::max(mm(1), mm(2)));
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
    throw std::runtime_error(labels.name + " has " + std::to_string(labels.voxels->GetNumberOfChannels()) +
                             " channels, and a volume of labels has one.");
  }
  if (const std::string difference = volume.grid.DescribeDifference(labels.grid); !difference.empty())
  {
    throw std::runtime_error(labels.name + " is not on the grid of " + volume.name + ": it " + difference +
                             "; resample it to that grid.");
  }
}

Picture
DrawSlices(const itk::GigapixelVolume & volume,
           PixelSource &                labels,
           const Voxel &                places,
           const std::vector<Panel> &   panels)
{
  Picture picture;
  for (const Panel & panel : panels)
  {
    picture.width += panel.GetWidth() + (picture.width > 0 ? Gap : 0);
    picture.height = std::max(picture.height, panel.GetHeight());
  }
  picture.pixels.resize(std::size_t(picture.width) * picture.height * 3);
  std::array<std::vector<float>, 3> slices;
  std::transform(Views.begin(), Views.end(), slices.begin(), [&](const View & view) {
    return ReadSlice(*volume.voxels, view.across, places[view.across]);
  });
  const auto window = FindWindow(slices);
  unsigned   left = 0;
  for (std::size_t i = 0; i < panels.size(); ++i)
  {
    const std::size_t across = Views[i].across;
    panels[i].Draw(slices[i], ReadSlice(labels, across, places[across]), window, left, picture);
    left += panels[i].GetWidth() + Gap;
  }
  return picture;
}

} // namespace

int
RunVolumeOverlay(const ArgumentValues & values, const Session & session)
{
  const std::string name = values.GetText("SLIDE"), output = values.GetText("output");
  for (const char * option : { "partial", "slide-mpp" })
  {
    if (values.IsGiven(option))
    {
      throw UsageError(std::string("--") + option + " is for slides, and " + name + " is a volume.");
    }
  }
  const itk::GigapixelVolume volume = OpenVolume(name), labels = OpenVolume(values.GetText("MASK"));
  CheckLabels(volume, labels);
  const auto  panels = MakePanels(volume.grid, values.GetInteger("size"));
  std::string madeBy = "overlay of slices size=" + std::to_string(values.GetInteger("size"));
  for (const std::string & modality : itk::GigapixelSplitModalities(name))
  {
    for (const std::string & file : itk::GigapixelListFiles(modality))
    {
      madeBy += ' ' + IdentifyFile(file, HashedBytes::Samples);
    }
  }
  for (const std::string & file : itk::GigapixelListFiles(labels.name))
  {
    madeBy += " labels: " + IdentifyFile(file, HashedBytes::All);
  }
  const bool             wasThere = !values.Has("overwrite") && HasValidPNG(output, madeBy);
  nlohmann::ordered_json json{
    { "picture", output }, { "volume", name }, { "labels", labels.name }, { "skipped", wasThere }
  };
  std::string text = output;
  if (!wasThere)
  {
    CheckOutput(output, 3.0 * static_cast<double>(values.GetInteger("size") * values.GetInteger("size")));
    Progress    progress(session, "overlay");
    bool        hasLabels = false;
    const Voxel places = FindPlaces(*labels.voxels, hasLabels);
    ThrowIfInterrupted();
    const Picture picture = DrawSlices(volume, *labels.voxels, places, panels);
    if (!hasLabels)
    {
      session.Warn("gigapixel: " + labels.name + " is 0 everywhere: nothing is marked in " + output + '.');
    }
    WritePNG(picture, output, madeBy, values.Has("overwrite"));
    progress.Finish();
    json["width"] = picture.width;
    json["height"] = picture.height;
    json["voxel"] = places;
    text += ": " + std::to_string(picture.width) + " x " + std::to_string(picture.height) +
            ", the slices through voxel " + std::to_string(places[0]) + ", " + std::to_string(places[1]) + ", " +
            std::to_string(places[2]);
  }
  session.PrintResult(text + (wasThere ? " (was there already)" : ""),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
