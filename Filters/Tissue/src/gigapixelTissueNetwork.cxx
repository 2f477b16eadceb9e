/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueNetwork.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPredictor.h"
#include "gigapixelSource.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <iomanip>
#include <locale>
#include <sstream>

namespace gigapixel
{
namespace
{
constexpr unsigned InputChannels = 3;

/** A row of the network's grid: what the network sees, and the rule's mask of the rows of the label grid under it. */
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
    throw Refusal(Diagnostic("E-MODEL-OUTPUT",
                             "The model " + name +
                               " does not tell glass, tissue, pen and artifacts apart in pixels of " +
                               std::to_string(InputChannels) + " channels",
                             "take one that Utilities/train-tissue-model made")
                    .OfFile(name));
  }
  return model;
}

using ByteTable = std::array<std::uint8_t, 256>;

/** What the network sees in place of a byte. */
struct InputTables
{
  ByteTable                red;
  std::array<ByteTable, 2> green; ///< where the rule says no tissue, and where it does
  ByteTable                blue;
};

/** A byte over that of the glass, which becomes 255, rounded. */
ByteTable
DivideByGlass(int glass)
{
  ByteTable table{};
  for (int value = 0; value < 256; ++value)
  {
    table[static_cast<std::size_t>(value)] =
      static_cast<std::uint8_t>(std::min(255, (255 * value + glass / 2) / glass));
  }
  return table;
}

InputTables
MakeInputTables(const TissueRule & rule)
{
  InputTables     tables{ DivideByGlass(rule.glass[0]), {}, DivideByGlass(rule.glass[2]) };
  const ByteTable green = DivideByGlass(rule.glass[1]);
  for (std::size_t value = 0; value < green.size(); ++value)
  {
    tables.green[0][value] = static_cast<std::uint8_t>((green[value] + 255 + 1) / 2);
    tables.green[1][value] = static_cast<std::uint8_t>((green[value] + 1) / 2);
  }
  return tables;
}

/** Means of sums over as many bytes, rounded. Floats, of which the machine divides many at once, are exact here: sums
 * lie below 2^24, and a quotient that is no whole number lies at least 2^-16 below the next one, as close as floats
 * below 256 are. */
void
Divide(const std::uint32_t * sums, std::size_t n, std::size_t bytes, std::uint8_t * means)
{
  const auto half = static_cast<std::int32_t>(bytes / 2);
  const auto divisor = static_cast<float>(bytes);
  for (std::size_t i = 0; i < n; ++i)
  {
    const auto dividend = static_cast<float>(static_cast<std::int32_t>(sums[i]) + half);
    means[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(dividend / divisor));
  }
}

/** What a pixel of the network's grid is: where the rule says tissue, and where it does not. */
struct Verdict
{
  unsigned char stained;
  unsigned char unstained;
};

Verdict
Judge(const float * probabilities, bool isFine)
{
  constexpr auto certain = static_cast<float>(TissueNetwork::Certainty);
  constexpr auto tissue = static_cast<unsigned char>(TissueClass::Tissue);
  constexpr auto pen = static_cast<unsigned char>(TissueClass::Pen);
  constexpr auto artifact = static_cast<unsigned char>(TissueClass::Artifact);
  unsigned char  other = static_cast<unsigned char>(TissueClass::Glass);
  for (const unsigned char next : { pen, artifact })
  {
    other = probabilities[next] > probabilities[other] ? next : other;
  }
  if (isFine)
  {
    const bool isForeign = probabilities[pen] + probabilities[artifact] >= certain;
    return { isForeign ? other : tissue, other };
  }
  return { probabilities[tissue] >= 1.0f - certain ? tissue : other,
           probabilities[tissue] >= certain ? tissue : other };
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
                 int                 threadsAsked)
    : width(labelWidth)
    , height(labelHeight)
    , channels(pixelChannels)
    , factor(blockSide)
    , threads(GetNumberOfThreads(threadsAsked))
    , tables(MakeInputTables(rule))
    , input(GetNetworkSize(labelWidth, labelHeight, blockSide))
    , predictor(LoadModel(model), threadsAsked)
    , sums(static_cast<std::size_t>(input.GetSize().width) * InputChannels)
  {
    classes.Reset(width);
  }

  void AddToSums(const unsigned char * pixels, const unsigned char * mask);
  void FinishRow(std::size_t rows);
  void Predict();
  void JudgeTiles(const Region & tiles);
  void AppendClasses(const Verdict * verdict, const std::vector<std::uint8_t> & mask);

  std::size_t                width;
  std::size_t                height;
  unsigned                   channels;
  unsigned                   factor;
  int                        threads;
  InputTables                tables;
  RowWindow                  input;
  Predictor                  predictor;
  std::vector<std::uint32_t> sums; ///< of a row of blocks
  std::vector<std::uint8_t>  rule; ///< of the rows that they are of
  std::size_t                rowsAdded{ 0 };
  std::int64_t               predicted{ 0 }; ///< rows of the network's grid
  std::unique_ptr<float[]>   probabilities;  ///< not a vector, which would write zeros first
  std::size_t                probabilitiesSize{ 0 };
  std::vector<Verdict>       verdicts; ///< on a row of tiles
  std::vector<unsigned char> stained;  ///< the verdict for each column of the label grid
  std::vector<unsigned char> unstained;
  std::vector<unsigned char> row;
  ClassMap                   classes;
};

