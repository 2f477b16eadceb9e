/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkDescription_h
#define gigapixelNetworkDescription_h

#include "GigapixelNetworkExport.h"
#include "gigapixelNetworkGraph.h"
#include "gigapixelSource.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** One layer: a convolution or a transposed convolution with square kernel, zero padding on its own map, a bias, an
 * activation, and an optional additive skip: the (activated) output of an earlier layer is added after the
 * activation. */
struct GigapixelNetwork_EXPORT Layer
{
  enum class Kind
  {
    Convolution,
    TransposedConvolution
  };
  enum class Activation
  {
    None,
    ReLU
  };

  std::string name;
  Kind        kind{ Kind::Convolution };
  int         inputChannels{ 0 };
  int         outputChannels{ 0 };
  int         kernel{ 1 };
  int         stride{ 1 };
  int         padding{ 0 };
  Activation  activation{ Activation::ReLU };
  std::string add; ///< name of the earlier layer that is added; empty: none

  /** PyTorch's layout: {out, in, kernel, kernel}, for a transposed convolution {in, out, kernel, kernel}. */
  std::vector<std::int64_t> GetWeightShape() const;
};

/** \class NetworkDescription
 * \brief A fully convolutional network as data: what the JSON file says.
 *
 * The output has one channel per class (softmax), or one channel (sigmoid) for two classes. Its map has the size of
 * the input canvas; networks whose output is not of the input's size, or with layers that see the whole image, are
 * refused with the reason (std::invalid_argument).
 *
 * \par Example
 * See Modules/Network/networks/remedios2023.json */
class GigapixelNetwork_EXPORT NetworkDescription
{
public:
  enum class Loss
  {
    BinaryCrossEntropy,  ///< one output channel
    SoftmaxCrossEntropy, ///< two and more
    Dice                 ///< either: 1 less the weighted mean of the classes' Dice of the whole image
  };

  std::string        name;
  int                channels{ 1 };  ///< of the input: 1 gray, 3 RGB, or as many as the sources give
  bool               invert{ true }; ///< input = (255 - pixel) / 255, else pixel / 255
  std::vector<Layer> layers;         ///< a chain of convolutions, or empty:
  NetworkGraph       graph;          ///< a network of any operations; empty where there are layers
  /** Of a graph: input = (pixel / 255 - mean) / deviation, per channel; empty: 0 and 1. */
  std::vector<double> mean;
  std::vector<double> deviation;
  Loss                loss{ Loss::BinaryCrossEntropy };
  /** Per class. Cross-entropy: factor of a pixel's loss by its class, the mean is the weighted one (as PyTorch's);
   * empty: 1. Dice: share of the class in the mean; empty: 1 for all but class 0. */
  std::vector<double> classWeights;
  int                 ignoredLabel{ LabelSource::Ignored }; ///< pixels with this label take no part either
  bool                ignoreUnscanned{ true }; ///< label sources are to answer Ignored where nothing was scanned

  /** "remedios2023", or the path of a JSON file. \throw std::invalid_argument names the file and what is wrong. */
  static NetworkDescription Load(const std::string & nameOrFile);

  static NetworkDescription FromJSON(const std::string & text);

  std::string ToJSON() const;

  /** Another loss than the file's: "cross-entropy" (binary or softmax, as the number of output channels wants) or
   * "dice". \throw std::invalid_argument for another name */
  void SetLoss(const std::string & lossName);

  /** What Load() and FromJSON() check, for descriptions that a program makes.
   * \throw std::invalid_argument says what is wrong */
  void Validate() const;

  /** Names that Load() knows without a file. */
  static std::vector<std::string> GetPresets();

  std::int64_t GetNumberOfParameters() const;

  int GetNumberOfOutputChannels() const;

  /** Classes that the network tells apart: 2 for one output channel. */
  int GetNumberOfClasses() const;

  /** Product of the strides on the way down (32 for remedios2023): canvas and tiles are multiples of it. */
  int GetStride() const;

  /** Pixels around a tile that its outputs depend on, by interval arithmetic through all layers, rounded up to the
   * stride (64 for remedios2023, whose exact halo is 60). */
  int GetHalo() const;
};

} // namespace gigapixel

#endif
