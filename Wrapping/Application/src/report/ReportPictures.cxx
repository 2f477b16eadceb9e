/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportPictures.h"

#include "MadeBy.h"
#include "Doubt.h"
#include "MaskImage.h"
#include "OutputCheck.h"
#include "SlideFile.h"
#include "SlideThumbnail.h"
#include "TissueShares.h"

#include "gigapixelGridMatch.h"
#include "gigapixelReportPicture.h"
#include "gigapixelWorkers.h"

#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

constexpr std::int64_t LargestSide = 1600;
constexpr std::int64_t LeastSide = 320;
constexpr std::int64_t LargestSideOfLabels = 800;
constexpr std::int64_t LeastSideOfLabels = 64;
constexpr int          Quality = 75;

/** What the pictures of a slide are to take of the page, of which some is for the data. Labels are mostly small, and
 * stay in the page where photographs do not. */
struct BytesOfSlide
{
  explicit BytesOfSlide(std::size_t slides)
  {
    constexpr double share = 0.85, base64 = 0.75, least = 3000;
    const double     all = share * base64 * static_cast<double>(ReportPage::MostBytes) / static_cast<double>(slides);
    labels = std::min(all, std::max(least, all / 8));
    photograph = all - labels;
  }

  double photograph{ 0 };
  double labels{ 0 };
};

/** The longer side that a picture of too many bytes is tried with next. */
std::int64_t
ChooseSmallerSide(std::int64_t side, std::int64_t least, std::size_t bytes, double most)
{
  const double scale = std::clamp(0.97 * std::sqrt(most / static_cast<double>(bytes)), 0.5, 0.95);
  return std::max(least, static_cast<std::int64_t>(scale * static_cast<double>(side)));
}

/** The longer side of a picture of so many bytes, by the bytes of one of the least side: slides of mostly glass get
 * more pixels than those full of tissue. Photographs of tissue, of 160 to 750 pixels, had bytes as the power 1.8 of
 * their sides. */
std::int64_t
ChooseSide(std::size_t bytesOfLeast, double most)
{
  const double side = LeastSide * std::pow(most / static_cast<double>(bytesOfLeast), 1 / 1.8);
  return std::clamp(static_cast<std::int64_t>(side), LeastSide, LargestSide);
}

std::string
ToColor(const std::array<unsigned char, 3> & color)
{
  char text[8];
  std::snprintf(text, sizeof(text), "#%02x%02x%02x", color[0], color[1], color[2]);
  return text;
}

/** What of the slide's file the results of a row were made of: as they say, else the mask, or the command's options. */
SlideContent
FindContent(const ReportRow & row)
{
  if (!row.read.empty())
  {
    return FindContentOfMaking("read " + row.read);
  }
  const std::string madeBy = row.mask.empty() ? std::string() : FindMadeBy(row.mask);
  if (!madeBy.empty())
  {
    return FindContentOfMaking(madeBy);
  }
  SlideContent content;
  for (const Json & made : row.data.value("made", Json::array()))
  {
    const Json & options = made.at("options");
    const auto   find = [&options](const char * name) {
      const Json option = options.is_object() ? options.value(name, Json()) : Json();
      return option.is_array()    ? option.get<std::vector<std::string>>()
               : option.is_string() ? std::vector<std::string>{ option.get<std::string>() }
                                    : std::vector<std::string>();
    };
    const auto image = find("image"), plane = find("plane"), channels = find("channel");
    content.image = image.empty() ? content.image : image.front();
    content.plane = plane.empty() ? content.plane : plane.front();
    content.channels = channels.empty() ? content.channels : channels;
  }
  return content;
}

/** The pictures of a row, until they are put into the page. */
struct Drawn
{
  std::string photograph;
  std::string labels;
};

/** Draws and measures one row. */
class RowPainter
{
public:
  RowPainter(const ReportDrawing & drawing, const BytesOfSlide & bytes)
    : m_Drawing(drawing)
    , m_Bytes(bytes)
  {}

