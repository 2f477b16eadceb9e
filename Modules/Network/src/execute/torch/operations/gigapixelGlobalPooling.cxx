/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"
#include "schedule/gigapixelTileGrid.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace gigapixel::torchmodule
{
namespace
{

// Forward passes compute the sums of a tile's part of the image, in double, as the operations' ReductionSchema say what
// they are; backward passes see those of the whole image.

using Values = std::vector<double>;

/** \class Pixels
 * \brief The pixels of a map of floats or doubles, one by one. */
class Pixels
{
public:
  explicit Pixels(const at::Tensor & map)
    : m_Map(map)
    , m_Double(map.scalar_type() == at::kDouble)
  {}

  /** \return values, which gets one of each channel */
  Values &
  Read(std::int64_t z, std::int64_t y, std::int64_t x, Values & values) const
  {
    values.resize(m_Map.size(1));
    m_Double ? Copy<double>(z, y, x, values) : Copy<float>(z, y, x, values);
    return values;
  }

  /** The same of a pixel by its number, row by row. */
  Values &
  ReadNumber(std::size_t number, Values & values) const
  {
    const auto         pixel = static_cast<std::int64_t>(number);
    const std::int64_t rows = m_Map.size(-2), columns = m_Map.size(-1);
    return Read(pixel / columns / rows, pixel / columns % rows, pixel % columns, values);
  }

  Values
  Read(std::int64_t z, std::int64_t y, std::int64_t x) const
  {
    Values values;
    return Read(z, y, x, values);
  }

  void
  Write(std::int64_t z, std::int64_t y, std::int64_t x, const Values & values) const
  {
    m_Double ? Paste<double>(z, y, x, values) : Paste<float>(z, y, x, values);
  }

  /** To what one channel of a pixel has. */
  void
  Add(std::int64_t z, std::int64_t y, std::int64_t x, std::size_t channel, double value) const
  {
    const std::int64_t place = static_cast<std::int64_t>(channel) * m_Map.stride(1);
    if (m_Double)
    {
      GetPixel<double>(z, y, x)[place] += value;
    }
    else
    {
      GetPixel<float>(z, y, x)[place] += static_cast<float>(value);
    }
  }

private:
  template <typename T>
  T *
  GetPixel(std::int64_t z, std::int64_t y, std::int64_t x) const
  {
    const std::int64_t slice = m_Map.dim() > 4 ? m_Map.stride(-3) : 0;
    return m_Map.data_ptr<T>() + z * slice + y * m_Map.stride(-2) + x * m_Map.stride(-1);
  }

  template <typename T>
  void
  Copy(std::int64_t z, std::int64_t y, std::int64_t x, Values & values) const
  {
    const T * value = GetPixel<T>(z, y, x);
    for (double & copy : values)
    {
      copy = *value;
      value += m_Map.stride(1);
    }
  }

  template <typename T>
  void
  Paste(std::int64_t z, std::int64_t y, std::int64_t x, const Values & values) const
  {
    T * value = GetPixel<T>(z, y, x);
    for (const double of : values)
    {
      *value = static_cast<T>(of);
      value += m_Map.stride(1);
    }
  }

  const at::Tensor & m_Map;
  const bool         m_Double;
};

/** Calls f(z, y, x) for each pixel of the tile that counts, row by row. */
template <typename F>
void
ForEachCounted(const OperationCall & call, const F & f)
{
  const Size size = ToSize(GetExtent(call.step.inputs.front()));
  auto       isCounted = call.counted->begin();
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    for (std::int64_t y = 0; y < size.height; ++y)
    {
      for (std::int64_t x = 0; x < size.width; ++x)
      {
        if (call.counted->empty() || *isCounted++ != 0)
        {
          f(z, y, x);
        }
      }
    }
  }
}

at::Tensor
ToTensor(const Values & sums)
{
  const at::Tensor tensor = at::empty({ static_cast<std::int64_t>(sums.size()) }, at::kDouble);
  std::copy(sums.begin(), sums.end(), tensor.data_ptr<double>());
  return tensor;
}

/** Of the one pixel. */
Values
GetGradient(const at::Tensor & gradient)
{
  return Pixels(gradient).Read(0, 0, 0);
}

/** \class Cells
 * \brief What a map is pooled to: the cells that hold each row and each column of a part of it. */
class Cells
{
public:
  explicit Cells(const OperationCall & call)
  {
    const int missing = PerAxis<int>::MostAxes - call.operation.axes; // of an image, which is one pixel deep
    m_Cells[0] = { { 0, 1 } };
    for (int axis = 0; axis < call.operation.axes; ++axis)
    {
      const AxisSizes &       sizes = call.step.sizes[axis];
      const Interval &        part = call.step.inputs.front()[axis];
      std::vector<Interval> & cells = m_Cells[missing + axis];
      cells.clear();
      for (std::int64_t i = part.begin; i < part.end; ++i)
      {
        cells.push_back(GetCells(i, sizes.inputs.front(), sizes.output));
      }
      m_Sizes[missing + axis] = sizes.output;
    }
  }

  std::size_t
  GetNumber() const
  {
    return static_cast<std::size_t>(m_Sizes[0] * m_Sizes[1] * m_Sizes[2]);
  }

  /** Calls f(number of the cell) for those that hold a pixel of the part. */
  template <typename F>
  void
  ForEachOf(std::int64_t z, std::int64_t y, std::int64_t x, const F & f) const
  {
    for (std::int64_t slice = m_Cells[0][z].begin; slice < m_Cells[0][z].end; ++slice)
    {
      for (std::int64_t row = m_Cells[1][y].begin; row < m_Cells[1][y].end; ++row)
      {
        for (std::int64_t column = m_Cells[2][x].begin; column < m_Cells[2][x].end; ++column)
        {
          f(static_cast<std::size_t>((slice * m_Sizes[1] + row) * m_Sizes[2] + column));
        }
      }
    }
  }

private:
  std::array<std::vector<Interval>, PerAxis<int>::MostAxes> m_Cells;
  std::array<std::int64_t, PerAxis<int>::MostAxes>          m_Sizes{ 1, 1, 1 };
};

at::Tensor
SumUp(OperationCall & call)
{
  const Pixels      pixels(call.inputs[0]);
  const Cells       cells(call);
  const std::size_t ofCell = call.channels[0] + 1;
  Values            sums(cells.GetNumber() * ofCell), values;
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    pixels.Read(z, y, x, values);
    cells.ForEachOf(z, y, x, [&](std::size_t cell) {
      const auto first = sums.begin() + cell * ofCell;
      std::transform(values.begin(), values.end(), first, first, std::plus<>());
      ++first[ofCell - 1];
    });
  });
  return ToTensor(sums);
}

