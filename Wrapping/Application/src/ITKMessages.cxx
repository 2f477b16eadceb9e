/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ITKMessages.h"
#include "ITKWarnings.h"

#include "gigapixelPlainMessage.h"
#include "gigapixelSession.h"

#include "itkObjectFactory.h"
#include "itkWholeSlideImageIO.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>

#include <dlfcn.h>

namespace gigapixel::application
{
namespace
{
std::mutex              messageMutex;
bool                    collecting = false;
std::vector<Diagnostic> collected;

/** Where ITK's texts go; ITK keeps one for the process. */
class SentenceWindow : public itk::OutputWindow
{
public:
  using Self = SentenceWindow;
  using Superclass = itk::OutputWindow;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(SentenceWindow, OutputWindow);

  /** \param frontEnd shows the warnings; null: the standard error does */
  void
  SetFrontEnd(FrontEnd * frontEnd)
  {
    const std::lock_guard<std::mutex> lock(messageMutex);
    m_FrontEnd = frontEnd;
  }

  void
  DisplayText(const char * text) override
  {
    const Diagnostic                  warning = Diagnostic::OfText(CleanMessage(text), "W-OTHER");
    const std::lock_guard<std::mutex> lock(messageMutex);
    if (!m_FrontEnd) // another thread of the process has found the window before the command ended
    {
      Superclass::DisplayText(text);
      return;
    }
    if (collecting)
    {
      collected.push_back(warning);
      return;
    }
    KeepWarning(warning); // each result has its own
    if (m_Shown.insert(warning.GetText()).second)
    {
      m_FrontEnd->ShowDiagnostic(warning);
    }
  }

private:
  FrontEnd *            m_FrontEnd{ nullptr };
  std::set<std::string> m_Shown;
};
} // namespace

/** ITK's libtiff speaks to the standard error. It is not ours to link, so it is found by name, where it is at all. */
void
SilenceLibTIFF()
{
  using Handler = void (*)(const char *, const char *, va_list);
  for (const char * name :
       { "TIFFSetErrorHandler", "TIFFSetWarningHandler", "itk_TIFFSetErrorHandler", "itk_TIFFSetWarningHandler" })
  {
    if (void * const found = dlsym(RTLD_DEFAULT, name))
    {
      reinterpret_cast<Handler (*)(Handler)>(found)(nullptr);
    }
  }
}

ITKWarnings::ITKWarnings(FrontEnd & frontEnd)
  : m_Before(itk::OutputWindow::GetInstance())
{
  const auto window = SentenceWindow::New();
  window->SetFrontEnd(&frontEnd);
  m_Window = window;
  itk::OutputWindow::SetInstance(window);
  SilenceLibTIFF();
  itk::WholeSlideImageIO::SilenceOpenSlide();
}

ITKWarnings::~ITKWarnings()
{
  itk::OutputWindow::SetInstance(m_Before);
  static_cast<SentenceWindow &>(*m_Window).SetFrontEnd(nullptr);
}

Diagnostic
DiagnoseThrown()
{
  try
  {
    throw;
  }
  catch (const Diagnosed & refusal)
  {
    return refusal.GetDiagnostic();
  }
  catch (const itk::ExceptionObject & error)
  {
    return Diagnostic::OfText(CleanMessage(error.GetDescription()), "E-OTHER");
  }
  catch (const std::exception & error)
  {
    return Diagnostic::Of(error);
  }
}

WarningCollector::WarningCollector()
{
  const std::lock_guard<std::mutex> lock(messageMutex);
  collecting = true;
  collected.clear();
}

WarningCollector::~WarningCollector()
{
  const std::lock_guard<std::mutex> lock(messageMutex);
  collecting = false;
}

std::vector<Diagnostic>
WarningCollector::GetWarnings() const
{
  const std::lock_guard<std::mutex> lock(messageMutex);
  return collected;
}

} // namespace gigapixel::application
