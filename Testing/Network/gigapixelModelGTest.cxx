/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "model/gigapixelInitialWeights.h"
#include "gigapixelModel.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPredictor.h"
#include "execute/gigapixelStreamedNetwork.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

Model
MakeModel(std::int64_t tileSize = 256)
{
  Model model;
  model.network = NetworkDescription::Load("remedios2023");
  model.parameters = ToParameters(model.network, MakeInitialWeights(model.network, 3, { 0.5, 0.5 }));
  model.micronsPerPixel = 0.1 + 0.2;
  model.tileSize = tileSize;
  return model;
}

gigapixel::Diagnostic
GetRefusal(const std::string & path)
{
  return gigapixel_test::FindRefusal([&] { Model::Load(path); });
}

void
Write(const std::string & path, const std::string & content)
{
  std::ofstream(path, std::ios::binary) << content;
}

/** The sum over the image, by the graph of operations that the layers stand for. */
double
ComputeLossInDouble(const Model & model, PixelSource & pixels, LabelSource & labels)
{
  StreamedNetwork streamed(model.network, model.tileSize, 1, { -1, Precision::Double });
  Score           score;
  streamed.SetParameters(ToArray(model));
  EXPECT_TRUE(streamed.ComputeScore(pixels, labels, score));
  return score.loss;
}

} // namespace

TEST(Model, SurvivesItsFile)
{
  const TemporaryFolder folder("model");
  const Model           model = MakeModel();
  model.Save(folder.path + "/best.safetensors");
  for (const std::string & path : { folder.path, folder.path + "/best.safetensors" })
  {
    const Model loaded = Model::Load(path);
    EXPECT_EQ(loaded.network.ToJSON(), model.network.ToJSON());
    EXPECT_EQ(loaded.micronsPerPixel, model.micronsPerPixel);
    EXPECT_EQ(loaded.tileSize, model.tileSize);
    ASSERT_EQ(loaded.parameters.size(), model.parameters.size());
    for (const auto & [name, parameter] : model.parameters)
    {
      EXPECT_EQ(loaded.parameters.at(name).shape, parameter.shape);
      EXPECT_EQ(loaded.parameters.at(name).values, parameter.values);
    }
  }
}

// The format's own document: eight bytes of length, a JSON header, then the values where the header says.
TEST(Model, FileIsSafetensors)
{
  const TemporaryFolder folder("format");
  const Model           model = MakeModel();
  model.Save(folder.path + "/m.safetensors");
  const std::string content = ReadAll(folder.path + "/m.safetensors");
  std::uint64_t     length = 0;
  std::memcpy(&length, content.data(), 8);
  ASSERT_LT(length, content.size());
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(content.size(), 8 + length + 4492 * 4);
  const std::string header = content.substr(8, length);
  EXPECT_EQ(header.front(), '{');
  // std::map order: L1.bias comes first, so its values stand at the front of the data.
  EXPECT_NE(header.find("\"L1.bias\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}"), std::string::npos);
  float value = 0;
  std::memcpy(&value, content.data() + 8 + length + 24, 4);
  EXPECT_EQ(value, model.parameters.at("L1.weight").values.front());
}

TEST(Model, ReadyModelsLoadByName)
{
  const std::vector<std::string> names = Model::GetNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "tissue"), names.end());
  for (const std::string & name : names)
  {
    const bool isForSlides = name != "tissue-classes"; // which sees a grid that label makes, of any resolution
    EXPECT_EQ(Model::Load(name).micronsPerPixel > 0, isForSlides) << name;
    EXPECT_TRUE(Model::IsReady(name)) << name;
  }
  EXPECT_FALSE(Model::IsReady("./tissue"));
  EXPECT_FALSE(Model::IsReady("remedios2023"));
}

