/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What each kind of truth reads, predicts and is judged by, against closed forms.
#include "RefusalCode.h"
#include "gigapixelObjective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

using namespace gigapixel;

namespace
{

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

Objective
MakeObjective(const ObjectiveKind * kind, const std::vector<std::string> & names)
{
  return { kind, names, {}, {} };
}

double
Sigmoid(double z)
{
  return 1 / (1 + std::exp(-z));
}

} // namespace

TEST(Objective, KindsAreFoundByTheirNames)
{
  ASSERT_EQ(ObjectiveKind::GetAll().size(), 5u);
  for (const ObjectiveKind * kind : ObjectiveKind::GetAll())
  {
    EXPECT_EQ(ObjectiveKind::Find(kind->name), kind);
    EXPECT_EQ(&MakeObjective(kind, {}).GetKind(), kind);
  }
  EXPECT_EQ(ObjectiveKind::Find("ranks"), nullptr);
}

TEST(Objective, FieldsThatAreNoTruthAreRefused)
{
  const ObjectiveKind & findings = *ObjectiveKind::Find("findings");
  EXPECT_EQ(findings.readTruth(0, "0"), 0);
  EXPECT_EQ(findings.readTruth(0, "1"), 1);
  for (const char * field : { "1.0", "True", "true", "TRUE", "1.00" })
  {
    EXPECT_EQ(findings.readTruth(0, field), 1) << field;
  }
  for (const char * field : { "0.0", "False", "false", "FALSE" })
  {
    EXPECT_EQ(findings.readTruth(0, field), 0) << field;
  }
  for (const char * field : { "2", "yes", "1.5", "1.", ".0", " 1", "truely" })
  {
    EXPECT_REFUSAL(findings.readTruth(0, field), "E-COHORT-FORMAT") << field;
  }
  const ObjectiveKind & grades = *ObjectiveKind::Find("grades");
  EXPECT_EQ(grades.readTruth(0, "3"), 3);
  EXPECT_EQ(grades.readTruth(0, "3.0"), 3);
  for (const char * field : { "-1", "1.5", "G2", "", "1001", "99999999999999999999" })
  {
    EXPECT_REFUSAL(grades.readTruth(0, field), "E-COHORT-FORMAT") << field;
  }
  const ObjectiveKind & values = *ObjectiveKind::Find("values");
  EXPECT_EQ(values.readTruth(0, "-2.5e3"), -2500);
  for (const char * field : { "12 %", "inf", "nan", "0,5", "1e999" })
  {
    EXPECT_REFUSAL(values.readTruth(0, field), "E-COHORT-FORMAT") << field;
  }
}

TEST(Objective, NumbersAreWrittenInAsFewDigitsAsBringThemBack)
{
  EXPECT_EQ(FormatTruth(0.1), "0.1");
  EXPECT_EQ(FormatTruth(1), "1");
  std::mt19937                           engine(1);
  std::uniform_real_distribution<double> any(-1, 1);
  for (int i = 0; i < 100; ++i)
  {
    const double value = any(engine);
    EXPECT_EQ(std::stod(FormatTruth(value)), value);
  }
}

TEST(Objective, ClassesHaveProbabilities)
{
  const Objective       two = MakeObjective(ObjectiveKind::Find("classes"), { "benign", "tumor" });
  const ObjectiveKind & kind = two.GetKind();
  EXPECT_TRUE(kind.takesProbabilities);
  EXPECT_EQ(kind.countOutputs(2), 1);
  EXPECT_EQ(kind.countOutputs(3), 3);
  EXPECT_EQ(kind.predict(two, { 0.25 }), (std::vector<double>{ 0.75, 0.25 }));
  EXPECT_EQ(kind.predict(two, { 0.2, 0.5, 0.3 }), (std::vector<double>{ 0.2, 0.5, 0.3 }));
  EXPECT_EQ(kind.choose({ 0.2, 0.5, 0.3 }), 1);
  EXPECT_EQ(kind.getFound(two, { 0.25, 0.75 }), std::vector<std::string>{ "tumor" });
  EXPECT_EQ(kind.explain(1, 0), std::vector<double>{ -1 });
  EXPECT_EQ(kind.explain(1, 1), std::vector<double>{ 1 });
  EXPECT_EQ(kind.explain(3, 2), (std::vector<double>{ 0, 0, 1 }));
  EXPECT_EQ(kind.getStrata(two, {}, "tumor"), std::vector<std::string>{ "tumor" });
  EXPECT_EQ(two.CountTruths(), 0u);
}

