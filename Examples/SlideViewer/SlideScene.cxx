/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideScene.h"

#include <vtkCamera.h>
#include <vtkCellArray.h>
#include <vtkImageData.h>
#include <vtkImageProperty.h>
#include <vtkImageSliceMapper.h>
#include <vtkPlane.h>
#include <vtkPolyData.h>
#include <vtkPolyDataMapper2D.h>
#include <vtkProperty2D.h>
#include <vtkTextProperty.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

namespace
{
constexpr int Margin = 12; // pixels of the screen between its edges and what is written there

/** Pixels as a slice in the world that covers them to the edges of the outer ones. */
vtkSmartPointer<vtkImageSlice>
MakeSlice(const Tile & tile, const std::vector<unsigned char> & pixels, double depth, vtkPlaneCollection * edges)
{
  const auto           components = static_cast<int>(pixels.size() / (std::size_t{ tile.size[0] } * tile.size[1]));
  vtkNew<vtkImageData> image;
  image->SetDimensions(static_cast<int>(tile.size[0]), static_cast<int>(tile.size[1]), 1);
  image->SetSpacing(tile.spacing[0], tile.spacing[1], 1);
  image->SetOrigin(tile.origin[0], tile.origin[1], depth);
  image->AllocateScalars(VTK_UNSIGNED_CHAR, components);
  std::memcpy(image->GetScalarPointer(), pixels.data(), pixels.size());
  vtkNew<vtkImageSliceMapper> mapper;
  mapper->SetInputData(image);
  mapper->BorderOn();
  mapper->SetClippingPlanes(edges);
  auto slice = vtkSmartPointer<vtkImageSlice>::New();
  slice->SetMapper(mapper);
  return slice;
}

/** 1, 2 or 5 times a power of ten, at most \a limit. */
double
RoundDown(double limit)
{
  const double power = std::pow(10, std::floor(std::log10(limit)));
  const double digit = limit / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

void
Style(vtkTextActor * text)
{
  text->GetTextProperty()->SetFontSize(14);
  text->GetTextProperty()->SetColor(0, 0, 0);
  text->GetTextProperty()->SetBackgroundColor(1, 1, 1);
  text->GetTextProperty()->SetBackgroundOpacity(0.7);
}
} // namespace

SlideScene::SlideScene(const Pyramid & slide, const Pyramid * mask, vtkRenderWindow * window)
  : m_Slide(slide)
  , m_Window(window)
  , m_HasMask(mask != nullptr)
  , m_Pager(slide, mask)
{
  window->AddRenderer(m_Renderer);
  m_Renderer->SetBackground(1, 1, 1);
  vtkCamera * const camera = m_Renderer->GetActiveCamera();
  camera->ParallelProjectionOn();
  camera->SetViewUp(0, -1, 0);

  // The last pixels of coarse levels reach beyond the slide: its right and lower edges are those of the finest.
  const PyramidLevel & finest = slide.GetLevels().front();
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    std::array<double, 3> edge{};
    std::array<double, 3> inwards{};
    edge[axis] = finest.origin[axis] + (finest.size[axis] - 0.5) * finest.spacing[axis];
    inwards[axis] = -1;
    vtkNew<vtkPlane> plane;
    plane->SetOrigin(edge.data());
    plane->SetNormal(inwards.data());
    m_Edges->AddItem(plane);
  }

  m_BarPoints->SetNumberOfPoints(4);
  vtkNew<vtkCellArray> line;
  line->InsertNextCell({ 0, 1, 2, 3 });
  vtkNew<vtkPolyData> bar;
  bar->SetPoints(m_BarPoints);
  bar->SetLines(line);
  vtkNew<vtkPolyDataMapper2D> mapper;
  mapper->SetInputData(bar);
  vtkNew<vtkActor2D> actor;
  actor->SetMapper(mapper);
  actor->GetProperty()->SetColor(0, 0, 0);
  actor->GetProperty()->SetLineWidth(3);
  m_Renderer->AddActor(actor);
  for (vtkTextActor * const text : { m_BarText.Get(), m_Text.Get() })
  {
    Style(text);
    m_Renderer->AddActor(text);
  }
}

