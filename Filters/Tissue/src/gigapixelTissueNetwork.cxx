/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueNetwork.h"

#include "gigapixelColorVotes.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelPredictor.h"
#include "gigapixelRunLengthMask.h"
#include "gigapixelSource.h"
#include "gigapixelTissueCorrection.h"
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
/** Red, green and blue as they are, and stretched. */
constexpr unsigned InputChannels = 6;

/** Pixels along the longer side of the network's grid: about so many where the resolution is unknown, and at least so
 * many where it is known, if the slide has them. The network was trained on such grids. */
constexpr double SideOfUnknown = 1000.0;
constexpr double LeastSide = 256.0;

/** Sides of the network's grid are made multiples of this by more of the last row and column: what the engine would put
 * there is white, which is no ground where the slide is dark. It is what the network is coarser by at its coarsest. */
constexpr std::int64_t Alignment = 32;

/** Between two of these, nobody is told how far the work is. */
constexpr std::int64_t RowsAtATime = 256;

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
      std::memcpy(samples, this->GetRow(y).data() + region.x * InputChannels, bytes);
    }
  }

  const std::vector<std::uint8_t> &
  GetRow(std::int64_t y) const
  {
    return m_Rows.at(static_cast<std::size_t>(y - m_First));
  }

  void
  Append(std::vector<std::uint8_t> row)
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
  Size                                  m_Size;
  std::int64_t                          m_First{ 0 };
  std::deque<std::vector<std::uint8_t>> m_Rows;
};

Size
GetBlocks(std::size_t width, std::size_t height, unsigned factor)
{
  return Size{ static_cast<std::int64_t>((width + factor - 1) / factor),
               static_cast<std::int64_t>((height + factor - 1) / factor) };
}

Size
Align(Size size)
{
  return Size{ (size.width + Alignment - 1) / Alignment * Alignment,
               (size.height + Alignment - 1) / Alignment * Alignment };
}

Model
LoadModel(const std::string & name)
{
  Model model = Model::Load(name);
  if (model.network.channels != static_cast<int>(InputChannels) ||
      model.network.GetNumberOfOutputChannels() != static_cast<int>(ClassMap::Classes))
  {
    throw Refusal(
      Diagnostic("E-MODEL-OUTPUT",
                 "The model " + name +
                   " does not tell glass, tissue, pen and artifacts apart in colors as they are and stretched",
                 "take one that Utilities/tissue-network made")
        .OfFile(name));
  }
  return model;
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

TissueVerdict
Judge(const float * probabilities, const std::uint8_t * color)
{
  const auto  of = [probabilities](TissueClass value) { return probabilities[static_cast<unsigned char>(value)]; };
  const float pen = of(TissueClass::Pen);
  const float artifact = of(TissueClass::Artifact);
  const auto  tissue = static_cast<std::uint8_t>(255.0f * of(TissueClass::Tissue) + 0.5f);
  const auto  foreign = std::min(static_cast<int>(255.0f * (pen + artifact) + 0.5f), 255 - tissue);
  const auto  isPen = static_cast<std::uint16_t>(pen > artifact ? 1 : 0);
  return { tissue, static_cast<std::uint8_t>(foreign), ColorVotes::GetColor(color), isPen };
}

/** What is likelier, if it is no tissue: glass, or what is foreign, which is the likelier of pen and artifact. */
unsigned char
GetOther(const TissueVerdict & verdict)
{
  const TissueClass foreign = verdict.isPen != 0 ? TissueClass::Pen : TissueClass::Artifact;
  return static_cast<unsigned char>(verdict.foreign > verdict.GetGlass() ? foreign : TissueClass::Glass);
}

/** Probabilities of tissue with other evidence in sight, by the network's one in parts of 255. */
std::array<double, 256>
MakePosteriors(double threshold)
{
  std::array<double, 256> posteriors;
  for (std::size_t i = 0; i < posteriors.size(); ++i)
  {
    const double yes = static_cast<double>(i) * (1 - threshold);
    const double no = static_cast<double>(255 - i) * threshold;
    posteriors[i] = yes / (yes + no);
  }
  return posteriors;
}

/** Where the center of a pixel of the label grid lies between the centers of two pixels of the network's: the first of
 * them, and how far from it, in parts of twice the factor. Beyond the outermost center all is as it is there. */
struct Place
{
  std::int64_t first;
  int          part;
};

Place
FindPlace(std::int64_t label, int factor, std::int64_t size)
{
  const std::int64_t doubled = 2 * label + 1 - factor; // of the distance to the first center
  if (doubled < 0)
  {
    return { 0, 0 };
  }
  const std::int64_t first = doubled / (2 * factor);
  return first >= size - 1 ? Place{ size - 1, 0 } : Place{ first, static_cast<int>(doubled % (2 * factor)) };
}
} // namespace