/** A network without knowledge predicts the shares. */
TEST(Objective, TrainingBeginsWithTheShares)
{
  const ObjectiveKind & classes = *ObjectiveKind::Find("classes");
  EXPECT_NEAR(Sigmoid(classes.getBiases(1, { 0.9, 0.1 })[0]), 0.1, 1e-15);
  const std::vector<double> shares{ 0.2, 0.7, 0.1 }, biases = classes.getBiases(3, shares);
  for (std::size_t c = 0; c < shares.size(); ++c)
  {
    EXPECT_NEAR(std::exp(biases[c]), shares[c], 1e-15); // of sum 1
  }
  EXPECT_NEAR(Sigmoid(ObjectiveKind::Find("findings")->getBiases(1, { 0.3 })[0]), 0.3, 1e-15);
  EXPECT_TRUE(std::isfinite(ObjectiveKind::Find("survival")->getBiases(1, { 0 })[0]));
  EXPECT_EQ(ObjectiveKind::Find("values")->getBiases(2, {}), (std::vector<double>{ 0, 0 }));
}

TEST(Objective, ClassesAreJudgedByTheAreaUnderTheirROC)
{
  const Objective       objective = MakeObjective(ObjectiveKind::Find("classes"), {});
  const ObjectiveKind & kind = objective.GetKind();
  // One of two pairs is in order.
  EXPECT_DOUBLE_EQ(kind.getScore(objective, { { 1 }, { 0 }, { 0 } }, { { 0.5, 0.5 }, { 0.3, 0.7 }, { 0.8, 0.2 } }),
                   0.5);
  // The first class is told from the rest, the second is in half of its pairs, and the third has no image.
  EXPECT_DOUBLE_EQ(
    kind.getScore(objective, { { 0 }, { 1 }, { 0 } }, { { 0.8, 0.1, 0.1 }, { 0.1, 0.3, 0.6 }, { 0.4, 0.5, 0.1 } }),
    0.75);
  EXPECT_TRUE(std::isnan(kind.getScore(objective, { { 1 }, { 1 } }, { { 0.5, 0.5 }, { 0.3, 0.7 } })));
}

TEST(Objective, FindingsArePredictedByThemselves)
{
  const Objective           objective = MakeObjective(ObjectiveKind::Find("findings"), { "tumor", "necrosis", "ink" });
  const ObjectiveKind &     kind = objective.GetKind();
  const std::vector<double> outputs{ 2, -1, 0.5 };
  const auto                prediction = kind.predict(objective, outputs);
  EXPECT_EQ(kind.countOutputs(3), 3);
  for (std::size_t k = 0; k < outputs.size(); ++k)
  {
    EXPECT_NEAR(prediction[k], Sigmoid(outputs[k]), 1e-15);
  }
  EXPECT_EQ(kind.getFound(objective, prediction), (std::vector<std::string>{ "tumor", "ink" }));
  EXPECT_EQ(kind.choose(prediction), 0);
  EXPECT_EQ(kind.explain(3, 1), (std::vector<double>{ 0, 1, 0 }));
  EXPECT_EQ(kind.describe(objective, { 1, NaN, 0 }), (std::vector<std::string>{ "tumor=1", "ink=0" }));
}

/** The paper's rule: the number of cumulative products of the conditional probabilities that are above 1/2. */
TEST(Objective, GradesAreRankConsistent)
{
  const Objective       objective = MakeObjective(ObjectiveKind::Find("grades"), { "0", "1", "2", "4" });
  const ObjectiveKind & kind = objective.GetKind();
  EXPECT_EQ(kind.countOutputs(4), 3);
  std::mt19937                     engine(2);
  std::normal_distribution<double> any(0.5, 2);
  for (int i = 0; i < 200; ++i)
  {
    const std::vector<double> outputs{ any(engine), any(engine), any(engine) };
    const auto                p = kind.predict(objective, outputs);
    double                    product = 1, above = 1;
    std::size_t               grade = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k)
    {
      product *= Sigmoid(outputs[k]);
      grade += product > 0.5 ? 1 : 0;
      above -= p[k];
      EXPECT_NEAR(above, product, 1e-12);
    }
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
    EXPECT_EQ(GetGrade(p), grade);
    EXPECT_EQ(kind.getFound(objective, p), std::vector<std::string>{ objective.names[grade] });
  }
  EXPECT_EQ(kind.explain(3, 0), (std::vector<double>{ -1, 0, 0 }));
  EXPECT_EQ(kind.explain(3, 3), (std::vector<double>{ 0, 0, 1 }));
}

