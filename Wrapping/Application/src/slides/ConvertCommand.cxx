/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "ResolutionJSON.h"
#include "SlideBatch.h"
#include "SlideFile.h"

#include "gigapixelFormatCount.h"
#include "gigapixelMaskName.h"
#include "gigapixelPrintable.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelSlidePixels.h"
#include "itkPyramidTIFFConverter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace gigapixel::application
{
namespace
{
using Content = itk::PyramidTIFFImageIO::Content;

void
ChoosePixels(itk::WholeSlideImageIO * slide, const ArgumentValues & values)
{
  const std::string & colors = values.GetText("colors");
  slide->SetConvertToSRGB(colors == "srgb");
  slide->SetGray(colors == "luma" || colors == "gray");
  slide->SetGrayFromRGB(colors == "gray");
  SelectPixels(*slide, values);
}

Content
GetLevelContent(const ArgumentValues & values)
{
  const std::string name = values.GetText("content");
  const std::string colors = values.GetText("colors");
  const bool        isPicture = name == "picture" || (name == "automatic" && (colors == "luma" || colors == "gray"));
  return isPicture ? Content::Picture : name == "labels" ? Content::Labels : Content::Automatic;
}

itk::PyramidTIFFConverter::Pointer
MakeConverter(const itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetContent(GetLevelContent(values));
  io->SetChromaSubsampling(values.GetText("subsampling"));
  io->SetTileSize(static_cast<unsigned>(values.GetInteger("tile-size")));
  const bool isBilevel = values.Has("bilevel");
  io->SetBilevel(isBilevel);
  io->SetBigTIFF(values.Has("bigtiff"));
  const auto converter = itk::PyramidTIFFConverter::New();
  converter->SetSlide(&slide);
  converter->SetImageIO(io);
  converter->SetKeepLabel(values.Has("keep-label"));
  converter->SetKeepText(values.Has("keep-text"));
  std::string compression = values.GetText("compression");
  converter->SetCopyTiles(compression == "copy" && !isBilevel);
  if (compression == "copy")
  {
    converter->ChooseCompressor();
  }
  else
  {
    std::transform(
      compression.begin(), compression.end(), compression.begin(), [](unsigned char c) { return std::toupper(c); });
    io->SetCompressor(compression);
  }
  const std::string compressor = io->GetCompressor();
  if (compressor == "JPEG" || compressor == "WEBP")
  {
    io->SetCompressionLevel(static_cast<int>(values.GetInteger("quality")));
  }
  if (values.Has("region"))
  {
    const auto                            given = values.GetRegion("region");
    itk::PyramidTIFFConverter::RegionType region{};
    std::copy(given.begin(), given.end(), region.begin());
    converter->SetRegion(region);
  }
  return converter;
}

/** All that decides on the pyramid's bytes, as it is kept in it. */
std::string
DescribeMaking(const itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  std::string text = slide.IsResampled() ? "convert resolution=" + FormatShortest(slide.GetMicronsPerPixel())
                                         : "convert level=" + std::to_string(slide.GetLevel());
  for (const char * const name :
       { "compression", "quality", "subsampling", "content", "colors", "tile-size", "region" })
  {
    text += values.Has(name) ? std::string(" ") + name + '=' + values.GetText(name) : std::string();
  }
  for (const char * const name : { "bilevel", "bigtiff", "keep-label", "keep-text" })
  {
    text += values.Has(name) ? std::string(" ") + name : std::string();
  }
  text += slide.GetStoredValues() ? " stored" : "";
  return text + " mpp=" + FormatNumber(GetLevelZeroResolution(slide), 6) + ' ' + IdentifySlide(slide);
}

/** --strict of a pyramid that is there already: where nobody has looked at its tiles, which an earlier run may have
 * copied as they were, that is done now. \return whether it is known what they are \throw std::runtime_error some are
 * damaged */
bool
CheckCopy(const std::string & file, const Session & session)
{
  const auto pyramid = itk::WholeSlideImageIO::New();
  pyramid->SetFileName(file);
  pyramid->ReadImageInformation();
  if (!pyramid->GetStrict() || HasRecordedDamage(*pyramid))
  {
    return HasRecordedDamage(*pyramid);
  }
  const std::size_t damaged = FindUndecodableTiles(*pyramid, session).size();
  if (damaged > 0)
  {
    throw Refusal(Diagnostic("E-SLIDE-DAMAGED",
                             "it exists, but " + std::to_string(damaged) +
                               " of its tiles, which were copied unchecked, are damaged, which --strict refuses",
                             "get the slide again from where it came, and replace the pyramid with --overwrite")
                    .OfFile(file));
  }
  return true;
}

/** \param isKnown of a pyramid that was there: whether it is known how many damaged tiles it has */
nlohmann::ordered_json
Describe(const SlideTask &                 task,
         const itk::WholeSlideImageIO &    slide,
         const itk::PyramidTIFFConverter * converter,
         bool                              isKnown)
{
  const auto pyramid = itk::WholeSlideImageIO::New();
  pyramid->SetFileName(task.output);
  pyramid->SetLevelZeroMicronsPerPixel(slide.GetMicronsPerPixel());
  pyramid->ReadImageInformation();
  const auto             size = pyramid->GetLevelSize(0);
  nlohmann::ordered_json json{ { "slide", task.slide },
                               { "pyramid", task.output },
                               { "skipped", converter == nullptr } };
  AddLevel(json, slide);
  AddChannels(json, slide);
  json["width"] = size[0];
  json["height"] = size[1];
  json["levels"] = pyramid->GetNumberOfLevels();
  AddResolution(json, pyramid->GetLevelZeroResolution());
  json["decoder"] = pyramid->GetDecoder();
  json["copiedLevels"] = converter ? nlohmann::ordered_json(converter->GetNumberOfCopiedLevels()) : nullptr;
  json["copiedTiles"] = converter ? nlohmann::ordered_json(converter->GetNumberOfCopiedTiles()) : nullptr;
  // Of tiles that were copied nothing is known, unless they were decoded for that.
  const std::int64_t recorded = GetRecordedDamage(*pyramid);
  const bool         isUnchecked = converter ? converter->GetNumberOfCopiedTiles() > 0 && !slide.GetStrict() : !isKnown;
  json["damagedTiles"] = isUnchecked ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(recorded);
  json["associated"] = pyramid->GetAssociatedImageNames();
  json["fileBytes"] = std::filesystem::file_size(task.output);
  return json;
}

std::string
Format(const nlohmann::ordered_json & json)
{
  std::string text = json["pyramid"].get<std::string>() + ": " + json["width"].dump() + " x " + json["height"].dump() +
                     ", " + json["levels"].dump() + (json["levels"] == 1 ? " level, " : " levels, ") +
                     json["decoder"].get<std::string>() + ", " + FormatBytes(json["fileBytes"].get<double>());
  const auto copied = json["copiedTiles"].is_number() ? json["copiedTiles"].get<std::uint64_t>() : 0;
  if (copied > 0)
  {
    text += ", " + FormatCount(copied, "tile") + " copied as " + (copied == 1 ? "it was" : "they were");
  }
  text += json["damagedTiles"].is_null() ? ", unchecked (--strict checks them)" : "";
  if (json["damagedTiles"].is_number())
  {
    text += FormatDamage(json["damagedTiles"].get<std::int64_t>());
  }
  return text + (json["skipped"].get<bool>() ? " (was there already)\n" : "\n");
}

nlohmann::ordered_json
RunTask(const SlideTask & task, const ArgumentValues & values, const Session & session, std::string & text)
{
  const auto use = values.Has("window") ? ChannelUse::Picture : ChannelUse::AsTheyAre;
  const auto opened = OpenSlide(task.slide, values, session, use);
  ChoosePixels(opened, values);
  const auto                                 converter = MakeConverter(*opened, values);
  const itk::WholeSlideImageIO::ConstPointer slide = converter->GetReadSlide();
  const auto                                 region = converter->GetRegionOfLevel(slide->GetLevel());
  const std::array<std::int64_t, 2> size{ static_cast<std::int64_t>(region[2]), static_cast<std::int64_t>(region[3]) };
  const std::string                 madeBy = DescribeMaking(*slide, values);
  const bool                        wasThere =
    !values.Has("overwrite") && HasValidPyramid(task.output, size, slide->GetNumberOfComponents(), madeBy);
  if (!wasThere)
  {
    const double pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
    CheckOutput(task.output, pixels * static_cast<double>(slide->GetNumberOfComponents() * slide->GetComponentSize()));
    converter->GetModifiableImageIO()->SetMadeBy(madeBy);
    converter->GetModifiableImageIO()->SetFileName(task.output);
    Progress progress(session, "convert " + task.slide, pixels);
    Observe(converter, progress, 0, 1);
    converter->Update();
    progress.Finish();
  }
  const bool isKnown = wasThere && (!converter->GetCopyTiles() || CheckCopy(task.output, session));
  auto       json = Describe(task, *slide, wasThere ? nullptr : converter.GetPointer(), isKnown);
  for (const char * const name : { "quality", "subsampling" })
  {
    if (!wasThere && values.IsGiven(name) && converter->GetNumberOfCopiedTiles() > 0)
    {
      session.Warn(Diagnostic("W-OPTION-NO-EFFECT",
                              std::string("--") + name + " does not change the " +
                                FormatCount(converter->GetNumberOfCopiedTiles(), "copied tile"),
                              "add --compression jpeg to compress them again")
                     .OfFile(task.slide)
                     .OfOption(std::string("--") + name, values.GetText(name)));
    }
  }
  text += Format(json);
  return json;
}

/** What an earlier run wrote into the folder that the slides are in is no slide to convert. */
void
LeaveOutOutputs(std::vector<std::string> & slides, const std::string & output)
{
  const auto isOutput = [&output](const std::string & slide) {
    return std::filesystem::is_directory(output) && IsSameFile(slide, GetMaskInFolder(output, slide));
  };
  slides.erase(std::remove_if(slides.begin(), slides.end(), isOutput), slides.end());
}

void
CheckTileSize(const ArgumentValues & values)
{
  const std::int64_t side = values.GetInteger("tile-size");
  if (side % 16 != 0)
  {
    throw UsageError(Diagnostic("E-OPTION-VALUE",
                                "--tile-size " + std::to_string(side) + " is no multiple of 16, as TIFF needs",
                                "choose a multiple of 16")
                       .OfOption("--tile-size", std::to_string(side)));
  }
}
} // namespace

int
RunConvert(const ArgumentValues & values, const Session & session)
{
  CheckTileSize(values);
  const auto        names = values.GetTexts("SLIDE");
  const std::string output = values.GetText("OUT");
  auto              list = FindSlides(names, session);
  if (list.isList)
  {
    LeaveOutOutputs(list.slides, output);
  }
  const auto tasks = AssignOutputs(list, output, "OUT");
  return RunBatch(values, session, tasks, list, [&](const SlideTask & task, std::string & text) {
    return RunTask(task, values, session, text);
  });
}

} // namespace gigapixel::application
