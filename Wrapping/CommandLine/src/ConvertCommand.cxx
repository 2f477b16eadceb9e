/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "SlideBatch.h"
#include "SlideFile.h"

#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"
#include "itkPyramidTIFFConverter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace gigapixel::commandline
{
namespace
{
using Content = itk::PyramidTIFFImageIO::Content;

void
ChoosePixels(itk::WholeSlideImageIO * slide, const ArgumentValues & values)
{
  if (values.IsGiven("level"))
  {
    slide->SetLevel(static_cast<unsigned>(values.GetInteger("level")));
  }
  else if (values.IsGiven("mpp"))
  {
    slide->SetMicronsPerPixel(values.GetNumber("mpp"));
  }
  const std::string colors = values.GetText("colors");
  slide->SetConvertToSRGB(colors == "srgb");
  slide->SetGray(colors == "luma" || colors == "gray");
  slide->SetGrayFromRGB(colors == "gray");
  slide->ReadImageInformation();
}

Content
GetContent(const ArgumentValues & values)
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
  io->SetContent(GetContent(values));
  io->SetChromaSubsampling(values.GetText("subsampling"));
  io->SetTileSize(static_cast<unsigned>(values.GetInteger("tile-size")));
  io->SetBilevel(values.Has("bilevel"));
  const auto converter = itk::PyramidTIFFConverter::New();
  converter->SetSlide(&slide);
  converter->SetImageIO(io);
  converter->SetKeepLabel(values.Has("keep-label"));
  std::string compression = values.GetText("compression");
  converter->SetCopyTiles(compression == "copy" && !values.Has("bilevel"));
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
DescribeMaking(const SlideTask & task, const itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  std::string text = "convert level=" + std::to_string(slide.GetLevel());
  for (const char * const name :
       { "compression", "quality", "subsampling", "content", "colors", "tile-size", "region" })
  {
    text += values.Has(name) ? std::string(" ") + name + '=' + values.GetText(name) : std::string();
  }
  for (const char * const name : { "bilevel", "keep-label" })
  {
    text += values.Has(name) ? std::string(" ") + name : std::string();
  }
  return text + " mpp=" + FormatNumber(GetLevelZeroResolution(slide), 6) + ' ' + IdentifySlide(task.slide);
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
    throw std::runtime_error(file + " exists, but " + std::to_string(damaged) +
                             " of its tiles, which were copied unchecked, are damaged, which --strict refuses: get the "
                             "slide again from where it came, and replace the pyramid by --overwrite.");
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
  const double           resolution = pyramid->GetMicronsPerPixel();
  nlohmann::ordered_json json{ { "slide", task.slide },
                               { "pyramid", task.output },
                               { "skipped", converter == nullptr } };
  json["level"] = slide.GetLevel();
  json["width"] = size[0];
  json["height"] = size[1];
  json["levels"] = pyramid->GetNumberOfLevels();
  json["mpp"] = resolution > 0 ? nlohmann::ordered_json(resolution) : nullptr;
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
  if (json["copiedTiles"].is_number() && json["copiedTiles"].get<std::int64_t>() > 0)
  {
    text += ", " + json["copiedTiles"].dump() + " tiles copied as they were";
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
  const auto slide = OpenSlide(task.slide, values);
  ChoosePixels(slide, values);
  const auto                        converter = MakeConverter(*slide, values);
  const auto                        region = converter->GetRegionOfLevel(slide->GetLevel());
  const std::array<std::int64_t, 2> size{ static_cast<std::int64_t>(region[2]), static_cast<std::int64_t>(region[3]) };
  const std::string                 madeBy = DescribeMaking(task, *slide, values);
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
      session.Warn(std::string("--") + name + " does not change tiles that are copied, as " +
                   std::to_string(converter->GetNumberOfCopiedTiles()) + " of " + task.slide +
                   " are: to compress them anew, add --compression jpeg");
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
} // namespace

namespace
{
void
CheckTileSize(const ArgumentValues & values)
{
  const std::int64_t side = values.GetInteger("tile-size");
  if (side % 16 != 0)
  {
    throw UsageError("--tile-size " + std::to_string(side) + " is no multiple of 16, as sides of a TIFF's tiles are.");
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

} // namespace gigapixel::commandline