/** Each pixel that counts has its part of the gradient of the mean of each cell that holds it. */
std::vector<at::Tensor>
DifferentiateMean(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor    map = call.MakeInputMap(0).zero_();
  const Pixels        pixels(map), ofCells(gradient);
  const Cells         cells(call);
  const std::size_t   ofCell = call.channels[0] + 1;
  std::vector<Values> parts(cells.GetNumber());
  for (std::size_t cell = 0; cell < parts.size(); ++cell)
  {
    const double number = (*call.sums)[(cell + 1) * ofCell - 1];
    ofCells.ReadNumber(cell, parts[cell]);
    std::for_each(parts[cell].begin(), parts[cell].end(), [number](double & part) { part /= number; });
  }
  Values values(call.channels[0]);
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    std::fill(values.begin(), values.end(), 0.0);
    cells.ForEachOf(z, y, x, [&](std::size_t cell) {
      std::transform(parts[cell].begin(), parts[cell].end(), values.begin(), values.begin(), std::plus<>());
    });
    pixels.Write(z, y, x, values);
  });
  return { map };
}

/** Of each channel of each cell the value, and its place along each axis; below 0 where the cell has no pixel here. */
at::Tensor
FindGreatest(OperationCall & call)
{
  const Pixels         pixels(call.inputs[0]);
  const Cells          cells(call);
  const std::ptrdiff_t axes = call.operation.axes;
  const std::size_t    ofCell = (1 + axes) * call.channels[0];
  Values               sums(cells.GetNumber() * ofCell, -1.0), values;
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    pixels.Read(z, y, x, values);
    const double place[] = { static_cast<double>(z), static_cast<double>(y), static_cast<double>(x) };
    cells.ForEachOf(z, y, x, [&](std::size_t cell) {
      double * greatest = sums.data() + cell * ofCell;
      for (const double value : values)
      {
        if (greatest[1] < 0 || value > greatest[0] || std::isnan(value))
        {
          greatest[0] = value;
          std::copy(std::end(place) - axes, std::end(place), greatest + 1);
        }
        greatest += 1 + axes;
      }
    });
  });
  return ToTensor(sums);
}

