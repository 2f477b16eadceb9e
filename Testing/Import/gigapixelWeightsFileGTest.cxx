/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWeightsFile.h"
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "model/gigapixelInitialWeights.h"
#include "gigapixelModel.h"
#include "graph/gigapixelParameterLayout.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** A file as safetensors.torch.save_file writes it. \param entries name, type, shape in JSON, bytes */
void
WriteWeights(const std::string & path, const std::vector<std::array<std::string, 4>> & entries)
{
  std::string header, data;
  for (const auto & [name, type, shape, bytes] : entries)
  {
    header += (header.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape +
              ",\"data_offsets\":[" + std::to_string(data.size()) + ',' + std::to_string(data.size() + bytes.size()) +
              "]}";
    data += bytes;
  }
  header += '}';
  const std::uint64_t length = header.size();
  std::string         head(8, '\0');
  std::memcpy(&head[0], &length, 8);
  std::ofstream(path, std::ios::binary) << head + header + data;
}

template <typename T>
std::string
ToBytes(const std::vector<T> & values)
{
  return { reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T) };
}

} // namespace

TEST(WeightsFile, IsTakenByNamesAndShapes)
{
  const TemporaryFolder    folder("weights");
  const std::string        path = folder.path + "/w.safetensors";
  const NetworkDescription network = NetworkDescription::Load("unet:base=1,depth=1");
  std::vector<double>      parameters = MakeInitialWeights(network, 1, { 0.5, 0.5 });
  const auto               before = ToParameters(network, parameters);
  WriteWeights(path,
               { { "enc.0.1.weight", "F64", "[1]", ToBytes<double>({ 0.1 }) },
                 { "enc.0.1.bias", "F16", "[1]", ToBytes<std::uint16_t>({ 0xbe00 }) },                  // -1.5
                 { "enc.1.1.running_mean", "BF16", "[2]", ToBytes<std::uint16_t>({ 0x4040, 0x3f80 }) }, // 3, 1
                 { "enc.1.1.running_var", "F32", "[2]", ToBytes<float>({ 0.25F, 4 }) },
                 { "enc.0.1.num_batches_tracked", "I64", "[]", ToBytes<std::int64_t>({ 7 }) },
                 { "last.bias", "I32", "[1]", ToBytes<std::int32_t>({ 7 }) },
                 { "last.weight", "F32", "[2,1,1,1]", ToBytes<float>({ 1, 2 }) } });
  const TakenWeights result = TakeWeights(path, network, parameters);
  const auto         after = ToParameters(network, parameters);
  using Names = std::vector<std::string>;
  EXPECT_EQ(result.taken, (Names{ "enc.0.1.weight", "enc.0.1.bias", "enc.1.1.running_mean", "enc.1.1.running_var" }));
  EXPECT_EQ(result.ofOtherShape, (Names{ "last.weight", "last.bias" }));
  EXPECT_EQ(result.notInNetwork, (Names{ "enc.0.1.num_batches_tracked" }));
  EXPECT_EQ(result.taken.size() + result.ofOtherShape.size() + result.notInFile.size(), before.size());
  EXPECT_EQ(after.at("enc.0.1.weight").values, std::vector<float>{ 0.1F });
  EXPECT_EQ(after.at("enc.0.1.bias").values, std::vector<float>{ -1.5F });
  EXPECT_EQ(after.at("enc.1.1.running_mean").values, (std::vector<float>{ 3, 1 }));
  EXPECT_EQ(after.at("enc.1.1.running_var").values, (std::vector<float>{ 0.25F, 4 }));
  for (const std::string & name : result.notInFile)
  {
    EXPECT_EQ(after.at(name).values, before.at(name).values) << name;
  }
}

// A ResNet for gray images has torchvision's arrays but the first convolution's.
TEST(WeightsFile, OfOtherChannelsLacksTheFirstConvolution)
{
  const TemporaryFolder    folder("channels");
  Model                    color;
  const NetworkDescription gray = NetworkDescription::Load("resnet18-unet:channels=1");
  color.network = NetworkDescription::Load("resnet18-unet");
  color.parameters = ToParameters(color.network, MakeInitialWeights(color.network, 3, { 0.75, 0.25 }));
  color.Save(folder.path + "/color.safetensors");
  std::vector<double> taken = MakeInitialWeights(gray, 2, { 0.5, 0.5 });
  const TakenWeights  result = TakeWeights(folder.path + "/color.safetensors", gray, taken);
  EXPECT_EQ(result.ofOtherShape, (std::vector<std::string>{ "conv1.weight" }));
  EXPECT_TRUE(result.notInFile.empty() && result.notInNetwork.empty());
  EXPECT_TRUE(ToParameters(gray, taken).at("layer1.0.conv1.weight").values ==
              color.parameters.at("layer1.0.conv1.weight").values);
}

TEST(WeightsFile, IsRefusedWithTheReason)
{
  const TemporaryFolder     folder("weights");
  const std::string         path = folder.path + "/w.safetensors";
  const NetworkDescription  network = NetworkDescription::Load("unet:base=1,depth=1");
  const std::vector<double> before = MakeInitialWeights(network, 1, { 0.5, 0.5 });
  const auto                refuse = [&](const char * code) {
    std::vector<double> parameters = before;
    const Diagnostic    refusal = gigapixel_test::FindRefusal([&] { TakeWeights(path, network, parameters); });
    EXPECT_EQ(refusal.code, code) << refusal.why;
    EXPECT_EQ(refusal.file, path);
    EXPECT_EQ(parameters, before);
  };
  refuse("E-FILE-ACCESS");
  WriteWeights(path, { { "other", "F32", "[1]", ToBytes<float>({ 1 }) } });
  refuse("E-WEIGHTS-MISMATCH");
  WriteWeights(path,
               { { "enc.0.1.bias", "F32", "[1]", ToBytes<float>({ 1 }) },
                 { "last.bias", "F32", "[1]", ToBytes<float>({ INFINITY }) } });
  refuse("E-NOT-FINITE");
  WriteWeights(path,
               { { "enc.0.1.bias", "F32", "[1]", ToBytes<float>({ 1 }) },
                 { "enc.0.norm.running_var", "F32", "[1]", ToBytes<float>({ 1 }) } });
  refuse("E-WEIGHTS-MISMATCH");
  std::ofstream(path) << "no weights";
  refuse("E-FILE-KIND");
}