TEST(Model, RefusesDamagedFiles)
{
  const TemporaryFolder folder("damaged");
  const std::string     path = folder.path + "/m.safetensors";
  EXPECT_EQ(GetRefusal(path).code, "E-FILE-MISSING");
  EXPECT_EQ(GetRefusal(path).file, path);
  EXPECT_EQ(GetRefusal(folder.path).code, "E-RUN-FORMAT");
  EXPECT_EQ(GetRefusal(folder.path).file, folder.path);
  MakeModel().Save(path);
  const std::string content = ReadAll(path);
  for (const std::size_t length : { std::size_t{ 0 }, std::size_t{ 5 }, std::size_t{ 100 }, content.size() - 1 })
  {
    Write(path, content.substr(0, length));
    EXPECT_EQ(GetRefusal(path).code, length == 5 ? "E-MODEL-FORMAT" : "E-FILE-DAMAGED") << length;
  }
  EXPECT_EQ(GetRefusal(path).file, path);
  EXPECT_FALSE(GetRefusal(path).remedy.empty());
  Write(path, std::string("\x89PNG\r\n\x1a\n") + std::string(100, 'x'));
  EXPECT_EQ(GetRefusal(path).code, "E-MODEL-FORMAT");
  std::filesystem::resize_file(path, std::uintmax_t{ 1 } << 40); // a slide by mistake: it is not read to its end
  EXPECT_EQ(GetRefusal(path).code, "E-MODEL-FORMAT");
  EXPECT_THROW(MakeModel(131072).Save(path), std::invalid_argument);
  const auto change = [&](const std::string & from, const std::string & to) {
    std::string changed = content;
    changed.replace(changed.find(from), from.size(), to);
    Write(path, changed);
    return GetRefusal(path);
  };
  EXPECT_EQ(change("L1.bias", "L1.bios").code, "E-WEIGHTS-MISMATCH");
  EXPECT_EQ(change("[6,1,16,16]", "[1,6,16,16]").code, "E-WEIGHTS-MISMATCH");
  EXPECT_EQ(change("\"F32\",\"shape\":[6]", "\"F64\",\"shape\":[3]").code, "E-MODEL-FORMAT");
  EXPECT_EQ(change("\"dtype\":\"F32\"", "\"dtype\":\"I32\"").code, "E-MODEL-FORMAT");
  EXPECT_EQ(change("\"dtype\":\"F32\"", "\"dtype\":\"X32\"").code, "E-MODEL-FORMAT");
  EXPECT_EQ(change("\"gigapixel\":\"1\"", "\"gigapixel\":\"9\"").code, "E-MODEL-FORMAT");
}

// Every number is finite, but what the layers make of it is not: the mask would be full or empty.
TEST(Model, RefusesWeightsThatOverflow)
{
  const TemporaryFolder folder("range");
  const auto            getRefusal = [&](const std::string & name, float value, bool all) {
    Model  model = MakeModel();
    auto & values = model.parameters.at(name).values;
    std::fill_n(values.begin(), all ? values.size() : 1, value);
    try
    {
      Predictor predictor(model, 1);
    }
    catch (const std::invalid_argument & error)
    {
      EXPECT_THROW(model.Save(folder.path + "/m.safetensors"), std::invalid_argument);
      return Diagnostic::Of(error);
    }
    return Diagnostic();
  };
  for (const char * name : { "L1.weight", "L3.weight", "L5.weight", "L7.weight" })
  {
    EXPECT_EQ(getRefusal(name, 1e38f, true).code, "E-NOT-FINITE") << name;
    EXPECT_EQ(getRefusal(name, 3e38f, false).code, "E-NOT-FINITE") << name;
    EXPECT_EQ(getRefusal(name, -3e38f, false).code, "E-NOT-FINITE") << name;
    EXPECT_EQ(getRefusal(name, 1e9f, true).code, "") << name;
  }
  EXPECT_EQ(getRefusal("L7.bias", -3e38f, true).value, "L7");
}

// The bound is reached by an image: one of the extreme pixels, with weights that all add up.
TEST(Predictor, GreatestWeightsThatAreTakenGiveFiniteLogits)
{
  Model model = MakeModel();
  for (auto & [name, parameter] : model.parameters)
  {
    const bool isWeight = name.find("weight") != std::string::npos;
    std::fill(parameter.values.begin(), parameter.values.end(), isWeight ? 1.0f : 0.0f);
  }
  // Of layers of ones, the bound is a polynomial in nothing but sizes: the last one is scaled up to it.
  auto & last = model.parameters.at("L7.weight").values;
  double low = 0, high = 38;
  for (int i = 0; i < 40; ++i)
  {
    const double middle = (low + high) / 2;
    std::fill(last.begin(), last.end(), static_cast<float>(std::pow(10, middle)));
    bool isTaken = true;
    try
    {
      Predictor predictor(model, 1);
    }
    catch (const std::invalid_argument &)
    {
      isTaken = false;
    }
    (isTaken ? low : high) = middle;
  }
  EXPECT_GT(low, 25);
  std::fill(last.begin(), last.end(), static_cast<float>(std::pow(10, low)));
  struct Black : ProceduralPixels
  {
    using ProceduralPixels::ProceduralPixels;
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      std::fill_n(samples, region.width * region.height, std::uint8_t{ 0 });
    }
  };
  Black            pixels({ 256, 256 }, 1);
  ProceduralLabels labels({ 256, 256 }, 1);
  const double     loss = ComputeLossInDouble(model, pixels, labels);
  // The loss of the background's pixels is their logit, that of the object's is 0: between a tenth and all of 1e38.
  double                    background = 0;
  std::vector<std::uint8_t> truth(256 * 256);
  labels.Read({ 0, 0, 256, 256 }, truth.data());
  background = static_cast<double>(std::count(truth.begin(), truth.end(), 0));
  EXPECT_GT(loss / background, 1e37);
  EXPECT_LT(loss / background, 1.001e38);
  std::vector<float> probabilities(256 * 256);
  ASSERT_TRUE(Predictor(model, 1).Predict(pixels, { 0, 0, 256, 256 }, probabilities.data()));
  EXPECT_EQ(*std::min_element(probabilities.begin(), probabilities.end()), 1.0f);
}

