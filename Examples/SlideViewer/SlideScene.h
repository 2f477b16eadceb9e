/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideScene_h
#define SlideScene_h

#include "TilePager.h"

#include <vtkActor2D.h>
#include <vtkImageSlice.h>
#include <vtkNew.h>
#include <vtkPlaneCollection.h>
#include <vtkPoints.h>
#include <vtkRenderWindow.h>
#include <vtkRenderer.h>
#include <vtkSmartPointer.h>
#include <vtkTextActor.h>

#include <map>

/** A slide in a window: the tiles that the view needs, at the level that fits it, over whole coarse ones.
 *
 * The world is the slide in mm, x to the right, y downwards. Each level lies behind the finer ones, and the overlay of
 * a tile just before it, so that a tile that has come hides what is coarser, with its overlay. */
class SlideScene
{
public:
  /** Tiles that stay in memory, 0.2 MB each (0.45 MB with a mask): a screen of 4K at the worst ratio of levels. */
  static constexpr std::size_t MostTiles = 800;

  SlideScene(const Pyramid & slide, const Pyramid * mask, vtkRenderWindow * window);

  /** The whole slide in the window. */
  void Fit();

  /** \param center in mm \param spacing mm to a pixel of the screen */
  void SetView(const std::array<double, 2> & center, double spacing);

  const std::array<double, 2> &
  GetCenter() const
  {
    return m_Center;
  }

  double
  GetSpacing() const
  {
    return m_Spacing;
  }

  /** By pixels of the screen. */
  void Pan(double right, double down);

  /** By a factor, above 1 nearer; the point below the pixel of the screen stays where it is. */
  void Zoom(double factor, int x, int y);

  /** Of the mask, from 0 to 1. */
  void SetOpacity(double opacity);

  double
  GetOpacity() const
  {
    return m_Opacity;
  }

  /** The pixel of the screen (VTK's: from the bottom) that the coordinates are told of. */
  void PointAt(int x, int y);

  /** Asks for the tiles that the view lacks, takes those that have come. \return whether there is something new to draw
   * \throw std::runtime_error one sentence: a tile can not be read */
  bool Update();

  /** Whether all that the view needs is there. */
  bool
  IsComplete() const
  {
    return m_Pager.IsIdle();
  }

private:
  struct Shown
  {
    vtkSmartPointer<vtkImageSlice> colors;
    vtkSmartPointer<vtkImageSlice> overlay; ///< null without a mask
    std::size_t                    lastUse{ 0 };
  };

  std::array<double, 2> GetWorld(double x, double y) const;
  std::vector<TileKey>  FindWanted() const;
  void                  Show(const Tile & tile);
  void                  DropOldest();
  void                  DrawScaleBar();
  void                  DrawText();

  const Pyramid &            m_Slide;
  vtkRenderWindow *          m_Window;
  vtkNew<vtkRenderer>        m_Renderer;
  vtkNew<vtkPlaneCollection> m_Edges;
  vtkNew<vtkPoints>          m_BarPoints;
  vtkNew<vtkTextActor>       m_BarText;
  vtkNew<vtkTextActor>       m_Text;
  std::map<TileKey, Shown>   m_Shown;
  std::array<double, 2>      m_Center{};
  std::array<int, 2>         m_Pointer{};
  std::array<int, 2>         m_WindowSize{};
  double                     m_Spacing{ 1 };
  double                     m_Opacity{ 0.4 };
  std::size_t                m_Round{ 0 };
  bool                       m_HasMask;
  bool                       m_HasChanged{ true };
  TilePager                  m_Pager; ///< last: its thread ends first
};

#endif
