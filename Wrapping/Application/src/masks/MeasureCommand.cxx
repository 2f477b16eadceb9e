/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "Doubt.h"
#include "MaskImage.h"
#include "MeasureTable.h"
#include "NameText.h"
#include "OutputCheck.h"
#include "ResolutionJSON.h"
#include "SlideBatch.h"
#include "SlideUnderMask.h"
#include "TableValues.h"
#include "UnfinishedTable.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"

#include "itkGigapixelFileSource.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

/** Which slide each mask lies on, as --slide says: the one that is named, or that a table or manifest has beside the
 * mask, else of several the one with the mask's name. */
class SlidesOfMasks
{
public:
  SlidesOfMasks(const ArgumentValues & values, const Session & session)
    : m_Given(values.GetText("slide"))
  {
    if (!m_Given.empty())
    {
      const SlideList list = FindSlides({ m_Given }, session);
      m_Slides = list.slides;
      m_IsFolder = list.isFolder;
      m_OfMasks = FindSlidesOfMasks(m_Given);
      for (const std::string & slide : m_Slides)
      {
        m_ByName[GetSlideName(slide)].push_back(slide);
      }
    }
  }

  const std::vector<std::string> &
  GetAll() const
  {
    return m_Slides;
  }

  /** Empty: there is none, as none is asked for. */
  std::string
  Find(const std::string & mask) const
  {
    if (!m_IsFolder)
    {
      return m_Slides.empty() ? std::string() : m_Slides.front();
    }
    if (const auto pair = m_OfMasks.find(GetPlace(mask)); pair != m_OfMasks.end())
    {
      return pair->second;
    }
    const std::string name = GetSlideName(mask);
    const auto        found = m_ByName.find(name);
    if (found == m_ByName.end())
    {
      throw Refusal(Diagnostic("E-FILE-MISSING",
                               m_Given + " has no slide of the name " + name,
                               "name the mask as its slide, or measure it alone with its slide")
                      .OfFile(mask)
                      .OfOption("--slide", m_Given));
    }
    const std::vector<std::string> & slides = found->second;
    if (slides.size() > 1)
    {
      throw Refusal(
        Diagnostic("E-FILE-NAME",
                   m_Given + " has several slides of the name " + name + ": " + slides[0] + " and " + slides[1],
                   "measure the mask alone with its slide")
          .OfFile(mask)
          .OfOption("--slide", m_Given));
    }
    return slides.front();
  }

private:
  std::string                                     m_Given;
  std::vector<std::string>                        m_Slides;
  bool                                            m_IsFolder{ false };
  std::map<std::string, std::string>              m_OfMasks;
  std::map<std::string, std::vector<std::string>> m_ByName;
};

Connectivity
GetConnectivity(const ArgumentValues & values)
{
  return values.GetText("connectivity") == "4" ? Connectivity::Four : Connectivity::Eight;
}

/** All that decides on the rows of a mask. */
std::string
DescribeMaking(const MaskImage & mask, const std::string & slide, const ArgumentValues & values)
{
  std::string        madeBy = "measure connectivity=" + values.GetText("connectivity");
  const SlideOptions options = GetSlideOptions(values);
  madeBy += DescribeOptions(options, { "image", "plane" }); // which the slide's identity says
  madeBy += values.Has("partial") ? " partial" : "";
  madeBy += slide.empty() ? "" : ' ' + IdentifySlide(slide, options);
  return madeBy + " mask: " + mask.GetImage().content;
}

/** Measures the components of a mask in one pass over its pixels, and those of the slide. */
template <typename TLabel>
void
MeasureMask(const MaskImage & mask, SlideUnderMask * slide, const Session & session, MaskComponents & components)
{
  const Size                        size = mask.GetSize();
  const std::int64_t                bandRows = slide ? slide->GetBandRows() : 256;
  const double                      pixels = static_cast<double>(size.width) * static_cast<double>(size.height);
  Progress                          progress(session, "measure " + mask.GetName(), pixels);
  std::vector<TLabel>               labels;
  std::vector<SlideUnderMask::Runs> runs;
  for (std::int64_t y = 0; y < size.height; y += bandRows)
  {
    ThrowIfInterrupted();
    const std::int64_t count = std::min(bandRows, size.height - y);
    mask.ReadLabels({ 0, y, size.width, count }, labels);
    runs.clear();
    for (std::int64_t row = 0; row < count; ++row)
    {
      const auto & found = components.AppendRow(labels.data() + row * size.width);
      if (slide)
      {
        runs.push_back(found);
      }
    }
    if (slide)
    {
      slide->AddValues(y, runs, components);
    }
    components.EndRows();
    progress.Update(static_cast<double>(y + count) / static_cast<double>(size.height));
  }
  components.Finish();
  progress.Finish();
}

