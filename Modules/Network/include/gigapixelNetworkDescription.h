/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkDescription_h
#define gigapixelNetworkDescription_h

#include "GigapixelNetworkExport.h"
#include "gigapixelNetworkGraph.h"
#include "gigapixelNormalization.h"
#include "gigapixelObjective.h"
#include "gigapixelSource.h"
#include "gigapixelVolumePatches.h"

#include <array>
#include <string>
#include <vector>

namespace gigapixel
{

struct ImageKind;
struct LossEntry; // src/losses/gigapixelLossEntry.h
struct LossOptions;

/** One layer: a convolution or a transposed convolution with square kernel, zero padding on its own map, a bias, an
 * activation, and an optional additive skip: the (activated) output of an earlier layer is added after the
 * activation. */
struct GigapixelNetwork_EXPORT Layer
{
  /** Which way the layer goes. */
  enum class Kind
  {
    Convolution,
    TransposedConvolution
  };
  /** The function of each value. */
  enum class Activation
  {
    None,
    ReLU
  };

  std::string name;                           ///< unique in the network
  Kind        kind{ Kind::Convolution };      ///< which of the two
  int         inputChannels{ 0 };             ///< channels that it reads
  int         outputChannels{ 0 };            ///< channels that it computes
  int         kernel{ 1 };                    ///< side of the kernel, in pixels of its map
  int         stride{ 1 };                    ///< 1, or 2 to halve or double the map
  int         padding{ 0 };                   ///< zeros around the map, in pixels
  Activation  activation{ Activation::ReLU }; ///< what follows the bias
  std::string add;                            ///< name of the earlier layer that is added; empty: none

  /** PyTorch's layout: {out, in, kernel, kernel}, for a transposed convolution {in, out, kernel, kernel}. */
  std::vector<std::int64_t> GetWeightShape() const;
};

/** \class NetworkDescription
 * \brief A network as data: a graph of operations, which the JSON file may write as a chain of layers.
 *
 * The output has one channel per class (softmax), or one channel (sigmoid) for two classes. Its map has the size of
 * the input, or one pixel that is computed from means of maps over the whole image: such a network labels images.
 * Others are refused with the reason (std::invalid_argument).
 *
 * \par Example
 * See Modules/Network/networks/remedios2023.json, and Documentation/reference/network-file.md for graphs */
class GigapixelNetwork_EXPORT NetworkDescription
{
public:
  /** The entries of gigapixelLossList.h. Dice is 1 less the weighted mean of the classes' overlaps. */
  enum class Loss
  {
#define GIGAPIXEL_LOSS(Name, file, option, least, most) Name,
#include "gigapixelLossList.h"
  };

  /** What makes probabilities of the outputs of several classes. */
  enum class Probabilities
  {
    Softmax, ///< they exclude each other, and have the sum 1
    Sigmoid  ///< each is one of its own; a pixel's label is the class with the greatest one
  };

  static constexpr std::size_t  MostOperations = 4096;                    ///< in a graph
  static constexpr std::int64_t MostParameters = std::int64_t{ 1 } << 31; ///< numbers in all arrays: 8 GiB of floats
  /** Classes of pixels, and of images to train on: a label is a byte, 255 none. Images may be told more apart. */
  static constexpr int MostLabels = 254;
  /** As of the option --learning-rate. */
  static constexpr double LeastLearningRate = 1e-9;
  static constexpr double GreatestLearningRate = 10; ///< likewise

  std::string        name;           ///< for messages and models
  int                channels{ 1 };  ///< of the input: 1 gray, 3 RGB, or as many as the sources give
  bool               invert{ true }; ///< input = (255 - pixel) / 255, else pixel / 255
  std::vector<Layer> layers;         ///< the chain that graph is, for our own kernels; empty: it is none
  NetworkGraph       graph;          ///< always there, once the network was read
  /** For a graph: input = (pixel / 255 - mean) / deviation, per channel; of normalized values (value - mean) /
   * deviation. Empty: 0 and 1. */
  std::vector<double> mean;
  std::vector<double> deviation; ///< see mean
  /** For a graph: what values become before that, in all channels or in each. Slides and volumes are read as they are
   * stored then. It is of the whole image, so that whoever opens one does it, by Normalize(): the engine is given the
   * source that this returns. The next two are for whoever opens a volume. */
  Normalizations normalization;
  /** Whether the network was trained on the box around the voxels that are not 0 alone, see NonZeroVoxels: only that
   * box is shown to it, and what lies around it is class 0. Training here shows it the whole volume. */
  bool cropsToNonZero{ false };
  /** Along z, y and x, in mm, of the volumes that it was trained on; 0: not known. */
  std::array<double, 3> spacing{};
  /** Sides of the patient that the volumes' axes x, y and z pointed to in training, such as "RAS"; empty: not known.
   * Volumes are brought to it, see AxisOrder. */
  std::string orientation;
  /** Whether depth, height and width of the network are x, y and z of volumes, as in arrays of nibabel and MONAI; else
   * they are z, y and x, as in those of SimpleITK and nnU-Net. */
  bool takesXFirst{ false };
  /** Which it was trained on, where that is known: what a prediction patch by patch takes if it is told no others. */
  VolumePatches patches;
  Loss          loss{ Loss::BinaryCrossEntropy };        ///< what training minimizes
  Probabilities probabilities{ Probabilities::Softmax }; ///< of several output channels; those of one are by sigmoid
  /** Per class. Cross-entropy and focal: factor of a pixel's loss by its class, the mean is the weighted one (as
   * PyTorch's); empty: 1. Dice: share of the class in the mean; empty: 1 for all but class 0. Of the sum of both they
   * are both. */
  std::vector<double> classWeights;
  /** One for each class, none twice; empty: classes are numbers. */
  std::vector<std::string> classNames;
  /** What a network that labels images says of them, if no classes: names, and the loss that goes with them, are its.
   */
  Objective   objective;
  int         ignoredLabel{ LabelSource::Ignored }; ///< pixels with this label take no part either
  std::string provenance; ///< a JSON object that tells where the network comes from; empty: nothing is known
  bool        ignoreUnscanned{ true }; ///< label sources are to answer Ignored where nothing was scanned
  double      learningRate{ 0 };       ///< of adam, from weights by chance; 0: GetDefaultLearningRate() has one

