/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskComponents.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace
{
constexpr std::uint64_t Step = 2; ///< of which there are halves
constexpr std::int64_t  RowsKept = 4;

/** As many labels are compared at once where most are the same. */
constexpr std::size_t BlockLabels = 8;

/** Whether a block of labels from \a a on is that from \a b on. */
template <typename TLabel>
bool
AreEqual(const TLabel * a, const TLabel * b)
{
  std::array<std::uint64_t, BlockLabels * sizeof(TLabel) / sizeof(std::uint64_t)> first{};
  std::array<std::uint64_t, BlockLabels * sizeof(TLabel) / sizeof(std::uint64_t)> second{};
  std::memcpy(first.data(), a, sizeof(first));
  std::memcpy(second.data(), b, sizeof(second));
  std::uint64_t differs = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
  {
    differs |= first[i] ^ second[i];
  }
  return differs == 0;
}
} // namespace

double
ComponentFigures::GetPerimeter(double width, double height) const
{
  const auto   count = [this](std::size_t direction) { return static_cast<double>(borderSteps[direction]); };
  const double diagonal = std::sqrt(width * width + height * height);
  return (count(0) * width + count(1) * height + count(2) * diagonal) / Step;
}

void
ComponentFigures::Add(const ComponentFigures & other)
{
  area += other.area;
  sumX += other.sumX;
  sumY += other.sumY;
  left = std::min(left, other.left);
  top = std::min(top, other.top);
  right = std::max(right, other.right);
  bottom = std::max(bottom, other.bottom);
  holes += other.holes;
  std::transform(borderSteps.begin(), borderSteps.end(), other.borderSteps.begin(), borderSteps.begin(), std::plus<>());
}

MaskComponents::MaskComponents(std::size_t width, Connectivity connectivity, unsigned channels, std::size_t values)
  : m_Width(width)
  , m_Connectivity(connectivity)
  , m_NoValues(values)
  , m_Channels(channels)
{
  if (width > std::numeric_limits<std::uint32_t>::max() - 2)
  {
    throw RefusalOf<std::length_error>(Diagnostic("E-IMAGE-SIZE", "A mask row is too long"));
  }
}

template <typename TLabel>
MaskComponents::Row<TLabel> &
MaskComponents::GetLabels(std::int64_t y)
{
  return std::get<Rows<TLabel>>(m_LastRows).labels[static_cast<std::size_t>(y + RowsKept) % RowsKept];
}

template <typename TLabel>
MaskComponents::Row<TLabel> &
MaskComponents::GetBorder(std::int64_t y)
{
  return std::get<Rows<TLabel>>(m_LastRows).borders[static_cast<std::size_t>(y + RowsKept) % RowsKept];
}

std::vector<MaskComponents::Run> &
MaskComponents::GetRuns(std::int64_t y)
{
  return m_Runs[static_cast<std::size_t>(y + RowsKept) % RowsKept];
}

MaskComponents::Growing &
MaskComponents::GetGrowing(std::uint32_t component)
{
  return m_Growing[m_Places[m_Sets.GetRoot(component)]];
}

std::uint32_t
MaskComponents::Begin(std::uint32_t label)
{
  const std::uint32_t component = m_Sets.Add();
  if (m_Free.empty())
  {
    m_Free.push_back(static_cast<std::uint32_t>(m_Growing.size()));
    m_Growing.emplace_back();
  }
  Growing & growing = m_Growing[m_Free.back()];
  growing = Growing();
  growing.figures.label = label;
  growing.values.assign(m_Channels, m_NoValues);
  m_Places.push_back(m_Free.back());
  m_Free.pop_back();
  m_Open.push_back(component);
  return component;
}

/** Says that runs of two rows touch. Runs and their touching are a graph that has as many circles as the component has
 * holes. */
