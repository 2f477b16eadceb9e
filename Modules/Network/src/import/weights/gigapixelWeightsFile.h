/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWeightsFile_h
#define gigapixelWeightsFile_h

#include "gigapixelDiagnostic.h"
#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** What became of the arrays of a file of weights, by their names. */
struct TakenWeights
{
  std::vector<std::string> taken;
  std::vector<std::string> ofOtherShape; ///< the network has an array of that name, but not of that shape
  std::vector<std::string> notInNetwork; ///< the file alone has them
  std::vector<std::string> notInFile;    ///< the network alone has them; they stay as they are
  std::string              set;          ///< prefix of the names that were taken; empty: none
  std::string              remedy;       ///< what to do where there is a warning
  std::string              warning;      ///< a clause about which set of several was taken; empty: nothing to say

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

/** Sets those of a network's parameters whose names and shapes a file agrees on: a ready model by its name, a model, a
 * run's folder (its best one), or a PyTorch module's state_dict as a safetensors file (safetensors.torch.save_file) or
 * as torch.save writes it
 * (.pth, .pt, .th: nothing in it is run), floats of 16, 32 or 64 bits. Dictionaries that the names stand in, and what
 * wrappers put before all names ("module.", "model.", "_orig_mod."), are left out. \param parameters as
 * MakeInitialWeights() gives them \param set which of several sets of weights, see ChooseWeightsSet()
 * \throw std::runtime_error names the file and what is wrong: it is no such file, holds numbers that are not
 * finite, has norms beside convolutions where the network has none, several sets fit alike, or the network takes
 * nothing of it; the parameters are then as they were */
GigapixelNetwork_EXPORT TakenWeights TakeWeights(const std::string &        path,
                                                 const NetworkDescription & network,
                                                 std::vector<double> &      parameters,
                                                 const std::string &        set = {});

/** Tells weights from other ones by their file's content, as IdentifyFile() does. \param path as of TakeWeights() */
std::string IdentifyWeights(const std::string & path);

} // namespace gigapixel

#endif
