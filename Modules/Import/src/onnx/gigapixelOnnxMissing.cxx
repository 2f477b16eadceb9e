/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What operators that are missing give, as far as its shape is known, so that the list of them is complete.
#include "gigapixelOnnxOperators.h"
#include "gigapixelPrintable.h"
#include "graph/gigapixelOperationSchema.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace gigapixel
{
namespace
{

// Types of https://onnx.ai/onnx/operators.

/** Whose output has the shape of the first input. */
constexpr const char * KeepingFirstShape =
  "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli Cast CastLike Ceil Celu Clip Cos Cosh CumSum "
  "DequantizeLinear Dropout Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity "
  "InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization "
  "MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear RMSNormalization Reciprocal Relu ReverseSequence Round "
  "ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh "
  "ThresholdedRelu Trilu";

/** Whose inputs are broadcast to a common shape, which the output has. */
constexpr const char * Broadcasting =
  "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod "
  "Mul Or Pow Sub Sum Where Xor";

std::set<std::string>
GetWords(const char * text)
{
  std::istringstream stream(text);
  return { std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>() };
}

} // namespace

void
OnnxWalk::Miss(const OnnxNode & node, const std::string & why)
{
  const std::string type = GetPrintable(node.type).substr(0, 100);
  m_Missing.emplace(node.outputs.front(), type + (why.empty() ? "" : " " + why));
}

void
OnnxWalk::SetStandIn(const OnnxNode & node, const std::string & axes, const std::vector<std::int64_t> & shape)
{
  const std::string name = "missing " + std::to_string(m_Channels.size()); // no operation has a space in its name
  const auto        getLength = [&](char axis) {
    const auto place = axes.find(axis);
    return place == std::string::npos ? std::int64_t{ 1 } : shape[place];
  };
  m_Channels[name] = static_cast<int>(std::min<std::int64_t>(getLength('c'), NetworkGraph::MostChannels));
  const std::string places = GetMapAxes().substr(2);
  m_Result.sizes[name] = Extent(GetNumberOfAxes());
  std::transform(places.begin(), places.end(), m_Result.sizes[name].begin(), getLength);
  this->Set(node, { name, axes, shape, nullptr, {} });
}

bool
OnnxWalk::IsBehindMissing(const std::vector<std::string> & values) const
{
  return std::any_of(values.begin(), values.end(), [this](const auto & value) { return m_Behind.count(value) > 0; });
}

/** What a missing operator gives, if its shape follows from what it reads. \return null: it does not, or what it reads
 * is not known */
const OnnxWalkValue *
OnnxWalk::FindStandIn(const OnnxNode & node)
{
  static const std::set<std::string> keeping = GetWords(KeepingFirstShape), broadcasting = GetWords(Broadcasting);
  std::vector<const OnnxWalkValue *> inputs;
  for (const std::string & input : node.inputs)
  {
    if (!input.empty())
    {
      inputs.push_back(this->Find(input));
    }
  }
  if (!inputs.empty() && inputs.front() && inputs.front()->IsMap() && keeping.count(node.type) > 0)
  {
    return inputs.front();
  }
  if (broadcasting.count(node.type) == 0 || std::count(inputs.begin(), inputs.end(), nullptr) > 0)
  {
    return nullptr;
  }
  std::vector<std::int64_t> shape;
  for (const OnnxWalkValue * input : inputs)
  {
    shape = BroadcastShapes(shape, input->shape);
  }
  const auto whole = std::find_if(
    inputs.begin(), inputs.end(), [&](const auto * input) { return input->IsMap() && input->shape == shape; });
  return whole == inputs.end() ? nullptr : *whole;
}

void
OnnxWalk::PutStandIn(const OnnxNode & node)
{
  try
  {
    const OnnxWalkValue * const found = this->FindStandIn(node);
    if (found && m_Values.count(node.outputs.front()) == 0)
    {
      const OnnxWalkValue value = *found;
      this->Set(node, value);
    }
  }
  catch (const std::invalid_argument &)
  {
    // What it reads is damaged or does not fit: that is no more than what is missing.
  }
}

/** Of the nodes that the output depends on, but for those that are parts of formulas. */
void
OnnxWalk::CheckMissing() const
{
  std::set<std::string>    missing, shapeless, seen;
  std::vector<std::string> values{ m_End };
  bool                     unasked = false;
  while (!values.empty())
  {
    const std::string value = values.back();
    values.pop_back();
    const OnnxNode * const node = seen.insert(value).second ? this->FindProducer(value) : nullptr;
    if (!node)
    {
      continue;
    }
    const std::string & first = node->outputs.front();
    const auto          skip = m_Skips.find(first);
    const auto          why = m_Missing.find(first);
    const auto &        inputs = skip == m_Skips.end() ? node->inputs : skip->second;
    values.insert(values.end(), inputs.begin(), inputs.end());
    const bool isMissing = skip == m_Skips.end() && why != m_Missing.end();
    if (isMissing)
    {
      missing.insert(why->second);
    }
    // The first one of those behind each other whose shapes are not known.
    if (isMissing && m_Unknown.count(value) > 0 &&
        std::none_of(inputs.begin(), inputs.end(), [this](const auto & input) { return m_Unknown.count(input) > 0; }))
    {
      shapeless.insert(GetPrintable(node->type).substr(0, 100));
    }
    unasked = unasked || m_Unasked.count(first) > 0;
  }
  const auto list = [](const std::set<std::string> & names) {
    constexpr std::size_t most = 200; // there are fewer operators in ONNX
    std::string           text;
    std::size_t           number = 0;
    for (auto each = names.begin(); each != names.end() && number < most; ++each, ++number)
    {
      text += (text.empty() ? "" : ", ") + *each;
    }
    return text + (number < names.size() ? " and " + std::to_string(names.size() - number) + " more" : "");
  };
  if (!missing.empty())
  {
    const std::string wholeImage = ListWholeImage(m_Result.graph);
    throw MissingOperations("it needs operations that there are not here: " + list(missing) +
                            (wholeImage.empty() ? "" : "; and it sees the whole image: " + wholeImage) +
                            (unasked && !shapeless.empty() ? "; more may be missing behind " + list(shapeless) +
                                                               ", as the shape of the result is not known"
                                                           : ""));
  }
  if (!m_Problem.IsEmpty())
  {
    throw InvalidArgument(m_Problem);
  }
}

} // namespace gigapixel