/** One pixel of each cell has all of it; one that lies in several cells may have that of each. */
std::vector<at::Tensor>
DifferentiateGreatest(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor  map = call.MakeInputMap(0).zero_();
  const Pixels      pixels(map), ofCells(gradient);
  const Box &       box = call.step.inputs.front();
  const int         axes = call.operation.axes;
  const double *    sum = call.sums->data();
  const std::size_t cells = call.sums->size() / ((1 + axes) * call.channels[0]);
  Values            gradients;
  for (std::size_t cell = 0; cell < cells; ++cell)
  {
    ofCells.ReadNumber(cell, gradients);
    for (std::size_t c = 0; c < gradients.size(); ++c, sum += 1 + axes)
    {
      std::array<std::int64_t, PerAxis<int>::MostAxes> place{ 0, 0, 0 }; // in the part
      bool                                             inside = true;
      for (int axis = 0; axis < axes; ++axis)
      {
        const auto at = static_cast<std::int64_t>(sum[1 + axis]) - box[axis].begin;
        place[place.size() - axes + axis] = at;
        inside = inside && at >= 0 && at < box[axis].GetLength();
      }
      if (inside)
      {
        pixels.Add(place[0], place[1], place[2], c, gradients[c]);
      }
    }
  }
  return { map };
}

/** Of each channel the greatest r x, and the sum of exp(r x - that). */
at::Tensor
SumUpExponentials(OperationCall & call)
{
  const Pixels pixels(call.inputs[0]);
  const double r = call.operation.GetNumber("r");
  Values       values, greatest;
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    pixels.Read(z, y, x, values);
    greatest = greatest.empty() ? values : greatest;
    std::transform(values.begin(), values.end(), greatest.begin(), greatest.begin(), [](double a, double b) {
      return std::max(a, b);
    });
  });
  Values sums(2 * greatest.size() + 1);
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    pixels.Read(z, y, x, values);
    for (std::size_t c = 0; c < values.size(); ++c)
    {
      sums[2 * c] = r * greatest[c];
      sums[2 * c + 1] += std::exp(r * (values[c] - greatest[c]));
    }
    ++sums.back();
  });
  return ToTensor(sums);
}

/** Each pixel has as much of it as its exponential has of their sum. */
std::vector<at::Tensor>
DifferentiateLogSum(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor map = call.MakeInputMap(0).zero_();
  const Pixels     pixels(map), inputs(call.inputs[0]);
  const Values     gradients = GetGradient(gradient);
  const Values &   sums = *call.sums;
  const double     r = call.operation.GetNumber("r");
  Values           values;
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    inputs.Read(z, y, x, values);
    for (std::size_t c = 0; c < values.size(); ++c)
    {
      values[c] = gradients[c] * std::exp(r * values[c] - sums[2 * c]) / sums[2 * c + 1];
    }
    pixels.Write(z, y, x, values);
  });
  return { map };
}