void
MaskComponents::Unite(std::uint32_t a, std::uint32_t b)
{
  a = m_Sets.GetRoot(a);
  b = m_Sets.GetRoot(b);
  if (a == b)
  {
    ++this->GetGrowing(a).figures.holes;
    return;
  }
  Growing & kept = m_Growing[m_Places[std::min(a, b)]];
  Growing & gone = m_Growing[m_Places[std::max(a, b)]];
  kept.figures.Add(gone.figures);
  kept.lastRow = std::max(kept.lastRow, gone.lastRow);
  for (std::size_t channel = 0; channel < m_Channels; ++channel)
  {
    kept.values[channel].Add(gone.values[channel]);
  }
  if (kept.corners.size() < gone.corners.size())
  {
    std::swap(kept.corners, gone.corners);
  }
  kept.corners.insert(kept.corners.end(), gone.corners.begin(), gone.corners.end());
  gone = Growing();
  m_Free.push_back(m_Places[std::max(a, b)]);
  m_Sets.Unite(a, b);
}

template <typename TLabel>
void
MaskComponents::FindRuns(const Row<TLabel> & labels, std::vector<Run> & runs) const
{
  runs.clear();
  const TLabel * const pixels = labels.data() + 1;
  std::size_t          begin = 0;
  for (std::size_t x = 1; x <= m_Width; ++x)
  {
    while (x + BlockLabels <= m_Width && AreEqual(pixels + x - 1, pixels + x))
    {
      x += BlockLabels;
    }
    if (x < m_Width && pixels[x] == pixels[begin])
    {
      continue;
    }
    if (pixels[begin] != 0)
    {
      runs.push_back({ static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(x), 0, pixels[begin] });
    }
    begin = x;
  }
}

/** Gives the runs of a row their components: those of the runs above that they touch, or new ones. */
void
MaskComponents::Connect(std::vector<Run> & runs, const std::vector<Run> & above)
{
  const std::uint32_t reach = m_Connectivity == Connectivity::Eight ? 1 : 0;
  auto                first = above.begin();
  for (Run & run : runs)
  {
    while (first != above.end() && first->end + reach <= run.begin)
    {
      ++first;
    }
    bool isKnown = false;
    for (auto other = first; other != above.end() && other->begin < run.end + reach; ++other)
    {
      if (other->label == run.label)
      {
        if (isKnown)
        {
          this->Unite(run.component, other->component);
        }
        run.component = isKnown ? run.component : other->component;
        isKnown = true;
      }
    }
    run.component = isKnown ? run.component : this->Begin(run.label);
  }
}

void
MaskComponents::Measure(const std::vector<Run> & runs)
{
  const auto y = static_cast<std::uint32_t>(m_Rows);
  for (const Run & run : runs)
  {
    Growing &           growing = this->GetGrowing(run.component);
    const std::uint64_t length = run.end - run.begin;
    ComponentFigures    figures;
    figures.area = length;
    figures.sumX = (std::uint64_t{ run.begin } + run.end - 1) * length / 2;
    figures.sumY = y * length;
    figures.left = run.begin;
    figures.right = run.end;
    figures.top = y;
    figures.bottom = y + 1;
    growing.figures.Add(figures);
    growing.lastRow = y;
  }
}

/** Marks the pixels of row y that have a pixel of another label over one of their edges, by their label. */
template <typename TLabel>
void
MaskComponents::MarkBorder(std::int64_t y)
{
  TLabel * const border = this->GetBorder<TLabel>(y).data() + 1;
  if (this->GetRuns(y).empty())
  {
    std::fill_n(border, m_Width, TLabel{ 0 });
    return;
  }
  const TLabel * const above = this->GetLabels<TLabel>(y - 1).data() + 1;
  const TLabel * const here = this->GetLabels<TLabel>(y).data() + 1;
  const TLabel * const below = this->GetLabels<TLabel>(y + 1).data() + 1;
  const std::size_t    width = m_Width; // which no writing of labels can change: so the loop becomes one of vectors
  for (std::size_t x = 0; x < width; ++x)
  {
    const TLabel label = here[x];
    const auto   differs = (above[x] ^ label) | (below[x] ^ label) | (here[x - 1] ^ label) | (here[x + 1] ^ label);
    border[x] = differs == 0 ? 0 : label;
  }
}

