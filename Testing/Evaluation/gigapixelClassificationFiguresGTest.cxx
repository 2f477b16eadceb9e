/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Against counts by hand; that areas and calibration are right is tested for themselves, and in Testing/CommandLine
// against scikit-learn.
#include "gigapixelClassificationFigures.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gigapixel;

namespace
{

TEST(ClassificationFigures, OfTwoClassesAreThoseOfThePositiveOne)
{
  // The probabilities of b order three of the four pairs of a case of b and one of a.
  const std::vector<std::vector<double>> said{ { 0.9, 0.1 }, { 0.4, 0.6 }, { 0.5, 0.5 }, { 0.2, 0.8 } };
  const auto figures = ClassificationFigures::Make({ "a", "b" }, { 0, 0, 1, 1 }, said, 1, 10);
  EXPECT_DOUBLE_EQ(figures.GetArea(), 0.75);
  EXPECT_DOUBLE_EQ(figures.GetAveragePrecision(), 0.5 * 1 + 0.5 * 2 / 3);
  EXPECT_EQ(figures.confusion.GetCount(1, 0), 1) << "of equal probabilities the first class is taken";
  EXPECT_EQ(figures.confusion.GetCount(0, 1), 1);
  EXPECT_DOUBLE_EQ(figures.confusion.GetAccuracy(), 0.5);
}

TEST(ClassificationFigures, OfMoreClassesAreTheMeanOfThoseThatOccur)
{
  // Each case of a has a greater probability of a than the others, and so with b; c has no case.
  const std::vector<std::vector<double>> said{ { 0.8, 0.1, 0.1 }, { 0.7, 0.2, 0.1 }, { 0.1, 0.6, 0.3 } };
  const auto figures = ClassificationFigures::Make({ "a", "b", "c" }, { 0, 0, 1 }, said, -1, 10);
  EXPECT_TRUE(figures.KnowsArea());
  EXPECT_FALSE(figures.classes[2].area);
  EXPECT_DOUBLE_EQ(figures.GetArea(), 1);
  EXPECT_DOUBLE_EQ(figures.GetAveragePrecision(), 1);
  EXPECT_NEAR(figures.calibrationError, (0.2 + 0.3 + 0.4) / 3, 1e-12) << "all are right, at 0.8, 0.7 and 0.6";
}

TEST(ClassificationFigures, OfOneClassAloneAreNotKnown)
{
  const auto figures = ClassificationFigures::Make({ "a", "b" }, { 1, 1 }, { { 0.4, 0.6 }, { 0.7, 0.3 } }, 1, 10);
  EXPECT_FALSE(figures.KnowsArea());
  EXPECT_TRUE(std::isnan(figures.GetArea()));
  EXPECT_TRUE(std::isnan(figures.GetAveragePrecision()));
  EXPECT_DOUBLE_EQ(figures.confusion.GetAccuracy(), 0.5);
}

} // namespace