  Drawn
  Paint(ReportRow & row) const
  {
    Drawn                           drawn;
    itk::WholeSlideImageIO::Pointer slide;
    try
    {
      slide = this->Open(row);
      if (slide)
      {
        drawn.photograph = this->DrawSlide(*slide, row.data);
      }
    }
    catch (const std::exception & error)
    {
      slide = nullptr;
      this->Tell("the slide is not shown", error, row);
    }
    try
    {
      if (!row.mask.empty())
      {
        drawn.labels = this->DrawMask(slide, row);
      }
    }
    catch (const std::exception & error)
    {
      this->Tell("the mask is not shown", error, row);
    }
    return drawn;
  }

private:
  static void
  Tell(const std::string & what, const std::exception & error, ReportRow & row)
  {
    ThrowIfInterrupted();
    row.Miss(what, error);
  }

  itk::WholeSlideImageIO::Pointer
  Open(ReportRow & row) const
  {
    if (row.slide.empty())
    {
      throw Refusal(
        Diagnostic("E-FILE-MISSING", "nothing names the file of the slide", "name its folder with --slides"));
    }
    if (row.data.contains("error")) // which the command has told
    {
      return nullptr;
    }
    CheckInputFile(row.slide);
    const auto slide = itk::WholeSlideImageIO::New();
    slide->SetFileName(row.slide);
    SlideContent       shown = m_Drawing.content;
    const SlideContent made = FindContent(row);
    if (shown.image.empty() && shown.plane.empty())
    {
      shown.image = made.image;
      shown.plane = made.plane;
      shown.channels = shown.channels.empty() ? made.channels : shown.channels; // they are those of that image
    }
    shown.window.clear(); // a report of a folder does not know with which one the results were made
    slide->SetContent(shown);
    slide->AsPictureOn();
    slide->GiveWarningsOff(); // which the command has shown that the report is of
    slide->ReadImageInformation();
    RequirePicture(*slide);
    return slide;
  }

  /** \param side the longer one */
  static Picture
  Draw(const itk::WholeSlideImageIO & slide, std::int64_t side)
  {
    return DrawThumbnail(slide, FitSize(slide.GetLevelSize(0), side));
  }

  /** The longer side of the coarsest level that has enough pixels, of which one reading does for several sizes. */
  static std::int64_t
  FindStoredSide(const itk::WholeSlideImageIO & slide)
  {
    std::int64_t side = 0;
    for (unsigned level = slide.GetNumberOfLevels(); level-- > 0 && side < LeastSide;)
    {
      const auto size = slide.GetLevelSize(level);
      side = static_cast<std::int64_t>(std::max(size[0], size[1]));
    }
    return std::min(side, LargestSide);
  }

  /** Makes the picture smaller and encodes it. */
  static std::string
  Encode(Picture & picture, std::int64_t side)
  {
    picture = Shrink(picture, FitSize({ { picture.width, picture.height } }, side));
    return EncodePhotograph(picture.pixels, picture.width, picture.height, Quality);
  }

  /** As large as the bytes of the slide allow. */
  Picture
  DrawFitting(const itk::WholeSlideImageIO & slide, std::string & encoded) const
  {
    std::int64_t side = FindStoredSide(slide);
    Picture      picture = Draw(slide, side);
    Picture      probe = picture;
    encoded = Encode(probe, LeastSide);
    const std::int64_t wanted = ChooseSide(encoded.size(), m_Bytes.photograph);
    if (wanted == LeastSide)
    {
      return probe;
    }
    picture = wanted > side ? Draw(slide, wanted) : std::move(picture);
    for (side = wanted;; side = ChooseSmallerSide(side, LeastSide, encoded.size(), m_Bytes.photograph))
    {
      encoded = Encode(picture, side);
      if (static_cast<double>(encoded.size()) <= m_Bytes.photograph || side == LeastSide)
      {
        return picture;
      }
    }
  }

