/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelValueBounds.h"
#include "gigapixelOperationSchema.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace gigapixel
{
namespace
{

// More are no end of a network, and a file could ask for any amount of them.
constexpr std::size_t MostSources = std::size_t{ 1 } << 18;
constexpr std::size_t MostTerms = std::size_t{ 1 } << 20; ///< of all forms
constexpr std::size_t MostTermsOfForm = 256;
constexpr std::size_t MostParts = 8;       ///< of a product
constexpr int         MostSteps = 1 << 12; ///< from term to term, to find the bounds of a form

constexpr double Infinity = std::numeric_limits<double>::infinity();

ValueRange
MultiplyRanges(const ValueRange & a, const ValueRange & b)
{
  ValueRange product{ Infinity, -Infinity };
  for (const double x : { a.least, a.greatest })
  {
    for (const double y : { b.least, b.greatest })
    {
      const double each = x == 0 || y == 0 ? 0 : x * y;
      product = { std::min(product.least, each), std::max(product.greatest, each) };
    }
  }
  return product;
}

ValueRange
Join(const ValueRange & a, const ValueRange & b)
{
  return { std::min(a.least, b.least), std::max(a.greatest, b.greatest) };
}

/** n over k. */
double
Choose(std::size_t n, std::size_t k)
{
  double number = 1;
  for (std::size_t i = 0; i < k; ++i)
  {
    number *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return number;
}

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
  // Operations see one value where there would soon be too many terms.
  const auto isLarge = [](const ValueForm & form) { return form.factors.size() > MostTermsOfForm / 4; };
  forms = std::any_of(forms.begin(), forms.end(), isLarge) ? Move(forms) : std::move(forms);
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
    m_Sources.push_back({ range, -1, isClipped, {} });
  }
  return forms;
}

/** Any number, where there are too many sources already. */
ValueForm
ValueBounds::MakeSource(const ValueRange & range, bool isClipped)
{
  const ValueForms source = MakeSources({ range }, isClipped);
  return source.empty() ? ValueForm{ 0, { { -1, 1.0 } } } : source.front();
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

std::vector<int>
ValueBounds::GetParts(int source) const
{
  return m_Sources[source].parts.empty() ? std::vector<int>{ source } : m_Sources[source].parts;
}

/** A source varies by itself, or with all shares of its group: those have one variable, a number below 0. */
int
ValueBounds::GetVariable(int source) const
{
  const int group = m_Sources[source].group;
  return group >= 0 ? -1 - group : source;
}

/** The sum of what each term may be. Shares that stand alone are taken together. */
ValueRange
ValueBounds::GetSumRange(const Polynomial & polynomial) const
{
  ValueRange                                range{ 0, 0 };
  std::map<int, std::pair<ValueRange, int>> groups;
  for (const auto & [parts, factor] : polynomial)
  {
    const int group = parts.size() == 1 ? m_Sources[parts.front()].group : -1;
    if (group >= 0)
    {
      // The sum of multiples of shares lies between the least and the greatest factor.
      auto & found = groups.emplace(group, std::pair(ValueRange{ factor, factor }, 0)).first->second;
      found.first = Join(found.first, { factor, factor });
      ++found.second;
      continue;
    }
    ValueRange term{ factor, factor };
    for (const int part : parts)
    {
      term = MultiplyRanges(term, m_Sources[part].range);
    }
    range = { range.least + term.least, range.greatest + term.greatest };
  }
  for (const auto & [group, found] : groups)
  {
    const bool all = found.second == m_GroupSizes[group];
    range.least += all ? found.first.least : std::min(0.0, found.first.least);
    range.greatest += all ? found.first.greatest : std::max(0.0, found.first.greatest);
  }
  return range;
}

/** A source of the variable that most products have. \return -1: there are no products */
int
ValueBounds::FindVariable(const Polynomial & polynomial) const
{
  std::map<int, int> counts;
  int                most = 0, found = -1;
  for (const auto & [parts, factor] : polynomial)
  {
    for (const int part : parts.size() > 1 ? parts : std::vector<int>())
    {
      const int count = ++counts[GetVariable(part)];
      found = count > most ? part : found;
      most = std::max(most, count);
    }
  }
  return found;
}

/** A polynomial in one variable lies between its Bernstein coefficients, which are its values at both ends where the
 * variable stands alone in each product: Lorentz, Bernstein Polynomials, 1953. The coefficients are polynomials in the
 * other variables. One that is linear in shares is greatest where one share is all. */
ValueRange
ValueBounds::GetRange(const Polynomial & polynomial, int & steps) const
{
  steps -= static_cast<int>(polynomial.size()) + 1;
  const int source = steps > 0 ? FindVariable(polynomial) : -1;
  if (source < 0)
  {
    return GetSumRange(polynomial);
  }
  const int                 variable = GetVariable(source);
  std::map<int, Polynomial> byShare;    // by the share of the variable that the term has; -1: none
  std::vector<Polynomial>   byPower(1); // of the source
  bool                      isLinear = variable < 0;
  for (const auto & [parts, factor] : polynomial)
  {
    std::vector<int> rest, without;
    int              share = -1;
    for (const int part : parts)
    {
      const bool isOfVariable = GetVariable(part) == variable;
      isLinear = isLinear && !(isOfVariable && share >= 0);
      share = isOfVariable ? part : share;
      rest.insert(rest.end(), isOfVariable ? 0 : 1, part);
      without.insert(without.end(), part == source ? 0 : 1, part);
    }
    byShare[share][rest] += factor;
    const auto power = static_cast<std::size_t>(std::count(parts.begin(), parts.end(), source));
    byPower.resize(std::max(byPower.size(), power + 1));
    byPower[power][without] += factor;
  }
  std::optional<ValueRange> range;
  const auto                join = [&](const Polynomial & each) {
    const ValueRange found = GetRange(each, steps);
    range = range ? Join(*range, found) : found;
  };
  if (isLinear)
  {
    const Polynomial without = byShare[-1];
    byShare.erase(-1);
    for (const auto & item : byShare)
    {
      Polynomial at = without;
      for (const auto & [rest, factor] : item.second)
      {
        at[rest] += factor;
      }
      join(at);
    }
    if (static_cast<int>(byShare.size()) < m_GroupSizes[-1 - variable])
    {
      join(without);
    }
    return *range;
  }
  const ValueRange & bounds = m_Sources[source].range;
  const std::size_t  degree = byPower.size() - 1;
  for (std::size_t j = 0; j <= degree; ++j)
  {
    // Each power of least + t (greatest - least), as powers of t, has the j-th coefficient of its degree.
    Polynomial coefficient;
    for (std::size_t k = 0; k <= degree; ++k)
    {
      double number = 0;
      for (std::size_t m = 0; m <= std::min(j, k); ++m)
      {
        number += Choose(k, m) * std::pow(bounds.least, k - m) * std::pow(bounds.greatest - bounds.least, m) *
                  Choose(j, m) / Choose(degree, m);
      }
      for (const auto & [parts, factor] : byPower[k])
      {
        coefficient[parts] += number * factor;
      }
    }
    join(coefficient);
  }
  return *range;
}

ValueRange
ValueBounds::GetRange(const ValueForm & form) const
{
  if (form.factors.count(-1) > 0)
  {
    return { -Infinity, Infinity };
  }
  Polynomial polynomial;
  for (const auto & [source, factor] : form.factors)
  {
    if (factor != 0)
    {
      polynomial[GetParts(source)] = factor;
    }
  }
  int              steps = MostSteps;
  const ValueRange range = GetRange(polynomial, steps);
  return { form.constant + range.least, form.constant + range.greatest };
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
  if (factor == 0)
  {
    return;
  }
  sum.constant += factor * form.constant;
  for (const auto & [number, each] : form.factors)
  {
    sum.factors[number] += factor * each;
  }
  if (sum.factors.size() > MostTermsOfForm)
  {
    sum = MakeSource(GetRange(sum), IsClipped(sum));
  }
}

/** Multiplies term by term. \return whether there are not too many, and all have bounds */
bool
ValueBounds::Expand(const ValueForm & a, const ValueForm & b, ValueForm & product)
{
  if ((a.factors.size() + 1) * (b.factors.size() + 1) > MostTermsOfForm)
  {
    return false;
  }
  Add(product, b.constant, a);
  Add(product, a.constant, { 0, b.factors });
  const auto isFinite = [this](int source) {
    return source >= 0 && std::isfinite(m_Sources[source].range.least) &&
           std::isfinite(m_Sources[source].range.greatest);
  };
  for (const auto & [first, factorOfFirst] : a.factors)
  {
    for (const auto & [second, factorOfSecond] : b.factors)
    {
      if (!isFinite(first) || !isFinite(second) || m_Sources.size() >= MostSources)
      {
        return false;
      }
      std::vector<int>       parts = GetParts(first);
      const std::vector<int> others = GetParts(second);
      parts.insert(parts.end(), others.begin(), others.end());
      std::sort(parts.begin(), parts.end());
      if (parts.size() > MostParts)
      {
        return false;
      }
      const auto found = m_Products.emplace(parts, static_cast<int>(m_Sources.size()));
      if (found.second)
      {
        const Source one = m_Sources[first], other = m_Sources[second];
        m_Sources.push_back({ MultiplyRanges(one.range, other.range), -1, one.isClipped || other.isClipped, parts });
      }
      product.factors[found.first->second] += factorOfFirst * factorOfSecond;
    }
  }
  return true;
}

ValueForm
ValueBounds::Multiply(const ValueForm & a, const ValueForm & b)
{
  if (a.factors.empty() || b.factors.empty())
  {
    ValueForm product;
    Add(product, a.factors.empty() ? a.constant : b.constant, a.factors.empty() ? b : a);
    return product;
  }
  ValueRange whole = MultiplyRanges(GetRange(a), GetRange(b));
  if (a.constant == b.constant && a.factors == b.factors)
  {
    whole.least = std::max(whole.least, 0.0); // a square
  }
  ValueForm product;
  if (Expand(a, b, product))
  {
    // The terms may have wider bounds than the product, as those of the square of a value between -1 and 1 have.
    const ValueRange range = GetRange(product);
    const double     tolerance = 1e-9 * (whole.greatest - whole.least);
    if (range.least >= whole.least - tolerance && range.greatest <= whole.greatest + tolerance)
    {
      return product;
    }
  }
  return MakeSource(whole, IsClipped(a) || IsClipped(b));
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
