/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"
#include "CommandFunctions.h"
#include "Doubt.h"
#include "ITKMessages.h"
#include "OutlineOrigin.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "SlideFile.h"

#include "gigapixelAnnotation.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelFormatCount.h"
#include "gigapixelPrintable.h"
#include "gigapixelSlideFiles.h"

#include "itkAnnotationImageSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace gigapixel::application
{
namespace
{
/** What QuPath calls the class of places that training has to leave out, and what training takes for that. */
const std::string       IgnoredClass = "Ignore*";
constexpr unsigned char IgnoredLabel = 255;
constexpr unsigned char ObjectLabel = 255;

/** Label of each class: 255 for one class, 1, 2, ... for several. Empty: all outlines are object. */
std::map<std::string, unsigned char>
AssignLabels(const ArgumentValues & values)
{
  std::map<std::string, unsigned char> labels;
  const auto &                         classes = values.GetTexts("class");
  if (classes.size() > 254)
  {
    throw UsageError(Diagnostic("E-OPTION-VALUE", "a mask has at most 254 classes", "name fewer classes")
                       .OfOption("--class", std::to_string(classes.size())));
  }
  std::set<std::string> seen;
  for (const std::string & name : classes)
  {
    if (!seen.insert(name).second)
    {
      throw UsageError(
        Diagnostic("E-OPTION-REPEATED", "the class is named twice", "name each class once").OfOption("--class", name));
    }
  }
  for (std::size_t i = 0; i < classes.size(); ++i)
  {
    labels[classes[i]] = classes.size() == 1 ? ObjectLabel : static_cast<unsigned char>(i + 1);
  }
  if (classes.size() > 1)
  {
    labels.emplace(IgnoredClass, IgnoredLabel);
  }
  return labels;
}

/** \class ObjectLabelSource
 * \brief The labels of a drawing as an image whose pixels hold more than 255 of them. */
template <typename TLabel>
class ObjectLabelSource : public itk::ImageSource<itk::Image<TLabel, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(ObjectLabelSource);

  using Self = ObjectLabelSource;
  using Superclass = itk::ImageSource<itk::Image<TLabel, 2>>;
  using Pointer = itk::SmartPointer<Self>;
  using RegionType = typename Superclass::OutputImageRegionType;

  itkNewMacro(Self);
  itkTypeMacro(ObjectLabelSource, ImageSource);

  void
  SetDrawing(itk::AnnotationImageSource * drawing)
  {
    m_Drawing = drawing;
  }

protected:
  ObjectLabelSource()
  {
    this->DynamicMultiThreadingOff(); // a band's rows are drawn at once
  }

  void
  GenerateOutputInformation() override
  {
    m_Drawing->UpdateOutputInformation();
    this->GetOutput()->CopyInformation(m_Drawing->GetOutput());
  }

  void
  GenerateData() override
  {
    this->AllocateOutputs();
    m_Drawing->DrawLabels(this->GetOutput()->GetBufferedRegion(), this->GetOutput()->GetBufferPointer());
  }

private:
  itk::AnnotationImageSource::Pointer m_Drawing;
};

struct Outlines
{
  itk::AnnotationImageSource::Pointer mask{ itk::AnnotationImageSource::New() };
  std::map<std::string, int>          drawn;         ///< outlines by class
  std::map<std::string, int>          skipped;       ///< of classes that are not wanted
  std::map<std::string, int>          outside;       ///< of the slide
  std::vector<std::string>            classes;       ///< of each outline of the mask
  std::uint32_t                       greatest{ 0 }; ///< number of one, where they are objects
};

/** "Stroma (3), Tumor (1), no class (2)" */
std::string
ListClasses(const Outlines & outlines)
{
  std::map<std::string, int> all = outlines.skipped;
  all.insert(outlines.drawn.begin(), outlines.drawn.end());
  std::string text;
  for (const auto & [name, number] : all)
  {
    text += (text.empty() ? "" : ", ") + (name.empty() ? "no class" : name) + " (" + std::to_string(number) + ')';
  }
  return text;
}

/** A mask that is empty because a class was mistyped looks like one of a healthy slide. */
void
CheckClasses(const std::string &    file,
             const Outlines &       outlines,
             const ArgumentValues & values,
             const Session &        session)
{
  if (outlines.drawn.empty() && outlines.skipped.empty())
  {
    return session.Warn(
      Diagnostic("W-ANNOTATION-EMPTY", "it has no outlines, and the mask is empty", "check the file").OfFile(file));
  }
  const auto & classes = values.GetTexts("class");
  if (classes.empty())
  {
    if (outlines.drawn.empty())
    {
      session.Warn(
        Diagnostic("W-ANNOTATION-EMPTY",
                   "it has only outlines of the class " + IgnoredClass + ", which are left out, and the mask is empty",
                   "check the file")
          .OfFile(file)
          .OfValue(IgnoredClass));
    }
    return;
  }
  std::string missing;
  std::size_t found = 0;
  for (const std::string & name : classes)
  {
    const bool isThere = outlines.drawn.count(name) > 0;
    found += isThere ? 1 : 0;
    missing += isThere ? "" : (missing.empty() ? "" : ", ") + name;
  }
  if (missing.empty())
  {
    return;
  }
  const Diagnostic problem =
    Diagnostic(found == 0 ? "E-ANNOTATION-CLASS" : "W-ANNOTATION-CLASS",
               "it has no outlines of the class " + missing + "; its classes are " + ListClasses(outlines),
               "name one of its classes")
      .OfFile(file)
      .OfOption("--class", missing);
  if (found == 0)
  {
    throw Refusal(problem);
  }
  session.Warn(problem);
}

/** The numbers that outlines have by their names, where all have one and no two the same; else their places, from 1,
 * which is said where some have numbers. */
std::vector<std::uint32_t>
NumberOutlines(const std::vector<Annotation> & outlines, const std::string & file, const Session & session)
{
  std::vector<std::uint32_t> numbers;
  std::set<std::uint32_t>    known;
  std::string                unfit;
  for (const Annotation & outline : outlines)
  {
    const auto number = ReadInteger(outline.name);
    const bool isNumber = number && *number >= 1 && *number <= std::numeric_limits<std::uint32_t>::max();
    if (isNumber && known.insert(static_cast<std::uint32_t>(*number)).second)
    {
      numbers.push_back(static_cast<std::uint32_t>(*number));
    }
    else if (unfit.empty())
    {
      unfit = outline.name.empty() ? "an outline without a name" : "the name \"" + GetPrintable(outline.name) + '"';
    }
  }
  if (unfit.empty())
  {
    return numbers;
  }
  if (!numbers.empty())
  {
    session.Warn(Diagnostic("W-ANNOTATION-NUMBER",
                            "outlines are numbered by their places and not by their names, for " + unfit +
                              " is no number of its own",
                            "give each outline a number as its name")
                   .OfFile(file));
  }
  numbers.resize(outlines.size());
  std::iota(numbers.begin(), numbers.end(), 1u);
  return numbers;
}

std::int64_t
GetDownsample(const ArgumentValues & values)
{
  return values.IsGiven("downsample") ? values.GetInteger("downsample") : values.Has("instances") ? 1 : 8;
}

Outlines
SelectOutlines(const std::string & file, const ArgumentValues & values, const Session & session)
{
  CheckInputFile(file);
  const auto              labels = AssignLabels(values);
  const bool              areObjects = values.Has("instances");
  Outlines                outlines;
  std::vector<Diagnostic> warnings;
  std::vector<Annotation> wanted;
  for (Annotation & annotation : ReadAnnotations(file, &warnings))
  {
    const bool isIgnored = annotation.className == IgnoredClass && (labels.empty() || areObjects);
    const bool isWanted = !isIgnored && (labels.empty() || labels.count(annotation.className) > 0);
    ++(isWanted ? outlines.drawn : outlines.skipped)[annotation.className];
    if (isWanted)
    {
      wanted.push_back(std::move(annotation));
    }
  }
  const auto numbers = areObjects ? NumberOutlines(wanted, file, session) : std::vector<std::uint32_t>();
  outlines.greatest = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < wanted.size(); ++i)
  {
    outlines.classes.push_back(wanted[i].className);
    outlines.mask->AddAnnotation(wanted[i],
                                 areObjects       ? numbers[i]
                                 : labels.empty() ? ObjectLabel
                                                  : labels.at(wanted[i].className));
  }
  for (const Diagnostic & warning : warnings)
  {
    session.Warn(warning);
  }
  CheckClasses(file, outlines, values, session);
  return outlines;
}

