/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BasicObjectMethods.h"
#include "RefusalCode.h"
#include "itkTissueClassImageFilter.h"

#include "MaskImages.h"

#include "gigapixelPredictor.h"
#include "gigapixelSource.h"
#include "itkStreamingImageFilter.h"
#include "itkTissueLabelImageFilter.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace gigapixel_test;
using gigapixel::ClassMap;
using gigapixel::TissueClass;

namespace
{

using ClassFilter = itk::TissueClassImageFilter<ColorType>;

/** A label grid of 4 um: pink blobs with texture on noisy glass, and a stroke of blue pen on the left. Pen is flat, and
 * tissue is not: by that, too, the network tells them apart. */
ColorType::Pointer
MakeGrid(itk::SizeValueType width, itk::SizeValueType height, unsigned seed)
{
  const auto       tissue = MakeBlobs((width + 7) / 8, (height + 7) / 8, seed);
  auto             image = MakeImage<ColorType>(width, height);
  std::mt19937     random(seed);
  const auto       perRow = width / 3 + 1;
  std::vector<int> texture(perRow * (height / 3 + 1));
  std::generate(texture.begin(), texture.end(), [&random] { return static_cast<int>(random() % 61) - 30; });
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const auto           x = it.GetIndex()[0];
    const bool           inked = x >= 40 && x < 110;
    const bool           stained = tissue->GetPixel({ { x / 8, it.GetIndex()[1] / 8 } }) != 0;
    const int            rough = texture[static_cast<std::size_t>(it.GetIndex()[1] / 3) * perRow + x / 3];
    const int            noise = static_cast<int>(random() % 13) - 6 + (stained && !inked ? rough : 0);
    const int            colors[3][3] = { { 243, 241, 244 }, { 205, 130, 190 }, { 50, 90, 200 } };
    ColorType::PixelType pixel;
    for (unsigned c = 0; c < 3; ++c)
    {
      pixel[c] = static_cast<unsigned char>(std::clamp(colors[inked ? 2 : stained ? 1 : 0][c] + noise, 0, 255));
    }
    it.Set(pixel);
  }
  const double spacing[2] = { 0.004, 0.004 };
  image->SetSpacing(spacing);
  return image;
}

/** The whole input of the network at once. */
class WholeInput : public gigapixel::PixelSource
{
public:
  WholeInput(std::vector<std::uint8_t> pixels, gigapixel::Size size)
    : m_Pixels(std::move(pixels))
    , m_Size(size)
  {}
  gigapixel::Size
  GetSize() const override
  {
    return m_Size;
  }
  unsigned
  GetNumberOfChannels() const override
  {
    return 6;
  }
  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      samples = std::copy_n(&m_Pixels[6 * (y * m_Size.width + region.x)], 6 * region.width, samples);
    }
  }

private:
  std::vector<std::uint8_t> m_Pixels;
  gigapixel::Size           m_Size;
};

/** In parts of 255. */
struct NaiveVerdict
{
  double             tissue;
  double             foreign;
  std::array<int, 3> color;
  bool               isPen;
};

