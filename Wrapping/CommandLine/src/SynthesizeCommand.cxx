/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"

#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace gigapixel::commandline
{
namespace
{
/** All that decides on the pixels, as it is kept in the pyramid. */
std::string
DescribeMaking(const ArgumentValues & values, unsigned channels)
{
  const auto size = values.GetExtent("size");
  return "synthesize size=" + std::to_string(size[0]) + 'x' + std::to_string(size[1]) +
         " seed=" + std::to_string(values.GetInteger("seed")) + " mpp=" + FormatNumber(values.GetNumber("mpp"), 6) +
         (values.Has("brown") ? " brown" : "") + (values.Has("artifacts") ? " artifacts" : "") +
         (channels == 3 ? " quality=" + std::to_string(values.GetInteger("quality")) : "");
}

/** \return whether the pyramid is still to be drawn. \throw std::runtime_error it cannot be written there */
bool
IsToBeDrawn(const std::string & file, unsigned channels, const ArgumentValues & values)
{
  const auto size = values.GetExtent("size");
  if (!values.Has("overwrite") && HasValidPyramid(file, size, channels, DescribeMaking(values, channels)))
  {
    return false;
  }
  CheckOutput(file, static_cast<double>(channels) * static_cast<double>(size[0]) * static_cast<double>(size[1]));
  return true;
}

/** Streams a synthetic image into a pyramid. */
template <typename TSource>
void
Draw(const std::string & file, itk::PyramidTIFFImageIO * io, const ArgumentValues & values, const Session & session)
{
  const auto size = values.GetExtent("size");
  const auto source = TSource::New();
  source->SetSize(static_cast<itk::SizeValueType>(size[0]), static_cast<itk::SizeValueType>(size[1]));
  source->SetSeed(static_cast<unsigned>(values.GetInteger("seed")));
  source->SetMicronsPerPixel(values.GetNumber("mpp"));
  source->SetBrown(values.Has("brown"));
  source->SetArtifacts(values.Has("artifacts"));
  Progress progress(session, "synthesize " + file, static_cast<double>(size[0]) * static_cast<double>(size[1]));
  WritePyramid(source->GetOutput(), file, io, progress);
  progress.Finish();
}
} // namespace

int
RunSynthesize(const ArgumentValues & values, const Session & session)
{
  const std::string slide = values.GetText("OUT");
  const std::string truth = values.Has("truth") ? values.GetText("truth") : std::string();
  const auto        size = values.GetExtent("size");
  CheckEnding("OUT", slide, "slide");
  if (!truth.empty())
  {
    CheckEnding("--truth", truth, "label");
    if (IsSameFile(truth, slide))
    {
      throw UsageError("OUT and --truth are the same file.");
    }
  }
  const bool drawsSlide = IsToBeDrawn(slide, 3, values);
  const bool drawsTruth = !truth.empty() && IsToBeDrawn(truth, 1, values);
  if (drawsTruth)
  {
    const auto mask = itk::PyramidTIFFImageIO::New();
    mask->SetMadeBy(DescribeMaking(values, 1));
    Draw<itk::SyntheticSlideTruthImageSource>(truth, mask, values, session);
  }
  if (drawsSlide)
  {
    const auto picture = itk::PyramidTIFFImageIO::New();
    picture->SetMadeBy(DescribeMaking(values, 3));
    picture->SetCompressor("JPEG");
    picture->SetCompressionLevel(static_cast<int>(values.GetInteger("quality")));
    Draw<itk::SyntheticSlideImageSource>(slide, picture, values, session);
  }

  nlohmann::ordered_json json{ { "slide", slide }, { "truth", nullptr }, { "skipped", !drawsSlide && !drawsTruth } };
  if (!truth.empty())
  {
    json["truth"] = truth;
  }
  json["width"] = size[0];
  json["height"] = size[1];
  json["mpp"] = values.GetNumber("mpp");
  json["seed"] = values.GetInteger("seed");
  json["fileBytes"] = std::filesystem::file_size(slide);
  session.PrintResult(slide + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + ", " +
                        FormatBytes(json["fileBytes"].get<double>()) +
                        (json["skipped"].get<bool>() ? " (was there already)" : ""),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
