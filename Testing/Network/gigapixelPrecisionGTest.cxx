/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BFloat16.h"
#include "RefusalCode.h"
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "objective/gigapixelLoss.h"
#include "graph/gigapixelParameterLayout.h"
#include "kernels/gigapixelStoredNumbers.h"
#include "execute/gigapixelChainPasses.h"
#include "gigapixelTorchVersion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** Value of 16 bits by the formula of IEEE 754: a sign, `exponents` bits of exponent, the rest of the significand. */
double
Decode(unsigned bits, int exponents)
{
  const int      fraction = 15 - exponents, bias = (1 << (exponents - 1)) - 1;
  const double   sign = bits >> 15 ? -1 : 1;
  const unsigned exponent = bits >> fraction & ((1u << exponents) - 1), rest = bits & ((1u << fraction) - 1);
  return exponent == 0 ? sign * std::ldexp(rest, 1 - bias - fraction)
                       : sign * std::ldexp(rest + (1u << fraction), static_cast<int>(exponent) - bias - fraction);
}

/** Every finite T has its value, and what lies between two of them becomes the nearer one, the even one in the middle.
 * \param infinity bits of the first number that is none */
template <typename T>
void
CheckRounding(int exponents, unsigned infinity)
{
  for (unsigned bits = 0; bits < infinity; ++bits)
  {
    const double value = Decode(bits, exponents), next = Decode(bits + 1, exponents);
    T            stored;
    stored.bits = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(static_cast<float>(stored), value);
    ASSERT_EQ(T(static_cast<float>(value)).bits, bits);
    ASSERT_EQ(T(static_cast<float>(-value)).bits, bits | 0x8000);
    const float middle = static_cast<float>((value + next) / 2); // exact: a float has more bits
    const bool  even = bits % 2 == 0;
    ASSERT_EQ(T(middle).bits, even ? bits : bits + 1);
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(T(std::nextafter(middle, INFINITY)).bits, bits + 1);
  }
  EXPECT_EQ(T(INFINITY).bits, infinity);
  EXPECT_EQ(T(-INFINITY).bits, infinity | 0x8000);
  EXPECT_EQ(static_cast<float>(T(INFINITY)), INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(T(-std::numeric_limits<float>::quiet_NaN()))));
}

} // namespace

TEST(Precision, BFloat16RoundsToTheNearest)
{
  CheckRounding<BFloat16>(8, 0x7f80);
}

TEST(Precision, Float16RoundsToTheNearest)
{
  CheckRounding<Float16>(5, 0x7c00);
}

// 1 + n / 1024 are the numbers from 1 to 2.
TEST(Precision, TensorFloat32RoundsToTheNearest)
{
  for (int n = 0; n < 1024; ++n)
  {
    for (const double part : { 0.0, 0.49, 0.51, 0.5 })
    {
      const double even = n % 2 == 0 ? n : n + 1;
      const double nearest = part == 0.5 ? even : part > 0.5 ? n + 1 : n;
      const auto   value = static_cast<float>(1 + (n + part) / 1024);
      EXPECT_EQ(static_cast<float>(TensorFloat32(value)), 1 + nearest / 1024);
      EXPECT_EQ(static_cast<float>(TensorFloat32(std::ldexp(-value, -90))), -std::ldexp(1 + nearest / 1024, -90));
    }
  }
  EXPECT_EQ(static_cast<float>(TensorFloat32(std::numeric_limits<float>::max())), INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<float>(TensorFloat32(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Precision, IsAProblemWithoutInstructions)
{
  const bool withoutAMX = HasInstructions("amx_tile") && GetTorchVersion().rfind("1.", 0) == 0;
  EXPECT_EQ(GetPrecisionProblem(Precision::BFloat16).empty(), HasInstructions("avx512_bf16") && !withoutAMX);
  EXPECT_TRUE(GetPrecisionProblem(Precision::Float).empty());
}

TEST(Precision, HasAName)
{
  for (const char * name : { "fp32", "tf32", "bf16", "fp16" })
  {
    EXPECT_EQ(GetName(FindPrecision(name)), name);
    EXPECT_EQ(Device::Find("cpu", name).precision, FindPrecision(name));
  }
  EXPECT_THROW(FindPrecision("fp64"), std::invalid_argument);
}

namespace
{

/** A tile's gradient with class weights of this size, divided by it.
 * \param fromEnd of the layer whose weights are amplified */
std::vector<double>
GetGradient(Precision precision, double size, double amplify, std::size_t fromEnd = 1)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  network.classWeights = { size, size };
  const auto          passes = MakeFusedPasses(network, precision);
  std::vector<double> parameters = MakeInitialWeights(network, 1, { 0.5, 0.5 });
  const auto          layout = GetParameterLayout(network);
  const auto          layer = layout[layout.size() - fromEnd];
  for (std::size_t i = layer.weight; i < layer.bias; ++i)
  {
    parameters[i] *= amplify;
  }
  passes->SetParameters(parameters);
  ProceduralPixels pixels({ 256, 256 }, 3, 1);
  ProceduralLabels labels({ 256, 256 }, 3, 2, true);
  TileData         data;
  ReadPixels(pixels, TileGrid(network, { 256, 256 }, 256).GetTile(0), data);
  ReadClasses(labels, data.tile, network, data);
  LossSum       loss;
  FixedPointSum sums(passes->GetNumberOfSums());
  passes->AddGradient(data, MakeLossTerms(network), 1, loss, sums);
  EXPECT_TRUE(std::isfinite(loss.loss));
  Workers             workers(1);
  std::vector<double> gradient = passes->GetGradient(sums, workers);
  for (double & value : gradient)
  {
    value /= size;
  }
  return gradient;
}

double
GetError(const std::vector<double> & values, const std::vector<double> & reference)
{
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
  {
    difference += std::pow(values[i] - reference[i], 2);
    norm += std::pow(reference[i], 2);
  }
  return std::sqrt(difference / norm);
}

} // namespace

// The loss scale: gradients far below what fp16 holds (2^-24), and far above (65504), are as good as any.
TEST(Precision, Float16HoldsGradientsOfAnySize)
{
  EXPECT_LT(GetError(GetGradient(Precision::Float16, 1, 1), GetGradient(Precision::Float, 1, 1)), 1e-2);
  EXPECT_LT(GetError(GetGradient(Precision::Float16, 1e-12, 1), GetGradient(Precision::Float, 1e-12, 1)), 1e-2);
  EXPECT_LT(GetError(GetGradient(Precision::Float16, 1, 1e3), GetGradient(Precision::Float, 1, 1e3)), 1e-2);
}

TEST(Precision, Float16EndsWhereSumsDo)
{
  EXPECT_REFUSAL(GetGradient(Precision::Float16, 1, 1e6, 2), "E-PRECISION");
}
