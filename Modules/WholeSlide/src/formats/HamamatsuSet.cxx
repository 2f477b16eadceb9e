/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Hamamatsu NDPIS: a text that names an NDPI for each channel of a slide in fluorescence.
#include "channels/ChannelSet.h"
#include "files/KeyFile.h"
#include "files/NumberText.h"
#include "OMEDescription.h"
#include "SlideFormat.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

constexpr const char * ending = ".ndpis";

/** Tags of Hamamatsu's own, of the page of a channel. */
constexpr auto nameTag = static_cast<TIFFTag>(65434);
constexpr auto scannerTag = static_cast<TIFFTag>(65449); // "...;ExcitationWaveLength=387;..."
constexpr auto emissionTag = static_cast<TIFFTag>(65451);

/** Files by their numbers: Image0=NAME. */
std::map<std::uint64_t, std::string>
FindNames(const KeyFile & values)
{
  std::map<std::uint64_t, std::string> names;
  for (const auto & [key, name] : values)
  {
    const std::string word = key.substr(key.rfind('/') + 1);
    const std::string number = word.rfind("Image", 0) == 0 ? word.substr(5) : std::string();
    if (!number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos)
    {
      names[std::stoull(number)] = name;
    }
  }
  return names;
}

/** The number that the text says there are; 0: it says none. */
std::uint64_t
GetStatedNumber(const KeyFile & values)
{
  const auto isNumber = [](const auto & value) { return value.first.substr(value.first.rfind('/') + 1) == "NoImages"; };
  const auto found = std::find_if(values.begin(), values.end(), isNumber);
  const double number = found == values.end() ? 0.0 : ToNumber(found->second);
  return static_cast<std::uint64_t>(std::clamp(number, 0.0, 1e9));
}

/** The color of a JPEG image that a channel is stored as: by the wavelength of its light, as Hamamatsu and Bio-Formats
 * have it. */
SetChannel::Band
FindBand(double emission)
{
  return emission <= 380.0 || emission > 780.0 ? SetChannel::Band::Largest
         : emission <= 490.0                   ? SetChannel::Band::Blue
         : emission <= 580.0                   ? SetChannel::Band::Green
                                               : SetChannel::Band::Red;
}

ChannelColor
GetColor(SetChannel::Band band)
{
  switch (band)
  {
    case SetChannel::Band::Red:
      return { { 255, 0, 0 } };
    case SetChannel::Band::Green:
      return { { 0, 255, 0 } };
    case SetChannel::Band::Blue:
      return { { 0, 0, 255 } };
    default:
      return { { 255, 255, 255 } };
  }
}

/** \param path of the set */
SetChannel
OpenChannel(const std::string & path, const std::string & name, const AskedImage & image)
{
  const std::string part = FindPart(path, name);
  const SlideFile   file(part);
  const TIFFPage *  page = file.GetFirstPage();
  if (page == nullptr || page->Find(TIFFTag::HamamatsuFormat) == nullptr)
  {
    throw SlideError(Diagnostic("E-SLIDE-FORMAT",
                                "a channel of it, " + fs::path(part).filename().string() + ", is no NDPI",
                                "get that file again from where it came")
                       .OfFile(path));
  }
  if (page->bits != 8)
  {
    throw SlideError(Diagnostic("E-SLIDE-PARTS",
                                "a channel of it, " + fs::path(part).filename().string() + ", has " +
                                  std::to_string(page->bits) + " bit per sample, where sets are read of 8",
                                "name that slide itself")
                       .OfFile(path)
                       .OfValue(std::to_string(page->bits)));
  }
  SetChannel channel;
  channel.slide = Slide::Open(part, image);
  channel.about.name = page->GetShortText(nameTag);
  channel.about.name.erase(channel.about.name.find_last_not_of(' ') + 1);
  if (channel.about.name.empty())
  {
    channel.about.name = fs::path(part).stem().string();
  }
  channel.about.emission = std::max(page->GetNumber(emissionTag, 0.0), 0.0);
  const std::string scanner = page->GetText(scannerTag);
  const std::string key = ";ExcitationWaveLength=";
  const std::size_t at = scanner.find(key);
  channel.about.excitation =
    at == std::string::npos ? 0.0 : std::max(ToNumber(scanner.substr(at + key.size(), 16)), 0.0);
  channel.band = FindBand(channel.about.emission);
  channel.about.color = GetColor(channel.band);
  return channel;
}

bool
Detect(const SlideFile & file)
{
  std::string found = fs::path(file.GetPath()).extension().string();
  std::transform(found.begin(), found.end(), found.begin(), [](unsigned char c) { return std::tolower(c); });
  return found == ending && !file.IsTIFF();
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  const std::string & path = file.GetPath();
  const KeyFile       values = ReadKeyFile(path);
  const auto          names = FindNames(values);
  const std::uint64_t stated = std::max<std::uint64_t>(GetStatedNumber(values), names.size());
  if (stated > MostFiles)
  {
    throw SlideError("E-FILE-LIMIT",
                     path,
                     "it states " + FormatCount(stated, "channel") + ", where up to " + std::to_string(MostFiles) +
                       " files are read as one",
                     "check that the right file is named");
  }
  if (names.empty() || stated > names.size())
  {
    throw SlideError("E-SLIDE-PARTS",
                     path,
                     "it names " + FormatCount(names.size(), "slide") + " (Image0=...), where NoImages states " +
                       std::to_string(stated),
                     "name one of its .ndpi files, or get the file again from where it came");
  }
  std::vector<SetChannel> channels;
  channels.reserve(names.size());
  for (const auto & [number, name] : names)
  {
    channels.push_back(OpenChannel(path, name, file.GetImage()));
  }
  return std::make_unique<const ChannelSet>(path, std::move(channels));
}

/** The slides that it names. */
std::vector<std::string>
FindCompanions(const std::string & path)
{
  std::vector<std::string> companions;
  for (const auto & [number, name] : FindNames(ReadKeyFile(path)))
  {
    if (IsPlainName(name))
    {
      companions.push_back((fs::path(path).parent_path() / name).string());
    }
  }
  return companions;
}

} // namespace

extern const SlideFormat hamamatsuSetFormat;
const SlideFormat        hamamatsuSetFormat{ "hamamatsu-set", { ending }, Detect,  Open, nullptr,
                                      FindCompanions,  nullptr,    nullptr, true };

} // namespace gigapixel
