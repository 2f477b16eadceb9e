/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ViewerStyle_h
#define ViewerStyle_h

#include "SlideScene.h"

#include <vtkInteractorStyle.h>

#include <string>

/** What mouse and keys do; see GetHelp(). Tiles are fetched on a timer, so that nothing waits for the disk. */
class ViewerStyle : public vtkInteractorStyle
{
public:
  static ViewerStyle * New();
  vtkTypeMacro(ViewerStyle, vtkInteractorStyle);

  static const char *
  GetHelp()
  {
    return "drag: move; wheel, + and -: zoom; arrows: move by a quarter; f: the whole slide; "
           "[ and ]: opacity of the mask; m: mask on and off; q: end";
  }

  void SetScene(SlideScene * scene);

  /** Empty, or why the viewer ended: one sentence. */
  const std::string &
  GetError() const
  {
    return m_Error;
  }

  void OnLeftButtonDown() override;
  void OnLeftButtonUp() override;
  void OnMouseMove() override;
  void OnMouseWheelForward() override;
  void OnMouseWheelBackward() override;
  void OnChar() override;
  void OnTimer() override;

private:
  SlideScene *       m_Scene{ nullptr };
  std::array<int, 2> m_Last{};
  double             m_HiddenOpacity{ 0 };
  bool               m_IsDragging{ false };
  std::string        m_Error;
};

#endif