void
SlideScene::Fit()
{
  const PyramidLevel & finest = m_Slide.GetLevels().front();
  const int * const    window = m_Window->GetSize();
  m_Pointer = { window[0] / 2, window[1] / 2 };
  std::array<double, 2> center{};
  double                spacing = 0;
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    center[axis] = finest.origin[axis] + (finest.size[axis] - 1) * finest.spacing[axis] / 2;
    spacing = std::max(spacing, finest.size[axis] * finest.spacing[axis] / window[axis]);
  }
  this->SetView(center, spacing);
}

void
SlideScene::SetView(const std::array<double, 2> & center, double spacing)
{
  m_Center = center;
  m_Spacing = spacing;
  m_HasChanged = true;
}

void
SlideScene::Pan(double right, double down)
{
  this->SetView({ m_Center[0] + right * m_Spacing, m_Center[1] + down * m_Spacing }, m_Spacing);
}

void
SlideScene::Zoom(double factor, int x, int y)
{
  const auto point = this->GetWorld(x, y);
  // Between the finest level's pixels at 32 to a pixel and a thousand slides side by side, so that nobody is lost.
  const PyramidLevel & finest = m_Slide.GetLevels().front();
  const double         spacing = std::clamp(
    m_Spacing / factor, finest.spacing[0] / 32, finest.spacing[0] * std::max(finest.size[0], finest.size[1]));
  const double scale = spacing / m_Spacing;
  this->SetView({ point[0] + (m_Center[0] - point[0]) * scale, point[1] + (m_Center[1] - point[1]) * scale }, spacing);
}

void
SlideScene::SetOpacity(double opacity)
{
  m_Opacity = std::clamp(opacity, 0.0, 1.0);
  for (auto & entry : m_Shown)
  {
    if (entry.second.overlay)
    {
      entry.second.overlay->GetProperty()->SetOpacity(m_Opacity);
    }
  }
  m_HasChanged = true;
}

void
SlideScene::PointAt(int x, int y)
{
  m_Pointer = { x, y };
  this->DrawText();
}

bool
SlideScene::Update()
{
  const int * const size = m_Window->GetSize();
  if (m_WindowSize[0] != size[0] || m_WindowSize[1] != size[1])
  {
    m_WindowSize = { size[0], size[1] };
    m_HasChanged = true;
  }
  const auto read = m_Pager.Take();
  for (const auto & tile : read)
  {
    this->Show(*tile);
  }
  if (m_HasChanged)
  {
    ++m_Round;
    std::vector<TileKey> missing;
    for (const TileKey & key : this->FindWanted())
    {
      const auto found = m_Shown.find(key);
      if (found == m_Shown.end())
      {
        missing.push_back(key);
      }
      else
      {
        found->second.lastUse = m_Round;
      }
    }
    m_Pager.Want(std::move(missing));
    vtkCamera * const camera = m_Renderer->GetActiveCamera();
    camera->SetFocalPoint(m_Center[0], m_Center[1], 0);
    camera->SetPosition(m_Center[0], m_Center[1], -500);
    camera->SetParallelScale(m_WindowSize[1] * m_Spacing / 2);
    camera->SetClippingRange(1, 1000);
    this->DrawScaleBar();
    this->DrawText();
  }
  this->DropOldest();
  return std::exchange(m_HasChanged, false) || !read.empty();
}

std::array<double, 2>
SlideScene::GetWorld(double x, double y) const
{
  const int * const size = m_Window->GetSize();
  return { m_Center[0] + (x + 0.5 - size[0] / 2.0) * m_Spacing, m_Center[1] - (y + 0.5 - size[1] / 2.0) * m_Spacing };
}