TEST(Objective, OfGradesOnlyThoseThatReachARankAreAsked)
{
  const Objective       objective = MakeObjective(ObjectiveKind::Find("grades"), { "0", "1", "2", "4" });
  const ObjectiveKind & kind = objective.GetKind();
  EXPECT_EQ(kind.makeTargets(objective, { 4 }).targets, (std::vector<double>{ 1, 1, 1 }));
  const auto ofOne = kind.makeTargets(objective, { 1 }).targets;
  EXPECT_EQ(ofOne[0], 1);
  EXPECT_EQ(ofOne[1], 0);
  EXPECT_TRUE(std::isnan(ofOne[2]));
  EXPECT_TRUE(std::isnan(kind.makeTargets(objective, { 0 }).targets[1]));
}

TEST(Objective, GradesAreThoseThatOccur)
{
  Objective objective = MakeObjective(ObjectiveKind::Find("grades"), {});
  objective.GetKind().learn(objective, { { 3 }, { 10 }, { 1 }, { 3 } }, {});
  EXPECT_EQ(objective.names, (std::vector<std::string>{ "1", "3", "10" }));
  objective.names.clear();
  EXPECT_REFUSAL(objective.GetKind().learn(objective, { { 2 }, { 2 } }, {}), "E-COHORT-LABELS");
}

