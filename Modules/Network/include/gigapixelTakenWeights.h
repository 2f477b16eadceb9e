/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTakenWeights_h
#define gigapixelTakenWeights_h

#include "gigapixelDiagnostic.h"
#include "gigapixelNetworkDescription.h"

#include <functional>

namespace gigapixel
{

/** What became of the arrays of a file of weights, by their names. */
struct GigapixelNetwork_EXPORT TakenWeights
{
  std::vector<std::string> taken;        ///< what became parameters of the network
  std::vector<std::string> ofOtherShape; ///< the network has an array of that name, but not of that shape
  std::vector<std::string> notInNetwork; ///< the file alone has them
  std::vector<std::string> notInFile;    ///< the network alone has them; they stay as they are
  std::string              set;          ///< prefix of the names that were taken; empty: none
  std::string              remedy;       ///< what to do where there is a warning
  std::string              warning;      ///< a clause about which set of several was taken; empty: nothing to say

  /** Whether the network has all of its parameters from the file. */
  bool
  AreAll() const
  {
    return ofOtherShape.empty() && notInFile.empty();
  }

  /** The warning about the file at \a path. */
  Diagnostic GetWarning(const std::string & path) const;

  /** "3 arrays of the network "x", or has them in another shape: a, b, c": what a file of weights lacks. */
  std::string DescribeMissing(const std::string & network) const;

  /** "20 of the network's 24 arrays (enc 20 of 20, last 0 of 4)", by the parts that their names begin with. */
  std::string DescribeTaken() const;
};

/** Sets those parameters of a network that a file has. The engine knows no files of other programs: TakeWeights() of
 * Modules/Import reads them. \param set which of several sets of weights in the file; empty: the only one */
using WeightsReader = std::function<TakenWeights(const std::string &        path,
                                                 const NetworkDescription & network,
                                                 std::vector<double> &      parameters,
                                                 const std::string &        set)>;

} // namespace gigapixel

#endif