std::string
GetClassName(const MaskImage & mask, std::uint32_t label)
{
  const auto found = label < 256 ? mask.GetClasses().find(static_cast<unsigned char>(label)) : mask.GetClasses().end();
  return found == mask.GetClasses().end() ? std::string() : found->second.name;
}

struct Measured
{
  Json        json;
  std::string rows;
};

/** \param spacing of the mask's pixels in mm; 0: unknown */
Measured
MakeRows(const MaskImage &             mask,
         const std::string &           slide,
         const MaskComponents &        components,
         const std::array<double, 2> & spacing,
         std::size_t                   channels)
{
  auto classes = components.GetClasses();
  for (const auto & known : mask.GetClasses())
  {
    if (known.first != 0) // background
    {
      classes[known.first].label = known.first;
    }
  }
  std::map<std::uint32_t, std::size_t> numbers; // of components
  for (const ComponentFigures & figures : components.GetComponents())
  {
    ++numbers[figures.label];
  }
  Measured     measured;
  MeasureTable table(mask.GetName(), slide, spacing);
  measured.json["classes"] = Json::array();
  for (const auto & [label, figures] : classes)
  {
    const std::string name = GetClassName(mask, label);
    table.AddRow(std::to_string(label), name, 0, figures, channels);
    Json told{ { "label", label }, { "class", name.empty() ? Json() : Json(name) }, { "components", numbers[label] } };
    told["pixels"] = figures.area;
    told["areaMm2"] = spacing[0] > 0 ? Json(static_cast<double>(figures.area) * spacing[0] * spacing[1]) : Json();
    measured.json["classes"].push_back(told);
  }
  if (classes.empty())
  {
    table.AddRow("", "", 0, ComponentFigures(), channels);
  }
  std::size_t number = 0;
  for (const ComponentFigures & figures : components.GetComponents())
  {
    table.AddRow(std::to_string(figures.label), GetClassName(mask, figures.label), ++number, figures, channels);
  }
  measured.json["components"] = number;
  measured.rows = table.GetRows();
  return measured;
}

/** By the mask's file, else by the slide under it. */
std::array<double, 2>
FindSpacing(const MaskImage & mask, const SlideUnderMask * slide, const Session & session)
{
  const Grid & grid = mask.GetImage().grid;
  if (grid.IsSpacingKnown())
  {
    return grid.spacing;
  }
  const auto spacing = slide ? slide->GetMaskSpacing() : std::array<double, 2>{};
  if (spacing[0] == 0)
  {
    session.Warn(Diagnostic("W-MASK-RESOLUTION",
                            "the size of its pixels is unknown, and lengths and areas are in pixels only",
                            slide ? "state the slide's resolution with --slide-mpp" : "name its slide with --slide")
                   .OfFile(mask.GetName()));
  }
  return spacing;
}

/** \throw Refusal the slide has other channels than the table has columns for */
void
RequireChannels(const itk::WholeSlideImageIO & slide, const std::vector<std::string> & channels)
{
  if (GetChannelNames(slide) != channels)
  {
    throw Refusal(Diagnostic("E-SLIDE-CHANNELS",
                             "it has other channels than the first slide of the table",
                             "measure its mask into a table of its own")
                    .OfFile(slide.GetFileName()));
  }
}

/** A mask that says which slide it was made of lies on no other. \throw Refusal it does */
void
RequireSlideOfMask(const MaskImage & mask, const std::string & slide, const ArgumentValues & values)
{
  if (!mask.GetImage().madeOf.empty())
  {
    itk::GigapixelTissueSource(mask.GetName(), slide, GetSlideOptions(values));
  }
}