/** As the class comment of ColorVotes says it, color by color. */
void
JudgeAnewNaively(std::vector<NaiveVerdict> & verdicts)
{
  std::map<std::array<int, 3>, std::array<double, 3>> votes;
  std::array<double, 3>                               all{};
  for (const NaiveVerdict & each : verdicts)
  {
    const std::array<double, 3> parts{ { each.tissue, each.foreign, 255 - each.tissue - each.foreign } };
    for (unsigned of = 0; of < 3; ++of)
    {
      votes[each.color][of] += parts[of] / 255;
      all[of] += parts[of] / 255;
    }
  }
  const auto sumAround = [&votes](const std::array<int, 3> & color, unsigned of) {
    const double weights[5] = { 1, 4, 6, 4, 1 };
    double       sum = 0;
    for (int i = 0; i < 125; ++i)
    {
      const std::array<int, 3> steps{ { i / 25, i / 5 % 5, i % 5 } };
      const auto found = votes.find({ { color[0] + steps[0] - 2, color[1] + steps[1] - 2, color[2] + steps[2] - 2 } });
      sum += found == votes.end() ? 0 : weights[steps[0]] * weights[steps[1]] * weights[steps[2]] * found->second[of];
    }
    return sum / 4096;
  };
  const auto getLogOdds = [](double yes, double no) { return std::log(std::max(yes, 0.5) / std::max(no, 0.5)); };
  const auto getLogPrior = [&](unsigned of) {
    const double least = 0.001 * static_cast<double>(verdicts.size());
    return 0.75 * std::max(0.0, std::log(std::max(all[0], least) / std::max(all[of], least)));
  };
  for (NaiveVerdict & each : verdicts)
  {
    if (each.tissue == 0 && each.foreign == 0)
    {
      continue;
    }
    const double glass = 255 - each.tissue - each.foreign;
    const double both = each.tissue + each.foreign;
    const double votesForTissue = sumAround(each.color, 0) + 1;
    const double againstForeign = std::log(votesForTissue / (sumAround(each.color, 1) + 1)) - getLogPrior(1);
    const double againstGlass = std::log(votesForTissue / (sumAround(each.color, 2) + 1)) - getLogPrior(2);
    const double first = both / (1 + std::exp(-(getLogOdds(each.tissue, each.foreign) + 1.5 * againstForeign)));
    const double second = (first + glass) / (1 + std::exp(-(getLogOdds(first, glass) + 0.25 * againstGlass)));
    each.tissue = std::floor(second + 0.5);
    each.foreign = std::min(std::floor(both - first + 0.5), 255 - each.tissue);
  }
}

