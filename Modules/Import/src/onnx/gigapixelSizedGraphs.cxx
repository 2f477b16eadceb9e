/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSizedGraphs.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Integers = std::vector<std::int64_t>;

/** One operation of a network at several sizes. */
class OperationAtSizes
{
public:
  OperationAtSizes(std::vector<SizedGraph> & graphs, std::size_t index)
    : m_Graphs(graphs)
    , m_Index(index)
    , m_Name(graphs.front().graph.operations[index].name)
  {}

  /** Numbers of pixels become what they are the size of. */
  void
  Follow()
  {
    const std::string type = GetFirst().type;
    if (type == "interpolate" && Has("size"))
    {
      FollowInterpolation();
    }
    else if ((type == "pad" || type == "crop") && GetFirst().inputs.size() == 1)
    {
      FollowBorders(type == "pad");
    }
  }

  /** \throw std::invalid_argument an attribute is another one at another size */
  void
  RequireSame()
  {
    for (std::size_t k = 1; k < m_Graphs.size(); ++k)
    {
      for (const auto & [key, value] : GetFirst().attributes)
      {
        if (!IsSameValue(value, Get(k).attributes.at(key)))
        {
          throw InvalidArgument(
            Diagnostic("E-NETWORK-OPERATION",
                       "\"" + key + "\" of its \"" + m_Name + "\" (" + GetFirst().type +
                         ") depends on the size of the image in a way that is no size of another map"));
        }
      }
    }
  }

private:
  Operation &
  Get(std::size_t k)
  {
    return m_Graphs[k].graph.operations[m_Index];
  }

  const Operation &
  GetFirst()
  {
    return Get(0);
  }

  int
  GetNumberOfAxes() const
  {
    return GetSize(0, m_Name).GetNumberOfAxes();
  }

  const Extent &
  GetSize(std::size_t k, const std::string & name) const
  {
    return m_Graphs[k].sizes.at(name);
  }

  const Extent &
  GetInputSize(std::size_t k)
  {
    return GetSize(k, Get(k).inputs.front());
  }

  bool
  Has(const char * attribute)
  {
    const auto numbers = std::get_if<Integers>(&GetFirst().attributes.at(attribute));
    return numbers && !numbers->empty();
  }

  bool
  IsOfSameSize(const std::string & other) const
  {
    for (std::size_t k = 0; k < m_Graphs.size(); ++k)
    {
      if (GetSize(k, other) != GetSize(k, m_Name))
      {
        return false;
      }
    }
    return true;
  }

  bool
  IsSameEverywhere(const char * attribute)
  {
    for (std::size_t k = 1; k < m_Graphs.size(); ++k)
    {
      if (!IsSameValue(GetFirst().attributes.at(attribute), Get(k).attributes.at(attribute)))
      {
        return false;
      }
    }
    return true;
  }

