/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ViewerStyle.h"

#include <vtkObjectFactory.h>
#include <vtkRenderWindowInteractor.h>

#include <utility>

vtkStandardNewMacro(ViewerStyle);

void
ViewerStyle::SetScene(SlideScene * scene)
{
  m_Scene = scene;
}

void
ViewerStyle::OnLeftButtonDown()
{
  m_IsDragging = true;
  m_Last = { this->Interactor->GetEventPosition()[0], this->Interactor->GetEventPosition()[1] };
}

void
ViewerStyle::OnLeftButtonUp()
{
  m_IsDragging = false;
}

void
ViewerStyle::OnMouseMove()
{
  const int * const at = this->Interactor->GetEventPosition();
  if (m_IsDragging)
  {
    m_Scene->Pan(m_Last[0] - at[0], at[1] - m_Last[1]);
  }
  m_Last = { at[0], at[1] };
  m_Scene->PointAt(at[0], at[1]);
  this->Interactor->Render();
}

void
ViewerStyle::OnMouseWheelForward()
{
  m_Scene->Zoom(1.25, this->Interactor->GetEventPosition()[0], this->Interactor->GetEventPosition()[1]);
}

void
ViewerStyle::OnMouseWheelBackward()
{
  m_Scene->Zoom(0.8, this->Interactor->GetEventPosition()[0], this->Interactor->GetEventPosition()[1]);
}

void
ViewerStyle::OnChar()
{
  const int * const size = this->Interactor->GetSize();
  const std::string key = this->Interactor->GetKeySym() ? this->Interactor->GetKeySym() : "";
  const double      opacity = m_Scene->GetOpacity();
  if (key == "plus" || key == "KP_Add" || key == "equal")
  {
    m_Scene->Zoom(1.25, size[0] / 2, size[1] / 2);
  }
  else if (key == "minus" || key == "KP_Subtract")
  {
    m_Scene->Zoom(0.8, size[0] / 2, size[1] / 2);
  }
  else if (key == "Left" || key == "Right")
  {
    m_Scene->Pan((key == "Left" ? -0.25 : 0.25) * size[0], 0);
  }
  else if (key == "Up" || key == "Down")
  {
    m_Scene->Pan(0, (key == "Up" ? -0.25 : 0.25) * size[1]);
  }
  else if (key == "f")
  {
    m_Scene->Fit();
  }
  else if (key == "bracketleft" || key == "bracketright")
  {
    m_Scene->SetOpacity(opacity + (key == "bracketleft" ? -0.1 : 0.1));
  }
  else if (key == "m")
  {
    m_Scene->SetOpacity(std::exchange(m_HiddenOpacity, opacity));
  }
  else if (key == "q")
  {
    this->Interactor->TerminateApp();
  }
}

void
ViewerStyle::OnTimer()
{
  try
  {
    if (m_Scene->Update())
    {
      this->Interactor->Render();
    }
  }
  catch (const std::exception & error)
  {
    m_Error = error.what();
    this->Interactor->TerminateApp();
  }
}