Measured
Measure(const MaskImage &                mask,
        const std::string &              file,
        const std::vector<std::string> & channels,
        const ArgumentValues &           values,
        const Session &                  session)
{
  std::optional<SlideUnderMask> slide;
  if (!file.empty())
  {
    RequireSlideOfMask(mask, file, values);
    slide.emplace(mask, file, values, session);
    RequireChannels(slide->GetSlide(), channels);
  }
  const Size     size = mask.GetSize();
  const auto     spacing = FindSpacing(mask, slide ? &*slide : nullptr, session);
  MaskComponents components(static_cast<std::size_t>(size.width),
                            GetConnectivity(values),
                            static_cast<unsigned>(channels.size()),
                            slide ? slide->GetNumberOfValues() : 256);
  const auto     measure = mask.AreLabelsWide() ? MeasureMask<std::uint32_t> : MeasureMask<std::uint8_t>;
  measure(mask, slide ? &*slide : nullptr, session, components);
  Measured measured = MakeRows(mask, file, components, spacing, channels.size());
  double   area = 0;
  for (const auto & each : components.GetClasses())
  {
    area += static_cast<double>(each.second.area);
  }
  DoubtMask(
    session, mask.GetName(), "the mask", area / (static_cast<double>(size.width) * static_cast<double>(size.height)));
  Json & json = measured.json;
  json["width"] = size.width;
  json["height"] = size.height;
  AddResolution(json, std::array<double, 2>{ 1000 * spacing[0], 1000 * spacing[1] });
  json["areaMm2"] = spacing[0] > 0 ? Json(area * spacing[0] * spacing[1]) : Json();
  if (slide)
  {
    AddLevel(json, slide->GetSlide());
    AddChannels(json, slide->GetSlide());
    json["content"] = IdentifySlide(slide->GetSlide());
    json["slidePixels"] = { slide->GetMatch().axes[0].ratio, slide->GetMatch().axes[1].ratio };
  }
  json["damagedTiles"] = slide ? slide->GetSlide().GetNumberOfDamagedTiles() : 0;
  return measured;
}

std::string
FormatMeasured(const Json & json)
{
  const auto        number = json["components"].get<std::size_t>();
  const std::string area =
    json["areaMm2"].is_number() ? ", " + FormatNumber(json["areaMm2"].get<double>(), 4) + " mm2" : std::string();
  return json["mask"].get<std::string>() + ": " + std::to_string(number) +
         (number == 1 ? " component" : " components") + area + FormatDamage(json["damagedTiles"].get<std::int64_t>()) +
         (json["skipped"].get<bool>() ? " (was measured already)\n" : "\n");
}

/** \class MeasuredMasks
 * \brief The rows of masks as they come, of this process or an earlier one, until all are written. */
class MeasuredMasks
{
public:
  MeasuredMasks(const ArgumentValues & values, std::vector<std::string> channels, bool severalMasks)
    : m_Output(values.GetText("output"))
    , m_Channels(std::move(channels))
    , m_Unfinished(m_Output, severalMasks)
  {}

  const UnfinishedTable &
  GetUnfinished() const
  {
    return m_Unfinished;
  }

  Json
  MeasureOnce(const std::string &    file,
              const SlidesOfMasks &  slides,
              const ArgumentValues & values,
              const Session &        session)
  {
    const MaskImage   mask(file, itk::HighSamples::Kept);
    const std::string slide = slides.Find(file);
    const std::string madeBy =
      DescribeMaking(mask, slide, values) + " as " + file + (slide.empty() ? "" : " on " + slide);
    const auto said = m_Unfinished.Find(madeBy);
    const bool isThere = said && (!values.Has("strict") || said->at("result").at("damagedTiles") == 0);
    Json       json{ { "mask", file }, { "slide", slide.empty() ? Json() : Json(slide) }, { "table", m_Output } };
    json["skipped"] = isThere;
    if (isThere)
    {
      json.update(said->at("result"));
    }
    else
    {
      const Measured measured = Measure(mask, slide, m_Channels, values, session);
      m_Unfinished.Add(madeBy, { { "result", measured.json }, { "rows", ToNameText(measured.rows) } });
      json.update(measured.json);
    }
    json["madeBy"] = madeBy;
    return json;
  }

