/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPatchDifference.h"
#include "gigapixelPredictor.h"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

using Counts = std::map<std::string, int>;

Model
MakeModel(const std::string & operations)
{
  Model model;
  model.network = NetworkDescription::FromJSON(
    R"({"name": "small", "operations": [{"name": "image", "type": "input", "channels": 1}, )" + operations +
    R"(, {"name": "logits", "type": "conv2d", "inputs": ["last"], "out_channels": 1, "kernel_size": 1}], "output": "logits"})");
  model.parameters = ToParameters(model.network, MakeInitialWeights(model.network, 3, { 0.5, 0.5 }));
  model.tileSize = 512;
  return model;
}

std::vector<float>
Predict(const Model & model, PixelSource & pixels)
{
  const Size         size = pixels.GetSize();
  std::vector<float> probabilities(size.width * size.height);
  EXPECT_TRUE(Predictor(model, 1).Predict(pixels, { 0, 0, size.width, size.height }, probabilities.data()));
  return probabilities;
}

/** A patch of procedural pixels as an image by itself. */
class PatchPixels : public ProceduralPixels
{
public:
  PatchPixels(std::int64_t begin, std::int64_t side)
    : ProceduralPixels({ side, side }, 5)
    , m_Begin(begin)
  {}

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    ProceduralPixels::Read({ region.x + m_Begin, region.y + m_Begin, region.width, region.height }, samples);
  }

private:
  std::int64_t m_Begin;
};

struct Differences
{
  double middle; ///< the greatest one farther than the halo from the patch's borders
  double border; ///< and up to it
};

/** What the network makes of a patch at (begin, begin), and of the same pixels in the whole image. */
Differences
Compare(const Model & model, std::int64_t image, std::int64_t side, std::int64_t begin)
{
  ProceduralPixels         whole({ image, image }, 5);
  PatchPixels              patch(begin, side);
  const std::vector<float> ofImage = Predict(model, whole), ofPatch = Predict(model, patch);
  const std::int64_t       halo = model.network.GetHalo();
  Differences              differences{ 0, 0 };
  for (std::int64_t y = 0; y < side; ++y)
  {
    for (std::int64_t x = 0; x < side; ++x)
    {
      const bool inside = std::min(x, y) >= halo && std::max(x, y) < side - halo;
      double &   greatest = inside ? differences.middle : differences.border;
      greatest = std::max<double>(greatest, std::abs(ofPatch[y * side + x] - ofImage[(y + begin) * image + x + begin]));
    }
  }
  return differences;
}

struct Case
{
  const char * name;
  std::string  operations; ///< between "image" and "last"
  Counts       borders;
  std::int64_t multiple;
  Counts       sizes;
};

std::string
Convolve(const std::string & name, const std::string & input, const std::string & more)
{
  return R"({"name": ")" + name + R"(", "type": "conv2d", "inputs": [")" + input + R"("], "out_channels": 4)" + more +
         "}";
}

std::string
Operate(const std::string & name, const std::string & type, const std::string & inputs, const std::string & more)
{
  return R"({"name": ")" + name + R"(", "type": ")" + type + R"(", "inputs": [)" + inputs + "]" + more + "}";
}

