/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"

#include "gigapixelAnnotation.h"
#include "gigapixelAtomicFile.h"
#include "gigapixelFormatCount.h"
#include "gigapixelMaskName.h"

#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

namespace gigapixel::application
{
namespace
{
namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;

/** One slide as it was asked for. */
struct Specimen
{
  explicit Specimen(const ArgumentValues & values)
    : slide(values.GetText("OUT"))
    , truth(values.GetText("truth"))
    , outlines(values.GetText("outlines"))
    , overwrite(values.Has("overwrite"))
    , size(values.GetExtent("size"))
    , seed(static_cast<unsigned>(values.GetInteger("seed")))
    , resolution(values.GetNumber("slide-mpp"))
    , lesions(values.GetNumber("lesions"))
    , decoys(values.Has("decoys"))
    , brown(values.Has("brown"))
    , artifacts(values.Has("artifacts"))
    , quality(static_cast<int>(values.GetInteger("quality")))
  {}

  double
  CountPixels() const
  {
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

  std::string                 slide, truth, outlines; ///< files; empty: what is known of the slide goes nowhere
  bool                        overwrite;
  std::array<std::int64_t, 2> size;
  unsigned                    seed;
  double                      resolution; ///< micrometers per pixel
  double                      lesions;    ///< percent of the slide's area
  bool                        decoys, brown, artifacts;
  int                         quality;
};

/** All that decides on the pixels, as it is kept in the pyramid. */
std::string
DescribeMaking(const Specimen & specimen, unsigned channels)
{
  const bool isSlide = channels == 3;
  return "synthesize size=" + std::to_string(specimen.size[0]) + 'x' + std::to_string(specimen.size[1]) +
         " seed=" + std::to_string(specimen.seed) + " mpp=" + FormatNumber(specimen.resolution, 6) +
         (specimen.brown ? " brown" : "") + (specimen.artifacts ? " artifacts" : "") +
         (isSlide && specimen.lesions > 0 ? " lesions=" + FormatNumber(specimen.lesions, 6) : "") +
         (isSlide && specimen.decoys ? " decoys" : "") +
         (isSlide ? " quality=" + std::to_string(specimen.quality) : "");
}

/** \return whether the pyramid is still to be drawn. \throw std::runtime_error it cannot be written there */
bool
IsToBeDrawn(const std::string & file, unsigned channels, const Specimen & specimen)
{
  if (!specimen.overwrite && HasValidPyramid(file, specimen.size, channels, DescribeMaking(specimen, channels)))
  {
    return false;
  }
  CheckOutput(file, channels * specimen.CountPixels());
  return true;
}

template <typename TSource>
typename TSource::Pointer
MakeSource(const Specimen & specimen)
{
  const auto source = TSource::New();
  source->SetSize(static_cast<itk::SizeValueType>(specimen.size[0]), static_cast<itk::SizeValueType>(specimen.size[1]));
  source->SetSeed(specimen.seed);
  source->SetMicronsPerPixel(specimen.resolution);
  source->SetBrown(specimen.brown);
  source->SetArtifacts(specimen.artifacts);
  source->SetFocusShare(specimen.lesions / 100);
  source->SetDecoys(specimen.decoys);
  return source;
}

/** Streams a synthetic image into a pyramid. */
template <typename TSource>
void
Draw(const std::string & file, itk::PyramidTIFFImageIO * io, const Specimen & specimen, const Session & session)
{
  const auto source = MakeSource<TSource>(specimen);
  Progress   progress(session, "synthesize " + file, specimen.CountPixels());
  WritePyramid(source->GetOutput(), file, io, progress);
  progress.Finish();
}

std::vector<Annotation>
GetOutlines(const Specimen & specimen)
{
  const auto source = MakeSource<itk::SyntheticSlideImageSource>(specimen);
  source->UpdateOutputInformation();
  std::vector<Annotation> outlines;
  for (const auto & polygon : source->GetFocusOutlines())
  {
    AnnotationRing ring;
    std::transform(polygon.begin(), polygon.end(), std::back_inserter(ring), [](const auto & point) {
      return AnnotationPoint{ point[0], point[1] };
    });
    outlines.push_back({ specimen.decoys ? "Decoy" : "Lesion", { ring }, {} });
  }
  return outlines;
}

/** Whether the file has these outlines, to a hundredth of a pixel. */
bool
HasOutlines(const std::string & file, const std::vector<Annotation> & wanted)
{
  const auto isNear = [](const AnnotationPoint & a, const AnnotationPoint & b) {
    return std::hypot(a.x - b.x, a.y - b.y) < 0.01;
  };
  const auto isSame = [&](const Annotation & a, const Annotation & b) {
    return a.className == b.className && a.rings.size() == 1 &&
           std::equal(a.rings[0].begin(), a.rings[0].end(), b.rings[0].begin(), b.rings[0].end(), isNear);
  };
  try
  {
    const auto found = ReadAnnotations(file);
    return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(), isSame);
  }
  catch (const std::runtime_error &) // it is something else, or not there
  {
    return false;
  }
}

/** \return whether anything was still to be drawn */
bool
DrawSpecimen(const Specimen & specimen, const Session & session)
{
  const auto outlines = specimen.outlines.empty() ? std::vector<Annotation>() : GetOutlines(specimen);
  const bool writesOutlines =
    !specimen.outlines.empty() && (specimen.overwrite || !HasOutlines(specimen.outlines, outlines));
  if (writesOutlines)
  {
    RefuseExisting(specimen.outlines, specimen.overwrite);
    CheckOutput(specimen.outlines, 0);
  }
  const bool drawsSlide = IsToBeDrawn(specimen.slide, 3, specimen);
  const bool drawsTruth = !specimen.truth.empty() && IsToBeDrawn(specimen.truth, 1, specimen);
  if (writesOutlines)
  {
    WriteAnnotations(outlines, specimen.outlines, specimen.overwrite);
  }
  if (drawsTruth)
  {
    const auto mask = itk::PyramidTIFFImageIO::New();
    mask->SetMadeBy(DescribeMaking(specimen, 1));
    Draw<itk::SyntheticSlideTruthImageSource>(specimen.truth, mask, specimen, session);
  }
  if (drawsSlide)
  {
    const auto picture = itk::PyramidTIFFImageIO::New();
    picture->SetMadeBy(DescribeMaking(specimen, 3));
    picture->SetCompressor("JPEG");
    picture->SetCompressionLevel(specimen.quality);
    Draw<itk::SyntheticSlideImageSource>(specimen.slide, picture, specimen, session);
  }
  return drawsSlide || drawsTruth || writesOutlines;
}

Json
DescribeSize(const Specimen & specimen)
{
  return { { "width", specimen.size[0] },
           { "height", specimen.size[1] },
           { "mpp", specimen.resolution },
           { "seed", specimen.seed } };
}

void
SynthesizeOne(const ArgumentValues & values, const Session & session)
{
  for (const Argument & argument : values.GetCommand().arguments)
  {
    if (argument.channel == ArgumentChannel::Output && values.IsGiven(argument.name))
    {
      CheckOutputName(values, argument.name);
    }
  }
  const Specimen specimen(values);
  const bool     skipped = !DrawSpecimen(specimen, session);

  Json json{ { "slide", specimen.slide }, { "truth", nullptr }, { "skipped", skipped } };
  if (!specimen.truth.empty())
  {
    json["truth"] = specimen.truth;
  }
  json.update(DescribeSize(specimen));
  json["fileBytes"] = fs::file_size(specimen.slide);
  const auto & size = specimen.size;
  session.ShowResult(specimen.slide + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + ", " +
                       FormatBytes(json["fileBytes"].get<double>()) + (skipped ? " (was there already)" : ""),
                     json);
}

/** Slides to train on, to validate with and to test with. */
std::vector<std::int64_t>
GetNumbersOfSlides(const ArgumentValues & values)
{
  const std::string &       given = values.GetText("slides");
  std::vector<std::int64_t> numbers = ReadIntegers(given, ",");
  const std::int64_t        all = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{ 0 });
  if (numbers.size() != 3 || *std::min_element(numbers.begin(), numbers.end()) < 0 || all < 1 || all > 9999)
  {
    throw UsageError(Diagnostic("E-OPTION-VALUE",
                                "--slides must be three numbers of slides, to train, to validate and to test with, "
                                "of 9999 at most in all, not " +
                                  given)
                       .OfOption("--slides", given));
  }
  if (values.GetInteger("seed") + all - 1 > 4294967295)
  {
    throw UsageError(
      Diagnostic("E-OPTION-VALUE", "--seed and those behind it, one for each slide, must be at most 4294967295")
        .OfOption("--seed", values.GetText("seed")));
  }
  return numbers;
}

/** A table that says the same stays as it is. */
void
WriteTable(const std::string & file, const std::string & text, bool overwrite)
{
  std::ifstream     input(file, std::ios::binary);
  const std::string there{ std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>() };
  if (input.is_open() && there == text)
  {
    return;
  }
  RefuseExisting(file, overwrite);
  AtomicFile output(file, overwrite);
  output.Append(text);
  output.Commit();
}

/** Slides, tissue, outlines and a table of them in one folder. Every second slide has lesions, the others decoys. */
void
SynthesizeCohort(const ArgumentValues & values, const Session & session)
{
  const auto     numbers = GetNumbersOfSlides(values);
  const fs::path folder = values.GetText("OUT");
  for (const char * part : { "slides", "tissue", "outlines" })
  {
    MakeFolderWithFirstOutput((folder / part).string());
  }
  const Specimen first(values);
  std::string    table = "slide,label,patient,split\n";
  std::int64_t   number = 0, drawn = 0;
  const char *   splits[] = { "train", "validation", "test" };
  for (std::size_t split = 0; split < numbers.size(); ++split)
  {
    for (std::int64_t i = 0; i < numbers[split]; ++i, ++number)
    {
      ThrowIfInterrupted();
      const std::string digits = std::to_string(10001 + number).substr(1);
      Specimen          specimen = first;
      specimen.slide = (folder / "slides" / (digits + ".tif")).string();
      specimen.truth = GetMaskInFolder((folder / "tissue").string(), specimen.slide);
      specimen.outlines = (folder / "outlines" / (digits + ".geojson")).string();
      specimen.seed = first.seed + static_cast<unsigned>(number);
      specimen.decoys = i % 2 == 0;
      drawn += DrawSpecimen(specimen, session) ? 1 : 0;
      table += "slides/" + digits + ".tif," + (specimen.decoys ? "healthy" : "lesion") + ",P" + digits + ',' +
               splits[split] + '\n';
    }
  }
  const std::string file = (folder / "cohort.csv").string();
  WriteTable(file, table, first.overwrite);

  Json json{ { "cohort", file }, { "slides", number }, { "drawn", drawn } };
  json.update(DescribeSize(first));
  session.ShowResult(file + ": " + FormatCount(static_cast<std::uint64_t>(number), "slide") +
                       (drawn < number ? ", of which " + std::to_string(number - drawn) +
                                           (number - drawn == 1 ? " was" : " were") + " there already"
                                       : ""),
                     json);
}
} // namespace

int
RunSynthesize(const ArgumentValues & values, const Session & session)
{
  if (values.Has("slides"))
  {
    SynthesizeCohort(values, session);
  }
  else
  {
    SynthesizeOne(values, session);
  }
  return Success;
}

} // namespace gigapixel::application