/** As the class comment of TissueNetwork says it, pixel by pixel in doubles, and the network over all of it at once. */
MaskType::Pointer
ClassifyNaively(ColorType * grid, const MaskType * evidence, int factor)
{
  const auto size = grid->GetBufferedRegion().GetSize();
  const int  width = (static_cast<int>(size[0]) + factor - 1) / factor;
  const int  height = (static_cast<int>(size[1]) + factor - 1) / factor;
  auto       classes = MakeImage<MaskType>(size[0], size[1]);

  std::array<std::array<std::uint64_t, 256>, 3> counts{};
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(grid, grid->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    for (unsigned c = 0; c < 3; ++c)
    {
      ++counts[c][it.Get()[c]];
    }
  }
  std::array<gigapixel::ByteTable, 3> stretches;
  std::transform(counts.begin(), counts.end(), stretches.begin(), gigapixel::MakeColorStretch);
  const int                 alignedWidth = (width + 31) / 32 * 32;
  const int                 alignedHeight = (height + 31) / 32 * 32;
  std::vector<std::uint8_t> input(6 * alignedWidth * alignedHeight);
  for (int yOfAligned = 0; yOfAligned < alignedHeight; ++yOfAligned)
  {
    for (int xOfAligned = 0; xOfAligned < alignedWidth; ++xOfAligned)
    {
      const int             x = std::min(xOfAligned, width - 1);
      const int             y = std::min(yOfAligned, height - 1);
      std::array<double, 6> sums{};
      double                pixels = 0;
      for (int j = y * factor; j < std::min((y + 1) * factor, static_cast<int>(size[1])); ++j)
      {
        for (int i = x * factor; i < std::min((x + 1) * factor, static_cast<int>(size[0])); ++i)
        {
          for (unsigned c = 0; c < 3; ++c)
          {
            const auto value = grid->GetPixel({ { i, j } })[c];
            sums[c] += value;
            sums[3 + c] += stretches[c][value];
          }
          ++pixels;
        }
      }
      for (unsigned c = 0; c < 6; ++c)
      {
        input[6 * (yOfAligned * alignedWidth + xOfAligned) + c] =
          static_cast<std::uint8_t>(std::floor(sums[c] / pixels + 0.5));
      }
    }
  }
  WholeInput           source(input, { alignedWidth, alignedHeight });
  gigapixel::Predictor predictor(gigapixel::Model::Load("tissue-classes"), 1);
  std::vector<float>   probabilities(4 * alignedWidth * alignedHeight);
  predictor.Predict(source, { 0, 0, alignedWidth, alignedHeight }, probabilities.data());
  std::vector<NaiveVerdict> verdicts;
  for (int y = 0; y < height; ++y)
  {
    for (int x = 0; x < width; ++x)
    {
      const float * p = &probabilities[4 * (y * alignedWidth + x)];
      const auto *  pixel = &input[6 * (y * alignedWidth + x)];
      const double  tissue = std::floor(255.0f * p[1] + 0.5f);
      const double  foreign = std::min<double>(std::floor(255.0f * (p[2] + p[3]) + 0.5f), 255 - tissue);
      verdicts.push_back({ tissue, foreign, { { pixel[0] / 8, pixel[1] / 8, pixel[2] / 8 } }, p[2] > p[3] });
    }
  }
  JudgeAnewNaively(verdicts);
  const auto getTissue = [&](int x, int y) {
    return verdicts[std::clamp(y, 0, height - 1) * width + std::clamp(x, 0, width - 1)].tissue;
  };
  for (itk::ImageRegionIteratorWithIndex<MaskType> it(classes, classes->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const double         x = (static_cast<double>(it.GetIndex()[0]) + 0.5) / factor - 0.5;
    const double         y = (static_cast<double>(it.GetIndex()[1]) + 0.5) / factor - 0.5;
    const int            left = static_cast<int>(std::floor(x));
    const int            top = static_cast<int>(std::floor(y));
    const double         above = (left + 1 - x) * getTissue(left, top) + (x - left) * getTissue(left + 1, top);
    const double         below = (left + 1 - x) * getTissue(left, top + 1) + (x - left) * getTissue(left + 1, top + 1);
    const NaiveVerdict & verdict = verdicts[it.GetIndex()[1] / factor * width + it.GetIndex()[0] / factor];
    const bool           isEvident =
      evidence != nullptr && evidence->GetPixel(it.GetIndex()) != 0 && verdict.foreign < 2 * verdict.tissue;
    const bool isTissue = (top + 1 - y) * above + (y - top) * below >
                          255 * (isEvident ? gigapixel::TissueNetwork::Possible : gigapixel::TissueNetwork::Likely);
    const bool isForeign = verdict.foreign > 255 - verdict.tissue - verdict.foreign;
    const int  other = !isForeign ? 0 : verdict.isPen ? 2 : 3;
    it.Set(static_cast<unsigned char>(isTissue ? 1 : other));
  }
  return classes;
}

} // namespace

TEST(TissueClassImageFilter, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(TissueClassImageFilter,
                              ImageToImageFilter,
                              itk::TissueClassImageFilter<itk::Image<itk::RGBPixel<unsigned char>, 2>>);
}

TEST(ClassMap, PaintsAnyPartOfAnyRow)
{
  constexpr std::size_t      width = 61;
  constexpr std::size_t      height = 7;
  std::mt19937               random(5);
  std::vector<unsigned char> classes(width * height);
  for (std::size_t i = 0; i < classes.size(); ++i)
  {
    classes[i] = random() % 3 == 0 || i == 0 ? random() % 4 : classes[i - 1];
  }
  ClassMap map;
  map.Reset(width);
  for (std::size_t y = 0; y < height; ++y)
  {
    map.AppendRow(&classes[y * width]);
  }
  EXPECT_EQ(map.GetHeight(), height);
  const std::array<unsigned char, 4> values{ { 9, 7, 5, 3 } };
  for (int trial = 0; trial < 300; ++trial)
  {
    const std::size_t          y = random() % height;
    const std::size_t          first = random() % width;
    const std::size_t          count = random() % (width - first) + 1;
    std::vector<unsigned char> painted(count);
    map.PaintRow(y, first, count, values, painted.data());
    for (std::size_t i = 0; i < count; ++i)
    {
      ASSERT_EQ(painted[i], values[classes[y * width + first + i]]);
    }
  }
  EXPECT_REFUSAL(map.Reset(std::size_t{ 1 } << 30), "E-IMAGE-SIZE");
}