/** \param horizontal, vertical, diagonal its neighbors on the border of the same component */
void
MaskComponents::CountBorderPixel(ComponentFigures & figures, unsigned horizontal, unsigned vertical, unsigned diagonal)
{
  const unsigned straight = horizontal + vertical;
  const bool     isStraight = (straight == 2 || straight == 3) && diagonal <= 2;
  const bool     isDiagonal = (straight == 0 && diagonal == 2) || (straight == 1 && diagonal == 3);
  const bool     isMixed = straight == 1 && (diagonal == 1 || diagonal == 2);
  if (isStraight || isMixed) // half a step to each neighbor; of three, to the two that lie opposite of each other
  {
    figures.borderSteps[0] += straight == 3 && horizontal == 1 ? 0 : horizontal;
    figures.borderSteps[1] += straight == 3 && vertical == 1 ? 0 : vertical;
  }
  if (isDiagonal || isMixed)
  {
    figures.borderSteps[2] += isMixed ? 1 : Step;
  }
}

/** The component of a pixel that is not background. */
std::uint32_t
MaskComponents::FindComponent(std::int64_t x, std::int64_t y)
{
  const auto & runs = this->GetRuns(y);
  const auto   isBefore = [](std::int64_t column, const Run & run) { return column < run.begin; };
  return std::prev(std::upper_bound(runs.begin(), runs.end(), x, isBefore))->component;
}

template <typename TLabel>
void
MaskComponents::MeasureRunBorder(const Run & run, std::int64_t y)
{
  const std::array<const TLabel *, 3>              border{ this->GetBorder<TLabel>(y - 1).data() + 1,
                                              this->GetBorder<TLabel>(y).data() + 1,
                                              this->GetBorder<TLabel>(y + 1).data() + 1 };
  const std::array<const TLabel *, 3>              labels{ this->GetLabels<TLabel>(y - 1).data() + 1,
                                              this->GetLabels<TLabel>(y).data() + 1,
                                              this->GetLabels<TLabel>(y + 1).data() + 1 };
  static constexpr std::array<TLabel, BlockLabels> Nothing{};
  Growing &                                        growing = this->GetGrowing(run.component);
  const auto is = [&run](std::uint32_t label) { return label == run.label ? 1U : 0U; };
  for (std::int64_t x = run.begin; x < run.end; ++x)
  {
    while (x + std::int64_t{ BlockLabels } <= run.end && AreEqual(border[1] + x, Nothing.data()))
    {
      x += BlockLabels;
    }
    if (x >= run.end || border[1][x] == 0)
    {
      continue;
    }
    const unsigned horizontal = is(border[1][x - 1]) + is(border[1][x + 1]);
    const unsigned vertical = is(border[0][x]) + is(border[2][x]);
    unsigned       diagonal = 0;
    Corner         corner{};
    for (const std::size_t row : { 0, 2 })
    {
      for (const std::int64_t column : { x - 1, x + 1 })
      {
        // By edges the pixels are connected here only over one that both share an edge with.
        const bool isSure = m_Connectivity == Connectivity::Eight || is(labels[row][x]) || is(labels[1][column]);
        if (isSure)
        {
          diagonal += is(border[row][column]);
        }
        else if (is(border[row][column]))
        {
          corner.components[corner.others++] = this->FindComponent(column, y + static_cast<std::int64_t>(row) - 1);
        }
      }
    }
    if (corner.others == 0)
    {
      CountBorderPixel(growing.figures, horizontal, vertical, diagonal);
      continue;
    }
    corner.horizontal = static_cast<std::uint8_t>(horizontal);
    corner.vertical = static_cast<std::uint8_t>(vertical);
    corner.diagonal = static_cast<std::uint8_t>(diagonal);
    growing.corners.push_back(corner);
  }
}

