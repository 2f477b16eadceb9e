/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ITKWarnings_h
#define ITKWarnings_h

#include "gigapixelFrontEnd.h"

#include "itkOutputWindow.h"

namespace gigapixel::application
{

/** \class ITKWarnings
 * \brief While it lives, the front end shows warnings of ITK classes as one sentence each, once each.
 *
 * From now on libtiff, inside ITK and OpenSlide, and OpenSlide's GLib are silent: what they say names no file and asks
 * for nothing, and errors come as exceptions. */
class ITKWarnings
{
public:
  explicit ITKWarnings(FrontEnd & frontEnd);
  ~ITKWarnings();
  ITKWarnings(const ITKWarnings &) = delete;
  ITKWarnings & operator=(const ITKWarnings &) = delete;

private:
  const itk::OutputWindow::Pointer m_Before;
  itk::OutputWindow::Pointer       m_Window;
};

} // namespace gigapixel::application

#endif
