/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueNetwork.h"

#include "gigapixelPredictor.h"
#include "gigapixelSource.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <stdexcept>

namespace gigapixel
{
namespace
{
constexpr unsigned InputChannels = 3;

/** A row of the network's grid: what the network sees, and where the rule says tissue of half of the block or more. */
struct NetworkRow
{
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> rule;
};

/** Rows that are there now, of an image of which others are gone or are still to come. */
class RowWindow : public PixelSource
{
public:
  explicit RowWindow(Size size)
    : m_Size(size)
  {}

  Size
  GetSize() const override
  {
    return m_Size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return InputChannels;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const auto bytes = static_cast<std::size_t>(region.width) * InputChannels;
    for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += bytes)
    {
      std::memcpy(samples, this->GetRow(y).pixels.data() + region.x * InputChannels, bytes);
    }
  }

  const NetworkRow &
  GetRow(std::int64_t y) const
  {
    return m_Rows.at(static_cast<std::size_t>(y - m_First));
  }

  void
  Append(NetworkRow row)
  {
    m_Rows.push_back(std::move(row));
  }

  void
  DropAbove(std::int64_t y)
  {
    for (; m_First < y && !m_Rows.empty(); ++m_First)
    {
      m_Rows.pop_front();
    }
  }

  /** The row after the last one that is there. */
  std::int64_t
  GetEnd() const
  {
    return m_First + static_cast<std::int64_t>(m_Rows.size());
  }

private:
  Size                   m_Size;
  std::int64_t           m_First{ 0 };
  std::deque<NetworkRow> m_Rows;
};

Size
GetNetworkSize(std::size_t width, std::size_t height, unsigned factor)
{
  return Size{ static_cast<std::int64_t>((width + factor - 1) / factor),
               static_cast<std::int64_t>((height + factor - 1) / factor) };
}

Model
LoadModel(const std::string & name)
{
  Model model = Model::Load(name);
  if (model.network.channels != static_cast<int>(InputChannels) ||
      model.network.GetNumberOfOutputChannels() != static_cast<int>(ClassMap::Classes))
  {
    throw std::runtime_error(
      "The model " + name + " does not tell glass, tissue, pen and artifacts apart in pixels of " +
      std::to_string(InputChannels) + " channels; take one that Utilities/train-tissue-model made.");
  }
  return model;
}

/** A byte over that of the glass, which becomes 255, rounded. */
std::array<std::array<std::uint8_t, 256>, 3>
DivideByGlass(const TissueRule & rule)
{
  std::array<std::array<std::uint8_t, 256>, 3> table{};
  for (std::size_t channel = 0; channel < 3; ++channel)
  {
    const int glass = rule.glass[channel];
    for (int value = 0; value < 256; ++value)
    {
      table[channel][static_cast<std::size_t>(value)] =
        static_cast<std::uint8_t>(std::min(255, (255 * value + glass / 2) / glass));
    }
  }
  return table;
}
/** Tissue by rule and network together, else what is most probable of the others. */
unsigned char
ChooseClass(const float * probabilities, bool ruleSaysTissue)
{
  constexpr auto tissue = static_cast<std::size_t>(TissueClass::Tissue);
  constexpr auto doubt = static_cast<float>(1.0 - TissueNetwork::Certainty);
  if (probabilities[tissue] >= (ruleSaysTissue ? doubt : 1.0f - doubt))
  {
    return tissue;
  }
  std::size_t best = static_cast<std::size_t>(TissueClass::Glass);
  for (const TissueClass other : { TissueClass::Pen, TissueClass::Artifact })
  {
    const auto value = static_cast<std::size_t>(other);
    best = probabilities[value] > probabilities[best] ? value : best;
  }
  return static_cast<unsigned char>(best);
}
} // namespace

struct TissueNetwork::Implementation
{
  Implementation(std::size_t         labelWidth,
                 std::size_t         labelHeight,
                 unsigned            pixelChannels,
                 unsigned            blockSide,
                 const TissueRule &  rule,
                 const std::string & model,
                 int                 threads)
    : width(labelWidth)
    , height(labelHeight)
    , channels(pixelChannels)
    , factor(blockSide)
    , overGlass(DivideByGlass(rule))
    , input(GetNetworkSize(labelWidth, labelHeight, blockSide))
    , predictor(LoadModel(model), threads)
    , sums(static_cast<std::size_t>(input.GetSize().width) * InputChannels)
    , ruleSums(static_cast<std::size_t>(input.GetSize().width))
  {
    classes.Reset(static_cast<std::size_t>(input.GetSize().width));
  }

  void AddToSums(const unsigned char * pixels, const unsigned char * mask);
  void FinishRow(std::size_t rows);
  void Predict();