  /** A preset, with options if it has some ("unet:base=32,depth=3"; see NetworkPreset), the path of a JSON file, or a
   * model (*.safetensors, or a run's folder), whose network is taken.
   * \throw std::invalid_argument names the preset or file and what is wrong. */
  static NetworkDescription Load(const std::string & nameOrFile);

  /** Whether it is a model whose network Load() takes. */
  static bool IsModel(const std::string & nameOrFile);

  static NetworkDescription FromJSON(
    const std::string & text); ///< of a network file; see Documentation/reference/network-file.md

  std::string ToJSON() const; ///< FromJSON() reads it again

  /** Another loss than the file's, by the name that --loss has: "cross-entropy" is binary or softmax, as the number of
   * output channels wants. \throw std::invalid_argument there is none of this name */
  void SetLoss(const std::string & lossName);

  /** The same, and weights and the ignored label, as far as they are asked for. \throw std::invalid_argument likewise
   */
  void SetLoss(const LossOptions & asked);

  /** The kind of images that it computes: slides, or volumes. */
  const ImageKind & GetImageKind() const;

  /** Whether values of a channel are changed by Normalize(). */
  bool
  IsNormalized() const
  {
    return ChangesValues(normalization);
  }

  /** Whether the engine is given floats, and else bytes. */
  bool TakesFloats() const;

  /** The bytes of a sample that the engine is given. */
  std::int64_t
  GetSampleBytes() const
  {
    return gigapixel::GetSampleBytes(this->TakesFloats() ? SampleType::Float : SampleType::UInt8);
  }

  /** Whether the loss is made of sums over the whole image, for which a forward pass of its own comes first. */
  bool TakesSumsFirst() const;

  /** The entry of its loss. */
  const LossEntry & GetLoss() const;

  /** What Load() and FromJSON() check, for descriptions that a program makes. A graph has to be validated before, which
   * fills in what it leaves out, and has to be that of the layers if there are some.
   * \throw std::invalid_argument says what is wrong */
  void Validate() const;

  /** \throw std::invalid_argument an image has another number of channels than the network takes, or samples of another
   * type */
  void CheckChannels(const PixelSource & pixels) const;

  /** Names that Load() knows without a file. */
  static std::vector<std::string> GetPresets();

  /** Arrays of numbers in the order in which the engine keeps them, one behind the other: those of the graph, of layers
   * weight and bias by turns. */
  std::vector<ParameterDescription> GetParameters() const;

  /** Numbers in all arrays, those that are not trained as well. */
  std::int64_t GetNumberOfParameters() const;

  /** The numbers that training changes: neither statistics of norms, nor constants, nor what is frozen. */
  std::int64_t GetNumberOfTrainedParameters() const;

  /** Whether the output is one pixel for the whole image: its truth is one label, of an image of 1 x 1. */
  bool
  LabelsImage() const
  {
    return graph.LabelsImage();
  }

  int GetNumberOfOutputChannels() const; ///< 1 for two classes of a sigmoid, else one for each class

  /** Classes that the network tells apart: 2 for one output channel. */
  int GetNumberOfClasses() const;

  /** Whether white is background to the network: of RGB, and of gray that is inverted. Gray tiles that a slide does not
   * store are shown to it as white, and to others as 0. */
  bool
  TakesWhiteForBackground() const
  {
    return channels == 3 || invert;
  }

  /** The value of glass that a mask of tissue leaves out, see PaintGlass(), before values are normalized: white, or 0
   * where bright is signal. \param stored what the samples of the slide are */
  std::uint8_t
  GetGlass(SampleType stored) const
  {
    const bool isDark = stored != SampleType::UInt8 || (this->IsNormalized() && !this->TakesWhiteForBackground());
    return isDark ? 0 : 255;
  }

  /** For layers the product of the strides on the way down (32 for remedios2023): canvas and tiles are multiples of it.
   * Of a graph: outputs this far apart see their surroundings at the same places of every map; no size has to be a
   * multiple. */
  int GetStride() const;

  /** Pixels around a tile that its outputs depend on, by interval arithmetic. Of layers rounded up to the stride (64
   * for remedios2023, whose exact halo is 60), of a graph exact, of the side that sees farther. */
  int GetHalo() const;

  /** \throw std::invalid_argument the side of a tile's core is no multiple of the stride: names the nearest ones */
  void CheckTileSize(std::int64_t side) const;

  /** \throw std::invalid_argument a graph cannot compute an image of this size: names the size, and the least one of a
   * square image that it can */
  void CheckImage(const Size & image) const;
};

} // namespace gigapixel

#endif