  /** An earlier map that has the operation's size at all sizes of the image: \param joined one that it meets behind,
   * or, if it is false, the last one. \return empty: there is none */
  std::string
  FindLike(bool joined) const
  {
    const auto &          operations = m_Graphs.front().graph.operations;
    std::set<std::string> earlier;
    std::string           last;
    for (std::size_t i = 0; i < m_Index; ++i)
    {
      if (IsOfSameSize(operations[i].name))
      {
        earlier.insert(operations[i].name);
        last = operations[i].name;
      }
    }
    std::set<std::string> readers{ m_Name };
    for (std::size_t i = m_Index + 1; i < operations.size() && joined; ++i)
    {
      const auto & inputs = operations[i].inputs;
      if (std::none_of(inputs.begin(), inputs.end(), [&](const auto & input) { return readers.count(input) > 0; }))
      {
        continue;
      }
      const auto partner =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto & input) { return earlier.count(input) > 0; });
      if (partner != inputs.end())
      {
        return *partner;
      }
      readers.insert(operations[i].name);
    }
    return joined ? std::string() : last;
  }

  void
  Take(const std::string & like, const std::vector<const char *> & emptied)
  {
    for (std::size_t k = 0; k < m_Graphs.size(); ++k)
    {
      Get(k).inputs.push_back(like);
      for (const char * attribute : emptied)
      {
        Get(k).attributes[attribute] = std::string(attribute) == "size" ? Integers() : Integers(GetNumberOfAxes(), 0);
      }
    }
  }

  /** What a map's side is multiplied by, at all sizes. \return 0: there is no such number */
  double
  FindFactor(int axis)
  {
    const auto   output = static_cast<double>(GetSize(0, m_Name)[axis]);
    const double factor = output / static_cast<double>(GetInputSize(0)[axis]);
    for (std::size_t k = 0; k < m_Graphs.size(); ++k)
    {
      if (static_cast<double>(GetInputSize(k)[axis]) * factor != static_cast<double>(GetSize(k, m_Name)[axis]))
      {
        return 0;
      }
    }
    const bool whole = factor == std::floor(factor) || 1 / factor == std::floor(1 / factor);
    return m_Graphs.size() > 1 || whole ? factor : 0;
  }

  void
  FollowInterpolation()
  {
    std::string like = FindLike(true);
    if (like.empty() && m_Graphs.size() > 1)
    {
      like = FindLike(false);
    }
    std::vector<double> factors(GetNumberOfAxes());
    for (int axis = 0; axis < GetNumberOfAxes(); ++axis)
    {
      factors[axis] = FindFactor(axis);
    }
    const bool isScaled = *std::min_element(factors.begin(), factors.end()) > 0;
    if (isScaled && (m_Graphs.size() == 1 || like.empty()))
    {
      for (std::size_t k = 0; k < m_Graphs.size(); ++k)
      {
        Get(k).attributes["size"] = Integers();
        Get(k).attributes["scale_factor"] = factors;
      }
    }
    else if (!like.empty())
    {
      Take(like, { "size" });
    }
    else
    {
      throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION",
                                       "its \"" + m_Name + "\" (Resize) gives a map of " + ToText(GetSize(0, m_Name)) +
                                         " pixels of one of " + ToText(GetInputSize(0)) +
                                         ", which says nothing of images of other sizes"));
    }
  }

  bool
  BeginsAtZero()
  {
    for (std::size_t k = 0; k < m_Graphs.size(); ++k)
    {
      if (std::get<Integers>(Get(k).attributes.at("before")) != Integers(GetNumberOfAxes(), 0))
      {
        return false;
      }
    }
    return true;
  }

  /** The multiple that maps are padded to, right and bottom; 0: there is none. */
  std::int64_t
  FindMultiple()
  {
    for (std::int64_t multiple = 2; multiple <= 256; multiple *= 2)
    {
      bool all = true;
      for (std::size_t k = 0; k < m_Graphs.size() && all; ++k)
      {
        for (int axis = 0; axis < GetNumberOfAxes(); ++axis)
        {
          const std::int64_t padded = (GetInputSize(k)[axis] + multiple - 1) / multiple * multiple;
          all = all && padded == GetSize(k, m_Name)[axis];
        }
      }
      if (all)
      {
        return multiple;
      }
    }
    return 0;
  }

  bool
  IsCentered()
  {
    for (std::size_t k = 0; k < m_Graphs.size(); ++k)
    {
      for (int axis = 0; axis < GetNumberOfAxes(); ++axis)
      {
        const std::int64_t before = std::get<Integers>(Get(k).attributes.at("before"))[axis];
        if (before != (GetInputSize(k)[axis] - GetSize(k, m_Name)[axis]) / 2)
        {
          return false;
        }
      }
    }
    return true;
  }

  /** A pad may be of the same few pixels at all sizes by chance: what it makes fit counts. */
  void
  FollowBorders(bool isPad)
  {
    const bool        isSame = IsSameEverywhere("before") && IsSameEverywhere("after");
    const std::string joined = m_Graphs.size() > 1 ? FindLike(true) : std::string();
    if (m_Graphs.size() == 1 || (isSame && (!isPad || joined.empty())))
    {
      return;
    }
    const std::string  like = joined.empty() ? FindLike(false) : joined;
    const bool         begins = BeginsAtZero();
    const std::int64_t multiple = isPad && joined.empty() && begins ? FindMultiple() : 0;
    const bool         centered = !isPad && IsCentered();
    if (multiple > 0)
    {
      for (std::size_t k = 0; k < m_Graphs.size(); ++k)
      {
        Get(k).attributes["after"] = Integers(GetNumberOfAxes(), 0);
        Get(k).attributes["multiple"] = multiple;
      }
    }
    else if (!like.empty() && (begins || centered))
    {
      Take(like, { "before", "after" });
      for (std::size_t k = 0; k < m_Graphs.size() && centered && !begins; ++k)
      {
        Get(k).attributes["center"] = true;
      }
    }
  }

  std::vector<SizedGraph> & m_Graphs;
  const std::size_t         m_Index;
  const std::string         m_Name;
};

bool
HasSameOutline(const NetworkGraph & a, const NetworkGraph & b)
{
  const auto same = [](const Operation & x, const Operation & y) {
    return x.name == y.name && x.type == y.type && x.inputs == y.inputs && x.parameters == y.parameters;
  };
  return a.operations.size() == b.operations.size() && a.output == b.output &&
         std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), same);
}

} // namespace

SizedGraph
MergeSizes(const std::vector<SizedGraph> & given)
{
  std::vector<SizedGraph> graphs = given;
  for (const SizedGraph & each : graphs)
  {
    if (!HasSameOutline(each.graph, graphs.front().graph))
    {
      throw InvalidArgument(Diagnostic("E-NETWORK-OPERATION", "it is another network for images of other sizes"));
    }
  }
  for (std::size_t i = 0; i < graphs.front().graph.operations.size(); ++i)
  {
    OperationAtSizes(graphs, i).Follow();
  }
  for (std::size_t i = 0; i < graphs.front().graph.operations.size(); ++i)
  {
    OperationAtSizes(graphs, i).RequireSame();
  }
  return graphs.front();
}

} // namespace gigapixel