// Rows come in strips, the network in rows of tiles: neither is seen in the result. 2110 rows are three rows of tiles.
TEST(TissueClassImageFilter, IsTheNetworkOverTheWholeSlide)
{
  for (const unsigned factor : { 4u, 2u, 1u })
  {
    const auto grid = MakeGrid(333, 2109 * factor + 1, 11);
    const auto filter = ClassFilter::New();
    filter->SetInput(grid);
    filter->SetShrinkFactor(factor);
    const auto rule = itk::TissueThresholdImageFilter<ColorType>::New();
    rule->SetInput(grid);
    rule->SetMethod(gigapixel::TissueMethod::Stain);
    MaskType::Pointer evidence;
    if (factor < 4)
    {
      rule->Update();
      evidence = rule->GetOutput();
      evidence->DisconnectPipeline();
      filter->SetEvidence(rule->GetOutput());
    }
    filter->Update();
    const auto classes = ClassifyNaively(grid, evidence, static_cast<int>(factor));
    for (itk::ImageRegionIteratorWithIndex<MaskType> it(filter->GetOutput(), filter->GetOutput()->GetBufferedRegion());
         !it.IsAtEnd();
         ++it)
    {
      ASSERT_EQ(it.Get(), classes->GetPixel(it.GetIndex()) == 1 ? 255 : 0) << it.GetIndex() << ", factor " << factor;
    }
    const std::size_t          width = classes->GetBufferedRegion().GetSize(0);
    std::vector<unsigned char> row(width);
    for (std::size_t y = 0; y < filter->GetClasses().GetHeight(); ++y)
    {
      filter->GetClasses().PaintRow(y, 0, width, { { 0, 1, 2, 3 } }, row.data());
      ASSERT_TRUE(std::equal(row.begin(), row.end(), classes->GetBufferPointer() + y * width)) << y;
    }
  }
}

TEST(TissueClassImageFilter, SeesGrayAsEqualColors)
{
  const auto grid = MakeGrid(333, 401, 15);
  auto       gray = MakeImage<MaskType>(333, 401);
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(grid, grid->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const auto value = it.Get()[1];
    gray->SetPixel(it.GetIndex(), value);
    it.Set(ColorType::PixelType(value));
  }
  const auto ofColors = ClassFilter::New();
  ofColors->SetInput(grid);
  ofColors->Update();
  const auto ofGray = itk::TissueClassImageFilter<MaskType>::New();
  ofGray->SetInput(gray);
  ofGray->Update();
  std::size_t others = 0;
  for (std::size_t y = 0; y < 401; ++y)
  {
    std::vector<unsigned char> rows[2]{ std::vector<unsigned char>(333), std::vector<unsigned char>(333) };
    ofColors->GetClasses().PaintRow(y, 0, 333, { { 0, 1, 2, 3 } }, rows[0].data());
    ofGray->GetClasses().PaintRow(y, 0, 333, { { 0, 1, 2, 3 } }, rows[1].data());
    ASSERT_EQ(rows[0], rows[1]) << y;
    others += 333 - std::count(rows[0].begin(), rows[0].end(), 0);
  }
  EXPECT_GT(others, 0u);
}

