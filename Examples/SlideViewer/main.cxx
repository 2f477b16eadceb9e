/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A viewer for slides of any size and a mask over them, in VTK: only what is seen is read, at the level that fits.
#include "ViewerStyle.h"

#include <vtkPNGWriter.h>
#include <vtkRenderWindowInteractor.h>
#include <vtkWindowToImageFilter.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

namespace
{
constexpr const char * Usage =
  R"(usage: SlideViewer SLIDE [MASK] [options]
  --opacity F         of the mask, 0 to 1 (default 0.4)
  --center X,Y        in mm; without it the slide's middle
  --resolution UM     micrometers to a pixel of the screen; without it the whole slide
  --size WxH          of the window in pixels (default 1200x800)
  --slide-mpp UM      resolution of the slide's level 0 where its file tells none
  --screenshot PNG    writes what the window would show, and ends
  --help
example: SlideViewer slide.svs mask.pyramid.tif --center 8.2,14.5 --resolution 0.5
)";

struct UsageError : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

struct Options
{
  std::vector<std::string>             files;
  double                               opacity{ 0.4 };
  std::optional<std::array<double, 2>> center;
  double                               resolution{ 0 };
  std::array<int, 2>                   size{ 1200, 800 };
  double                               slideMpp{ 0 };
  std::string                          screenshot;
};

/** Two numbers with \a separator between; just one with 0. */
std::array<double, 2>
ParseNumbers(const std::string & option, const std::string & text, char separator)
{
  std::array<double, 2> numbers{};
  int                   end = -1;
  const std::string     format = separator ? std::string("%lf") + separator + "%lf%n" : "%lf%n";
  if (separator)
  {
    std::sscanf(text.c_str(), format.c_str(), &numbers[0], &numbers[1], &end);
  }
  else
  {
    std::sscanf(text.c_str(), format.c_str(), &numbers[0], &end);
  }
  if (end != static_cast<int>(text.size()))
  {
    throw UsageError(option + " does not take '" + text + "'");
  }
  if (!std::isfinite(numbers[0]) || !std::isfinite(numbers[1]))
  {
    throw UsageError(option + " wants numbers, not '" + text + "'");
  }
  return numbers;
}

double
ParsePositive(const std::string & option, const std::string & text)
{
  const double number = ParseNumbers(option, text, 0)[0];
  if (!(number > 0 && number < 1e6))
  {
    throw UsageError(option + " is a number above 0, not '" + text + "'");
  }
  return number;
}

void
ParseOption(const std::string & option, const std::string & value, Options & options)
{
  if (option == "--opacity")
  {
    options.opacity = ParseNumbers(option, value, 0)[0];
    if (!(options.opacity >= 0 && options.opacity <= 1))
    {
      throw UsageError("--opacity is a number from 0 to 1, not '" + value + "'");
    }
  }
  else if (option == "--center")
  {
    options.center = ParseNumbers(option, value, ',');
  }
  else if (option == "--resolution")
  {
    options.resolution = ParsePositive(option, value);
  }
  else if (option == "--size")
  {
    const auto size = ParseNumbers(option, value, 'x');
    if (!(size[0] >= 64 && size[1] >= 64 && size[0] <= 8192 && size[1] <= 8192))
    {
      throw UsageError("--size is from 64x64 to 8192x8192 pixels, not '" + value + "'");
    }
    options.size = { static_cast<int>(size[0]), static_cast<int>(size[1]) };
  }
  else if (option == "--slide-mpp")
  {
    options.slideMpp = ParsePositive(option, value);
  }
  else if (option == "--screenshot")
  {
    if (std::filesystem::path(value).extension() != ".png")
    {
      throw UsageError("--screenshot is to be a PNG picture: end '" + value + "' in .png");
    }
    options.screenshot = value;
  }
  else
  {
    throw UsageError("there is no option " + option);
  }
}

Options
Parse(const std::vector<std::string> & words)
{
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i)
  {
    if (words[i].rfind("--", 0) != 0)
    {
      options.files.push_back(words[i]);
    }
    else if (i + 1 == words.size())
    {
      throw UsageError(words[i] + " lacks its value");
    }
    else
    {
      ParseOption(words[i], words[i + 1], options);
      ++i;
    }
  }
  if (options.files.empty() || options.files.size() > 2)
  {
    throw UsageError("a slide is needed, and one mask at most");
  }
  return options;
}