template <typename TLabel>
const std::vector<MaskComponents::Run> &
MaskComponents::AppendRow(const TLabel * labels)
{
  auto & last = std::get<Rows<TLabel>>(m_LastRows);
  if (m_Rows == 0)
  {
    last.labels.fill(Row<TLabel>(m_Width + 2));
    last.borders.fill(Row<TLabel>(m_Width + 2));
  }
  if (last.labels.front().empty())
  {
    throw RefusalOf<std::logic_error>(Diagnostic("E-CALL-ORDER", "rows of one image have labels of one type"));
  }
  const std::int64_t y = m_Rows;
  Row<TLabel> &      row = this->GetLabels<TLabel>(y);
  std::copy_n(labels, m_Width, row.begin() + 1);
  this->FindRuns(row, this->GetRuns(y));
  this->Connect(this->GetRuns(y), this->GetRuns(y - 1));
  this->Measure(this->GetRuns(y));
  if (y >= 1)
  {
    this->MarkBorder<TLabel>(y - 1); // which needs the row below it, as the border's neighbors do
  }
  if (y >= 2)
  {
    for (const Run & run : this->GetRuns(y - 2))
    {
      this->MeasureRunBorder<TLabel>(run, y - 2);
    }
  }
  ++m_Rows;
  return this->GetRuns(y);
}

template <typename TSample>
void
MaskComponents::AddValues(std::uint32_t component, const TSample * samples, std::size_t pixels)
{
  Growing & growing = this->GetGrowing(component);
  for (unsigned channel = 0; channel < m_Channels; ++channel)
  {
    growing.values[channel].Add(samples + channel, pixels, m_Channels);
  }
}

template const std::vector<MaskComponents::Run> & MaskComponents::AppendRow(const std::uint8_t *);
template const std::vector<MaskComponents::Run> & MaskComponents::AppendRow(const std::uint32_t *);
template void MaskComponents::AddValues(std::uint32_t, const std::uint8_t *, std::size_t);
template void MaskComponents::AddValues(std::uint32_t, const std::uint16_t *, std::size_t);
template void MaskComponents::AddValues(std::uint32_t, const float *, std::size_t);

void
MaskComponents::End(std::uint32_t root, Growing & growing)
{
  for (const Corner & corner : growing.corners)
  {
    const auto others = static_cast<unsigned>(
      std::count_if(corner.components.begin(), corner.components.begin() + corner.others, [&](std::uint32_t component) {
        return m_Sets.GetRoot(component) == root;
      }));
    CountBorderPixel(growing.figures, corner.horizontal, corner.vertical, corner.diagonal + others);
  }
  const std::uint32_t label = growing.figures.label;
  m_Classes[label].label = label;
  m_Classes[label].Add(growing.figures);
  auto & ofClass = m_ClassValues[label];
  ofClass.resize(m_Channels, m_NoValues);
  for (std::size_t channel = 0; channel < m_Channels; ++channel)
  {
    growing.figures.values.push_back(growing.values[channel].Summarize());
    ofClass[channel].Add(growing.values[channel]);
  }
  m_First.push_back(root);
  m_Components.push_back(std::move(growing.figures));
  growing = Growing();
}

void
MaskComponents::EndRows()
{
  const auto goesOn = [this](std::uint32_t component) {
    if (m_Sets.GetRoot(component) != component)
    {
      return false;
    }
    const std::uint32_t place = m_Places[component];
    const bool          isBorderMeasured = m_Growing[place].lastRow + 2 < m_Rows;
    if (isBorderMeasured)
    {
      this->End(component, m_Growing[place]);
      m_Free.push_back(place);
    }
    return !isBorderMeasured;
  };
  m_Open.erase(std::stable_partition(m_Open.begin(), m_Open.end(), goesOn), m_Open.end());
}

template <typename TLabel>
void
MaskComponents::AppendBackground()
{
  const std::vector<TLabel> background(m_Width);
  this->AppendRow(background.data());
  this->AppendRow(background.data());
}

void
MaskComponents::Finish()
{
  const bool areWide = !std::get<Rows<std::uint32_t>>(m_LastRows).labels.front().empty();
  areWide ? this->AppendBackground<std::uint32_t>() : this->AppendBackground<std::uint8_t>();
  this->EndRows();
  std::vector<std::size_t> order(m_Components.size());
  std::iota(order.begin(), order.end(), std::size_t{ 0 });
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return m_First[a] < m_First[b]; });
  std::vector<ComponentFigures> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order)
  {
    sorted.push_back(std::move(m_Components[i]));
  }
  m_Components = std::move(sorted);
  for (auto & [label, counts] : m_ClassValues)
  {
    for (const ValueCounts & values : counts)
    {
      m_Classes[label].values.push_back(values.Summarize());
    }
  }
}

} // namespace gigapixel