/** Whether the outlines lie on the slide, which the filter says. Those that do not are not drawn. */
void
CheckPlaces(const std::string & file, Outlines & outlines)
{
  try
  {
    outlines.mask->UpdateOutputInformation();
  }
  catch (const std::exception & error)
  {
    throw Refusal(Diagnostic::Of(error).OfFile(file));
  }
  for (const std::size_t outline : outlines.mask->GetOutside())
  {
    const std::string & name = outlines.classes[outline];
    ++outlines.outside[name];
    if (--outlines.drawn[name] == 0)
    {
      outlines.drawn.erase(name);
    }
  }
  if (!outlines.mask->GetOutside().empty())
  {
    const auto number = static_cast<double>(outlines.mask->GetOutside().size());
    KeepDoubt({ "W-ANNOTATION-OUTSIDE", number, 0, file }); // it has warned
  }
}

template <typename TLabel>
void
WriteObjects(const Outlines & outlines, const std::string & output, itk::PyramidTIFFImageIO * io, Progress & progress)
{
  const auto source = ObjectLabelSource<TLabel>::New();
  source->SetDrawing(outlines.mask);
  WritePyramid(source->GetOutput(), output, io, progress);
}

/** Share of a level of the mask that is object. */
double
MeasureObject(const itk::WholeSlideImageIO & mask, unsigned level)
{
  constexpr itk::SizeValueType rows = 256;
  const auto                   size = mask.GetLevelSize(level);
  const std::size_t            bytes = mask.GetComponentSize();
  std::vector<unsigned char>   pixels(size[0] * rows * bytes);
  double                       objects = 0;
  for (itk::SizeValueType y = 0; y < size[1]; y += rows)
  {
    ThrowIfInterrupted();
    const itk::SizeValueType band = std::min(rows, size[1] - y);
    mask.ReadRegion(level, 0, y, size[0], band, 1, pixels.data());
    for (std::size_t at = 0; at < size[0] * band * bytes; at += bytes)
    {
      objects += std::any_of(&pixels[at], &pixels[at] + bytes, [](unsigned char byte) { return byte != 0; }) ? 1 : 0;
    }
  }
  return objects / (static_cast<double>(size[0]) * static_cast<double>(size[1]));
}

