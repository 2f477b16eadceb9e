/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOnnxOperators.h"

#include <cmath>
#include <optional>

namespace gigapixel
{
namespace
{

// Exporters of former opsets write GELU and the norm of channels as formulas of operators that, alone, become no
// operation here; so do ensembles that stack their outputs. A formula is found from its last node backwards.

constexpr int Deepest = 6; ///< nodes of a formula, one behind the other

bool
IsNear(double a, double b)
{
  return std::abs(a - b) <= 2e-6 * std::abs(b);
}

/** A single number that is known. */
std::optional<double>
FindNumber(OnnxWalk & walk, const std::string & value)
{
  const OnnxWalkValue * const found = walk.Find(value);
  return found && found->constant && found->constant->GetCount() == 1 ? std::optional(found->constant->Get(0))
                                                                      : std::nullopt;
}

/** \class Polynomial
 * \brief A value as a polynomial of a map x and of what a gate gives: powers of both to factors. */
using Polynomial = std::map<std::pair<int, int>, double>;

Polynomial
Multiply(const Polynomial & a, const Polynomial & b)
{
  Polynomial product;
  for (const auto & [powersA, factorA] : a)
  {
    for (const auto & [powersB, factorB] : b)
    {
      product[{ powersA.first + powersB.first, powersA.second + powersB.second }] += factorA * factorB;
    }
  }
  return product;
}

Polynomial
Add(Polynomial a, const Polynomial & b, double factor)
{
  for (const auto & [powers, each] : b)
  {
    a[powers] += factor * each;
  }
  return a;
}

bool
IsSame(const Polynomial & a, const Polynomial & b)
{
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto & x, const auto & y) {
           return x.first == y.first && IsNear(x.second, y.second);
         });
}

/** \class GELUFormula
 * \brief x (1 + erf(x / sqrt 2)) / 2, or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) in place of the error function,
 * whichever way it is multiplied out. */
class GELUFormula
{
public:
  GELUFormula(OnnxWalk & walk, const OnnxNode & node)
    : m_Walk(walk)
    , m_Node(node)
    , m_Gate(FindGate(node, Deepest))
  {}

  bool
  Import()
  {
    if (!m_Gate || m_Gate->inputs.size() != 1)
    {
      return false;
    }
    const bool       byErf = m_Gate->type == "Erf";
    const double     slope = byErf ? std::sqrt(0.5) : std::sqrt(2 / std::acos(-1.0));
    const Polynomial argument =
      byErf ? Polynomial{ { { 1, 0 }, slope } } : Polynomial{ { { 1, 0 }, slope }, { { 3, 0 }, slope * 0.044715 } };
    for (const std::string & x : FindMaps(m_Gate->inputs.front(), Deepest))
    {
      const auto given = this->Expand(m_Gate->inputs.front(), x, Deepest);
      const auto product = this->Expand(m_Node.outputs.front(), x, Deepest);
      if (given && product && IsSame(*given, argument) && IsSame(*product, { { { 1, 0 }, 0.5 }, { { 1, 1 }, 0.5 } }))
      {
        const OnnxWalkValue map = *m_Walk.Find(x);
        m_Walk.Put(m_Node, "gelu", map, { map.map }, { { "approximate", std::string(byErf ? "none" : "tanh") } });
        m_Walk.Skip(m_Node, { x });
        return true;
      }
    }
    return false;
  }

private:
  static bool
  IsArithmetic(const OnnxNode & node)
  {
    static const std::set<std::string> types{ "Mul", "Add", "Sub", "Div", "Pow" };
    return types.count(node.type) > 0 && node.inputs.size() == 2;
  }

  const OnnxNode *
  FindGate(const OnnxNode & node, int depth) const
  {
    if (node.type == "Erf" || node.type == "Tanh")
    {
      return &node;
    }
    for (const std::string & input : depth > 0 && IsArithmetic(node) ? node.inputs : std::vector<std::string>())
    {
      const OnnxNode * const producer = m_Walk.FindProducer(input);
      if (const OnnxNode * const gate = producer ? this->FindGate(*producer, depth - 1) : nullptr)
      {
        return gate;
      }
    }
    return nullptr;
  }

