/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchFile_h
#define gigapixelTorchFile_h

#include "model/gigapixelSafeTensors.h"

#include <set>

namespace gigapixel
{

/** Arrays by their names, which begin with the dictionaries that they stand in: "state_dict.conv.weight". */
struct TorchFile
{
  SafeTensors           arrays;
  std::set<std::string> dictionaries; ///< with the dot behind them; lists among them
};

/** The arrays, PyTorch's or NumPy's, of all dictionaries that torch.save has written: a zip archive, or before
 * PyTorch 1.6 pickles one behind the other. All that is no array is left out, and nothing in the file is run. A list of
 * a module's parameters, such as the moving averages of torch_ema, has their names, too. \param mostExpanded bytes that
 * arrays may have beyond those of the file, which expanded ones do \throw std::invalid_argument says what is wrong: it
 * is damaged, or holds no arrays */
TorchFile ReadTorchFile(std::string content, std::size_t mostExpanded);

} // namespace gigapixel

#endif
