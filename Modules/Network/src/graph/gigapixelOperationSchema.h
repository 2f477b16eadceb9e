/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOperationSchema_h
#define gigapixelOperationSchema_h

#include "gigapixelNetworkGraph.h"
#include "gigapixelPerAxis.h"

#include <algorithm>

namespace gigapixel
{

class ValueBounds;
struct ValueForm;

/** Half-open interval of indices of one map along one axis. */
struct Interval
{
  std::int64_t begin{ 0 };
  std::int64_t end{ 0 };

  std::int64_t
  GetLength() const
  {
    return end - begin;
  }

  bool
  IsEmpty() const
  {
    return end <= begin;
  }

  bool
  operator==(const Interval & other) const
  {
    return begin == other.begin && end == other.end;
  }
};

/** The interval that holds both; an empty one adds nothing. */
inline Interval
Hull(const Interval & a, const Interval & b)
{
  return a.IsEmpty() ? b : b.IsEmpty() ? a : Interval{ std::min(a.begin, b.begin), std::max(a.end, b.end) };
}

using Box = PerAxis<Interval>;

/** Whether there are no pixels. */
inline bool
IsEmpty(const Box & box)
{
  return box.GetNumberOfAxes() == 0 ||
         std::any_of(box.begin(), box.end(), [](const Interval & interval) { return interval.IsEmpty(); });
}

/** What an operation's backward pass has to see of its forward pass. */
enum class Keeps
{
  Nothing,
  Input,
  Output,
  InputAndIndices ///< the input's shape alone, and a place for each output (pooling)
};

/** What an operation's passes take beside their inputs and outputs, for a time. */
enum class Scratch
{
  Nothing,
  Padded, ///< a copy of the input with padding, where that is needed
  Places  ///< in a transposed convolution, all that its windows hold before they are put into their places
};

/** A number of maps, by their size: that of the first input, of the output, and the output's rows with the input's
 * columns, to which maps come that are done along one axis after the other. */
struct MapCounts
{
  int ofInput{ 0 };
  int ofOutput{ 0 };
  int ofRows{ 0 };
};

/** Maps that the passes of an operation hold for a time beside its inputs, its output, their gradients and its Scratch.
 */
struct PassMaps
{
  MapCounts forward{};
  MapCounts backward{};
};

/** Where the gradient of an input comes from. */
enum class InputGradient
{
  Computed,
  InPlace,     ///< computed in the place of the output's, where nobody else holds that
  Passed,      ///< it is the output's, or a part of its pixels
  FirstPassed, ///< that of the first input is; others are computed
  Shared       ///< it is a part of the output's channels
};

/** What a network's structure is told by, whatever the types of its operations. */
struct Role
{
  enum Bits : unsigned
  {
    None = 0,
    NetworkInput = 1, ///< its map is the image
    FrozenNorm = 2,   ///< a scale and a shift of each channel, by statistics that are kept
    Linear = 4,       ///< a scale, a shift or a sum: what is rectified behind it is rectified before it
    Sum = 8,          ///< of two maps, or a map and a number
    Rectifier = 16,
    Placement = 64,      ///< pixels of the first input are moved, and not mixed across channels
    View = 128,          ///< where it has no more pixels than it reads, its map lies in its first input's memory
    WholeImageNorm = 256 ///< its second input are statistics of the whole first one, of the type StatisticsType
  };
};

/** The weight of an operation whose parameter "weight" multiplies channels and their surroundings. */
struct WeightSchema
{
  /** Number of products that a value of the output is the sum of. \param shape the weight's */
  double (*getFanIn)(const Operation & operation, const std::vector<std::int64_t> & shape);

  /** The channel of the output that the weight's value number `place` counts for. */
  std::size_t (*getOutputChannel)(const Operation &                 operation,
                                  const std::vector<std::int64_t> & shape,
                                  std::size_t                       place);
};

/** What an operation does that sums up all of its inputs' maps, which are of one size, to a map of one pixel, or of a
 * few. The executor computes the sums of a part of the maps, over those of its pixels that count (TileData::counted);
 * those of all parts are taken together one by one, in a fixed order. What they are is the operation's own matter: its
 * backward pass sees those of the whole image again. */
struct ReductionSchema
{
  /** Takes those of one more part into the sums of the parts before it, of which there are none in the beginning.
   * \param box where the part lies in the inputs' maps: its sums do not know */
  void (*add)(const Operation &           operation,
              std::vector<double> &       sums,
              const std::vector<double> & part,
              const Box &                 box);

  /** The values of the pixels, row by row. */
  std::vector<double> (*finish)(const Operation & operation, const std::vector<double> & sums);