  /** Maps that a value may be a polynomial of. */
  std::set<std::string>
  FindMaps(const std::string & value, int depth) const
  {
    std::set<std::string>       maps;
    const OnnxWalkValue * const found = m_Walk.Find(value);
    if (found && found->IsMap())
    {
      maps.insert(value);
    }
    const OnnxNode * const producer = m_Walk.FindProducer(value);
    if (producer && depth > 0 && IsArithmetic(*producer))
    {
      for (const std::string & input : producer->inputs)
      {
        maps.merge(this->FindMaps(input, depth - 1));
      }
    }
    return maps;
  }

  std::optional<Polynomial>
  Expand(const std::string & value, const std::string & x, int depth) const
  {
    if (value == x)
    {
      return Polynomial{ { { 1, 0 }, 1.0 } };
    }
    if (value == m_Gate->outputs.front())
    {
      return Polynomial{ { { 0, 1 }, 1.0 } };
    }
    if (const auto number = FindNumber(m_Walk, value))
    {
      return Polynomial{ { { 0, 0 }, *number } };
    }
    const OnnxNode * const node = m_Walk.FindProducer(value);
    if (!node || depth == 0 || !IsArithmetic(*node))
    {
      return std::nullopt;
    }
    const auto a = this->Expand(node->inputs[0], x, depth - 1);
    const auto b = this->Expand(node->inputs[1], x, depth - 1);
    return a && b ? Combine(node->type, *a, *b, FindNumber(m_Walk, node->inputs[1])) : std::nullopt;
  }

  /** \param number b, if it is one */
  static std::optional<Polynomial>
  Combine(const std::string & type, const Polynomial & a, const Polynomial & b, const std::optional<double> & number)
  {
    constexpr std::size_t MostTerms = 4; // of what is multiplied
    if (a.size() > MostTerms || b.size() > MostTerms)
    {
      return std::nullopt;
    }
    if (type == "Mul")
    {
      return Multiply(a, b);
    }
    if (type == "Add" || type == "Sub")
    {
      return Add(a, b, type == "Add" ? 1 : -1);
    }
    if (type == "Div" && number && *number != 0)
    {
      return Multiply(a, { { { 0, 0 }, 1 / *number } });
    }
    if (type == "Pow" && number && (*number == 2 || *number == 3))
    {
      return *number == 2 ? Multiply(a, a) : Multiply(Multiply(a, a), a);
    }
    return std::nullopt;
  }

  OnnxWalk &             m_Walk;
  const OnnxNode &       m_Node;
  const OnnxNode * const m_Gate;
};

/** \class NormFormula
 * \brief (x - mean) / sqrt(mean((x - mean)^2) + eps) over the channels of each pixel. */
class NormFormula
{
public:
  NormFormula(OnnxWalk & walk, const OnnxNode & node)
    : m_Walk(walk)
    , m_Node(node)
  {}

  bool
  Import()
  {
    for (std::size_t i = 0; i < 2 && m_Node.inputs.size() == 2; ++i)
    {
      const std::string x = this->FindCentered(m_Node.inputs[i]);
      const auto        epsilon = x.empty() ? std::nullopt : this->FindEpsilon(m_Node.inputs[1 - i], x);
      if (epsilon && (i == 0 || m_Node.type == "Mul"))
      {
        const OnnxWalkValue map = *m_Walk.Find(x);
        m_Walk.Put(m_Node, "layer_norm", map, { map.map }, { { "eps", *epsilon }, { "affine", false } });
        m_Walk.Skip(m_Node, { x });
        return true;
      }
    }
    return false;
  }

private:
  const OnnxNode *
  FindProducer(const std::string & value, const char * type, std::size_t inputs) const
  {
    const OnnxNode * const node = m_Walk.FindProducer(value);
    return node && node->type == type && node->inputs.size() >= inputs ? node : nullptr;
  }

