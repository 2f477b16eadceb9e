/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWeightsSet_h
#define gigapixelWeightsSet_h

#include "gigapixelNetworkDescription.h"
#include "model/gigapixelSafeTensors.h"

#include <set>

namespace gigapixel
{

/** Whether an array can be a parameter: by its shape, and as numbers of 16, 32 or 64 bits. A layer of neurons is a
 * convolution of one pixel, or voxel, here. */
bool FitsParameter(const SafeTensors::Tensor & tensor, const ParameterDescription & parameter);

/** Arrays of a file that have a network's names behind one prefix. Files hold several: those that were trained, their
 * moving average, a teacher. */
struct WeightsSet
{
  std::string prefix;       ///< before the network's names, with the dot; empty: the names are the network's
  std::size_t fitting{ 0 }; ///< arrays that fit the network by name and shape
  std::string warning;      ///< a clause about what a user may not expect of the choice; empty: nothing
  std::string remedy;       ///< what to do then
};

/** The set that most arrays of the network are found in.
 * \param dictionaries of the file, as they stand before names: a prefix that is one of them is no part of a name
 * \param wanted its prefix, or parts of that, or a word of a part ("ema" of "state_dict.model_ema"); "." is the set
 * without a prefix; empty: the only one
 * \throw std::invalid_argument no array fits, there is no such set, or several fit alike and have other values */
WeightsSet ChooseWeightsSet(const SafeTensors &           file,
                            const std::set<std::string> & dictionaries,
                            const NetworkDescription &    network,
                            const std::string &           wanted);

} // namespace gigapixel

#endif
