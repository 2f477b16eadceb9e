/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelValueBounds.h"
#include "gigapixelOperationSchema.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gigapixel
{
namespace
{

// More are no end of a network, and a file could ask for any amount of them.
constexpr std::size_t MostSources = std::size_t{ 1 } << 18;
constexpr std::size_t MostTerms = std::size_t{ 1 } << 20; ///< of all forms
constexpr std::size_t MostTermsOfForm = 64;

constexpr double Infinity = std::numeric_limits<double>::infinity();

} // namespace

ValueBounds::ValueBounds(const NetworkGraph & graph, FindArray findArray)
  : m_Graph(graph)
  , m_FindArray(std::move(findArray))
  , m_Channels(graph.GetChannels())
{
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    m_Places[graph.operations[i].name] = static_cast<int>(i);
  }
}

int
ValueBounds::GetChannels(const std::string & operation) const
{
  return m_Channels[m_Places.at(operation)];
}

const ValueForms &
ValueBounds::Get(const std::string & operation)
{
  const auto found = m_Found.find(operation);
  if (found != m_Found.end())
  {
    return found->second;
  }
  const Operation &       given = m_Graph.operations[m_Places.at(operation)];
  const OperationSchema & schema = *OperationSchema::Find(given.type);
  const bool              isSmall = GetChannels(operation) <= MostChannels && m_Terms <= MostTerms;
  ValueForms              forms = isSmall && schema.getBounds ? schema.getBounds(given, *this) : ValueForms();
  for (const ValueForm & form : forms)
  {
    m_Terms += form.factors.size() + 1;
  }
  return m_Found[operation] = std::move(forms);
}

const std::vector<float> *
ValueBounds::FindParameter(const Operation & operation, const char * role) const
{
  const auto found = operation.parameters.find(role);
  return m_FindArray && found != operation.parameters.end() ? m_FindArray(found->second) : nullptr;
}

ValueForms
ValueBounds::MakeSources(const std::vector<ValueRange> & ranges, bool isClipped)
{
  ValueForms forms;
  if (m_Sources.size() + ranges.size() > MostSources)
  {
    return forms;
  }
  for (const ValueRange & range : ranges)
  {
    forms.push_back({ 0, { { static_cast<int>(m_Sources.size()), 1.0 } } });
    m_Sources.push_back({ range, -1, isClipped });
  }
  return forms;
}

ValueForms
ValueBounds::MakeShares(int channels, double sum)
{
  const std::size_t first = m_Sources.size();
  ValueForms        forms = MakeSources(std::vector<ValueRange>(channels, ValueRange{ 0, 1 }));
  for (std::size_t i = 0; i < forms.size(); ++i)
  {
    m_Sources[first + i].group = static_cast<int>(m_GroupSizes.size());
    forms[i].factors.begin()->second = sum;
  }
  m_GroupSizes.push_back(channels);
  return forms;
}

ValueRange
ValueBounds::GetRange(const ValueForm & form) const
{
  ValueRange range{ form.constant, form.constant };
  if (form.factors.count(-1) > 0)
  {
    return { -Infinity, Infinity };
  }
  // The sum of multiples of shares lies between the least and the greatest factor.
  std::map<int, std::pair<ValueRange, int>> groups;
  for (const auto & [number, factor] : form.factors)
  {
    const Source & source = m_Sources[number];
    if (source.group >= 0)
    {
      auto & group = groups.emplace(source.group, std::pair(ValueRange{ factor, factor }, 0)).first->second;
      group.first = { std::min(group.first.least, factor), std::max(group.first.greatest, factor) };
      ++group.second;
    }
    else if (factor != 0)
    {
      const double a = factor * source.range.least, b = factor * source.range.greatest;
      range.least += std::min(a, b);
      range.greatest += std::max(a, b);
    }
  }
  for (const auto & [group, found] : groups)
  {
    const bool all = found.second == m_GroupSizes[group];
    range.least += all ? found.first.least : std::min(0.0, found.first.least);
    range.greatest += all ? found.first.greatest : std::max(0.0, found.first.greatest);
  }
  return range;
}

std::vector<ValueRange>
ValueBounds::GetRanges(const ValueForms & forms) const
{
  std::vector<ValueRange> ranges;
  ranges.reserve(forms.size());
  for (const ValueForm & form : forms)
  {
    ranges.push_back(GetRange(form));
  }
  return ranges;
}

bool
ValueBounds::IsClipped(const ValueForm & form) const
{
  return std::any_of(form.factors.begin(), form.factors.end(), [this](const auto & each) {
    return each.first >= 0 && m_Sources[each.first].isClipped && each.second != 0;
  });
}

bool
ValueBounds::IsClipped(const ValueForms & forms) const
{
  return std::any_of(forms.begin(), forms.end(), [this](const ValueForm & form) { return IsClipped(form); });
}

void
ValueBounds::Add(ValueForm & sum, double factor, const ValueForm & form)
{
  sum.constant += factor * form.constant;
  for (const auto & [number, each] : form.factors)
  {
    sum.factors[number] += factor * each;
  }
  if (sum.factors.size() > MostTermsOfForm)
  {
    const ValueForms source = MakeSources({ GetRange(sum) }, IsClipped(sum));
    sum = source.empty() ? ValueForm{ 0, { { -1, 1.0 } } } : source.front();
  }
}

ValueForm
ValueBounds::GetSum(const ValueForms & forms)
{
  ValueForm sum;
  for (const ValueForm & form : forms)
  {
    Add(sum, 1, form);
  }
  return sum;
}

ValueForms
ValueBounds::Move(const ValueForms & forms)
{
  if (forms.empty())
  {
    return {};
  }
  const std::vector<ValueRange> ranges = GetRanges(forms);
  const ValueRange              all = GetRange(GetSum(forms));
  constexpr double              tolerance = 1e-9;
  const bool isConstant = std::isfinite(all.greatest) && all.greatest - all.least <= tolerance * std::abs(all.greatest);
  if (isConstant && forms.size() > 1 &&
      std::all_of(ranges.begin(), ranges.end(), [=](const auto & range) { return range.least >= -tolerance; }))
  {
    return MakeShares(static_cast<int>(forms.size()), all.greatest);
  }
  return MakeSources(ranges, IsClipped(forms));
}

ValueForms
ValueBounds::MoveBeside(const ValueForms & forms, double number)
{
  std::vector<ValueRange> ranges = GetRanges(forms);
  for (ValueRange & range : ranges)
  {
    range = { std::min(range.least, number), std::max(range.greatest, number) };
  }
  return MakeSources(ranges, IsClipped(forms));
}

} // namespace gigapixel
