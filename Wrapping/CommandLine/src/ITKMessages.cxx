/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ITKMessages.h"

#include "gigapixelFileRefusal.h"
#include "gigapixelPrintable.h"

#include "itkObjectFactory.h"
#include "itkOutputWindow.h"
#include "itkWholeSlideImageIO.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <new>
#include <set>
#include <dlfcn.h>

namespace gigapixel::commandline
{
namespace
{
std::mutex               messageMutex;
bool                     collecting = false;
std::vector<std::string> collected;

/** Where ITK's texts go; ITK keeps one for the process. */
class SentenceWindow : public itk::OutputWindow
{
public:
  using Self = SentenceWindow;
  using Superclass = itk::OutputWindow;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(SentenceWindow, OutputWindow);

  void
  DisplayText(const char * text) override
  {
    const std::string                 sentence = GetPrintable(CleanMessage(text)); // which may repeat a file's
    const std::lock_guard<std::mutex> lock(messageMutex);
    if (collecting)
    {
      collected.push_back(sentence);
    }
    else if (m_Shown.insert(sentence).second)
    {
      std::fprintf(stderr, "gigapixel: %s\n", sentence.c_str());
    }
  }

private:
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

void
ShowITKWarningsAsSentences()
{
  itk::OutputWindow::SetInstance(SentenceWindow::New());
  SilenceLibTIFF();
  itk::WholeSlideImageIO::SilenceOpenSlide();
}

std::string
DescribeFileError(const std::filesystem::filesystem_error & error)
{
  const std::string file = error.path1().string();
  if (error.code() == std::errc::filename_too_long)
  {
    return "The name " + file + " is too long for this file system: choose a shorter one.";
  }
  if (error.code() == std::errc::too_many_symbolic_link_levels)
  {
    return file + " leads in a circle of links: name the file itself.";
  }
  return file + " cannot be used: " + DescribeFileRefusal(error.code()) + '.';
}

std::string
DescribeThrown()
{
  try
  {
    throw;
  }
  catch (const itk::ExceptionObject & error)
  {
    return DescribeReason(CleanMessage(error.GetDescription()));
  }
  catch (const std::bad_alloc &)
  {
    return TooLittleMemory;
  }
  catch (const std::filesystem::filesystem_error & error)
  {
    return DescribeFileError(error);
  }
  catch (const std::exception & error)
  {
    return DescribeReason(error.what());
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

std::vector<std::string>
WarningCollector::GetWarnings() const
{
  const std::lock_guard<std::mutex> lock(messageMutex);
  return collected;
}

} // namespace gigapixel::commandline