struct TissueNetwork::Implementation
{
  Implementation(const TissueGrid & grid, const ColorCounts & counts, const std::string & model, int threadsAsked)
    : width(grid.width)
    , height(grid.height)
    , channels(grid.channels)
    , factor(grid.factor)
    , threads(GetNumberOfThreads(threadsAsked))
    , stretches{ { MakeColorStretch(counts.values[0]),
                   MakeColorStretch(counts.values[1]),
                   MakeColorStretch(counts.values[2]) } }
    , blocks(GetBlocks(width, height, factor))
    , input(Align(blocks))
    , predictor(LoadModel(model), threadsAsked)
    , workers(threads)
    , sums(static_cast<std::size_t>(blocks.width) * InputChannels)
    , blended(static_cast<std::size_t>(blocks.width))
    , hintsOfBlocks(static_cast<std::size_t>(blocks.width))
    , row(width)
  {
    classes.Reset(width);
    evidence.Reset(width);
    verdicts.reserve(static_cast<std::size_t>(blocks.width * blocks.height));
    for (std::size_t x = 0; x < width; ++x)
    {
      columns.push_back(FindPlace(static_cast<std::int64_t>(x), static_cast<int>(factor), blocks.width));
    }
  }

  void                    AddToSums(const unsigned char * pixels);
  void                    AddHints(const unsigned char * hintsOfRow);
  void                    FinishRow(std::size_t rows);
  void                    Predict();
  void                    JudgeTiles(const Region & tiles);
  void                    JudgeAnew(std::int64_t begin, std::int64_t end, const TissueCorrection & correction);
  TissueCorrection::Block MakeBlock(std::int64_t x, std::int64_t y) const;
  TissueCorrection        LearnHints() const;
  void                    BlendRows(std::int64_t label);
  void                    AppendClasses(const std::function<void(double)> & onProgress);

  /** Where a block is in `verdicts`. */
  std::size_t
  GetPlace(std::int64_t x, std::int64_t y) const
  {
    return static_cast<std::size_t>(y * blocks.width + x);
  }

  std::size_t                width;
  std::size_t                height;
  unsigned                   channels;
  unsigned                   factor;
  int                        threads;
  std::array<ByteTable, 3>   stretches;
  Size                       blocks;
  RowWindow                  input; ///< of the aligned size
  Predictor                  predictor;
  Workers                    workers;
  std::vector<std::uint32_t> sums; ///< of a row of blocks
  std::size_t                rowsAdded{ 0 };
  RunLengthMask              evidence; ///< of the label grid, as the hints
  /** Rows of the label grid, empty where nobody says anything. */
  std::vector<std::vector<unsigned char>> hints;
  /** A block that a stroke covers. */
  struct HintedBlock
  {
    std::int64_t x, y;
    bool         isTissue;
  };
  std::vector<HintedBlock>               hinted;
  std::int64_t                           predicted{ 0 }; ///< rows of the network's grid
  std::unique_ptr<float[]>               probabilities;  ///< not a vector, which would write zeros first
  std::size_t                            probabilitiesSize{ 0 };
  std::vector<TissueVerdict>             verdicts; ///< row by row
  ColorVotes                             votes;
  std::uint64_t                          calledTissue{ 0 }; ///< pixels of the label grid
  double                                 sumWithin{ 0.0 };  ///< of their posterior probabilities of tissue
  double                                 sumBeyond{ 0.0 };  ///< and of the other pixels
  std::array<std::array<double, 256>, 2> posteriors{ { MakePosteriors(Likely), MakePosteriors(Possible) } };
  std::vector<Place>                     columns;       ///< of the label grid
  std::vector<int>                       blended;       ///< tissue, at the height of a row of the label grid
  std::vector<int>                       hintsOfBlocks; ///< of a row: pixels that are tissue, less those that are not
  std::vector<unsigned char>             row;
  ClassMap                               classes;
};

