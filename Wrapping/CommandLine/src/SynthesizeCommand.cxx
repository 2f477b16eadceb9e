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
void
CheckName(const std::string & argument, const std::string & file)
{
  const auto extension = std::filesystem::path(file).extension();
  if (extension != ".tif" && extension != ".tiff")
  {
    throw UsageError(argument + ' ' + file + " is to be a pyramid TIFF: end it in .tif.");
  }
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
  const double      pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
  CheckName("OUT", slide);
  RefuseExisting(slide, values.Has("overwrite"));
  CheckOutput(slide, 3 * pixels);
  if (!truth.empty())
  {
    CheckName("--truth", truth);
    RefuseExisting(truth, values.Has("overwrite"));
    CheckOutput(truth, pixels);
    const auto place = [](const std::string & file) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(file));
    };
    if (place(truth) == place(slide))
    {
      throw UsageError("OUT and --truth are the same file.");
    }
    Draw<itk::SyntheticSlideTruthImageSource>(truth, itk::PyramidTIFFImageIO::New(), values, session);
  }
  const auto picture = itk::PyramidTIFFImageIO::New();
  picture->SetCompressor("JPEG");
  picture->SetCompressionLevel(static_cast<int>(values.GetInteger("quality")));
  Draw<itk::SyntheticSlideImageSource>(slide, picture, values, session);

  nlohmann::ordered_json json{ { "slide", slide }, { "truth", nullptr }, { "width", size[0] }, { "height", size[1] } };
  if (!truth.empty())
  {
    json["truth"] = truth;
  }
  json["mpp"] = values.GetNumber("mpp");
  json["seed"] = values.GetInteger("seed");
  json["fileBytes"] = std::filesystem::file_size(slide);
  session.PrintResult(slide + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + ", " +
                        FormatBytes(json["fileBytes"].get<double>()),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
