/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "Doubt.h"
#include "EvaluateKinds.h"
#include "MaskImage.h"
#include "ResolutionJSON.h"

#include "gigapixelAgreement.h"
#include "gigapixelGridMatch.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace gigapixel::application
{
namespace
{
/** Rows that are compared at a time: a row of tiles of the pyramids that we write. */
constexpr std::int64_t BandRows = 256;

/** The pixels of the finer mask, each with the pixel of the coarser one below its center. */
class Comparison
{
public:
  Comparison(const MaskImage & prediction, const MaskImage & truth, bool partial)
    : m_PredictionIsFiner(IsFiner(prediction.GetImage().grid, truth.GetImage().grid))
    , m_Fine(m_PredictionIsFiner ? prediction : truth)
    , m_Coarse(m_PredictionIsFiner ? truth : prediction)
    , m_Partial(partial)
  {
    const PartOf part = m_PredictionIsFiner ? PartOf::Mask : PartOf::Image; // the prediction
    m_Match = NamePartial(part, [&] {
      return GridMatch::Make(
        m_Coarse.GetImage(), m_Fine.GetImage().grid, m_Fine.GetName(), partial ? part : PartOf::None);
    });
    for (std::int64_t x = 0; x < m_Fine.GetSize().width; ++x)
    {
      m_Columns.push_back(Find(m_Match.axes[0], x));
    }
  }

  const GridMatch &
  GetMatch() const
  {
    return m_Match;
  }

  const Grid &
  GetFineGrid() const
  {
    return m_Fine.GetImage().grid;
  }

  Agreement
  Run(const Session & session)
  {
    const Size size = m_Fine.GetSize();
    Progress   progress(session, "evaluate", static_cast<double>(size.width) * static_cast<double>(size.height));
    Agreement  agreement;
    for (std::int64_t y = 0; y < size.height; y += BandRows)
    {
      ThrowIfInterrupted();
      CompareBand(y, std::min(BandRows, size.height - y), agreement);
      progress.Update(static_cast<double>(y) / static_cast<double>(size.height));
    }
    return agreement;
  }

private:
  static bool
  IsFiner(const Grid & prediction, const Grid & truth)
  {
    return prediction.IsSpacingKnown() && truth.IsSpacingKnown() ? prediction.spacing[0] <= truth.spacing[0]
                                                                 : prediction.size.width >= truth.size.width;
  }

  /** The coarser mask's pixel. Rounded sizes may let a last pixel's center fall beyond its last one, which it then
   * takes; of a part, what lies outside is not compared: -1. */
  std::int64_t
  Find(const AxisMatch & axis, std::int64_t pixel) const
  {
    const std::int64_t found = axis(static_cast<double>(pixel) + 0.5);
    const bool         isInside = found >= 0 && found < axis.maskPixels;
    return isInside || !m_Partial ? std::clamp<std::int64_t>(found, 0, axis.maskPixels - 1) : -1;
  }

  void
  CompareBand(std::int64_t first, std::int64_t count, Agreement & agreement)
  {
    std::vector<std::int64_t> rows;
    for (std::int64_t y = first; y < first + count; ++y)
    {
      rows.push_back(Find(m_Match.axes[1], y));
    }
    const auto inside = std::find_if(rows.begin(), rows.end(), [](std::int64_t row) { return row >= 0; });
    if (inside == rows.end())
    {
      return;
    }
    const std::int64_t firstCoarse = *inside;
    const std::int64_t lastCoarse = *std::max_element(rows.begin(), rows.end());
    m_Fine.ReadRows(first, count, m_FineRows);
    m_Coarse.ReadRows(firstCoarse, lastCoarse - firstCoarse + 1, m_CoarseRows);
    for (std::int64_t y = 0; y < count; ++y)
    {
      if (rows[static_cast<std::size_t>(y)] >= 0)
      {
        CompareRow(m_FineRows.data() + y * m_Fine.GetSize().width,
                   m_CoarseRows.data() + (rows[static_cast<std::size_t>(y)] - firstCoarse) * m_Coarse.GetSize().width,
                   agreement);
      }
    }
  }

  void
  CompareRow(const unsigned char * fine, const unsigned char * coarse, Agreement & agreement) const
  {
    std::array<std::int64_t, 4> counts{}; // by 2 * fine + coarse
    for (std::size_t x = 0; x < m_Columns.size(); ++x)
    {
      if (m_Columns[x] >= 0)
      {
        ++counts[2u * fine[x] + coarse[m_Columns[x]]];
      }
    }
    agreement.trueNegatives += counts[0];
    agreement.truePositives += counts[3];
    agreement.falsePositives += counts[m_PredictionIsFiner ? 2 : 1];
    agreement.falseNegatives += counts[m_PredictionIsFiner ? 1 : 2];
  }

  bool                       m_PredictionIsFiner;
  const MaskImage &          m_Fine;
  const MaskImage &          m_Coarse;
  bool                       m_Partial;
  GridMatch                  m_Match;
  std::vector<std::int64_t>  m_Columns;
  std::vector<unsigned char> m_FineRows;
  std::vector<unsigned char> m_CoarseRows;
};

nlohmann::ordered_json
Describe(const Agreement &  agreement,
         const MaskImage &  prediction,
         const MaskImage &  truth,
         const Comparison & comparison)
{
  nlohmann::ordered_json json{ { "prediction", prediction.GetName() }, { "truth", truth.GetName() } };
  json["dice"] = agreement.GetDice();
  json["iou"] = agreement.GetIoU();
  json["sensitivity"] = agreement.GetSensitivity();
  json["specificity"] = agreement.GetSpecificity();
  json["precision"] = agreement.GetPrecision();
  json["diceAllForeground"] = agreement.GetDiceOfAllForeground();
  json["tp"] = agreement.truePositives;
  json["fp"] = agreement.falsePositives;
  json["fn"] = agreement.falseNegatives;
  json["tn"] = agreement.trueNegatives;
  json["pixels"] = agreement.GetPixels();
  const Grid & grid = comparison.GetFineGrid();
  AddResolution(json, grid);
  const double mm2 = grid.spacing[0] * grid.spacing[1];
  const auto   area = [&](std::int64_t pixels) {
    return grid.IsSpacingKnown() ? nlohmann::ordered_json(static_cast<double>(pixels) * mm2) : nullptr;
  };
  json["predictionMm2"] = area(agreement.truePositives + agreement.falsePositives);
  json["truthMm2"] = area(agreement.truePositives + agreement.falseNegatives);
  json["matchedBy"] = comparison.GetMatch().inMillimeters ? "millimeters" : "extent";
  return json;
}

/** A figure that had nothing to judge is 1 (see Agreement), which looks like a good one. */
void
WarnOfNothingToJudge(const Agreement &   agreement,
                     const std::string & prediction,
                     const std::string & truth,
                     const Session &     session)
{
  const auto objects = agreement.truePositives + agreement.falseNegatives;
  if (agreement.GetPixels() == 0)
  {
    throw Refusal(Diagnostic("E-MASK-GRID",
                             prediction + " and " + truth + " have no pixel in common",
                             "give masks of the same slide")
                    .OfFile(prediction));
  }
  const auto share = [&agreement](std::int64_t pixels) {
    return static_cast<double>(pixels) / static_cast<double>(agreement.GetPixels());
  };
  DoubtMask(session, truth, "the truth, where it is compared,", share(objects));
  DoubtMask(session,
            prediction,
            "the prediction, where it is compared,",
            share(agreement.truePositives + agreement.falsePositives));
}

std::string
Format(const Agreement & agreement, const nlohmann::ordered_json & json)
{
  std::string text;
  for (const char * key : { "dice", "iou", "sensitivity", "specificity", "precision", "diceAllForeground" })
  {
    text += std::string(key) + std::string(19 - std::string(key).size(), ' ') +
            FormatNumber(json[key].get<double>(), 6) + '\n';
  }
  text += "pixels             " + std::to_string(agreement.GetPixels()) + " (tp " + json["tp"].dump() + ", fp " +
          json["fp"].dump() + ", fn " + json["fn"].dump() + ", tn " + json["tn"].dump() + ")\n";
  if (json["truthMm2"].is_number())
  {
    text += "area               " + FormatNumber(json["predictionMm2"].get<double>(), 4) + " mm2 predicted, " +
            FormatNumber(json["truthMm2"].get<double>(), 4) + " mm2 true\n";
  }
  return text;
}

/** What is asked for belongs to what is judged. */
void
CheckOptions(const ArgumentValues & values, bool isTable)
{
  const OptionScope other = isTable ? OptionScope::Masks : OptionScope::Predictions;
  RefuseOptions(values, isTable ? "PREDICTION is a table of predictions" : "PREDICTION is a mask", other, other);
  if (isTable && values.IsGiven("TRUTH"))
  {
    throw UsageError(Diagnostic("E-OPTION-APPLIES",
                                "the truth of a table of predictions is the column label of a cohort",
                                "give it as --cohort " + values.GetText("TRUTH"))
                       .OfOption("TRUTH", values.GetText("TRUTH")));
  }
  if (!isTable && !values.IsGiven("TRUTH"))
  {
    throw UsageError(
      Diagnostic("E-OPTION-MISSING",
                 "evaluate needs TRUTH, the mask to judge by (of a table of predictions, .csv, --cohort)")
        .OfOption("TRUTH"));
  }
}
} // namespace

int
RunEvaluate(const ArgumentValues & values, const Session & session)
{
  const std::string name = values.GetText("PREDICTION");
  const bool        isTable = name.size() > 4 && name.compare(name.size() - 4, 4, ".csv") == 0;
  CheckOptions(values, isTable);
  if (isTable)
  {
    return RunEvaluatePredictions(values, session);
  }
  if (AreLabelVolumes(name, values.GetText("TRUTH")))
  {
    return RunEvaluateVolumes(values, session);
  }
  const MaskImage prediction(name);
  const MaskImage truth(values.GetText("TRUTH"));
  Comparison      comparison(prediction, truth, values.Has("partial"));
  const Agreement agreement = comparison.Run(session);
  WarnOfNothingToJudge(agreement, prediction.GetName(), truth.GetName(), session);
  const auto json = Describe(agreement, prediction, truth, comparison);
  session.ShowResult(Format(agreement, json), json);
  return Success;
}

} // namespace gigapixel::application