std::vector<Case>
MakeCases()
{
  const std::string same = R"(, "kernel_size": 3, "padding": 1)", valid = R"(, "kernel_size": 3)";
  const std::string even = Operate("even", "pad", R"("image")", R"(, "multiple": 4, "mode": "replicate")") + ", ";
  const std::string halve = R"(, "kernel_size": 2)";
  const std::string crop = ", " + Operate("last", "crop", R"("up", "image")", "");
  const std::string low = Operate("low", "max_pool2d", R"("image")", halve) + ", ";
  const std::string wide = Operate("wide", "conv2d", R"("low")", R"(, "out_channels": 4, "kernel_size": 1)") + ", ";
  const std::string bilinear = R"(, "mode": "bilinear")";
  return {
    { "pixels", Convolve("last", "image", R"(, "kernel_size": 1)"), {}, 1, {} },
    { "zeros", Convolve("last", "image", same), { { "conv2d (zeros)", 1 } }, 1, {} },
    { "mirrored",
      Convolve("last", "image", same + R"(, "padding_mode": "reflect")"),
      { { "conv2d (reflect)", 1 } },
      1,
      {} },
    { "padded before",
      Operate("wide", "pad", R"("image")", R"(, "before": 1, "after": 1, "value": 0.5)") + ", " +
        Convolve("last", "wide", valid),
      { { "pad (constant)", 1 } },
      1,
      {} },
    { "pooled",
      even + Operate("low", "max_pool2d", R"("even")", halve) + ", " +
        Operate("up", "interpolate", R"("low")", R"(, "scale_factor": 2)") + crop,
      {},
      2,
      {} },
    { "pooled twice",
      even + Operate("high", "avg_pool2d", R"("even")", halve) + ", " +
        Operate("low", "max_pool2d", R"("high")", halve) + ", " +
        Operate("up", "interpolate", R"("low")", R"(, "scale_factor": 4)") + crop,
      {},
      4,
      {} },
    { "windows that overlap",
      even + Operate("low", "max_pool2d", R"("even")", R"(, "kernel_size": 3, "stride": 2, "padding": 1)") + ", " +
        Operate("up", "interpolate", R"("low")", R"(, "scale_factor": 2)" + bilinear) + crop,
      { { "max_pool2d (nothing)", 1 }, { "interpolate (replicate)", 1 } },
      2,
      {} },
    { "transposed",
      even + Convolve("low", "even", R"(, "kernel_size": 2, "stride": 2)") + ", " +
        Operate(
          "up", "conv_transpose2d", R"("low")", R"(, "out_channels": 4, "kernel_size": 4, "stride": 2, "padding": 1)") +
        crop,
      { { "conv_transpose2d (zeros)", 1 } },
      2,
      {} },
    { "transposed, windows that touch",
      even + Convolve("low", "even", R"(, "kernel_size": 2, "stride": 2)") + ", " +
        Operate("up", "conv_transpose2d", R"("low")", R"(, "out_channels": 4, "kernel_size": 2, "stride": 2)") + crop,
      {},
      2,
      {} },
    { "to the image's size",
      low + wide + Operate("last", "interpolate", R"("wide", "image")", ""),
      {},
      2,
      { { "interpolate", 1 } } },
    { "to the image's size, bilinear",
      low + wide + Operate("last", "interpolate", R"("wide", "image")", bilinear),
      { { "interpolate (replicate)", 1 } },
      2,
      { { "interpolate", 1 } } },
    { "corners",
      low + wide + Operate("last", "interpolate", R"("wide", "image")", bilinear + R"(, "align_corners": true)"),
      {},
      0,
      { { "interpolate", 1 } } },
    { "one and a half",
      Operate("high", "interpolate", R"("image")", R"(, "scale_factor": 1.5)") + ", " +
        Operate("last", "interpolate", R"("high", "image")", ""),
      {},
      2,
      { { "interpolate", 1 } } },
  };
}

} // namespace

TEST(PatchDifference, IsWhatPatchesDifferBy)
{
  constexpr std::int64_t Side = 64;
  constexpr double       Rounding = 2e-6, Seen = 1e-4;
  for (const Case & it : MakeCases())
  {
    SCOPED_TRACE(it.name);
    const Model           model = MakeModel(it.operations);
    const PatchDifference difference = PatchDifference::Make(model.network);
    EXPECT_EQ(difference.borders, it.borders);
    EXPECT_EQ(difference.multiple, it.multiple);
    EXPECT_EQ(difference.sizes, it.sizes);
    for (const std::int64_t image : { 160, 161 })
    {
      const bool isSampledAlike = it.multiple > 0 && (it.sizes.empty() || image % it.multiple == 0);
      for (const std::int64_t begin : { 32, 33, 34, 36 })
      {
        SCOPED_TRACE(std::to_string(image) + " pixels, patch at " + std::to_string(begin));
        const Differences found = Compare(model, image, Side, begin);
        if (isSampledAlike && begin % it.multiple == 0)
        {
          EXPECT_LT(found.middle, Rounding);
          EXPECT_EQ(found.border < Rounding, it.borders.empty()) << found.border;
        }
        else
        {
          EXPECT_GT(found.middle, Seen);
        }
      }
    }
  }
}

// A patch that is moved back to end where the image does begins anywhere.
TEST(PatchDifference, LastPatchesOffTheStrideAreSampledElsewhere)
{
  const Model model = MakeModel(Operate("even", "pad", R"("image")", R"(, "multiple": 4, "mode": "replicate")") + ", " +
                                Operate("low", "max_pool2d", R"("even")", R"(, "kernel_size": 4)") + ", " +
                                Operate("up", "interpolate", R"("low")", R"(, "scale_factor": 4)") + ", " +
                                Operate("last", "crop", R"("up", "image")", ""));
  const PatchDifference  difference = PatchDifference::Make(model.network);
  constexpr std::int64_t Side = 64;
  for (std::int64_t image = 160; image < 168; ++image)
  {
    const Differences found = Compare(model, image, Side, image - Side);
    EXPECT_EQ(found.middle < 2e-6, (image - Side) % difference.multiple == 0) << image;
  }
}

TEST(PatchDifference, OfPresets)
{
  const auto layers = PatchDifference::Make(NetworkDescription::Load("remedios2023"));
  EXPECT_EQ(layers.multiple, 32);
  EXPECT_EQ(layers.borders.at("conv2d (zeros)"), 4);
  EXPECT_TRUE(layers.sizes.empty());
  const auto unet = PatchDifference::Make(NetworkDescription::Load("unet"));
  EXPECT_EQ(unet.multiple, 16);
  EXPECT_EQ(unet.borders, (Counts{ { "conv2d (zeros)", 18 } }));
  EXPECT_TRUE(unet.sizes.empty());
}
