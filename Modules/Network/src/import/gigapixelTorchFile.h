/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchFile_h
#define gigapixelTorchFile_h

#include "model/gigapixelSafeTensors.h"

namespace gigapixel
{

/** The arrays of a state_dict that torch.save has written (a zip archive, or before PyTorch 1.6 pickles one behind the
 * other), by their names. Where it is a part of a checkpoint, the
 * dictionary that has most arrays is taken; "module." before all names (DataParallel) is taken off. All that is no
 * array is left out, and nothing in the file is run. \throw std::invalid_argument says what is wrong: it is damaged, or
 * holds no arrays */
SafeTensors ReadTorchFile(std::string_view content);

} // namespace gigapixel

#endif