at::Tensor
SumUpByAttention(OperationCall & call)
{
  const Pixels pixels(call.inputs[0]), scores(call.inputs[1]);
  Values       sums(call.channels[0] + 2), values, score;
  double       greatest = -std::numeric_limits<double>::infinity();
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    greatest = std::max(greatest, scores.Read(z, y, x, score).front());
  });
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    pixels.Read(z, y, x, values);
    const double weight = std::exp(scores.Read(z, y, x, score).front() - greatest);
    std::transform(values.begin(), values.end(), sums.begin(), sums.begin(), [weight](double value, double sum) {
      return sum + weight * value;
    });
    sums.end()[-2] += weight;
  });
  sums.back() = greatest;
  return ToTensor(sums);
}

/** A pixel with the attention a has a g of the gradient g of the mean y; its score a g (x - y), summed over channels.
 */
std::vector<at::Tensor>
DifferentiateAttention(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor map = call.wanted[0] ? call.MakeInputMap(0).zero_() : at::Tensor();
  const at::Tensor ofScores = call.wanted[1] ? call.MakeInputMap(1).zero_() : at::Tensor();
  const Pixels     inputs(call.inputs[0]), scores(call.inputs[1]);
  const Values     gradients = GetGradient(gradient);
  const Values &   sums = *call.sums;
  const double     weights = sums.end()[-2], greatest = sums.back();
  Values           values, score;
  const double     ofMean = std::inner_product(gradients.begin(), gradients.end(), sums.begin(), 0.0) / weights;
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const double attention = std::exp(scores.Read(z, y, x, score).front() - greatest) / weights;
    if (ofScores.defined())
    {
      inputs.Read(z, y, x, values);
      const double ofPixel = std::inner_product(gradients.begin(), gradients.end(), values.begin(), 0.0);
      Pixels(ofScores).Write(z, y, x, { attention * (ofPixel - ofMean) });
    }
    if (map.defined())
    {
      values.resize(gradients.size());
      std::transform(
        gradients.begin(), gradients.end(), values.begin(), [attention](double g) { return attention * g; });
      Pixels(map).Write(z, y, x, values);
    }
  });
  return { map, ofScores };
}

// Maps are small where they are pooled: those of other devices are copied to the CPU's memory, and its code has them.

template <TorchOperation::Forward Compute>
at::Tensor
ReduceOnHost(OperationCall & call)
{
  for (at::Tensor & input : call.inputs)
  {
    input = input.to(at::kCPU);
  }
  return Compute(call);
}

template <TorchOperation::Backward Differentiate>
std::vector<at::Tensor>
DifferentiateOnHost(OperationCall & call, const at::Tensor & gradient)
{
  const at::TensorOptions options = call.options;
  call.options = options.device(at::kCPU);
  for (at::Tensor & input : call.inputs)
  {
    input = input.defined() ? input.to(at::kCPU) : input;
  }
  std::vector<at::Tensor> gradients = Differentiate(call, gradient.to(at::kCPU));
  for (at::Tensor & ofInput : gradients)
  {
    ofInput = ofInput.defined() ? ofInput.to(options) : ofInput;
  }
  return gradients;
}

template <TorchOperation::Forward Compute, TorchOperation::Backward Differentiate>
struct Reduction : TorchOperation
{
  explicit Reduction(const char * type)
    : TorchOperation(type, &ReduceOnHost<Compute>, &DifferentiateOnHost<Differentiate>)
  {}
};

using MeanReduction = Reduction<&SumUp, &DifferentiateMean>;
using GreatestReduction = Reduction<&FindGreatest, &DifferentiateGreatest>;
using LogSumReduction = Reduction<&SumUpExponentials, &DifferentiateLogSum>;
using AttentionReduction = Reduction<&SumUpByAttention, &DifferentiateAttention>;

const MeanReduction      Mean("adaptive_avg_pool2d");
const MeanReduction      MeanOfVolume("adaptive_avg_pool3d");
const GreatestReduction  Greatest("adaptive_max_pool2d");
const GreatestReduction  GreatestOfVolume("adaptive_max_pool3d");
const LogSumReduction    LogSum("logsumexp_pool2d");
const LogSumReduction    LogSumOfVolume("logsumexp_pool3d");
const AttentionReduction Attention("attention_pool2d");
const AttentionReduction AttentionOfVolume("attention_pool3d");

} // namespace
} // namespace gigapixel::torchmodule