  std::string
  DrawSlide(const itk::WholeSlideImageIO & slide, Json & data) const
  {
    std::string encoded;
    Picture     picture;
    if (m_Drawing.size > 0)
    {
      picture = Draw(slide, m_Drawing.size);
      encoded = Encode(picture, m_Drawing.size);
    }
    else
    {
      picture = this->DrawFitting(slide, encoded);
    }
    for (const auto & channel : slide.GetAddedChannels())
    {
      data["channels"].push_back({ { "name", channel.name }, { "color", channel.color } });
    }
    const auto size = slide.GetLevelSize(0);
    data["slideWidth"] = size[0];
    data["slideHeight"] = size[1];
    data["width"] = picture.width;
    data["height"] = picture.height;
    const auto resolution = slide.GetLevelZeroResolution();
    data["mpp"] = resolution[0] > 0 ? Json(resolution[0]) : Json();
    return encoded;
  }

  /** Unless the command has said so as well. */
  static void
  AddRecordedShares(const std::string & mask, Json & data)
  {
    const auto io = itk::WholeSlideImageIO::New();
    io->SetFileName(mask);
    io->ReadImageInformation();
    const Json shares = GetRecordedTissueShares(*io);
    for (const auto & share : shares.items())
    {
      if (!share.value().is_null() && !data.contains(share.key()))
      {
        data[share.key()] = share.value();
      }
    }
  }

  static void
  DoubtTissueMask(Json & data)
  {
    if (const auto doubt = FindTissueDoubt(data["tissueFraction"].get<double>()))
    {
      AddOnce(*doubt, data["doubts"]);
    }
    for (const Doubt & doubt : FindShareDoubts(data))
    {
      AddOnce(doubt, data["doubts"]);
    }
  }

  /** Counts the pixels of each class, in all of the mask. */
  static void
  Measure(const MaskImage & mask, bool isTissue, Json & data)
  {
    constexpr std::int64_t rows = 256;
    // Neighbors are mostly alike, and a count waits for the one before it: four arrays take turns.
    std::array<std::array<std::int64_t, 256>, 4> counts{};
    std::vector<unsigned char>                   labels;
    const Size                                   size = mask.GetSize();
    for (std::int64_t y = 0; y < size.height; y += rows)
    {
      ThrowIfInterrupted();
      mask.ReadLabels(y, std::min(rows, size.height - y), labels);
      for (std::size_t i = 0; i < labels.size(); ++i)
      {
        ++counts[i % counts.size()][labels[i]];
      }
    }
    const Grid & grid = mask.GetImage().grid;
    const double pixels = static_cast<double>(size.width) * static_cast<double>(size.height);
    const double mm2 = grid.IsSpacingKnown() ? grid.spacing[0] * grid.spacing[1] : 0;
    Json         classes = Json::array();
    for (int label = 1; label < 256; ++label)
    {
      const auto known = mask.GetClasses().find(static_cast<unsigned char>(label));
      const auto at = static_cast<std::size_t>(label);
      const auto count = static_cast<double>(counts[0][at] + counts[1][at] + counts[2][at] + counts[3][at]);
      if (count == 0 && known == mask.GetClasses().end())
      {
        continue;
      }
      const bool  isNamed = known != mask.GetClasses().end();
      const Json  area = mm2 > 0 ? Json(count * mm2) : Json();
      std::string name = isNamed                                     ? known->second.name
                         : label == 255 && isTissue                  ? "tissue"
                         : label == 255 && mask.GetClasses().empty() ? "object"
                                                                     : "class " + std::to_string(label);
      classes.push_back({ { "label", label },
                          { "name", name },
                          { "color", isNamed ? Json(ToColor(known->second.color)) : Json() },
                          { "fraction", count / pixels },
                          { "mm2", area } });
      if (isTissue && name == "tissue")
      {
        data["tissueFraction"] = count / pixels;
        data["tissueMm2"] = area;
      }
      // That there are none is what a mask records: a preset may look for neither.
      else if (isTissue && count > 0 && (name == "pen" || name == "artifact") && !data.contains(name + "Fraction"))
      {
        data[name + "Fraction"] = count / pixels;
      }
    }
    if (isTissue && !data.contains("tissueFraction")) // an empty mask
    {
      data["tissueFraction"] = 0;
      data["tissueMm2"] = mm2 > 0 ? Json(0) : Json();
    }
    data["classes"] = classes;
  }