  /** The axes that a mean is taken over, as far as they are known. A graph that is no formula may have any. */
  std::vector<std::int64_t>
  FindAxes(const OnnxNode & mean) const
  {
    if (!OnnxWalk::HasInput(mean, 1))
    {
      return mean.GetIntegers("axes");
    }
    const OnnxWalkValue * const axes = m_Walk.Find(mean.inputs[1]);
    return axes && axes->constant ? axes->constant->integers : std::vector<std::int64_t>();
  }

  /** What the value is the mean of, over channels that stay as one. \return "": it is none */
  std::string
  FindMean(const std::string & value, const OnnxWalkValue & map) const
  {
    const OnnxNode * const mean = this->FindProducer(value, "ReduceMean", 1);
    if (!mean || mean->GetInteger("keepdims", 1) == 0)
    {
      return {};
    }
    const std::vector<std::int64_t> axes = this->FindAxes(*mean);
    const auto                      channels = static_cast<std::int64_t>(map.axes.find('c'));
    const auto                      rank = static_cast<std::int64_t>(map.axes.size());
    const bool isOfChannels = axes.size() == 1 && (axes.front() == channels || axes.front() == channels - rank);
    return isOfChannels ? mean->inputs.front() : std::string();
  }

  /** The map x that the value is x - mean of. \return "": it is none */
  std::string
  FindCentered(const std::string & value) const
  {
    const OnnxNode * const      difference = this->FindProducer(value, "Sub", 2);
    const OnnxWalkValue * const map = difference ? m_Walk.Find(difference->inputs[0]) : nullptr;
    return map && map->IsMap() && this->FindMean(difference->inputs[1], *map) == difference->inputs[0]
             ? difference->inputs[0]
             : std::string();
  }

  /** The argument of the root that the value is, or is the reciprocal of. \return "": it is none */
  std::string
  FindRadicand(const std::string & value) const
  {
    const bool             isFactor = m_Node.type == "Mul";
    const OnnxNode * const inverse = isFactor ? this->FindProducer(value, "Reciprocal", 1) : nullptr;
    const std::string      root = inverse ? inverse->inputs.front() : value;
    const OnnxNode * const square = isFactor && !inverse ? nullptr : this->FindProducer(root, "Sqrt", 1);
    const OnnxNode * const power = square ? nullptr : this->FindProducer(root, "Pow", 2);
    const double           exponent = isFactor && !inverse ? -0.5 : 0.5;
    if (power && FindNumber(m_Walk, power->inputs[1]) == exponent)
    {
      return power->inputs.front();
    }
    return square ? square->inputs.front() : std::string();
  }

  /** Whether the value is the square of x - mean. */
  bool
  IsSquare(const std::string & value, const std::string & x) const
  {
    const OnnxNode * const power = this->FindProducer(value, "Pow", 2);
    const OnnxNode * const product = this->FindProducer(value, "Mul", 2);
    if (power)
    {
      return FindNumber(m_Walk, power->inputs[1]) == 2.0 && this->FindCentered(power->inputs[0]) == x;
    }
    return product && product->inputs[0] == product->inputs[1] && this->FindCentered(product->inputs[0]) == x;
  }

  /** What is added to the variance of x under the root. */
  std::optional<double>
  FindEpsilon(const std::string & value, const std::string & x) const
  {
    const OnnxNode * const sum = this->FindProducer(this->FindRadicand(value), "Add", 2);
    for (std::size_t i = 0; i < 2 && sum; ++i)
    {
      const auto        epsilon = FindNumber(m_Walk, sum->inputs[1 - i]);
      const std::string square = this->FindMean(sum->inputs[i], *m_Walk.Find(x));
      if (epsilon && *epsilon > 0 && !square.empty() && this->IsSquare(square, x))
      {
        return epsilon;
      }
    }
    return std::nullopt;
  }

  OnnxWalk &       m_Walk;
  const OnnxNode & m_Node;
};

/** \class StackFormula
 * \brief The mean, sum, greatest or least of maps that are stacked along an axis of their own, or along that of images:
 * how ensembles are written. */