std::vector<TileKey>
SlideScene::FindWanted() const
{
  std::vector<TileKey> wanted;
  // Of the coarsest level all, first: no place is ever empty for long. Then what is seen of the fitting level.
  const auto levels = static_cast<unsigned>(m_Slide.GetLevels().size());
  for (const unsigned index : { levels - 1, m_Slide.SelectLevel(m_Spacing) })
  {
    const PyramidLevel &  level = m_Slide.GetLevels()[index];
    std::array<long, 2>   first{};
    std::array<long, 2>   last{};
    std::array<double, 2> middle{};
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      const double tile = TilePager::TileSize * level.spacing[axis];
      const double edge = level.origin[axis] - level.spacing[axis] / 2;
      const double reach = m_WindowSize[axis] * m_Spacing / 2;
      const long   count = (level.size[axis] - 1) / TilePager::TileSize;
      middle[axis] = (m_Center[axis] - edge) / tile - 0.5;
      first[axis] = std::max(0L, std::lround(std::floor((m_Center[axis] - reach - edge) / tile)));
      last[axis] = std::min(count, std::lround(std::floor((m_Center[axis] + reach - edge) / tile)));
    }
    const std::size_t start = wanted.size();
    for (long row = first[1]; row <= last[1]; ++row)
    {
      for (long column = first[0]; column <= last[0]; ++column)
      {
        wanted.push_back({ index, static_cast<unsigned>(column), static_cast<unsigned>(row) });
      }
    }
    const auto distance = [&middle](const TileKey & key) {
      return std::hypot(key.column - middle[0], key.row - middle[1]);
    };
    std::sort(wanted.begin() + static_cast<std::ptrdiff_t>(start),
              wanted.end(),
              [&distance](const TileKey & one, const TileKey & other) { return distance(one) < distance(other); });
  }
  wanted.resize(std::min(wanted.size(), MostTiles)); // a slide without coarse levels, from afar: its middle
  return wanted;
}

void
SlideScene::Show(const Tile & tile)
{
  Shown shown{ MakeSlice(tile, tile.colors, tile.key.level, m_Edges), nullptr, m_Round };
  shown.colors->GetProperty()->SetInterpolationTypeToLinear();
  m_Renderer->AddViewProp(shown.colors);
  if (m_HasMask)
  {
    shown.overlay = MakeSlice(tile, tile.overlay, tile.key.level - 0.5, m_Edges);
    shown.overlay->GetProperty()->SetInterpolationTypeToNearest();
    shown.overlay->GetProperty()->SetOpacity(m_Opacity);
    m_Renderer->AddViewProp(shown.overlay);
  }
  m_Shown[tile.key] = shown;
}

void
SlideScene::DropOldest()
{
  while (m_Shown.size() > MostTiles)
  {
    const auto oldest = std::min_element(m_Shown.begin(), m_Shown.end(), [](const auto & one, const auto & other) {
      return one.second.lastUse < other.second.lastUse;
    });
    m_Renderer->RemoveViewProp(oldest->second.colors);
    if (oldest->second.overlay)
    {
      m_Renderer->RemoveViewProp(oldest->second.overlay);
    }
    m_Shown.erase(oldest);
  }
}

void
SlideScene::DrawScaleBar()
{
  const double length = RoundDown(m_WindowSize[0] / 5.0 * m_Spacing);
  const double right = Margin + length / m_Spacing;
  m_BarPoints->SetPoint(0, Margin, Margin + 6, 0);
  m_BarPoints->SetPoint(1, Margin, Margin, 0);
  m_BarPoints->SetPoint(2, right, Margin, 0);
  m_BarPoints->SetPoint(3, right, Margin + 6, 0);
  m_BarPoints->Modified();
  char text[64];
  if (!m_Slide.KnowsResolution())
  {
    std::snprintf(text, sizeof(text), "%g px", length);
  }
  else if (length >= 1)
  {
    std::snprintf(text, sizeof(text), "%g mm", length);
  }
  else
  {
    std::snprintf(text, sizeof(text), "%g um", length * 1000);
  }
  m_BarText->SetInput(text);
  m_BarText->SetDisplayPosition(Margin, Margin + 10);
}

void
SlideScene::DrawText()
{
  const auto           point = this->GetWorld(m_Pointer[0], m_Pointer[1]);
  const PyramidLevel & level = m_Slide.GetLevels()[m_Slide.SelectLevel(m_Spacing)];
  const double         downsample = level.spacing[0] / m_Slide.GetLevels().front().spacing[0];
  char                 text[160];
  const bool           isKnown = m_Slide.KnowsResolution();
  const int            end = std::snprintf(text,
                                sizeof(text),
                                isKnown ? "x %.4f mm, y %.4f mm, %.4g um to a pixel, level 1/%g"
                                                   : "x %.1f, y %.1f px, %.4g px to a pixel, level 1/%g",
                                point[0],
                                point[1],
                                m_Spacing * (isKnown ? 1000 : 1),
                                downsample);
  if (m_HasMask)
  {
    std::snprintf(text + end, sizeof(text) - end, ", mask %.0f %%", m_Opacity * 100);
  }
  m_Text->SetInput(text);
  m_Text->SetDisplayPosition(Margin, m_Window->GetSize()[1] - Margin - 16);
}