void
TissueNetwork::Implementation::AddToSums(const unsigned char * pixels)
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
      sum[0] += pixel[0];
      sum[1] += pixel[second];
      sum[2] += pixel[third];
      sum[3] += stretches[0][pixel[0]];
      sum[4] += stretches[1][pixel[second]];
      sum[5] += stretches[2][pixel[third]];
    }
  }
}

void
TissueNetwork::Implementation::AddHints(const unsigned char * hintsOfRow)
{
  hints.emplace_back();
  if (std::all_of(hintsOfRow, hintsOfRow + width, [](unsigned char hint) { return hint == 0; }))
  {
    return;
  }
  hints.back().assign(hintsOfRow, hintsOfRow + width);
  for (std::size_t x = 0; x < width; ++x)
  {
    constexpr auto tissue = static_cast<unsigned char>(TissueClass::Tissue);
    hintsOfBlocks[x / factor] += hintsOfRow[x] == 0 ? 0 : hintsOfRow[x] == 1 + tissue ? 1 : -1;
  }
}

void
TissueNetwork::Implementation::FinishRow(std::size_t rows)
{
  for (std::size_t x = 0; x < hintsOfBlocks.size(); ++x)
  {
    if (const int sum = std::exchange(hintsOfBlocks[x], 0); sum != 0)
    {
      hinted.push_back({ static_cast<std::int64_t>(x), input.GetEnd(), sum > 0 });
    }
  }
  std::vector<std::uint8_t> means(sums.size());
  const std::size_t         last = sums.size() - InputChannels;
  const std::size_t         lastWidth = width - last / InputChannels * factor;
  Divide(sums.data(), last, rows * factor, means.data());
  Divide(sums.data() + last, InputChannels, rows * lastWidth, means.data() + last);
  for (std::int64_t x = blocks.width; x < input.GetSize().width; ++x)
  {
    means.insert(means.end(), means.end() - InputChannels, means.end());
  }
  const bool isLast = input.GetEnd() + 1 == blocks.height;
  for (std::int64_t y = blocks.height; isLast && y < input.GetSize().height; ++y)
  {
    input.Append(means);
  }
  input.Append(std::move(means));
  std::fill(sums.begin(), sums.end(), 0);
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
    predicted = tiles.y + tiles.height;
    input.DropAbove(needed.y);
  }
}

/** The verdicts on a row of tiles, from as many of them at a time as there are threads: the probabilities of all would
 * take four times the memory of the verdicts. */
void
TissueNetwork::Implementation::JudgeTiles(const Region & tiles)
{
  const Size image = input.GetSize();
  verdicts.resize(this->GetPlace(0, std::min(tiles.y + tiles.height, blocks.height)));
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
    for (std::int64_t y = some.y; y < std::min(some.y + some.height, blocks.height); ++y)
    {
      const float *        ofBlock = probabilities.get() + (y - some.y) * some.width * ClassMap::Classes;
      const std::uint8_t * color = input.GetRow(y).data() + some.x * InputChannels;
      for (std::int64_t i = some.x; i < std::min(some.x + some.width, blocks.width); ++i)
      {
        TissueVerdict & verdict = verdicts[this->GetPlace(i, y)];
        verdict = Judge(ofBlock, color);
        votes.Add(verdict);
        ofBlock += ClassMap::Classes;
        color += InputChannels;
      }
    }
    x += some.width;
  }
}

