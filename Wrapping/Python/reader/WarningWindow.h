/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef WarningWindow_h
#define WarningWindow_h

#include "gigapixelDiagnostic.h"
#include "gigapixelPlainMessage.h"

#include "itkOutputWindow.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

/** Keeps warnings, and other texts that have a code, while it is the window where ITK's texts go. What is left, such as
 * what a user debugs, goes on to the window before it. */
class WarningWindow : public itk::OutputWindow
{
public:
  using Self = WarningWindow;
  using Superclass = itk::OutputWindow;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);

  void
  DisplayWarningText(const char * text) override
  {
    Keep(gigapixel::CleanMessage(text));
  }

  void
  DisplayText(const char * text) override
  {
    const std::string sentence = gigapixel::CleanMessage(text);
    if (!gigapixel::Diagnostic::OfText(sentence, std::string()).code.empty())
    {
      Keep(sentence);
      return;
    }
    std::unique_lock<std::mutex> lock(m_Mutex);
    const auto                   before = m_Before;
    lock.unlock(); // whatever that window does
    before->DisplayText(text);
  }

  static void
  Install()
  {
    const auto                        ours = GetOurs();
    const auto                        now = itk::OutputWindow::GetInstance();
    const std::lock_guard<std::mutex> lock(ours->m_Mutex);
    // Once: the window of a command, which may be there meanwhile, is none to come back to.
    if (!std::exchange(ours->m_IsInstalled, true))
    {
      ours->m_Before = now;
      itk::OutputWindow::SetInstance(ours);
    }
  }

  static void
  Remove()
  {
    const auto                        ours = GetOurs();
    const std::lock_guard<std::mutex> lock(ours->m_Mutex);
    ours->m_IsInstalled = false;
    if (itk::OutputWindow::GetInstance().GetPointer() == ours.GetPointer())
    {
      itk::OutputWindow::SetInstance(ours->m_Before);
    }
  }

  static std::vector<std::string>
  Take()
  {
    const auto                        ours = GetOurs();
    const std::lock_guard<std::mutex> lock(ours->m_Mutex);
    return std::exchange(ours->m_Texts, {});
  }

private:
  void
  Keep(const std::string & sentence)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Texts.push_back(sentence);
  }

  static Pointer
  GetOurs()
  {
    static const Pointer ours = New();
    return ours;
  }

  itk::OutputWindow::Pointer m_Before;
  bool                       m_IsInstalled{ false };
  std::mutex                 m_Mutex;
  std::vector<std::string>   m_Texts;
};

#endif