void
WriteScreenshot(SlideScene & scene, vtkRenderWindow * window, const std::string & fileName)
{
  bool isComplete = false;
  while (!isComplete)
  {
    // Asked in this order: what is read between the two is taken in the next round.
    isComplete = !scene.Update() && scene.IsComplete();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  window->Render();
  vtkNew<vtkWindowToImageFilter> picture;
  picture->SetInput(window);
  picture->ReadFrontBufferOff();
  const std::string    part = fileName + ".part";
  vtkNew<vtkPNGWriter> writer;
  writer->SetInputConnection(picture->GetOutputPort());
  writer->SetFileName(part.c_str());
  writer->Write();
  if (writer->GetErrorCode() != 0)
  {
    std::filesystem::remove(part);
    throw std::runtime_error(fileName + " can not be written; name a file in a folder that you may write to.");
  }
  std::filesystem::rename(part, fileName);
}

/** What is there under the picture's name is replaced: not the slide, and not a device. */
void
CheckScreenshot(const Options & options)
{
  std::error_code     ignored;
  const std::string & picture = options.screenshot;
  for (const std::string & file : options.files)
  {
    if (std::filesystem::equivalent(picture, file, ignored))
    {
      throw std::runtime_error(picture + " is what is shown here: name another file for --screenshot.");
    }
  }
  if (std::filesystem::exists(picture, ignored) && !std::filesystem::is_regular_file(picture, ignored))
  {
    throw std::runtime_error(picture + " is no file: name one for --screenshot.");
  }
}

void
View(const Options & options)
{
  CheckScreenshot(options);
  const Pyramid          slide(options.files[0], options.slideMpp);
  std::optional<Pyramid> mask;
  if (options.files.size() > 1)
  {
    mask.emplace(options.files[1], options.slideMpp);
  }
  if (!std::getenv("DISPLAY"))
  {
    throw std::runtime_error("There is no screen: set DISPLAY, or start the viewer by xvfb-run to make a screenshot.");
  }
  vtkObject::GlobalWarningDisplayOff(); // what goes wrong is said once, by us
  vtkNew<vtkRenderWindow> window;
  window->SetOffScreenRendering(!options.screenshot.empty());
  window->SetMultiSamples(0);
  window->SetSize(options.size[0], options.size[1]);
  window->SetWindowName(options.files[0].c_str());
  SlideScene scene(slide, mask ? &*mask : nullptr, window);
  scene.SetOpacity(options.opacity);
  scene.Fit();
  const double fineness = slide.KnowsResolution() ? 1000 : 1; // a slide of unknown resolution is measured in pixels
  scene.SetView(options.center.value_or(scene.GetCenter()),
                options.resolution > 0 ? options.resolution / fineness : scene.GetSpacing());
  if (!options.screenshot.empty())
  {
    WriteScreenshot(scene, window, options.screenshot);
    return;
  }
  vtkNew<vtkRenderWindowInteractor> interactor;
  vtkNew<ViewerStyle>               style;
  style->SetScene(&scene);
  interactor->SetRenderWindow(window);
  interactor->SetInteractorStyle(style);
  std::cout << ViewerStyle::GetHelp() << std::endl;
  window->Render();
  interactor->Initialize();
  interactor->CreateRepeatingTimer(30);
  interactor->Start();
  if (!style->GetError().empty())
  {
    throw std::runtime_error(style->GetError());
  }
}
} // namespace

int
main(int argc, char * argv[])
try
{
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (std::find(words.begin(), words.end(), "--help") != words.end())
  {
    std::cout << Usage << ViewerStyle::GetHelp() << '\n';
    return 0;
  }
  View(Parse(words));
  return 0;
}
catch (const UsageError & error)
{
  std::cerr << "SlideViewer: " << error.what() << "; see --help.\n";
  return 2;
}
catch (const itk::ExceptionObject & error)
{
  std::cerr << "SlideViewer: " << error.GetDescription() << '\n';
  return 1;
}
catch (const std::exception & error)
{
  std::cerr << "SlideViewer: " << error.what() << '\n';
  return 1;
}