  std::size_t                                  width;
  std::size_t                                  height;
  unsigned                                     channels;
  unsigned                                     factor;
  std::array<std::array<std::uint8_t, 256>, 3> overGlass;
  RowWindow                                    input;
  Predictor                                    predictor;
  std::vector<std::uint32_t>                   sums;     ///< of a row of blocks
  std::vector<std::uint32_t>                   ruleSums; ///< pixels where the rule says tissue
  std::size_t                                  rowsAdded{ 0 };
  ClassMap                                     classes;
};

void
TissueNetwork::Implementation::AddToSums(const unsigned char * pixels, const unsigned char * mask)
{
  const std::size_t second = channels == 1 ? 0 : 1;
  const std::size_t third = channels == 1 ? 0 : 2;
  std::uint32_t *   sum = sums.data();
  std::uint32_t *   ruleSum = ruleSums.data();
  for (std::size_t begin = 0; begin < width; begin += factor, sum += InputChannels, ++ruleSum)
  {
    const std::size_t end = std::min(begin + factor, width);
    for (std::size_t x = begin; x < end; ++x)
    {
      const unsigned char * pixel = pixels + x * channels;
      const std::uint32_t   isTissue = mask[x] == 0 ? 0 : 1;
      sum[0] += overGlass[0][pixel[0]];
      sum[1] += (overGlass[1][pixel[second]] + 255 * (1 - isTissue) + 1) / 2;
      sum[2] += overGlass[2][pixel[third]];
      *ruleSum += isTissue;
    }
  }
}

void
TissueNetwork::Implementation::FinishRow(std::size_t rows)
{
  NetworkRow row{ std::vector<std::uint8_t>(sums.size()), std::vector<std::uint8_t>(ruleSums.size()) };
  for (std::size_t x = 0; x < ruleSums.size(); ++x)
  {
    const auto pixels = static_cast<std::uint32_t>(rows * (std::min((x + 1) * factor, width) - x * factor));
    for (std::size_t i = InputChannels * x; i < InputChannels * (x + 1); ++i)
    {
      row.pixels[i] = static_cast<std::uint8_t>((sums[i] + pixels / 2) / pixels);
    }
    row.rule[x] = 2 * ruleSums[x] >= pixels ? 1 : 0;
  }
  input.Append(std::move(row));
  std::fill(sums.begin(), sums.end(), 0);
  std::fill(ruleSums.begin(), ruleSums.end(), 0);
}

/** All rows of tiles whose input is there. */
void
TissueNetwork::Implementation::Predict()
{
  const Size                 image = input.GetSize();
  std::vector<float>         probabilities;
  std::vector<unsigned char> row(static_cast<std::size_t>(image.width));
  while (static_cast<std::int64_t>(classes.GetHeight()) < image.height)
  {
    const auto   first = static_cast<std::int64_t>(classes.GetHeight());
    const Region tiles = predictor.GetTiles(Region{ 0, first, image.width, 1 }, image);
    const Region needed = predictor.GetInputRegion(tiles, image);
    if (input.GetEnd() < needed.y + needed.height)
    {
      return;
    }
    probabilities.resize(row.size() * static_cast<std::size_t>(tiles.height) * ClassMap::Classes);
    predictor.Predict(input, tiles, probabilities.data());
    const float * of = probabilities.data();
    for (std::int64_t y = tiles.y; y < tiles.y + tiles.height; ++y)
    {
      const NetworkRow & known = input.GetRow(y);
      for (std::size_t x = 0; x < row.size(); ++x, of += ClassMap::Classes)
      {
        row[x] = ChooseClass(of, known.rule[x] != 0);
      }
      classes.AppendRow(row.data());
    }
    input.DropAbove(needed.y);
  }
}

bool
TissueNetwork::IsBuilt()
{
  return true;
}

unsigned
TissueNetwork::GetFactor(double labelMicronsPerPixel)
{
  return static_cast<unsigned>(std::clamp<long>(std::lround(MicronsPerPixel / labelMicronsPerPixel), 1, 256));
}

TissueNetwork::TissueNetwork(std::size_t         width,
                             std::size_t         height,
                             unsigned            channels,
                             unsigned            factor,
                             const TissueRule &  rule,
                             const std::string & model,
                             int                 threads)
  : m_Implementation(std::make_unique<Implementation>(width, height, channels, factor, rule, model, threads))
{}

TissueNetwork::~TissueNetwork() = default;

void
TissueNetwork::AddRow(const unsigned char * pixels, const unsigned char * mask)
{
  Implementation & state = *m_Implementation;
  state.AddToSums(pixels, mask);
  ++state.rowsAdded;
  const std::size_t rest = state.rowsAdded % state.factor;
  if (rest == 0 || state.rowsAdded == state.height)
  {
    state.FinishRow(rest == 0 ? state.factor : rest);
    state.Predict();
  }
}

ClassMap
TissueNetwork::TakeClasses()
{
  return std::move(m_Implementation->classes);
}

} // namespace gigapixel
