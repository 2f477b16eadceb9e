/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkImport_h
#define gigapixelNetworkImport_h

#include "gigapixelDiagnostic.h"
#include "GigapixelImportExport.h"
#include "gigapixelModel.h"

#include <functional>

namespace gigapixel
{

/** What batch norms that keep statistics become. */
enum class ImportedNorms
{
  Frozen, ///< they take those that they keep, in training, too, as PyTorch's in eval()
  Image   ///< each channel those of the whole slide or volume, as PyTorch's in training of a batch of one
};

/** What a file does not say of its network. */
struct ImportOptions
{
  std::string name;   ///< of the network; empty: the file's
  std::string output; ///< which of several outputs; empty: the first
  /** Mean of the pixels that it takes, as shares of 255, of volumes and normalized slides in
   * their units, for each channel; empty: 0. */
  std::vector<double> mean;
  std::vector<double> deviation;            ///< likewise; empty: 1
  double              micronsPerPixel{ 0 }; ///< that it was trained at; 0: unknown
  /** Side of a tile's core in pixels; the next multiple of the stride is taken. 0: 1024, of volumes 64. */
  std::int64_t  tileSize{ 0 };
  ImportedNorms norms{ ImportedNorms::Frozen }; ///< what becomes of batch norms
  std::string   orientation{};                  ///< of volumes, see NetworkDescription; empty: not known
  bool          takesXFirst{ false };           ///< of volumes, likewise
  std::string   weightsSet; ///< of ImportWeights(): which of several sets in the file; empty: the only one
  /** Called with what the file leaves open: its choice of outputs or of a set of weights, and the meaning of values. */
  std::function<void(const Diagnostic &)> warn;

  /** What tileSize says for a network. */
  std::int64_t GetTileSize(const NetworkDescription & network) const;

  /** What is said of volumes. \throw std::invalid_argument the network takes none, or it is no orientation */
  void Orient(NetworkDescription & network) const;

  /** \param areStored whether values are those that are stored, as of volumes, and no shares of 255
   * \throw std::invalid_argument mean or deviation do not have a number for each channel, or a
   * deviation is not above 0, or one of shares is above 1 */
  void Check(int channels, bool areStored) const;
};

/** Takes over the network of an ONNX file, with its weights under their names.
 *
 * Batch norms are as the options say, dropout is left out, and so is a sigmoid or softmax over classes at the end:
 * losses and probabilities are taken from logits. Several inputs become one image with their channels behind each
 * other, in the file's order. Arrays may lie in another file of the same folder (external data). A network that takes
 * sizes of a multiple alone begins by padding the image to one with its last pixels, and ends by cutting that off. What
 * a file says of one size of the image holds for all sizes where the ratio of two maps is a whole number; else it is
 * refused. \throw std::runtime_error one sentence that names the file and what is wrong with it, or the complete list
 * of operators that there are not here */
GigapixelImport_EXPORT Model ImportONNX(const std::string & path, const ImportOptions & options = {});

/** A model of a network whose weights were trained elsewhere: all of its arrays are taken from a file, by name and
 * shape (see TakeWeights()). \param options without an output \throw std::runtime_error names the file and what is
 * wrong with it, or the arrays that it lacks */
GigapixelImport_EXPORT Model ImportWeights(const NetworkDescription & network,
                                           const std::string &        weights,
                                           const ImportOptions &      options = {});

} // namespace gigapixel

#endif
