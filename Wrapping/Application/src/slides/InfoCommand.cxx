/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"
#include "CommandFunctions.h"
#include "DiagnosticJSON.h"
#include "Doubt.h"
#include "ITKMessages.h"
#include "Engine.h"
#include "OutputCheck.h"
#include "PictureFile.h"
#include "SlideBatch.h"
#include "SlideFile.h"
#include "VolumeFile.h"

#include "gigapixelJoinNames.h"
#include "gigapixelPrintable.h"

#include "itkMetaDataObject.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

namespace gigapixel::application
{
namespace
{
using JSON = nlohmann::ordered_json;

std::string
GetProperty(itk::WholeSlideImageIO & slide, const std::string & key)
{
  std::string value;
  itk::ExposeMetaData(slide.GetMetaDataDictionary(), key, value);
  return value;
}

/** A number that is known, else null. */
JSON
Known(double value)
{
  return value > 0 ? JSON(value) : JSON();
}

JSON
DescribeLevels(const itk::WholeSlideImageIO & slide)
{
  const double resolution = GetLevelZeroResolution(slide);
  auto         levels = JSON::array();
  for (unsigned level = 0; level < slide.GetNumberOfLevels(); ++level)
  {
    const auto   size = slide.GetLevelSize(level);
    const double downsample = slide.GetLevelDownsample(level);
    levels.push_back({ { "level", level },
                       { "width", size[0] },
                       { "height", size[1] },
                       { "downsample", downsample },
                       { "mpp", Known(resolution * downsample) },
                       { "mppX", Known(slide.GetLevelZeroResolution()[0] * downsample) },
                       { "mppY", Known(slide.GetLevelZeroResolution()[1] * downsample) } });
  }
  return levels;
}

/** Which focal plane is read, of how many, and how far apart they are, where the file says so; null where there is one.
 */
JSON
DescribeFocalPlanes(itk::WholeSlideImageIO & slide)
{
  std::istringstream words(GetProperty(slide, "gigapixel.focal-plane"));
  unsigned long      count = 0;
  std::string        read, of; // a number, or how all of them are read together
  if (!(words >> read >> of >> count))
  {
    return {};
  }
  const auto spacing = ReadNumber(GetProperty(slide, "gigapixel.focal-plane-spacing"));
  const auto number = ReadNumber(read);
  return { { "read", number ? JSON(static_cast<unsigned long>(*number)) : JSON(read) },
           { "count", count },
           { "spacingUm", spacing ? JSON(*spacing) : JSON() } };
}

/** All images of the file: which one is read, and why. */
JSON
DescribeImages(const itk::WholeSlideImageIO & slide)
{
  auto images = JSON::array();
  for (const auto & image : slide.GetImages())
  {
    images.push_back({ { "number", image.number },
                       { "name", image.name.empty() ? JSON() : JSON(image.name) },
                       { "width", image.size[0] },
                       { "height", image.size[1] },
                       { "kind", image.kind },
                       { "read", image.isRead },
                       { "reason", image.reason } });
  }
  return images;
}

/** What the file says of each channel. */
JSON
DescribeChannels(const itk::WholeSlideImageIO & slide)
{
  auto channels = JSON::array();
  for (const auto & channel : slide.GetChannelEntries())
  {
    channels.push_back({ { "number", channels.size() + 1 },
                         { "name", channel.name },
                         { "color", channel.color.empty() ? JSON() : JSON(channel.color) },
                         { "excitationNm", Known(channel.excitation) },
                         { "emissionNm", Known(channel.emission) } });
  }
  return channels;
}

/** Name and size of each associated image. */
JSON
DescribeAssociatedImages(const std::string & file, const itk::WholeSlideImageIO & slide)
{
  auto images = JSON::array();
  for (const std::string & name : slide.GetAssociatedImageNames())
  {
    const auto image = itk::WholeSlideImageIO::New();
    image->SetFileName(file);
    image->SetContent(slide.GetContent());
    image->SetAssociatedImage(name);
    image->GiveWarningsOff();
    image->ReadImageInformation();
    images.push_back({ { "name", name }, { "width", image->GetDimensions(0) }, { "height", image->GetDimensions(1) } });
  }
  return images;
}

/** What --check found: numbers, and sentences for the first ones that are bad. */
void
CheckTiles(itk::WholeSlideImageIO & slide, const Session & session, JSON & info)
{
  constexpr std::size_t named = 5;
  const auto            bad = FindUndecodableTiles(slide, session);
  info["damagedTiles"] = slide.GetNumberOfDamagedTiles();
  info["undecodableTiles"] = bad.size();
  info["undecodable"] = ToJSON(std::vector<Diagnostic>(bad.begin(), bad.begin() + std::min(named, bad.size())));
  if (bad.size() == 1)
  {
    info["error"] = ToJSON(bad.front());
  }
  else if (!bad.empty())
  {
    Diagnostic error = bad.front();
    error.why = std::to_string(bad.size()) + " tiles cannot be decoded" + (slide.GetStrict() ? " or are damaged" : "") +
                "; of the first one: " + error.why;
    error.value = std::to_string(bad.size());
    info["error"] = ToJSON(error);
  }
}

/** Of networks and weights other commands tell, or make models of them. */
void
RefuseNetworkFile(const std::string & file)
{
  static const std::string weights = "gigapixel import NETWORK --weights FILE makes a model of it";
  static const std::map<std::string, std::string> advice{
    { ".json", "gigapixel networks FILE tells of a network's description" },
    { ".onnx", "gigapixel import FILE makes a model of it, of which info tells" },
    { ".pth", weights },
    { ".pt", weights },
    { ".th", weights },
  };
  const auto found = advice.find(std::filesystem::path(file).extension().string());
  if (found != advice.end())
  {
    CheckInputFile(file);
    std::string sentence = found->second;
    throw Refusal(
      Diagnostic("E-FILE-KIND", "it is neither a slide nor a model", sentence.replace(sentence.find("FILE"), 4, file))
        .OfFile(file));
  }
}

JSON
DescribeSlide(const std::string & file, const ArgumentValues & values, const Session & session)
{
  RefuseNetworkFile(file);
  const WarningCollector collector;
  const auto             slide = OpenSlide(file, values, session);
  const auto             size = slide->GetLevelSize(0);
  const double           resolution = GetLevelZeroResolution(*slide);
  const auto             bytes = static_cast<std::int64_t>(std::filesystem::file_size(file));
  JSON info{ { "slide", file }, { "vendor", slide->GetVendor() }, { "decoder", slide->GetDecoder() } };
  info["width"] = size[0];
  info["height"] = size[1];
  info["channels"] = slide->GetNumberOfComponents();
  info["color"] = slide->GetPixelType() == itk::IOPixelEnum::RGB; // three channels may be none
  info["sampleType"] = itk::ImageIOBase::GetComponentTypeAsString(slide->GetComponentType());
  info["channelNames"] = JSON::array();
  std::istringstream names(GetProperty(*slide, "gigapixel.channel-names"));
  for (std::string name; std::getline(names, name);)
  {
    info["channelNames"].push_back(name);
  }
  info["channelEntries"] = DescribeChannels(*slide);
  const auto [mppX, mppY] = slide->GetLevelZeroResolution();
  info["mpp"] = Known(resolution);
  info["mppX"] = Known(mppX);
  info["mppY"] = Known(mppY);
  const auto magnification = ReadNumber(GetProperty(*slide, "openslide.objective-power"));
  info["magnification"] = magnification ? JSON(*magnification) : JSON();
  info["widthMm"] = Known(static_cast<double>(size[0]) * mppX / 1000);
  info["heightMm"] = Known(static_cast<double>(size[1]) * mppY / 1000);
  info["levels"] = DescribeLevels(*slide);
  info["focalPlanes"] = DescribeFocalPlanes(*slide);
  info["images"] = DescribeImages(*slide);
  info["associatedImages"] = DescribeAssociatedImages(file, *slide);
  info["iccProfile"] = !GetProperty(*slide, "ICCProfile").empty();
  const std::string background = GetProperty(*slide, "openslide.background-color");
  info["backgroundColor"] = background.empty() ? JSON() : JSON(background);
  JSON bounds;
  if (!GetProperty(*slide, "openslide.bounds-width").empty())
  {
    for (const char * key : { "x", "y", "width", "height" })
    {
      bounds[key] = ReadInteger(GetProperty(*slide, std::string("openslide.bounds-") + key)).value_or(0);
    }
  }
  info["bounds"] = bounds;
  info["fileBytes"] = bytes;
  const std::string madeBy = GetMadeBy(*slide);
  info["madeBy"] = madeBy.empty() ? JSON() : JSON(madeBy);
  info["sourceDamagedTiles"] = GetRecordedDamage(*slide);
  info["damagedTiles"] = JSON();
  if (values.Has("check"))
  {
    CheckTiles(*slide, session, info);
  }
  const std::vector<Diagnostic> warnings = collector.GetWarnings();
  info["warnings"] = ToJSON(warnings);
  std::string noText;
  AddDoubts(warnings, info, noText);
  return info;
}

/** A text that may be the file's. */
std::string
Show(const JSON & text)
{
  return GetPrintable(text.get<std::string>());
}

/** One number of square pixels, else those of both axes. */
std::string
FormatResolution(const JSON & of, int digits)
{
  const std::string x = FormatNumber(of["mppX"].get<double>(), digits);
  const std::string y = FormatNumber(of["mppY"].get<double>(), digits);
  return (x == y ? x : x + " x " + y) + " µm/px";
}

std::string
FormatLevels(const JSON & levels)
{
  std::string text;
  for (const JSON & level : levels)
  {
    const auto line =
      "  level " + level["level"].dump() + ": " + level["width"].dump() + " x " + level["height"].dump();
    text += line + std::string(line.size() < 34 ? 34 - line.size() : 1, ' ') + "1/" +
            FormatNumber(level["downsample"].get<double>(), 4);
    // 4.0000 says no more than 4.
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
    if (level["mpp"].is_number())
    {
      text += "  " + FormatResolution(level, 3);
    }
    text += '\n';
  }
  return text;
}

/** "RGB", "gray", or how many channels of what, and their names. */
std::string
FormatSamples(const JSON & info)
{
  const bool isByte = info["sampleType"] == "unsigned_char";
  if (info["color"])
  {
    return "RGB";
  }
  std::string text = info["channels"] == 1 ? "gray" : info["channels"].dump() + " channels";
  text += isByte ? "" : " of " + info["sampleType"].get<std::string>();
  std::vector<std::string> names;
  std::transform(info["channelNames"].begin(), info["channelNames"].end(), std::back_inserter(names), Show);
  return names.empty() ? text : text + " (" + JoinNames(names) + ')';
}

std::string
FormatInfo(const JSON & info)
{
  std::string text = Show(info["slide"]) + '\n';
  text += "  format         " + Show(info["vendor"]) + ", read as " + Show(info["decoder"]) + ", " +
          FormatBytes(info["fileBytes"].get<double>()) + '\n';
  text +=
    "  size           " + info["width"].dump() + " x " + info["height"].dump() + " pixels, " + FormatSamples(info);
  if (info["mpp"].is_number())
  {
    text += ", " + FormatNumber(info["widthMm"].get<double>(), 2) + " x " +
            FormatNumber(info["heightMm"].get<double>(), 2) + " mm";
  }
  text +=
    "\n  resolution     " + (info["mpp"].is_number() ? FormatResolution(info, 4) : "unknown (--slide-mpp states it)");
  if (info["magnification"].is_number())
  {
    text += ", " + FormatNumber(info["magnification"].get<double>(), 0) + "x objective";
  }
  text += '\n' + FormatLevels(info["levels"]);
  for (const JSON & channel :
       info["color"].get<bool>() || info["channels"] == 1 ? JSON::array() : info["channelEntries"])
  {
    text += "  channel " + channel["number"].dump() + "      " + Show(channel["name"]);
    text += channel["color"].is_null() ? "" : ", " + Show(channel["color"]);
    for (const auto & [key, word] : { std::pair("excitationNm", "excitation"), std::pair("emissionNm", "emission") })
    {
      text += channel[key].is_null()
                ? ""
                : std::string(", ") + word + ' ' + FormatNumber(channel[key].get<double>(), 0) + " nm";
    }
    text += '\n';
  }
  if (const JSON & planes = info["focalPlanes"]; !planes.is_null())
  {
    text +=
      "  focal planes   " + planes["count"].dump() +
      (planes["read"].is_string() ? ", read together (" + Show(planes["read"]) + ')'
                                  : ", of which number " + planes["read"].dump() + " is read") +
      (planes["spacingUm"].is_null() ? "" : ", " + FormatNumber(planes["spacingUm"].get<double>(), 2) + " µm apart") +
      '\n';
  }
  for (const JSON & image : info["images"].size() > 1 ? info["images"] : JSON::array())
  {
    text += "  image " + image["number"].dump() + (image["read"].get<bool>() ? ", read  " : "        ") +
            (image["name"].is_null() ? "" : Show(image["name"]) + ", ") + image["width"].dump() + " x " +
            image["height"].dump() + ", " + Show(image["kind"]) + ": " + Show(image["reason"]) + '\n';
  }
  for (const JSON & image : info["associatedImages"])
  {
    text +=
      "  associated     " + Show(image["name"]) + ", " + image["width"].dump() + " x " + image["height"].dump() + '\n';
  }
  text += info["iccProfile"].get<bool>() ? "  color          ICC profile in the file\n" : "";
  if (!info["bounds"].is_null())
  {
    text += "  scanned area   " + info["bounds"]["x"].dump() + ',' + info["bounds"]["y"].dump() + ',' +
            info["bounds"]["width"].dump() + ',' + info["bounds"]["height"].dump() + '\n';
  }
  text += info["madeBy"].is_null() ? "" : "  made by        " + Show(info["madeBy"]) + '\n';
  if (info["sourceDamagedTiles"] != 0)
  {
    text += "  damaged tiles  " + info["sourceDamagedTiles"].dump() + " of what it was made of\n";
  }
  if (info["damagedTiles"].is_number())
  {
    text += "  damaged tiles  " + info["damagedTiles"].dump() + " in all levels, " + info["undecodableTiles"].dump() +
            " cannot be decoded\n";
    for (const JSON & tile : info["undecodable"])
    {
      text += "  bad tile       " + GetPrintable(ParseDiagnostic(tile).GetText()) + '\n';
    }
  }
  for (const JSON & warning : info["warnings"])
  {
    text += "  warning        " + GetPrintable(ParseDiagnostic(warning).GetText()) + '\n';
  }
  return text;
}

void
SaveAssociatedImage(const std::string & file, const ArgumentValues & values, const Session & session)
{
  const std::string target = values.GetText("output");
  CheckOutputName(values, "output", { file });
  const auto        slide = OpenSlide(file, values, session);
  const auto        names = slide->GetAssociatedImageNames();
  const std::string name = values.GetText("associated");
  if (std::find(names.begin(), names.end(), name) == names.end())
  {
    throw Refusal(Diagnostic("E-SLIDE-IMAGE",
                             "it has no associated image \"" + name + '"' + (names.empty() ? " and no others" : ""),
                             names.empty() ? "" : "name " + JoinWithOr(names))
                    .OfFile(file)
                    .OfOption("--associated", name));
  }
  RefuseExisting(target, values.Has("overwrite"));
  slide->SetAssociatedImage(name);
  slide->ReadImageInformation();
  Picture picture{ static_cast<unsigned>(slide->GetDimensions(0)), static_cast<unsigned>(slide->GetDimensions(1)), {} };
  const unsigned channels = slide->GetNumberOfComponents();
  if (slide->GetComponentSize() != 1)
  {
    throw Refusal(Diagnostic("E-SLIDE-CHANNELS", "its image \"" + name + "\" is not of 8 bit, as the PNG is")
                    .OfFile(file)
                    .OfValue(name));
  }
  std::vector<unsigned char> samples(std::size_t(picture.width) * picture.height * channels);
  CheckOutput(target, static_cast<double>(samples.size()));
  itk::ImageIORegion all(2);
  all.SetSize(0, picture.width);
  all.SetSize(1, picture.height);
  slide->SetIORegion(all);
  slide->Read(samples.data());
  for (std::size_t i = 0; i < samples.size(); i += channels)
  {
    for (unsigned c = 0; c < 3; ++c)
    {
      picture.pixels.push_back(samples[i + (channels == 3 ? c : 0)]);
    }
  }
  WritePNG(picture, target, {}, values.Has("overwrite"));
}
/** A model's file, the folder of a run, a ready model or a preset: the engine tells of it. */
bool
IsModel(const std::string & name)
{
  namespace fs = std::filesystem;
  std::error_code ignored;
  return fs::path(name).extension() == ".safetensors" || fs::exists(fs::path(name) / "best.safetensors", ignored) ||
         IsNetworkName(name);
}
} // namespace

int
RunInfo(const ArgumentValues & values, const Session & session)
{
  const auto names = values.GetTexts("SLIDE");
  const auto models = std::count_if(names.begin(), names.end(), IsModel);
  if (models > 0)
  {
    if (models < static_cast<std::ptrdiff_t>(names.size()))
    {
      throw UsageError(
        Diagnostic("E-OPTION-CONFLICT", "models and slides are named together", "use one command for each")
          .OfOption("SLIDE"));
    }
    return FindEngineCommand("info")(values, session);
  }
  std::vector<SlideTask> tasks;
  const bool             savesImage = values.Has("associated");
  if (names.size() == 1 && IsVolume(names.front()) && savesImage)
  {
    RefuseOptions(values, names.front() + " is a volume");
  }
  const bool isSeries = names.size() == 1 && itk::GigapixelIsDicomFolder(names.front());
  const auto list = isSeries ? SlideList{ names } : FindSlides(names, session);
  for (const std::string & slide : list.slides)
  {
    tasks.push_back({ slide, {} });
  }
  if (savesImage)
  {
    if (tasks.size() > 1)
    {
      RefuseOptions(values,
                    { "associated" },
                    "it is for one slide, and there are " + std::to_string(tasks.size()),
                    "name one slide");
    }
    SaveAssociatedImage(tasks.front().slide, values, session);
  }
  return RunBatch(values, session, tasks, list, [&](const SlideTask & task, std::string & text) {
    if (IsVolume(task.slide))
    {
      return DescribeVolume(task.slide, values, session, text);
    }
    JSON info = DescribeSlide(task.slide, values, session);
    text += FormatInfo(info);
    return info;
  });
}

} // namespace gigapixel::application
