/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLearningOptions_h
#define gigapixelLearningOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** How a network learns; gigapixelLearningOptionList.h says what each of them is. */
struct GigapixelOptions_EXPORT LearningOptions
{
#define GIGAPIXEL_LEARNING_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelLearningOptionList.h"
};

using LearningOption = OptionEntry<LearningOptions>; ///< an entry of the table

/** The entries of gigapixelLearningOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<LearningOption> & GetOptionTable<LearningOptions>();

/** Calls visitor(option, member) for each entry, where options.*member is its value. None may be unset: runs keep all.
 */
template <typename TVisitor>
void
VisitLearningOptions(const TVisitor & visitor)
{
  VisitOptions<LearningOptions>([&](const Option & option, auto member) {
    if constexpr (!IsOptional<std::decay_t<decltype(std::declval<LearningOptions>().*member)>>)
    {
      visitor(option, member);
    }
  });
}

/** What is known of an optimizer beside its rule. */
struct OptimizerDescription
{
  std::string name;             ///< as --optimizer has it
  double      weightDecay{ 0 }; ///< by default
  std::string text;             ///< one clause for the help
};

/** What --loss is given, each once: the entries of gigapixelLossList.h. */
GigapixelOptions_EXPORT const std::vector<std::string> & GetLossNames();

/** The entries of gigapixelOptimizerList.h. */
GigapixelOptions_EXPORT const std::vector<OptimizerDescription> & GetOptimizers();

/** The value of an option of text. */
GigapixelOptions_EXPORT std::string GetText(const LearningOptions & options, const std::string & name);

/** Whether the option has a meaning beside the others: not the momentum of an optimizer that has none. */
GigapixelOptions_EXPORT bool IsInUse(const Option & option, const LearningOptions & options);

/** Whether the result depends on the option, beside the others as they are. */
GigapixelOptions_EXPORT bool DecidesOnBits(const Option & option, const LearningOptions & options);

/** \throw std::invalid_argument names the first option whose value is not in its range, none of its choices, or without
 * a meaning beside the others. The value that holds without the option is always right. */
GigapixelOptions_EXPORT void CheckRanges(const LearningOptions & options);

} // namespace gigapixel

#endif
