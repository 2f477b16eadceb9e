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
#include <system_error>

namespace gigapixel::application
{
namespace
{
namespace fs = std::filesystem;

/** One slide, and where what is known of it goes; empty: nowhere. */
struct Specimen
{
  std::string slide, truth, outlines;
  unsigned    seed{ 0 };
  bool        decoys{ false };
};

/** Of the slide's area. */
double
GetFocusShare(const ArgumentValues & values)
{
  return values.Has("lesions") ? values.GetNumber("lesions") / 100 : 0;
}

/** All that decides on the pixels, as it is kept in the pyramid. */
std::string
DescribeMaking(const ArgumentValues & values, const Specimen & specimen, unsigned channels)
{
  const auto size = values.GetExtent("size");
  const bool isSlide = channels == 3;
  return "synthesize size=" + std::to_string(size[0]) + 'x' + std::to_string(size[1]) +
         " seed=" + std::to_string(specimen.seed) + " mpp=" + FormatNumber(values.GetNumber("slide-mpp"), 6) +
         (values.Has("brown") ? " brown" : "") + (values.Has("artifacts") ? " artifacts" : "") +
         (isSlide && values.Has("lesions") ? " lesions=" + FormatNumber(values.GetNumber("lesions"), 6) : "") +
         (isSlide && specimen.decoys ? " decoys" : "") +
         (isSlide ? " quality=" + std::to_string(values.GetInteger("quality")) : "");
}

/** \return whether the pyramid is still to be drawn. \throw std::runtime_error it cannot be written there */
bool
IsToBeDrawn(const std::string & file, unsigned channels, const Specimen & specimen, const ArgumentValues & values)
{
  const auto size = values.GetExtent("size");
  if (!values.Has("overwrite") && HasValidPyramid(file, size, channels, DescribeMaking(values, specimen, channels)))
  {
    return false;
  }
  CheckOutput(file, static_cast<double>(channels) * static_cast<double>(size[0]) * static_cast<double>(size[1]));
  return true;
}

template <typename TSource>
typename TSource::Pointer
MakeSource(const Specimen & specimen, const ArgumentValues & values)
{
  const auto size = values.GetExtent("size");
  const auto source = TSource::New();
  source->SetSize(static_cast<itk::SizeValueType>(size[0]), static_cast<itk::SizeValueType>(size[1]));
  source->SetSeed(specimen.seed);
  source->SetMicronsPerPixel(values.GetNumber("slide-mpp"));
  source->SetBrown(values.Has("brown"));
  source->SetArtifacts(values.Has("artifacts"));
  source->SetFocusShare(GetFocusShare(values));
  source->SetDecoys(specimen.decoys);
  return source;
}

/** Streams a synthetic image into a pyramid. */
template <typename TSource>
void
Draw(const std::string &       file,
     itk::PyramidTIFFImageIO * io,
     const Specimen &          specimen,
     const ArgumentValues &    values,
     const Session &           session)
{
  const auto size = values.GetExtent("size");
  const auto source = MakeSource<TSource>(specimen, values);
  Progress   progress(session, "synthesize " + file, static_cast<double>(size[0]) * static_cast<double>(size[1]));
  WritePyramid(source->GetOutput(), file, io, progress);
  progress.Finish();
}

std::vector<Annotation>
GetOutlines(const Specimen & specimen, const ArgumentValues & values)
{
  const auto source = MakeSource<itk::SyntheticSlideImageSource>(specimen, values);
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
DrawSpecimen(const Specimen & specimen, const ArgumentValues & values, const Session & session)
{
  const auto outlines = specimen.outlines.empty() ? std::vector<Annotation>() : GetOutlines(specimen, values);
  const bool writesOutlines =
    !specimen.outlines.empty() && (values.Has("overwrite") || !HasOutlines(specimen.outlines, outlines));
  if (writesOutlines)
  {
    RefuseExisting(specimen.outlines, values.Has("overwrite"));
    CheckOutput(specimen.outlines, 0);
  }
  const bool drawsSlide = IsToBeDrawn(specimen.slide, 3, specimen, values);
  const bool drawsTruth = !specimen.truth.empty() && IsToBeDrawn(specimen.truth, 1, specimen, values);
  if (writesOutlines)
  {
    WriteAnnotations(outlines, specimen.outlines, values.Has("overwrite"));
  }
  if (drawsTruth)
  {
    const auto mask = itk::PyramidTIFFImageIO::New();
    mask->SetMadeBy(DescribeMaking(values, specimen, 1));
    Draw<itk::SyntheticSlideTruthImageSource>(specimen.truth, mask, specimen, values, session);
  }
  if (drawsSlide)
  {
    const auto picture = itk::PyramidTIFFImageIO::New();
    picture->SetMadeBy(DescribeMaking(values, specimen, 3));
    picture->SetCompressor("JPEG");
    picture->SetCompressionLevel(static_cast<int>(values.GetInteger("quality")));
    Draw<itk::SyntheticSlideImageSource>(specimen.slide, picture, specimen, values, session);
  }
  return drawsSlide || drawsTruth || writesOutlines;
}

nlohmann::ordered_json
DescribeSize(const ArgumentValues & values)
{
  const auto size = values.GetExtent("size");
  return { { "width", size[0] },
           { "height", size[1] },
           { "mpp", values.GetNumber("slide-mpp") },
           { "seed", values.GetInteger("seed") } };
}

void
CheckNames(const Specimen & specimen)
{
  CheckEnding("OUT", specimen.slide, "slide");
  if (!specimen.truth.empty())
  {
    CheckEnding("--truth", specimen.truth, "label");
    if (IsSameFile(specimen.truth, specimen.slide))
    {
      throw UsageError(
        Diagnostic("E-OUTPUT-TWICE", "OUT and --truth are the same file").OfOption("--truth", specimen.truth));
    }
  }
  if (!specimen.outlines.empty())
  {
    CheckEnding("--outlines", specimen.outlines, "annotations");
  }
}

void
SynthesizeOne(const ArgumentValues & values, const Session & session)
{
  const auto text = [&](const char * name) { return values.Has(name) ? values.GetText(name) : std::string(); };
  Specimen   specimen{ values.GetText("OUT"), text("truth"), text("outlines") };
  specimen.seed = static_cast<unsigned>(values.GetInteger("seed"));
  specimen.decoys = values.Has("decoys");
  CheckNames(specimen);
  const bool skipped = !DrawSpecimen(specimen, values, session);

  nlohmann::ordered_json json{ { "slide", specimen.slide }, { "truth", nullptr }, { "skipped", skipped } };
  if (!specimen.truth.empty())
  {
    json["truth"] = specimen.truth;
  }
  json.update(DescribeSize(values));
  json["fileBytes"] = fs::file_size(specimen.slide);
  const auto size = values.GetExtent("size");
  session.ShowResult(specimen.slide + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + ", " +
                       FormatBytes(json["fileBytes"].get<double>()) + (skipped ? " (was there already)" : ""),
                     json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/** Slides to train on, to validate with and to test with. */
std::vector<std::int64_t>
GetNumbersOfSlides(const ArgumentValues & values)
{
  std::vector<std::int64_t> numbers = ReadIntegers(values.GetText("slides"), ",");
  const std::int64_t        all = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{ 0 });
  if (numbers.size() != 3 || *std::min_element(numbers.begin(), numbers.end()) < 0 || all < 1 || all > 9999)
  {
    throw UsageError(Diagnostic("E-OPTION-VALUE",
                                "--slides must be three numbers of slides, to train, to validate and to test with, "
                                "of 9999 at most in all, not " +
                                  values.GetText("slides"))
                       .OfOption("--slides", values.GetText("slides")));
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

void
MakeFolder(const fs::path & folder)
{
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
  {
    Diagnostic refusal = Diagnostic::Of(std::system_error(error));
    refusal.why = "the folder cannot be made: " + refusal.why;
    throw Refusal(refusal.OfFile(folder.string()));
  }
}

/** Slides, tissue, outlines and a table of them in one folder. Every second slide has lesions, the others decoys. */
void
SynthesizeCohort(const ArgumentValues & values, const Session & session)
{
  const auto     numbers = GetNumbersOfSlides(values);
  const fs::path folder = values.GetText("OUT");
  for (const char * part : { "slides", "tissue", "outlines" })
  {
    MakeFolder(folder / part);
  }
  std::string  table = "slide,label,patient,split\n";
  std::int64_t number = 0, drawn = 0;
  const char * splits[] = { "train", "validation", "test" };
  for (std::size_t split = 0; split < numbers.size(); ++split)
  {
    for (std::int64_t i = 0; i < numbers[split]; ++i, ++number)
    {
      ThrowIfInterrupted();
      const std::string digits = std::to_string(10001 + number).substr(1);
      Specimen          specimen;
      specimen.slide = (folder / "slides" / (digits + ".tif")).string();
      specimen.truth = GetMaskInFolder((folder / "tissue").string(), specimen.slide);
      specimen.outlines = (folder / "outlines" / (digits + ".geojson")).string();
      specimen.seed = static_cast<unsigned>(values.GetInteger("seed") + number);
      specimen.decoys = i % 2 == 0;
      drawn += DrawSpecimen(specimen, values, session) ? 1 : 0;
      table += "slides/" + digits + ".tif," + (specimen.decoys ? "healthy" : "lesion") + ",P" + digits + ',' +
               splits[split] + '\n';
    }
  }
  const std::string file = (folder / "cohort.csv").string();
  WriteTable(file, table, values.Has("overwrite"));

  nlohmann::ordered_json json{ { "cohort", file }, { "slides", number }, { "drawn", drawn } };
  json.update(DescribeSize(values));
  session.ShowResult(file + ": " + FormatCount(static_cast<std::uint64_t>(number), "slide") +
                       (drawn < number ? ", of which " + std::to_string(number - drawn) +
                                           (number - drawn == 1 ? " was" : " were") + " there already"
                                       : ""),
                     json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
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