TEST(Predictor, RefusesWhatFloat16CannotHold)
{
  ProceduralPixels          pixels({ 256, 256 }, 2);
  std::vector<std::uint8_t> labels(256 * 256);
  const auto                getRefusal = [&](const char * name, float factor) {
    Model model = MakeModel();
    for (float & value : model.parameters.at(name).values)
    {
      value *= factor;
    }
    return gigapixel_test::FindRefusal([&] {
      Predictor predictor(model, 1, { -1, Precision::Float16 });
      predictor.PredictLabels(pixels, { 0, 0, 256, 256 }, 0.5, labels.data());
    });
  };
  EXPECT_EQ(getRefusal("L1.weight", 1).value, "fp16"); // which only GPUs compute in
  EXPECT_EQ(getRefusal("L1.weight", 1e7f).code, "E-PRECISION");
  EXPECT_EQ(getRefusal("L1.weight", 1e7f).value, "L1.weight");
}

// Bytes of every position changed: refused or loaded, never a crash.
TEST(Model, ShowsNoRawBytesOfADamagedFile)
{
  const TemporaryFolder folder("raw");
  const std::string     path = folder.path + "/raw.safetensors", header = "{\"\xff\x1b[31m\": 1}";
  std::string           head(8, '\0');
  head[0] = static_cast<char>(header.size());
  std::ofstream(path, std::ios::binary) << head + header;
  const Diagnostic refusal = GetRefusal(path);
  EXPECT_EQ(refusal.code, "E-FILE-DAMAGED");
  EXPECT_EQ(refusal.why.find_first_of("\xff\x1b"), std::string::npos);
}

TEST(Model, SurvivesAnyBrokenHeader)
{
  const TemporaryFolder folder("fuzz");
  const std::string     path = folder.path + "/m.safetensors";
  MakeModel().Save(path);
  const std::string content = ReadAll(path);
  for (std::size_t i = 0; i < 2500; i += 7)
  {
    std::string changed = content;
    changed[i] = static_cast<char>(Noise(static_cast<std::int64_t>(i), 0, 1));
    Write(path, changed);
    EXPECT_LT(GetRefusal(path).why.size(), 400u) << i; // not all that the header holds
  }
}

TEST(Predictor, HasTheSameBitsForEveryWayOfAsking)
{
  const Size         size{ 1100, 733 };
  ProceduralPixels   pixels(size, 2);
  Predictor          whole(MakeModel(), 1);
  std::vector<float> all(size.width * size.height);
  ASSERT_TRUE(whole.Predict(pixels, { 0, 0, size.width, size.height }, all.data()));
  EXPECT_GT(*std::max_element(all.begin(), all.end()) - *std::min_element(all.begin(), all.end()), 0.01f);
  Predictor threaded(MakeModel(), 3);
  for (const Region & region :
       { Region{ 0, 0, 1100, 733 }, Region{ 1099, 732, 1, 1 }, Region{ 255, 255, 2, 2 }, Region{ 300, 100, 517, 600 } })
  {
    std::vector<float> part(region.width * region.height, -1.0f);
    ASSERT_TRUE(threaded.Predict(pixels, region, part.data()));
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      for (std::int64_t x = 0; x < region.width; ++x)
      {
        ASSERT_EQ(part[y * region.width + x], all[(region.y + y) * size.width + region.x + x]) << x << "," << y;
      }
    }
  }
}