/** Share of the mask that is object: of a coarse level where that has both, since finer levels take longer. */
double
MeasureObject(const std::string & mask)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(mask);
  io->ReadImageInformation();
  unsigned level = io->GetNumberOfLevels() - 1;
  double   share = MeasureObject(*io, level);
  while (level > 0 && (share == 0 || share == 1))
  {
    share = MeasureObject(*io, --level);
  }
  return share;
}

/** All that decides on the mask's pixels. */
std::string
DescribeMaking(const std::string &            annotations,
               const itk::WholeSlideImageIO & slide,
               const std::array<double, 2> &  origin,
               const ArgumentValues &         values)
{
  std::string text =
    "rasterize " + IdentifyFile(annotations, HashedBytes::All) + " downsample=" + std::to_string(GetDownsample(values));
  if (origin != std::array<double, 2>{})
  {
    text += " origin=" + FormatNumber(origin[0], 3) + ',' + FormatNumber(origin[1], 3);
  }
  text += values.Has("instances") ? " instances" : "";
  for (const auto & [name, label] : AssignLabels(values))
  {
    text += ' ' + name + '=' + std::to_string(label);
  }
  if (values.Has("slide-mpp") && slide.GetLevelZeroMicronsPerPixel() == GetLevelZeroResolution(slide))
  {
    text += " slide-mpp=" + FormatNumber(values.GetNumber("slide-mpp"), 6); // the file says none
  }
  return text + " like " + IdentifySlide(slide.GetFileName(), slide.GetContent());
}
} // namespace

