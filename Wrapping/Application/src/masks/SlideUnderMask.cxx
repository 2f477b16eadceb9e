/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideUnderMask.h"

#include "gigapixelSlidePixels.h"

#include "itkMetaDataObject.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace gigapixel::application
{
namespace
{
constexpr std::int64_t BlockColumns = 1024; ///< of the slide: some tiles, of which several threads have their share
constexpr std::int64_t SlideRows = 2048;    ///< that are read at a time, where a row of the mask has no more
constexpr std::int64_t MaskRows = 256;      ///< a row of tiles of the pyramids that we write

GridMatch
MatchMask(const MaskImage & mask, const Grid & grid, const std::string & file, const ArgumentValues & values)
{
  const PartOf part = values.Has("partial") ? PartOf::Image : PartOf::None;
  return NamePartial(PartOf::Image, [&] { return GridMatch::Make(mask.GetImage(), grid, file, part); });
}
} // namespace

std::vector<std::string>
GetChannelNames(const itk::WholeSlideImageIO & slide)
{
  std::string said;
  itk::ExposeMetaData(slide.GetMetaDataDictionary(), "gigapixel.channel-names", said);
  std::istringstream       lines(said);
  std::vector<std::string> names;
  for (std::string name; std::getline(lines, name);)
  {
    names.push_back(name);
  }
  const unsigned channels = slide.GetNumberOfComponents();
  const bool     isEachNamed = names.size() == channels && std::set(names.begin(), names.end()).size() == channels;
  if (isEachNamed && std::find(names.begin(), names.end(), "") == names.end())
  {
    return names;
  }
  if (slide.GetPixelType() == itk::IOPixelEnum::RGB)
  {
    return { "red", "green", "blue" };
  }
  names.assign(1, "gray");
  for (unsigned channel = 1; channels > 1 && channel <= channels; ++channel)
  {
    names.resize(channels);
    names[channel - 1] = "channel" + std::to_string(channel);
  }
  return names;
}

itk::WholeSlideImageIO::Pointer
OpenMeasuredSlide(const std::string & file, const ArgumentValues & values, const Session & session)
{
  const auto slide = OpenSlide(file, values, session);
  const auto type = slide->GetComponentType();
  if (type != itk::IOComponentEnum::UCHAR && type != itk::IOComponentEnum::USHORT &&
      type != itk::IOComponentEnum::FLOAT)
  {
    throw Refusal(
      Diagnostic("E-SLIDE-CHANNELS",
                 "it has " + DescribePixels(*slide) + ", and samples of 8 or 16 bit and floats are measured",
                 "give --window LOW,HIGH, which makes 8 bit of them")
        .OfFile(file)
        .OfValue(itk::ImageIOBase::GetComponentTypeAsString(type)));
  }
  SelectPixels(*slide, values);
  return slide;
}

SlideUnderMask::Axis::Axis(const AxisMatch & match, bool isPart)
  : m_IsFiner(match.ratio >= 1)
{
  m_Begins.reserve(static_cast<std::size_t>(match.maskPixels) + 1);
  std::int64_t begin = 0;
  for (std::int64_t pixel = 0; pixel <= match.maskPixels; ++pixel)
  {
    if (m_IsFiner)
    {
      while (begin < match.pixels && match(static_cast<double>(begin) + 0.5) < pixel)
      {
        ++begin;
      }
      m_Begins.push_back(begin);
      continue;
    }
    const double center = (static_cast<double>(pixel) + 0.5) * match.ratio - match.shift;
    const auto   found = static_cast<std::int64_t>(std::floor(center));
    // Rounded sizes may let the last pixel's center fall beyond the slide's last pixel, which it then takes.
    const bool isInside = found >= 0 && found < match.pixels;
    m_Begins.push_back(isInside || !isPart ? std::clamp<std::int64_t>(found, 0, match.pixels - 1) : -1);
  }
}

std::array<std::int64_t, 2>
SlideUnderMask::Axis::Get(std::int64_t maskPixel) const
{
  const std::int64_t begin = m_Begins[static_cast<std::size_t>(maskPixel)];
  if (m_IsFiner)
  {
    return { begin, m_Begins[static_cast<std::size_t>(maskPixel) + 1] };
  }
  return begin < 0 ? std::array<std::int64_t, 2>{} : std::array<std::int64_t, 2>{ begin, begin + 1 };
}

SlideUnderMask::SlideUnderMask(const MaskImage &      mask,
                               const std::string &    file,
                               const ArgumentValues & values,
                               const Session &        session)
  : m_Slide(OpenMeasuredSlide(file, values, session))
  , m_Grid(Grid::Of(*m_Slide))
  , m_Match(MatchMask(mask, m_Grid, file, values))
  , m_Columns(m_Match.axes[0], values.Has("partial"))
  , m_Rows(m_Match.axes[1], values.Has("partial"))
{}

std::size_t
SlideUnderMask::GetNumberOfValues() const
{
  const auto type = m_Slide->GetComponentType();
  return type == itk::IOComponentEnum::UCHAR ? 256 : type == itk::IOComponentEnum::USHORT ? 65536 : ValueCounts::Floats;
}

std::array<double, 2>
SlideUnderMask::GetMaskSpacing() const
{
  return m_Grid.IsSpacingKnown() ? std::array<double, 2>{ m_Grid.spacing[0] * m_Match.axes[0].ratio,
                                                          m_Grid.spacing[1] * m_Match.axes[1].ratio }
                                 : std::array<double, 2>{};
}

std::int64_t
SlideUnderMask::GetBandRows() const
{
  const double rows = static_cast<double>(SlideRows) / std::max(1.0, m_Match.axes[1].ratio);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(rows), 1, MaskRows);
}