  /** Numbers of sums, of a part as of the whole image. \param channels of the first input's map */
  std::int64_t (*countSums)(const Operation & operation, std::int64_t channels);

  /** Whether anything in this part of the inputs' maps has a gradient. Null: all parts have one, and equal parts the
   * same one.
   * \param gradient of the pixels, as finish() has their values */
  bool (*hasGradient)(const std::vector<double> & sums, const std::vector<double> & gradient, const Box & box);

  /** Whether equal parts at other places have other sums and gradients. */
  bool dependsOnPlace{ false };
};

/** Type of the operation that finds out mean and deviation of a map. */
constexpr const char * StatisticsType = "norm_statistics";

/** The name that it has where it was written out for a norm. */
inline std::string
GetNameOfStatistics(const Operation & norm)
{
  return norm.name + ".statistics";
}

struct AttributeSchema
{
  enum class Kind
  {
    Flag,
    Axes,        ///< a whole number for each axis; a single one in the JSON, or as default, counts for all of them
    AxesOrWord,  ///< the same, or one of the words
    AxesNumbers, ///< a number for each axis, likewise
    Integer,
    Number,
    Word
  };

  const char *             name;
  Kind                     kind;
  bool                     required;
  AttributeValue           defaultValue; ///< of one that is not required; no numbers: as the check says
  std::int64_t             least{ 0 };   ///< of whole numbers
  std::int64_t             greatest{ 65536 };
  std::vector<std::string> words{};           ///< those that there are
  bool                     positive{ false }; ///< of a number

  /** In a graph of so many axes. */
  GigapixelNetwork_EXPORT AttributeValue GetDefault(int axes) const;
};

/** Sizes of an operation's maps along one axis. */
struct AxisSizes
{
  std::vector<std::int64_t> inputs;
  std::int64_t              output{ 0 };
};

/** Where outputs lie in a map along an axis: output i in the middle of what it sees, at step * i + offset. */
struct Sampling
{
  double step{ 1 };
  double offset{ 0 };
};

/** Along all axes. */
using MapSizes = PerAxis<AxisSizes>;

/** \class OperationSchema
 * \brief All that is known of a type of operation without computing it; what computes it is the function of the same
 * type in each executor. */
struct GigapixelNetwork_EXPORT OperationSchema
{
  /** An operation of one input that computes each value of its output from the value of its input at the same place,
   * has no attributes, parameters or checks, and keeps nothing for its backward pass: an entry says what is different.
   */
  explicit OperationSchema(const char * type, std::size_t fewestInputs = 1, std::size_t mostInputs = 1);

  const char *                 type;
  const char *                 summary{ "" };            ///< a clause for the reference, of what the type does not say
  int                          axes{ 0 };                ///< of the graphs that it is of; 0: of all
  const char *                 typeOfVolumes{ nullptr }; ///< what PyTorch calls it there; null: the same
  std::size_t                  fewestInputs;
  std::size_t                  mostInputs;
  std::vector<AttributeSchema> attributes{};
  Keeps (*getKeeps)(const Operation & operation);

  /** Whether it is computed in float where maps are bf16, its inputs and output converted around it: because LibTorch
   * has no kernel of it for bf16, or because a sum or a rare operation is better than fast. */
  bool (*needsFloat)(const Operation & operation);

  InputGradient gradient{ InputGradient::Computed };
  Scratch       scratch{ Scratch::Nothing };
  PassMaps (*getPassMaps)(const Operation & operation, const MapSizes & sizes);
  /** Whether an operator of libraries computes it that makes all of what is read twice as large, of which the outputs
   * that are asked for may be a part: DoublesMaps(). Null: there is none. */
  bool (*doublesMaps)(const Operation & operation, const MapSizes & sizes){ nullptr };

  int                  keptChannels{ 0 };     ///< of a map that the forward pass leaves for the backward pass
  bool                 mayOverwrite{ false }; ///< its output may take the place of its first input
  unsigned             roles{ Role::None };   ///< Role::Bits
  const WeightSchema * weight{ nullptr };     ///< null: it has none

  /** Null: it sums up no image. */
  const ReductionSchema * (*getReduction)(const Operation & operation);

  /** What the attributes and input channels must fulfill beyond their ranges; empty: nothing is wrong. */
  std::string (*check)(const Operation & operation, const std::vector<int> & channels);

  int (*getChannels)(const Operation & operation, const std::vector<int> & channels);

  /** Size of the output along an axis, as PyTorch computes it. \throw std::invalid_argument there is none */
  std::int64_t (*getSize)(const Operation & operation, int axis, const std::vector<std::int64_t> & inputs);

