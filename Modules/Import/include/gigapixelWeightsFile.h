/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWeightsFile_h
#define gigapixelWeightsFile_h

#include "GigapixelImportExport.h"
#include "gigapixelTakenWeights.h"

namespace gigapixel
{

/** Sets those of a network's parameters whose names and shapes a file agrees on: a ready model by its name, a model, a
 * run's folder (its best one), or a PyTorch module's state_dict as a safetensors file (safetensors.torch.save_file) or
 * as torch.save writes it (.pth, .pt, .th: nothing in it is run), floats of 16, 32 or 64 bits. Dictionaries that the
 * names stand in, and what wrappers put before all names ("module.", "model.", "_orig_mod."), are left out.
 * \param parameters as MakeInitialWeights() gives them
 * \param set which of several sets of weights, see ChooseWeightsSet()
 * \throw std::runtime_error names the file and what is wrong: it is no such file, holds numbers that are not
 * finite, has norms beside convolutions where the network has none, several sets fit alike, or the network takes
 * nothing of it; the parameters are then as they were */
GigapixelImport_EXPORT TakenWeights TakeWeights(const std::string &        path,
                                                const NetworkDescription & network,
                                                std::vector<double> &      parameters,
                                                const std::string &        set = {});

} // namespace gigapixel

#endif
