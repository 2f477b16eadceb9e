/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSizedGraphs_h
#define gigapixelSizedGraphs_h

#include "graph/gigapixelGraphGeometry.h"

#include <memory>
#include <optional>
#include <set>

namespace gigapixel
{

struct OnnxConstant;

/** Labels are 1 where the output is above, or below, a number. */
struct LabelThreshold
{
  double number{ 0 };
  bool   isBelow{ false };
  bool   isStrict{ true };    ///< not where they are equal
  bool   isRounding{ false }; ///< which makes labels of probabilities alone
};

/** \class SizedGraph
 * \brief A network as it is for an image of one size: what pads, crops and interpolates says so in pixels. */
struct SizedGraph
{
  NetworkGraph                                               graph; ///< not validated
  std::map<std::string, Extent>                              sizes; ///< of the operations' maps
  std::map<std::string, std::shared_ptr<const OnnxConstant>> arrays;
  std::map<std::string, std::vector<std::int64_t>>           shapes;  ///< of arrays that have another one in the file
  std::set<std::string>                                      leftOut; ///< what computes nothing here
  bool                                                       isLabels{ false };  ///< what the file makes of the output
  bool                                                       isRenamed{ false }; ///< the file's labels are no 0, 1, ...
  std::optional<LabelThreshold>                              threshold;          ///< by which it makes labels
};

/** The graph for images of all sizes: what is the same number for all of them stays one, what is the size of another
 * map is said to be that, and everything else is refused.
 *
 * Of one size alone, a ratio of two maps' sizes is taken for what it is if it is a whole number.
 * \throw std::invalid_argument names what depends on the size in another way */
SizedGraph MergeSizes(const std::vector<SizedGraph> & graphs);

} // namespace gigapixel

#endif