int
RunRasterize(const ArgumentValues & values, const Session & session)
{
  const std::string file = values.GetText("ANNOTATIONS");
  const std::string output = values.GetText("output");
  CheckOutputName(values, "output");
  const auto slide = OpenSlide(values.GetText("like"), values, session);
  Outlines   outlines = SelectOutlines(file, values, session);

  const std::int64_t          downsample = GetDownsample(values);
  const auto                  base = slide->GetLevelSize(0);
  const auto                  resolution = slide->GetLevelZeroResolution(); // micrometers, in x and y
  const auto                  origin = GetOutlineOrigin(*slide, values, session);
  std::array<std::int64_t, 2> size{};
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    size[axis] = (static_cast<std::int64_t>(base[axis]) + downsample - 1) / downsample;
  }
  outlines.mask->SetSize(static_cast<itk::SizeValueType>(size[0]), static_cast<itk::SizeValueType>(size[1]));
  outlines.mask->SetDownsample(static_cast<double>(downsample));
  const double millimeters = static_cast<double>(downsample) / 1000;
  outlines.mask->SetSpacing(resolution[0] > 0 ? resolution[0] * millimeters : 1.0);
  outlines.mask->SetRowSpacing(resolution[1] * millimeters);
  outlines.mask->SetOutlineOrigin(origin.data());
  CheckPlaces(file, outlines);
  const std::string madeBy = DescribeMaking(file, *slide, origin, values);
  const bool        wasThere = !values.Has("overwrite") && HasValidPyramid(output, size, 1, madeBy);
  if (!wasThere)
  {
    CheckOutput(output, static_cast<double>(size[0]) * static_cast<double>(size[1]));
    const auto io = itk::PyramidTIFFImageIO::New();
    io->SetMadeBy(madeBy);
    Progress progress(session, "rasterize " + file, static_cast<double>(size[0]) * static_cast<double>(size[1]));
    if (!values.Has("instances"))
    {
      WritePyramid(outlines.mask->GetOutput(), output, io, progress);
    }
    else if (outlines.greatest <= std::numeric_limits<unsigned short>::max())
    {
      WriteObjects<unsigned short>(outlines, output, io, progress);
    }
    else
    {
      WriteObjects<unsigned int>(outlines, output, io, progress);
    }
    progress.Finish();
  }
  if (outlines.drawn.empty())
  {
    KeepDoubt({ "W-ANNOTATION-EMPTY", 0, 0, file }); // it has warned
  }
  else
  {
    DoubtMask(session, output, "the mask", MeasureObject(output));
  }
  const auto count = [](const std::map<std::string, int> & classes) {
    int sum = 0;
    for (const auto & [name, number] : classes)
    {
      sum += number;
    }
    return static_cast<std::uint64_t>(sum);
  };
  nlohmann::ordered_json json{ { "annotations", file }, { "mask", output }, { "skipped", wasThere } };
  json["width"] = size[0];
  json["height"] = size[1];
  json["drawn"] = outlines.drawn;
  json["left out"] = outlines.skipped;
  json["outside"] = outlines.outside;
  json["origin"] = origin;
  session.ShowResult(output + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + ", " +
                       FormatCount(count(outlines.drawn), "outline") + ", " + std::to_string(count(outlines.skipped)) +
                       " of other classes left out" + (wasThere ? " (was there already)" : ""),
                     json);
  return Success;
}

} // namespace gigapixel::application