  /** Unless the command has said so as well. */
  static void
  AddOnce(const Doubt & doubt, Json & doubts)
  {
    if (std::none_of(
          doubts.begin(), doubts.end(), [&](const Json & each) { return each.value("code", "") == doubt.code; }))
    {
      doubts.push_back({ { "code", doubt.code }, { "value", doubt.value }, { "limit", doubt.limit } });
    }
  }

  /** A mask without its slide has its own extent. */
  std::string
  DrawMask(const itk::WholeSlideImageIO * slide, ReportRow & row) const
  {
    const MaskImage   mask(row.mask);
    const std::string madeBy = FindMadeBy(row.mask);
    row.data["madeBy"] = madeBy;
    const bool isTissue = madeBy.rfind("label ", 0) == 0;
    if (isTissue)
    {
      AddRecordedShares(row.mask, row.data);
    }
    Measure(mask, isTissue, row.data);
    if (isTissue)
    {
      DoubtTissueMask(row.data);
    }
    const Grid grid = slide ? GetLevelZeroGrid(*slide) : mask.GetImage().grid;
    const auto match = GridMatch::Make(mask.GetImage(), grid, slide ? row.slide : row.mask);
    const auto fit = [&grid](std::int64_t side) {
      return FitSize(
        { { static_cast<itk::SizeValueType>(grid.size.width), static_cast<itk::SizeValueType>(grid.size.height) } },
        side);
    };
    auto size = fit(LargestSideOfLabels);
    if (!slide)
    {
      row.data["width"] = size[0];
      row.data["height"] = size[1];
      row.data["slideWidth"] = grid.size.width;
      row.data["slideHeight"] = grid.size.height;
      row.data["mpp"] = grid.IsSpacingKnown() ? Json(1000 * grid.spacing[0]) : Json();
    }
    const auto  encode = [&] { return EncodeLabels(SampleMask(mask, match, size, true), size[0], size[1]); };
    std::string encoded = encode();
    for (std::int64_t side = std::max(size[0], size[1]);
         static_cast<double>(encoded.size()) > m_Bytes.labels && side > LeastSideOfLabels;
         encoded = encode())
    {
      side = ChooseSmallerSide(side, LeastSideOfLabels, encoded.size(), m_Bytes.labels);
      size = fit(side);
    }
    return encoded;
  }

  ReportDrawing m_Drawing;
  BytesOfSlide  m_Bytes;
};
} // namespace

void
DrawRows(std::vector<ReportRow> & rows, const ReportDrawing & drawing, const Session & session, ReportPage & page)
{
  const RowPainter   painter(drawing, BytesOfSlide(std::max<std::size_t>(1, rows.size())));
  Progress           progress(session, "report");
  Workers            workers(session.GetThreads());
  std::vector<Drawn> places(static_cast<std::size_t>(workers.GetNumberOfPlaces()));
  const auto get = [&](std::int64_t item) -> Drawn & { return places[static_cast<std::size_t>(item) % places.size()]; };
  const auto paint = [&](int, std::int64_t item) { get(item) = painter.Paint(rows[static_cast<std::size_t>(item)]); };
  const auto take = [&](std::int64_t item) {
    ThrowIfInterrupted();
    const Drawn & drawn = get(item);
    Json &        data = rows[static_cast<std::size_t>(item)].data;
    if (!drawn.photograph.empty())
    {
      data["picture"] = page.AddPhotograph(drawn.photograph);
    }
    if (!drawn.labels.empty())
    {
      data["labels"] = page.AddLabels(drawn.labels);
    }
    progress.Update(static_cast<double>(item + 1) / static_cast<double>(rows.size()));
    return true;
  };
  workers.Run(static_cast<std::int64_t>(rows.size()), paint, take);
  progress.Finish();
}

} // namespace gigapixel::application