TissueCorrection::Block
TissueNetwork::Implementation::MakeBlock(std::int64_t x, std::int64_t y) const
{
  const TissueVerdict &                verdict = verdicts[this->GetPlace(x, y)];
  std::array<unsigned char, 3>         color{};
  std::array<float, ClassMap::Classes> probabilitiesOfBlock{};
  for (unsigned channel = 0; channel < 3; ++channel)
  {
    color[channel] = stretches[channel][ColorVotes::GetLevel(verdict.color, channel)];
  }
  const TissueClass foreign = verdict.isPen != 0 ? TissueClass::Pen : TissueClass::Artifact;
  for (const auto & [value, of] : { std::pair(TissueClass::Glass, verdict.GetGlass()),
                                    std::pair(TissueClass::Tissue, verdict.tissue),
                                    std::pair(foreign, verdict.foreign) })
  {
    probabilitiesOfBlock[static_cast<unsigned char>(value)] = static_cast<float>(of) / 255.0f;
  }
  const auto longest = static_cast<double>(std::max(blocks.width, blocks.height));
  return TissueCorrection::MakeBlock(
    color.data(), probabilitiesOfBlock.data(), static_cast<double>(x) / longest, static_cast<double>(y) / longest);
}

/** What the blocks ask for that strokes cover. */
TissueCorrection
TissueNetwork::Implementation::LearnHints() const
{
  TissueCorrection correction;
  for (const HintedBlock & each : hinted)
  {
    const double tissue = verdicts[this->GetPlace(each.x, each.y)].tissue / 255.0;
    correction.Add(this->MakeBlock(each.x, each.y), each.isTissue, TissueCorrection::GetLogOdds(tissue));
  }
  correction.Solve();
  return correction;
}

/** What a person says of some blocks, and then what the network says of a color on the whole slide, change the verdicts
 * of these rows of blocks. */
void
TissueNetwork::Implementation::JudgeAnew(std::int64_t begin, std::int64_t end, const TissueCorrection & correction)
{
  const std::size_t first = this->GetPlace(0, begin);
  workers.ForEachPart(this->GetPlace(0, end) - first, [&](std::size_t partBegin, std::size_t partEnd) {
    for (std::size_t i = first + partBegin; i < first + partEnd; ++i)
    {
      TissueVerdict & verdict = verdicts[i];
      if (!hinted.empty())
      {
        const auto   at = static_cast<std::int64_t>(i);
        const double added = correction.Get(this->MakeBlock(at % blocks.width, at / blocks.width));
        const double logOdds = TissueCorrection::GetLogOdds(verdict.tissue / 255.0) + added;
        // What is no tissue stays foreign and glass in the same parts.
        const double share = static_cast<double>(verdict.foreign) / std::max(1, 255 - verdict.tissue);
        verdict.tissue = static_cast<std::uint8_t>(255.0 / (1.0 + std::exp(-logOdds)) + 0.5);
        verdict.foreign = static_cast<std::uint8_t>(share * (255 - verdict.tissue) + 0.5);
      }
      votes.Apply(verdict);
    }
  });
}

/** The probability of tissue between the rows of the network's grid, in parts of twice the factor. */
void
TissueNetwork::Implementation::BlendRows(std::int64_t label)
{
  const Place                 place = FindPlace(label, static_cast<int>(factor), blocks.height);
  const TissueVerdict * const above = verdicts.data() + this->GetPlace(0, place.first);
  const TissueVerdict * const below = place.part == 0 ? above : above + blocks.width;
  const int                   whole = 2 * static_cast<int>(factor);
  for (std::int64_t x = 0; x < blocks.width; ++x)
  {
    blended[static_cast<std::size_t>(x)] = (whole - place.part) * above[x].tissue + place.part * below[x].tissue;
  }
}