/** 1 less 12 squared ranks of disagreement over those that chance has: 4 images, each of another grade. */
TEST(Objective, GradesAreJudgedByQuadraticKappa)
{
  const Objective                        objective = MakeObjective(ObjectiveKind::Find("grades"), { "1", "2", "3" });
  const ObjectiveKind &                  kind = objective.GetKind();
  const std::vector<std::vector<double>> ones{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  EXPECT_DOUBLE_EQ(kind.getScore(objective, { { 1 }, { 2 }, { 3 } }, ones), 1);
  EXPECT_DOUBLE_EQ(kind.getScore(objective, { { 3 }, { 2 }, { 1 } }, ones), -1);
  EXPECT_DOUBLE_EQ(kind.getScore(objective, { { 1 }, { 3 }, { 2 } }, ones), 0.5);
}

TEST(Objective, ValuesAreStandardizedByTheTrainingImages)
{
  Objective             objective = MakeObjective(ObjectiveKind::Find("values"), { "TIL (%)", "Ki-67 (%)" });
  const ObjectiveKind & kind = objective.GetKind();
  kind.learn(objective, {}, { { 1, 10 }, { 3, NaN }, { 5, 30 } });
  EXPECT_DOUBLE_EQ(objective.means[0], 3);
  EXPECT_DOUBLE_EQ(objective.deviations[0], std::sqrt(8.0 / 3));
  EXPECT_DOUBLE_EQ(objective.means[1], 20);
  EXPECT_DOUBLE_EQ(objective.deviations[1], 10);
  const auto targets = kind.makeTargets(objective, { NaN, 25 });
  EXPECT_FALSE(targets.isLogistic);
  EXPECT_TRUE(std::isnan(targets.targets[0]));
  EXPECT_DOUBLE_EQ(targets.targets[1], 0.5);
  EXPECT_DOUBLE_EQ(kind.predict(objective, { 0, 0.5 })[1], 25);
  EXPECT_REFUSAL(kind.learn(objective, {}, { { 1, 10 }, { 3, 10 } }), "E-COHORT-LABELS");
  EXPECT_REFUSAL(kind.learn(objective, {}, { { 1, NaN }, { 3, NaN } }), "E-COHORT-LABELS");
}

/** R^2 of predictions that are all the mean is 0. */
TEST(Objective, ValuesAreJudgedByDetermination)
{
  const Objective       objective = MakeObjective(ObjectiveKind::Find("values"), { "a", "b" });
  const ObjectiveKind & kind = objective.GetKind();
  EXPECT_DOUBLE_EQ(kind.getScore(objective, { { 1, 1 }, { 3, 3 } }, { { 2, 1 }, { 2, 3 } }), 0.5);
  EXPECT_DOUBLE_EQ(kind.getScore(objective, { { 1, NaN }, { 3, NaN } }, { { 2, 1 }, { 2, 3 } }), 0);
}

/** The mean of the areas that there are: of the first finding 1, of the second one none, of the third 1/2. */
TEST(Objective, FindingsAreJudgedByTheirMeanArea)
{
  const Objective                        objective = MakeObjective(ObjectiveKind::Find("findings"), { "a", "b", "c" });
  const std::vector<ImageTruth>          truths{ { 0, 1, 1 }, { 1, 1, 0 }, { NaN, 1, 1 } };
  const std::vector<std::vector<double>> p{ { 0.2, 0.5, 0.1 }, { 0.3, 0.5, 0.2 }, { 0.9, 0.5, 0.3 } };
  EXPECT_DOUBLE_EQ(objective.GetKind().getScore(objective, truths, p), 0.75);
  EXPECT_TRUE(std::isnan(objective.GetKind().getScore(objective, { { 1, 1, 1 } }, { { 0.2, 0.5, 0.1 } })));
}

TEST(Survival, TargetsAreTheHazardsOfTheIntervalsThatAreKnown)
{
  const Objective       objective = MakeObjective(ObjectiveKind::Find("survival"), { "5", "10", "20" });
  const ObjectiveKind & kind = objective.GetKind();
  EXPECT_EQ(kind.countOutputs(3), 3);
  EXPECT_EQ(objective.CountTruths(), 2u);
  const auto expect = [&](double time, double event, const std::vector<double> & expected) {
    const auto targets = kind.makeTargets(objective, { time, event }).targets;
    ASSERT_EQ(targets.size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k)
    {
      EXPECT_TRUE(targets[k] == expected[k] || (std::isnan(targets[k]) && std::isnan(expected[k])))
        << time << ", " << k;
    }
  };
  expect(0, 1, { 1, NaN, NaN });
  expect(5, 1, { 1, NaN, NaN });
  expect(5.1, 1, { 0, 1, NaN });
  expect(20.1, 1, { 0, 0, 0 });
  expect(2, 0, { NaN, NaN, NaN }); // not seen for half of the first interval
  expect(2.5, 0, { 0, NaN, NaN });
  expect(7.5, 0, { 0, 0, NaN });
  expect(15, 0, { 0, 0, 0 });
  expect(99, 0, { 0, 0, 0 });
}

TEST(Survival, IsTheProductOfWhatIsPassed)
{
  const Objective           objective = MakeObjective(ObjectiveKind::Find("survival"), { "1", "2" });
  const std::vector<double> survival = objective.GetKind().predict(objective, { 0.3, -1.2 });
  EXPECT_DOUBLE_EQ(survival[0], Sigmoid(-0.3));
  EXPECT_DOUBLE_EQ(survival[1], Sigmoid(-0.3) * Sigmoid(1.2));
  EXPECT_EQ(objective.GetKind().explain(2, 0), (std::vector<double>{ 1, 0 }));
  EXPECT_EQ(objective.GetKind().explain(2, 1), (std::vector<double>{ 1, 1 }));
}

TEST(Survival, EndsAreQuartilesOfTheEvents)
{
  Objective objective = MakeObjective(ObjectiveKind::Find("survival"), {});
  objective.GetKind().learn(
    objective,
    {},
    { { 8, 1 }, { 1, 1 }, { 4, 1 }, { 2.5, 1 }, { 3, 0 }, { 9, 1 }, { 9, 1 }, { 100, 0 }, { 6, 1 }, { 7, 1 } });
  EXPECT_EQ(objective.names, (std::vector<std::string>{ "2.5", "6", "8" })); // of 1, 2.5, 4, 6, 7, 8, 9, 9
  objective.GetKind().learn(objective, {}, { { 3, 1 } });
  EXPECT_EQ(objective.names.size(), 3u); // those that are there stay
  objective.names.clear();
  objective.GetKind().learn(objective, {}, { { 3, 1 }, { 5, 0 } });
  EXPECT_EQ(objective.names, std::vector<std::string>{ "3" });
  EXPECT_REFUSAL(objective.GetKind().learn(objective, {}, { { 3, 0 } }), "E-COHORT-LABELS");
  EXPECT_NO_THROW(objective.GetKind().checkNames({ "0.5", "3" }));
  for (const std::vector<std::string> & names : { std::vector<std::string>{ "3", "3" }, { "4", "3" }, { "x" } })
  {
    EXPECT_REFUSAL(objective.GetKind().checkNames(names), "E-COHORT-FORMAT");
  }
}

TEST(Survival, ConcordanceIsOfPairsWhoseOrderIsKnown)
{
  const Objective       objective = MakeObjective(ObjectiveKind::Find("survival"), { "1" });
  const ObjectiveKind & kind = objective.GetKind();
  // Known: 1 before 2, 2 before 3, and 1 before 3; the third one is not seen longer than the second.
  const std::vector<ImageTruth> truths{ { 1, 1 }, { 2, 1 }, { 2, 0 } };
  EXPECT_DOUBLE_EQ(kind.getScore(objective, truths, { { 0.1 }, { 0.2 }, { 0.3 } }), 1);
  EXPECT_DOUBLE_EQ(kind.getScore(objective, truths, { { 0.3 }, { 0.2 }, { 0.1 } }), 0);
  EXPECT_DOUBLE_EQ(kind.getScore(objective, truths, { { 0.1 }, { 0.3 }, { 0.3 } }), 2.5 / 3);
  EXPECT_TRUE(std::isnan(kind.getScore(objective, { { 1, 0 }, { 2, 0 } }, { { 0.1 }, { 0.2 } })));
}