void
TissueNetwork::Implementation::AddToSums(const unsigned char * pixels, const unsigned char * mask)
{
  const std::size_t second = channels == 1 ? 0 : 1;
  const std::size_t third = channels == 1 ? 0 : 2;
  std::uint32_t *   sum = sums.data();
  for (std::size_t begin = 0; begin < width; begin += factor, sum += InputChannels)
  {
    const std::size_t end = std::min(begin + factor, width);
    for (std::size_t x = begin; x < end; ++x)
    {
      const unsigned char * pixel = pixels + x * channels;
      sum[0] += tables.red[pixel[0]];
      sum[1] += tables.green[mask[x] == 0 ? 0 : 1][pixel[second]];
      sum[2] += tables.blue[pixel[third]];
    }
  }
}

void
TissueNetwork::Implementation::FinishRow(std::size_t rows)
{
  NetworkRow        row{ std::vector<std::uint8_t>(sums.size()), std::move(rule) };
  const std::size_t last = sums.size() - InputChannels;
  const std::size_t lastWidth = width - last / InputChannels * factor;
  Divide(sums.data(), last, rows * factor, row.pixels.data());
  Divide(sums.data() + last, InputChannels, rows * lastWidth, row.pixels.data() + last);
  input.Append(std::move(row));
  std::fill(sums.begin(), sums.end(), 0);
  rule.clear();
}

/** All rows of tiles whose input is there. */
void
TissueNetwork::Implementation::Predict()
{
  const Size image = input.GetSize();
  while (predicted < image.height)
  {
    const Region tiles = predictor.GetTiles(Region{ 0, predicted, image.width, 1 }, image);
    const Region needed = predictor.GetInputRegion(tiles, image);
    if (input.GetEnd() < needed.y + needed.height)
    {
      return;
    }
    this->JudgeTiles(tiles);
    for (std::int64_t y = 0; y < tiles.height; ++y)
    {
      this->AppendClasses(verdicts.data() + y * tiles.width, input.GetRow(tiles.y + y).rule);
    }
    predicted = tiles.y + tiles.height;
    input.DropAbove(needed.y);
  }
}

/** The verdicts on a row of tiles, from as many of them at a time as there are threads: the probabilities of all would
 * take eight times the memory of the verdicts. */
void
TissueNetwork::Implementation::JudgeTiles(const Region & tiles)
{
  const Size image = input.GetSize();
  verdicts.resize(static_cast<std::size_t>(tiles.width * tiles.height));
  for (std::int64_t x = 0; x < tiles.width;)
  {
    const std::int64_t side = predictor.GetTiles(Region{ x, tiles.y, 1, 1 }, image).width;
    const Region some = predictor.GetTiles(Region{ x, tiles.y, std::min(side * threads, tiles.width - x), 1 }, image);
    const auto   size = static_cast<std::size_t>(some.width * some.height) * ClassMap::Classes;
    if (size > probabilitiesSize)
    {
      probabilities.reset(); // both at once would be twice as much
      probabilities.reset(new float[size]);
      probabilitiesSize = size;
    }
    predictor.Predict(input, some, probabilities.get());
    const float * ofPixel = probabilities.get();
    for (std::int64_t y = 0; y < some.height; ++y)
    {
      Verdict * const row = verdicts.data() + y * tiles.width + x;
      for (std::int64_t i = 0; i < some.width; ++i, ofPixel += ClassMap::Classes)
      {
        row[i] = Judge(ofPixel, factor > 1);
      }
    }
    x += some.width;
  }
}

/** The rows of the label grid under a row of the network's. */
void
TissueNetwork::Implementation::AppendClasses(const Verdict * verdict, const std::vector<std::uint8_t> & mask)
{
  stained.resize(width);
  unstained.resize(width);
  unsigned column = 0; // of the block; filling blocks of a few bytes by a function would take longer than the bytes do
  for (std::size_t x = 0; x < width; ++x)
  {
    stained[x] = verdict->stained;
    unstained[x] = verdict->unstained;
    if (++column == factor)
    {
      column = 0;
      ++verdict;
    }
  }
  row.resize(width);
  for (const std::uint8_t * isTissue = mask.data(); isTissue != mask.data() + mask.size(); isTissue += width)
  {
    for (std::size_t x = 0; x < width; ++x)
    {
      row[x] = isTissue[x] == 0 ? unstained[x] : stained[x];
    }
    classes.AppendRow(row.data());
  }
}

bool
TissueNetwork::IsBuilt()
{
  return true;
}

std::string
TissueNetwork::Identify(const std::string & readyModel)
{
  std::uint64_t hash = 14695981039346656037ull;
  for (const auto & [name, parameter] : LoadModel(readyModel).parameters)
  {
    const auto * const bytes = reinterpret_cast<const unsigned char *>(parameter.values.data());
    for (std::size_t i = 0; i < parameter.values.size() * sizeof(float); ++i)
    {
      hash = (hash ^ bytes[i]) * 1099511628211ull;
    }
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << readyModel << " hash=" << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
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
  state.rule.insert(state.rule.end(), mask, mask + state.width);
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
