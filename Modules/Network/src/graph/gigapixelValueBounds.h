/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelValueBounds_h
#define gigapixelValueBounds_h

#include "gigapixelNetworkGraph.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace gigapixel
{

/** Bounds of a value; either may be infinite. */
struct ValueRange
{
  double least;
  double greatest;
};

/** A value of a map: a constant plus multiples of sources, which are values of the same pixel with known bounds, or
 * products of such. Two values that share sources cancel: p and 1 - p have the sum 1, and p + q - p q is 1 at most. */
struct ValueForm
{
  double                constant{ 0 };
  std::map<int, double> factors{}; ///< by the number of the source; -1: it may be any number
};

/** One form for each channel of a map; empty: the values have no known bounds. */
using ValueForms = std::vector<ValueForm>;

/** \class ValueBounds
 * \brief Bounds of the values of a graph's maps, for every image, by affine arithmetic with products: each operation's
 * entry (OperationSchema::getBounds) says what it makes of its inputs' forms. */
class GigapixelNetwork_EXPORT ValueBounds
{
public:
  static constexpr int MostChannels = 4096; ///< of maps that have forms

  /** \return the values of an array of weights; null: they are not known */
  using FindArray = std::function<const std::vector<float> *(const std::string & name)>;

  /** \param graph validated; it has to live as long as this */
  explicit ValueBounds(const NetworkGraph & graph, FindArray findArray = {});

  const ValueForms & Get(const std::string & operation);

  // Entries of operations use what follows.

  const ValueForms &
  GetInput(const Operation & operation, std::size_t input = 0)
  {
    return Get(operation.inputs[input]);
  }

  /** The channels of an operation's map. */
  int GetChannels(const std::string & operation) const;

  /** \return null: its values are not known, or it has none of this role */
  const std::vector<float> * FindParameter(const Operation & operation, const char * role) const;

  /** \param isClipped a greatest value that only a clip sets says nothing of the unit of the values */
  ValueForms MakeSources(const std::vector<ValueRange> & ranges, bool isClipped = false);

  /** Values that are not negative and have this sum. */
  ValueForms MakeShares(int channels, double sum);

  /** Values of other pixels, or weighted means of several pixels. */
  ValueForms Move(const ValueForms & forms);

  /** The same where some are this number. */
  ValueForms MoveBeside(const ValueForms & forms, double number);

  ValueRange GetRange(const ValueForm & form) const;

  std::vector<ValueRange> GetRanges(const ValueForms & forms) const;

  /** Whether a clip of values without bounds is one of the sources. */
  bool IsClipped(const ValueForm & form) const;
  bool IsClipped(const ValueForms & forms) const;

  /** Adds factor * form to a sum. A sum of too many sources becomes a source. */
  void Add(ValueForm & sum, double factor, const ValueForm & form);

  /** The sum of all channels. */
  ValueForm GetSum(const ValueForms & forms);

  /** A product of too many sources becomes a source. */
  ValueForm Multiply(const ValueForm & a, const ValueForm & b);

private:
  struct Source
  {
    ValueRange       range;
    int              group{ -1 }; ///< of shares
    bool             isClipped{ false };
    std::vector<int> parts{}; ///< the sources that it is the product of, in their order; empty: it is none
  };

  /** Factors of products of sources. */
  using Polynomial = std::map<std::vector<int>, double>;

  ValueForm        MakeSource(const ValueRange & range, bool isClipped);
  bool             Expand(const ValueForm & a, const ValueForm & b, ValueForm & product);
  std::vector<int> GetParts(int source) const;
  int              GetVariable(int source) const;
  ValueRange       GetSumRange(const Polynomial & polynomial) const;
  int              FindVariable(const Polynomial & polynomial) const;
  ValueRange       GetRange(const Polynomial & polynomial, int & steps) const;

  const NetworkGraph &              m_Graph;
  const FindArray                   m_FindArray;
  std::map<std::string, int>        m_Places; ///< of operations
  std::vector<int>                  m_Channels;
  std::map<std::string, ValueForms> m_Found;
  std::vector<Source>               m_Sources;
  std::map<std::vector<int>, int>   m_Products; ///< sources by their parts
  std::vector<int>                  m_GroupSizes;
  std::size_t                       m_Terms{ 0 }; ///< of all forms that are found
};

/** What the values of a graph's output are. */
struct OutputValues
{
  enum class Kind
  {
    Logits,        ///< any numbers
    Probabilities, ///< from 0 to `greatest`
    Unclear        ///< they have bounds that say neither: they count as logits
  };

  Kind       kind{ Kind::Logits };
  ValueRange range{ -std::numeric_limits<double>::infinity(),
                    std::numeric_limits<double>::infinity() }; ///< of all channels
  double     greatest{ 1 };                                    ///< what a probability of 1 is
  bool       areShares{ false }; ///< whether the probabilities of all channels have the sum 1
};

/** \return "between 0 and 1", "0 or more", "0 or less" */
GigapixelNetwork_EXPORT std::string ToText(const ValueRange & range);

/** \param graph validated */
GigapixelNetwork_EXPORT OutputValues FindOutputValues(const NetworkGraph &           graph,
                                                      const ValueBounds::FindArray & findArray = {});

/** What SettleOutput() has done, in words; empty: nothing. */
struct SettledOutput
{
  std::string leftOut;           ///< "softmax at the end"
  std::string computed;          ///< "probabilities, divided by 255": their logits are computed at the end
  bool        isOfEach{ false }; ///< the channels' probabilities do not exclude each other
  double      greatest{ 1 };     ///< what a probability of 1 was

  std::optional<ValueRange> bounds{}; ///< of logits that have some
};

/** Makes logits the output of a graph of classes. A sigmoid or softmax at the end is taken off. Behind other
 * probabilities their logits are computed: softmax or sigmoid gives back the same probabilities.
 * \param graph validated, as it is afterwards */
GigapixelNetwork_EXPORT SettledOutput SettleOutput(NetworkGraph & graph, const ValueBounds::FindArray & findArray = {});

} // namespace gigapixel

#endif