template <typename TSample>
void
SlideUnderMask::AddRun(const MaskComponents::Run & run,
                       const TSample *             row,
                       std::int64_t                begin,
                       std::int64_t                end,
                       MaskComponents &            components) const
{
  const std::int64_t channels = m_Slide->GetNumberOfComponents();
  const auto         add = [&](std::int64_t from, std::int64_t to) {
    from = std::max(from, begin);
    to = std::min(to, end);
    if (from < to)
    {
      components.AddValues(run.component, row + (from - begin) * channels, static_cast<std::size_t>(to - from));
    }
  };
  if (m_Columns.IsFiner())
  {
    add(m_Columns.Get(run.begin)[0], m_Columns.Get(run.end - 1)[1]);
    return;
  }
  for (std::int64_t x = run.begin; x < run.end; ++x)
  {
    add(m_Columns.Get(x)[0], m_Columns.Get(x)[1]);
  }
}

/** Reads a block of the slide, and gives its pixels to the runs that lie on it. */
template <typename TSample>
void
SlideUnderMask::AddBlock(const itk::ImageIORegion & block,
                         std::int64_t               first,
                         const std::vector<Runs> &  rows,
                         MaskComponents &           components)
{
  const auto         begin = static_cast<std::int64_t>(block.GetIndex(0));
  const auto         width = static_cast<std::int64_t>(block.GetSize(0));
  const std::int64_t rowSamples = width * m_Slide->GetNumberOfComponents();
  m_Pixels.resize(static_cast<std::size_t>(rowSamples * static_cast<std::int64_t>(block.GetSize(1))));
  m_Slide->SetIORegion(block);
  m_Slide->Read(m_Pixels.data());
  const auto * const samples = reinterpret_cast<const TSample *>(m_Pixels.data());
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    const auto under = m_Rows.Get(first + static_cast<std::int64_t>(i));
    for (std::size_t k = m_Next[i]; k < rows[i].size() && m_Columns.Get(rows[i][k].begin)[0] < begin + width; ++k)
    {
      for (std::int64_t y = under[0]; y < under[1]; ++y)
      {
        const TSample * const row = samples + (y - static_cast<std::int64_t>(block.GetIndex(1))) * rowSamples;
        this->AddRun(rows[i][k], row, begin, begin + width, components);
      }
    }
  }
}

void
SlideUnderMask::AddValues(std::int64_t first, const std::vector<Runs> & rows, MaskComponents & components)
{
  const std::int64_t width = m_Grid.size.width;
  std::int64_t       top = m_Grid.size.height;
  std::int64_t       bottom = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    const auto under = m_Rows.Get(first + static_cast<std::int64_t>(i));
    if (!rows[i].empty() && under[0] < under[1])
    {
      top = std::min(top, under[0]);
      bottom = std::max(bottom, under[1]);
    }
  }
  m_Next.assign(rows.size(), 0);
  for (std::int64_t x = 0; x < width && top < bottom; x += BlockColumns)
  {
    const std::int64_t end = std::min(x + BlockColumns, width);
    bool               isWanted = false;
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
      const auto endOf = [&](std::size_t k) { return m_Columns.Get(rows[i][k].end - 1)[1]; };
      while (m_Next[i] < rows[i].size() && endOf(m_Next[i]) <= x)
      {
        ++m_Next[i];
      }
      isWanted = isWanted || (m_Next[i] < rows[i].size() && m_Columns.Get(rows[i][m_Next[i]].begin)[0] < end);
    }
    if (isWanted)
    {
      itk::ImageIORegion block(2);
      block.SetIndex(0, x);
      block.SetIndex(1, top);
      block.SetSize(0, static_cast<itk::SizeValueType>(end - x));
      block.SetSize(1, static_cast<itk::SizeValueType>(bottom - top));
      const auto values = this->GetNumberOfValues();
      values == 256     ? this->AddBlock<std::uint8_t>(block, first, rows, components)
      : values == 65536 ? this->AddBlock<std::uint16_t>(block, first, rows, components)
                        : this->AddBlock<float>(block, first, rows, components);
    }
  }
}

} // namespace gigapixel::application