  /** Writes the table of those that did not fail. */
  void
  Write(const std::vector<SlideOutcome> & outcomes, bool overwrite)
  {
    std::vector<std::string> done;
    for (const SlideOutcome & outcome : outcomes)
    {
      if (outcome.failure.IsEmpty())
      {
        done.push_back(outcome.result.at("madeBy").get<std::string>());
      }
    }
    if (done.empty())
    {
      return;
    }
    AtomicFile file(m_Output, overwrite);
    file.Append(MeasureTable::GetHeader(m_Channels));
    for (const std::string & madeBy : done)
    {
      const auto said = m_Unfinished.Find(madeBy); // by any rank
      if (!said)
      {
        throw Refusal(Diagnostic("E-FILE-DAMAGED",
                                 "what was measured was kept in a hidden file beside the table, and was changed since",
                                 "give the same command again")
                        .OfFile(m_Output));
      }
      file.Append(FromNameText(said->at("rows")));
    }
    file.Commit();
    if (done.size() == outcomes.size())
    {
      m_Unfinished.Remove();
    }
  }

private:
  const std::string              m_Output;
  const std::vector<std::string> m_Channels;
  UnfinishedTable                m_Unfinished;
};

/** The channels of the first slide that can be opened; what hinders opening the others is said of their masks. */
std::vector<std::string>
FindChannels(const std::vector<std::string> & slides, const ArgumentValues & values)
{
  for (const std::string & file : slides)
  {
    const auto slide = itk::WholeSlideImageIO::New();
    slide->SetFileName(file);
    SlideContent content = GetSlideOptions(values);
    content.window.clear(); // finding it may read much
    slide->SetContent(content);
    slide->GiveWarningsOff();
    try
    {
      slide->ReadImageInformation();
      return GetChannelNames(*slide);
    }
    catch (const itk::ExceptionObject &)
    {
      continue;
    }
  }
  return {};
}

/** \throw std::runtime_error the table is not to be written */
void
CheckTable(const ArgumentValues &  values,
           const SlideList &       masks,
           const SlidesOfMasks &   slides,
           const UnfinishedTable & unfinished)
{
  const std::string & output = values.GetText("output");
  RefuseInput(output, slides.GetAll());
  if (!values.Has("overwrite") && unfinished.HasAny() && std::filesystem::exists(output))
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             output + " exists already, and what was measured since is kept beside it",
                             "--overwrite goes on from there, with the masks that failed or are missing")
                    .OfFile(output));
  }
  CheckOutputFile(values, "output", masks.slides);
}

/** Without --slide nothing of a slide is asked for. */
void
CheckOptions(const ArgumentValues & values)
{
  for (const Argument & argument : values.GetCommand().arguments)
  {
    if (argument.scope >= OptionScope::Slides && values.IsGiven(argument.name) && !values.IsGiven("slide"))
    {
      const std::string name = argument.GetDisplayName();
      throw UsageError(
        Diagnostic("E-OPTION-NEEDS", name + " is about the slide, and none is given", "name it with --slide")
          .OfOption(name));
    }
  }
}
} // namespace

int
RunMeasure(const ArgumentValues & values, const Session & session)
{
  CheckOptions(values);
  const SlideList     list = FindMasks(values.GetTexts("MASK"), session);
  const SlidesOfMasks slides(values, session);
  const bool          severalMasks = list.slides.size() > 1;
  CheckTable(values, list, slides, UnfinishedTable(values.GetText("output"), severalMasks));
  MeasuredMasks          masks(values, FindChannels(slides.GetAll(), values), severalMasks);
  std::vector<SlideTask> tasks;
  for (const std::string & mask : list.slides)
  {
    tasks.push_back({ mask, "" });
  }
  const auto work = [&](const SlideTask & task, std::string & text) {
    Json json = masks.MeasureOnce(task.slide, slides, values, session);
    text += FormatMeasured(json);
    return json;
  };
  const auto finish = [&](const std::vector<SlideOutcome> & outcomes) {
    masks.Write(outcomes, values.Has("overwrite"));
  };
  try
  {
    return RunBatch(values, session, tasks, list, work, finish);
  }
  catch (const Interrupted &)
  {
    throw masks.GetUnfinished().HasAny() && severalMasks
      ? Interrupted("What was measured so far is kept: the same command goes on from there.")
      : Interrupted();
  }
}

} // namespace gigapixel::application