class StackFormula
{
public:
  StackFormula(OnnxWalk & walk, const OnnxNode & node)
    : m_Walk(walk)
    , m_Node(node)
    , m_Stack(OnnxWalk::HasInput(node, 0) ? walk.FindProducer(node.inputs.front()) : nullptr)
  {}

  bool
  Import()
  {
    std::vector<std::string> values;
    if (!m_Stack || m_Stack->type != "Concat" || !this->FindValues(values))
    {
      return false;
    }
    const OnnxWalkValue first = *m_Walk.Find(values.front());
    const char * const  type = m_Node.type == "ReduceMax" ? "maximum" : m_Node.type == "ReduceMin" ? "minimum" : "add";
    std::string         map = first.map;
    for (std::size_t i = 1; i < values.size(); ++i)
    {
      map = m_Walk.Append(m_Node, type, { map, m_Walk.Find(values[i])->map });
    }
    if (m_Node.type == "ReduceMean")
    {
      map = m_Walk.Append(m_Node, "mul", { map }, { { "other", 1 / static_cast<double>(values.size()) } });
    }
    m_Walk.Set(m_Node, { map, first.axes, first.shape, nullptr, {} });
    m_Walk.Skip(m_Node, values);
    return true;
  }

  static bool
  IsOf(const OnnxNode & node)
  {
    static const std::set<std::string> types{ "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin" };
    return types.count(node.type) > 0;
  }

private:
  /** The only axis of a node, from the front. \return nothing: it has several, or it is not known */
  std::optional<std::int64_t>
  FindAxis(const OnnxNode & node, std::size_t rank) const
  {
    std::vector<std::int64_t> axes = node.GetIntegers("axes");
    if (OnnxWalk::HasInput(node, 1))
    {
      const OnnxWalkValue * const given = m_Walk.Find(node.inputs[1]);
      axes = given && given->constant ? given->constant->integers : axes;
    }
    return axes.size() == 1
             ? std::optional(axes.front() < 0 ? axes.front() + static_cast<std::int64_t>(rank) : axes.front())
             : std::nullopt;
  }

  /** The stacked maps. \return whether the node reduces the axis that they are stacked along */
  bool
  FindValues(std::vector<std::string> & values) const
  {
    const bool isKept = m_Node.GetInteger("keepdims", 1) != 0;
    for (const std::string & input : m_Stack->inputs)
    {
      const OnnxNode * const unsqueeze = isKept ? nullptr : m_Walk.FindProducer(input);
      if (!isKept && (!unsqueeze || unsqueeze->type != "Unsqueeze"))
      {
        return false;
      }
      values.push_back(isKept ? input : unsqueeze->inputs.front());
      const OnnxWalkValue * const value = m_Walk.Find(values.back());
      const OnnxWalkValue * const first = m_Walk.Find(values.front());
      if (!value || !value->IsMap() || value->axes != first->axes || value->shape != first->shape)
      {
        return false;
      }
      const std::size_t  rank = value->axes.size() + (isKept ? 0 : 1);
      const std::int64_t axis = m_Stack->GetInteger("axis", 0);
      const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
      const bool         isOfImages = place == static_cast<std::int64_t>(value->axes.find('b'));
      if (this->FindAxis(m_Node, rank) != place || (isKept ? !isOfImages : this->FindAxis(*unsqueeze, rank) != place))
      {
        return false;
      }
    }
    return !values.empty();
  }

  OnnxWalk &             m_Walk;
  const OnnxNode &       m_Node;
  const OnnxNode * const m_Stack;
};

} // namespace

bool
ImportFormula(OnnxWalk & walk, const OnnxNode & node)
{
  return (StackFormula::IsOf(node) && StackFormula(walk, node).Import()) ||
         (node.type == "Mul" && GELUFormula(walk, node).Import()) ||
         ((node.type == "Mul" || node.type == "Div") && NormFormula(walk, node).Import());
}

} // namespace gigapixel