  /** Indices of an input that the outputs of the interval are computed from, clipped to the real map; never empty where
   * the input's values count, empty where only its size does. */
  Interval (*getRequired)(const Operation & operation,
                          int               axis,
                          std::size_t       input,
                          const Interval &  output,
                          const AxisSizes & sizes);

  /** Outputs at two places that have the same phase, and whose inputs lie alike, are computed alike as long as they see
   * no border of the map. */
  std::int64_t (*getPhase)(const Operation & operation, int axis, std::int64_t output, const AxisSizes & sizes);

  /** Whether all outputs along an axis see the same of an input, whatever their place. Null: of none. */
  bool (*isSpread)(const Operation & operation, std::size_t input, const AxisSizes & sizes){ nullptr };

  /** Where the outputs lie in the first input; the others lie alike, but for those of which only the size counts. */
  Sampling (*getSampling)(const Operation & operation, int axis, const AxisSizes & sizes);

  /** What it takes for pixels beyond the border of its input: "zeros", "reflect", "replicate", "constant", or "nothing"
   * where it makes do with those that there are; empty: it sees none. */
  std::string (*getBorder)(const Operation & operation, int axis, const AxisSizes & sizes);

  /** Named by their roles. */
  std::vector<ParameterDescription> (*getParameters)(const Operation & operation, const std::vector<int> & channels);

  /** What values of its map may be, by those of its inputs' maps. Null: any numbers. */
  std::vector<ValueForm> (*getBounds)(const Operation & operation, ValueBounds & bounds){ nullptr };

  bool
  Is(Role::Bits role) const
  {
    return (roles & role) != 0;
  }

  /** Multiplications for one pixel of the output, and for one of the first input. */
  std::pair<double, double> (*getCost)(const Operation & operation, const std::vector<int> & channels);

  /** \return null: there is none of this type */
  static const OperationSchema * Find(const std::string & type);

  /** All each value of which is computed from a part of a map, or from one pixel. */
  static const std::vector<OperationSchema> & GetAll();

  /** Types each value of which depends on all pixels of a map. All are read, so that what a network needs is known
   * completely, but not all are computed, see GetRunProblem(). */
  static const std::vector<OperationSchema> & GetWholeImage();
};

/** What a graph has of operations that see the whole image: "adaptive_avg_pool2d (2 places: a, b), group_norm (...)".
 * Empty: it has none. */
GigapixelNetwork_EXPORT std::string ListWholeImage(const NetworkGraph & graph);

/** Why a graph that is right cannot be computed; empty: it can. */
GigapixelNetwork_EXPORT std::string GetRunProblem(const NetworkGraph & graph);

/** The operation with a WeightSchema whose output are the logits, but for their placement. \return -1: there is none */
GigapixelNetwork_EXPORT int FindLastWeighted(const NetworkGraph & graph);

/** Cells of adaptive pooling of this many pixels along an axis to so many cells: those that hold a pixel. Cells overlap
 * by a pixel where their sizes are no whole numbers, as PyTorch's do. */
GigapixelNetwork_EXPORT Interval GetCells(std::int64_t pixel, std::int64_t pixels, std::int64_t cells);

/** Padding of a window operation: zeros (or, for a maximum, nothing) before and after the real map. */
struct Padding
{
  std::int64_t before{ 0 };
  std::int64_t after{ 0 };
};

/** For a transposed convolution: whether its windows touch each other and do not overlap, so that each output is of one
 * input.
 */
GigapixelNetwork_EXPORT bool HasTouchingWindows(const Operation & operation);

/** Padding of convolutions (also "same") and pooling. */
GigapixelNetwork_EXPORT Padding GetPadding(const Operation & operation, int axis);

/** For interpolate: whether maps become twice as large, for which libraries have operators. */
GigapixelNetwork_EXPORT bool DoublesMaps(const Operation & operation, const MapSizes & sizes);

/** The source coordinate of interpolate's output index, before it is clipped to the map: linear; and that of nearest,
 * which is an index. As ATen computes them. */
GigapixelNetwork_EXPORT double GetLinearSource(const Operation & operation,
                                               int               axis,
                                               std::int64_t      index,
                                               std::int64_t      input,
                                               std::int64_t      output);
GigapixelNetwork_EXPORT std::int64_t GetNearestSource(const Operation & operation,
                                                      int               axis,
                                                      std::int64_t      index,
                                                      std::int64_t      input,
                                                      std::int64_t      output);

/** The index of the real map of `size` that stands at an index before or behind it. \param mode "reflect" or
 * "replicate" */
GigapixelNetwork_EXPORT std::int64_t GetMirrored(const std::string & mode, std::int64_t index, std::int64_t size);

} // namespace gigapixel

#endif