TEST(TissueClassImageFilter, ThreadsAndDivisionsChangeNothing)
{
  const auto grid = MakeGrid(777, 1501, 12);
  const auto one = ClassFilter::New();
  one->SetInput(grid);
  one->SetNumberOfWorkUnits(1);
  one->Update();
  const auto several = ClassFilter::New();
  several->SetInput(grid);
  several->SetNumberOfWorkUnits(3);
  const auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
  streamer->SetInput(several->GetOutput());
  streamer->SetNumberOfStreamDivisions(5);
  streamer->Update();
  ExpectEqual<MaskType>(streamer->GetOutput(), one->GetOutput(), "threads and divisions");
}

TEST(TissueClassImageFilter, TellsPenFromTissue)
{
  const auto filter = itk::TissueLabelImageFilter<ColorType>::New();
  filter->SetInput(MakeGrid(777, 901, 13));
  filter->SetPreset("model");
  filter->SetShrinkFactor(1);
  filter->Update();
  const MaskType::Pointer mask = filter->GetOutput();
  mask->DisconnectPipeline();
  const double penShare = filter->GetPenShare();
  filter->OutputClassesOn();
  filter->Update();
  const auto classes = filter->GetOutput();
  const auto pens = std::count(classes->GetBufferPointer(), classes->GetBufferPointer() + 777 * 901, 2);
  EXPECT_DOUBLE_EQ(penShare, static_cast<double>(pens) / (777 * 901));
  EXPECT_DOUBLE_EQ(filter->GetPenShare(), penShare);
  int inked = 0;
  int pen = 0;
  for (itk::ImageRegionIteratorWithIndex<MaskType> it(classes, classes->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    ASSERT_LE(it.Get(), 3);
    ASSERT_EQ(it.Get() == 1, mask->GetPixel(it.GetIndex()) != 0) << it.GetIndex();
    const auto x = it.GetIndex()[0];
    inked += x >= 50 && x < 100 ? 1 : 0;
    pen += x >= 50 && x < 100 && it.Get() == 2 ? 1 : 0;
  }
  EXPECT_GT(pen, inked * 9 / 10);
  EXPECT_NEAR(filter->GetPenShare(), 70.0 / 777, 0.02);

  filter->SetPreset("robust"); // which knows of no pen
  filter->Update();
  const auto * pixels = filter->GetOutput()->GetBufferPointer();
  EXPECT_EQ(*std::max_element(pixels, pixels + 777 * 901), 1);
  EXPECT_TRUE(std::isnan(filter->GetPenShare()));
}

// A stroke that says glass takes tissue away; what is pen beyond it stays pen.
TEST(TissueClassImageFilter, HintsLeavePenWhatItIs)
{
  const auto grid = MakeGrid(777, 901, 13);
  const auto filter = ClassFilter::New();
  filter->SetInput(grid);
  filter->Update();
  std::vector<unsigned char> before(777);
  filter->GetClasses().PaintRow(450, 0, 777, { { 0, 1, 2, 3 } }, before.data());
  auto hints = MakeImage<MaskType>(777, 901);
  hints->FillBuffer(0);
  hints->CopyInformation(grid);
  for (int y = 100; y < 160; ++y)
  {
    for (int x = 60; x < 90; ++x)
    {
      hints->SetPixel({ { x, y } }, 1 + static_cast<unsigned char>(TissueClass::Pen));
    }
  }
  filter->SetHints(hints);
  filter->Update();
  std::vector<unsigned char> row(777);
  filter->GetClasses().PaintRow(450, 0, 777, { { 0, 1, 2, 3 } }, row.data());
  EXPECT_EQ(std::count(before.begin() + 50, before.begin() + 100, 2), 50);
  EXPECT_EQ(std::count(row.begin() + 50, row.begin() + 100, 2), 50);
}

TEST(TissueClassImageFilter, RefusesOtherModels)
{
  const auto filter = ClassFilter::New();
  filter->SetInput(MakeGrid(100, 100, 14));
  filter->SetModel("tissue"); // two classes
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  filter->SetModel("no such model");
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
}