// A sum with the map before it, and with an earlier one, over maps that are wider than a kernel's strip of columns.
TEST(Predictor, SumsOfMapsAreThoseOfTheGraph)
{
  Model model;
  model.network = NetworkDescription::FromJSON(R"({ "name": "mine", "layers": [
    { "name": "A", "type": "convolution", "in": 1, "out": 4, "kernel": 3, "padding": 1, "activation": "relu" },
    { "name": "B", "type": "convolution", "in": 4, "out": 4, "kernel": 3, "padding": 1, "activation": "relu", "add": "A" },
    { "name": "C", "type": "convolution", "in": 4, "out": 4, "kernel": 5, "padding": 2, "activation": "relu" },
    { "name": "D", "type": "transposed convolution", "in": 4, "out": 4, "kernel": 3, "padding": 1,
      "activation": "relu", "add": "C" },
    { "name": "E", "type": "convolution", "in": 4, "out": 4, "kernel": 3, "padding": 1, "activation": "relu", "add": "B" },
    { "name": "F", "type": "convolution", "in": 4, "out": 1, "kernel": 3, "padding": 1, "activation": "none" }
  ] })");
  model.parameters = ToParameters(model.network, MakeInitialWeights(model.network, 3, { 0.5, 0.5 }));
  model.tileSize = 1024;
  const Size         size{ 517, 61 };
  const Region       all{ 0, 0, size.width, size.height };
  ProceduralPixels   pixels(size, 2);
  std::vector<float> found(size.width * size.height), expected(found.size());
  ASSERT_TRUE(Predictor(model, 1).Predict(pixels, all, found.data()));
  ASSERT_TRUE(Predictor(model, 1, { -1, Precision::Double }).Predict(pixels, all, expected.data()));
  EXPECT_GT(*std::max_element(found.begin(), found.end()) - *std::min_element(found.begin(), found.end()), 0.01f);
  for (std::size_t i = 0; i < found.size(); ++i)
  {
    ASSERT_NEAR(found[i], expected[i], 1e-5f) << i % size.width << "," << i / size.width;
  }
}

// Other tiles, other order of additions: the same to rounding. Tiles of 2048 take the image in one piece.
TEST(Predictor, TilesShowNoSeams)
{
  const Size         size{ 1100, 733 };
  ProceduralPixels   pixels(size, 2);
  std::vector<float> tiles(size.width * size.height), whole(size.width * size.height);
  ASSERT_TRUE(Predictor(MakeModel(64)).Predict(pixels, { 0, 0, size.width, size.height }, tiles.data()));
  ASSERT_TRUE(Predictor(MakeModel(2048)).Predict(pixels, { 0, 0, size.width, size.height }, whole.data()));
  for (std::size_t i = 0; i < whole.size(); ++i)
  {
    ASSERT_NEAR(tiles[i], whole[i], 1e-5f);
  }
}

// The logarithm of the probabilities is the loss, which LibTorch's operations compute in double.
TEST(Predictor, ProbabilitiesExplainTheLoss)
{
  const Size         size{ 333, 222 };
  const Model        model = MakeModel();
  ProceduralPixels   pixels(size, 2);
  ProceduralLabels   labels(size, 2);
  std::vector<float> probabilities(size.width * size.height);
  ASSERT_TRUE(Predictor(model).Predict(pixels, { 0, 0, size.width, size.height }, probabilities.data()));
  std::vector<std::uint8_t> truth(probabilities.size());
  labels.Read({ 0, 0, size.width, size.height }, truth.data());
  double loss = 0;
  for (std::size_t i = 0; i < truth.size(); ++i)
  {
    loss -= std::log(truth[i] ? double{ probabilities[i] } : 1 - double{ probabilities[i] });
  }
  const double reference = ComputeLossInDouble(model, pixels, labels);
  EXPECT_NEAR(loss, reference, 1e-5 * reference);
}

TEST(Predictor, TellsWhatItReads)
{
  struct Recording : ProceduralPixels
  {
    using ProceduralPixels::ProceduralPixels;
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      left = std::min(left, region.x);
      top = std::min(top, region.y);
      right = std::max(right, region.x + region.width);
      bottom = std::max(bottom, region.y + region.height);
      ProceduralPixels::Read(region, samples);
    }
    std::int64_t left{ 1 << 20 }, top{ 1 << 20 }, right{ 0 }, bottom{ 0 };
  };
  const Size         size{ 1100, 733 };
  Predictor          predictor(MakeModel(), 1);
  const Region       asked{ 300, 100, 20, 30 };
  Recording          pixels(size, 1);
  std::vector<float> part(asked.width * asked.height);
  ASSERT_TRUE(predictor.Predict(pixels, asked, part.data()));
  const Region tiles = predictor.GetTiles(asked, size), input = predictor.GetInputRegion(asked, size);
  EXPECT_EQ((std::vector<std::int64_t>{ tiles.x, tiles.y, tiles.width, tiles.height }),
            (std::vector<std::int64_t>{ 256, 0, 256, 256 }));
  EXPECT_EQ((std::vector<std::int64_t>{ pixels.left, pixels.top, pixels.right, pixels.bottom }),
            (std::vector<std::int64_t>{ input.x, input.y, input.x + input.width, input.y + input.height }));
  EXPECT_FALSE(predictor.Predict(pixels, asked, part.data(), [](double) { return false; }));
  EXPECT_THROW(predictor.Predict(pixels, { 1090, 0, 11, 1 }, part.data()), std::invalid_argument);
}