/** The rows of the label grid, by all that is known. */
void
TissueNetwork::Implementation::AppendClasses(const std::function<void(double)> & onProgress)
{
  const int                  side = static_cast<int>(factor);
  const double               certain = 4.0 * 255.0 * side * side; // the greatest sum
  const auto                 likely = static_cast<int>(std::lround(certain * Likely));
  const auto                 possible = static_cast<int>(std::lround(certain * Possible));
  const int                  half = 2 * side * side; // of one part of 255
  std::vector<unsigned char> isEvident(width);
  for (std::size_t y = 0; y < height; ++y)
  {
    const auto label = static_cast<std::int64_t>(y);
    this->BlendRows(label);
    evidence.PaintRow(y, 0, width, isEvident.data());
    const TissueVerdict * const ofRow = verdicts.data() + this->GetPlace(0, label / side);
    for (std::size_t x = 0; x < width; ++x)
    {
      const TissueVerdict & block = ofRow[x / factor];
      const Place           column = columns[x];
      const int *           sum = blended.data() + column.first;
      const int             tissue = (2 * side - column.part) * sum[0] + column.part * sum[column.part == 0 ? 0 : 1];
      const bool            isBacked = isEvident[x] != 0 && block.foreign < 2 * block.tissue;
      const bool            isTissue = tissue > (isBacked ? possible : likely);
      calledTissue += isTissue ? 1 : 0;
      (isTissue ? sumWithin : sumBeyond) +=
        posteriors[isBacked ? 1 : 0][static_cast<std::size_t>((tissue + half) / (2 * half))];
      row[x] = isTissue ? static_cast<unsigned char>(TissueClass::Tissue) : GetOther(block);
    }
    for (std::size_t x = 0; x < hints[y].size(); ++x)
    {
      row[x] = hints[y][x] == 0 ? row[x] : static_cast<unsigned char>(hints[y][x] - 1);
    }
    classes.AppendRow(row.data());
    if (label % RowsAtATime == 0)
    {
      onProgress(static_cast<double>(y) / static_cast<double>(height));
    }
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
TissueNetwork::GetFactor(std::size_t width, std::size_t height, double labelMicronsPerPixel)
{
  const auto   longest = static_cast<double>(std::max(width, height));
  const double factor = labelMicronsPerPixel > 0 ? std::min(MicronsPerPixel / labelMicronsPerPixel, longest / LeastSide)
                                                 : longest / SideOfUnknown;
  return static_cast<unsigned>(std::clamp<long>(std::lround(factor), 1, 256));
}

TissueNetwork::TissueNetwork(const TissueGrid &  grid,
                             const ColorCounts & counts,
                             const std::string & model,
                             int                 threads)
  : m_Implementation(std::make_unique<Implementation>(grid, counts, model, threads))
{}

TissueNetwork::~TissueNetwork() = default;

void
TissueNetwork::AddRow(const unsigned char * pixels, const unsigned char * evidence, const unsigned char * hints)
{
  Implementation & state = *m_Implementation;
  state.AddToSums(pixels);
  if (hints == nullptr)
  {
    state.hints.emplace_back();
  }
  else
  {
    state.AddHints(hints);
  }
  const std::vector<unsigned char> none(evidence == nullptr ? state.width : 0, 0);
  state.evidence.AppendRow(evidence == nullptr ? none.data() : evidence);
  ++state.rowsAdded;
  const std::size_t rest = state.rowsAdded % state.factor;
  if (rest == 0 || state.rowsAdded == state.height)
  {
    state.FinishRow(rest == 0 ? state.factor : rest);
    state.Predict();
  }
}

void
TissueNetwork::Finish(const std::function<void(double)> & onProgress)
{
  Implementation &       state = *m_Implementation;
  const TissueCorrection correction = state.LearnHints();
  state.votes.Count(); // of what the network says, so that strokes change nothing far away
  for (std::int64_t y = 0; y < state.blocks.height; y += RowsAtATime)
  {
    state.JudgeAnew(y, std::min<std::int64_t>(y + RowsAtATime, state.blocks.height), correction);
    onProgress(0.5 * static_cast<double>(y) / static_cast<double>(state.blocks.height));
  }
  state.AppendClasses([&onProgress](double share) { onProgress(0.5 + 0.5 * share); });
}

ClassMap
TissueNetwork::TakeClasses()
{
  return std::move(m_Implementation->classes);
}

double
TissueNetwork::GetExpectedOverlap() const
{
  const Implementation & state = *m_Implementation;
  return state.calledTissue == 0 ? std::nan("")
                                 : state.sumWithin / (static_cast<double>(state.calledTissue) + state.sumBeyond);
}

double
TissueNetwork::GetChanceOfPoorMask(double expectedOverlap)
{
  constexpr double middle = 0.810;
  constexpr double slope = 31.5;
  return 1.0 / (1.0 + std::exp(slope * (expectedOverlap - middle)));
}

} // namespace gigapixel
