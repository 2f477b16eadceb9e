/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOperationEntry_h
#define gigapixelOperationEntry_h

#include "graph/gigapixelOperationSchema.h"
#include "graph/gigapixelValueBounds.h"

namespace gigapixel
{
namespace schema
{

// What the entries of operations are written with.

using Kind = AttributeSchema::Kind;
using Channels = std::vector<int>;
using Sizes = std::vector<std::int64_t>;
using Parameters = std::vector<ParameterDescription>;
using Cost = std::pair<double, double>;

std::int64_t DivideDown(std::int64_t a, std::int64_t b);
std::int64_t DivideUp(std::int64_t a, std::int64_t b);

/** The part that a map of this size has; where it has none of it, the index that is nearest, so that there is always
 * something to compute with. */
Interval Clip(const Interval & interval, std::int64_t size);

/** The same where the map is padded: pixels that reflection or replication takes from it are of the part. */
Interval ClipPadded(const Interval & interval, std::int64_t size, const std::string & mode);

/** The pixel at a map's border is there once: as many pixels as are padded have to lie behind it. */
void CheckReflection(std::int64_t size, const Padding & padding);

/** Of what OperationSchema's functions are given. \throw std::invalid_argument always */
[[noreturn]] void Refuse(const std::string & reason);

// Attributes.

AttributeSchema Flag(const char * name, bool value);
AttributeSchema AlongAxes(const char * name, std::int64_t value, std::int64_t least);
AttributeSchema NeededAlongAxes(const char * name, std::int64_t least);

/** That may be left out, which is something else than any number. */
AttributeSchema OptionalAlongAxes(const char * name, std::int64_t least);

AttributeSchema Integer(const char * name, std::int64_t value, std::int64_t least);
AttributeSchema NeededInteger(const char * name, std::int64_t least);
AttributeSchema Number(const char * name, double value);

/** Added to variances before their root is taken. */
AttributeSchema Epsilon();

AttributeSchema Word(const char * name, const char * value, std::vector<std::string> words);

// What several families have in common; an entry has what OperationSchema's constructor sets where it says nothing.

Keeps KeepInput(const Operation &);
Keeps KeepOutput(const Operation &);

// OperationSchema::needsFloat.
bool AlwaysNeedFloat(const Operation &);
bool NeverNeedFloat(const Operation &);

// OperationSchema::getPassMaps.
PassMaps HoldNoMaps(const Operation &, const MapSizes &);
/** One more of the output's size in each pass. */
PassMaps HoldOneMap(const Operation &, const MapSizes &);

// OperationSchema::getBounds.
/** Values of the first input that are chosen, moved or averaged. */
ValueForms BoundLikeInput(const Operation & operation, ValueBounds & bounds);
/** Values that lie between these numbers, whatever the inputs are. */
ValueForms BoundEach(const Operation & operation, ValueBounds & bounds, const ValueRange & range);
/** Sums with weights: those of a file that make probabilities of probabilities; none of others, which may be learned.
 */
ValueForms BoundWeighted(ValueForms sums, const ValueBounds & bounds);

/** Of what depends on all pixels of a map. */
Interval RequireAll(const Operation &, int, std::size_t input, const Interval &, const AxisSizes & sizes);

/** All inputs are of the same size. */
std::int64_t KeepCommonSize(const Operation &, int, const Sizes & inputs);

/** The same, and the output is one pixel. */
std::int64_t GetOnePixel(const Operation & operation, int axis, const Sizes & inputs);

Cost CostNothing(const Operation &, const Channels &);

/** \class Window
 * \brief Of convolutions and pooling: it moves in strides. */
struct Window
{
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;

  static Window Get(const Operation & operation, int axis);

  /** Pixels from its first to behind its last one. */
  std::int64_t
  GetReach() const
  {
    return (kernel - 1) * dilation + 1;
  }
};

/** Taps of a kernel over all axes. */
double GetTaps(const Operation & operation);

// OperationSchema::getSize, getRequired and getSampling of windows that see what they are padded with.
std::int64_t GetWindowedSize(const Operation & operation, int axis, const Sizes & inputs);
Interval     RequireWindow(const Operation & operation,
                           int               axis,
                           std::size_t       input,
                           const Interval &  output,
                           const AxisSizes & sizes);
Sampling     SampleWindow(const Operation & operation, int axis, const AxisSizes & sizes);

// The families, each in a file of its own.

std::vector<OperationSchema> MakeConvolutions();
std::vector<OperationSchema> MakePooling();
std::vector<OperationSchema> MakeInterpolation();
std::vector<OperationSchema> MakePlacement();
std::vector<OperationSchema> MakeArithmetic();
std::vector<OperationSchema> MakeActivations();
std::vector<OperationSchema> MakeNorms();
std::vector<OperationSchema> MakeDropout();
std::vector<OperationSchema> MakeGlobalPooling();
std::vector<OperationSchema> MakeGlobalNorms();

} // namespace schema
} // namespace gigapixel

#endif
