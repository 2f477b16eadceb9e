/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelTrainingSample_h
#define itkGigapixelTrainingSample_h

#include "gigapixelDiagnostic.h"
#include "gigapixelPhysicalImage.h"
#include "gigapixelTrainer.h"

#include <memory>
#include <string>
#include <vector>

namespace itk
{

/** \class GigapixelTrainingSample
 * \brief A sample of GigapixelUNetTrainer before it is opened: images, or the files that they are opened from. */
struct GigapixelTrainingSample
{
  gigapixel::PhysicalImage pixels; ///< empty: of the file
  gigapixel::PhysicalImage mask;   ///< likewise
  std::string              pixelsFile;
  std::string              maskFile;
  gigapixel::Region        region; ///< level-0 pixels; width 0: all
  bool                     validates{ false };
  std::string              label{}; ///< of the whole of it; empty: none
  gigapixel::ImageTruth    truth{}; ///< of the whole of it, where it is no label; empty: none
};

/** What is known of a sample; the network takes what it can. */
struct GigapixelTruth
{
  const gigapixel::PhysicalImage & mask;
  const std::string &              label;
  const gigapixel::ImageTruth &    truth;
};

/** Pixels and labels of a sample as the network wants them.
 * \param tissue null: everything is \param goesOn as of GigapixelSourceForNetwork()
 * \throw std::runtime_error the region is not inside the slide, or holds no tissue; there is no mask or label */
gigapixel::Sample MakeTrainingSample(const gigapixel::PhysicalImage &      pixels,
                                     const GigapixelTruth &                truth,
                                     const gigapixel::PhysicalImage *      tissue,
                                     const gigapixel::Region &             region,
                                     const gigapixel::NetworkDescription & network,
                                     const std::function<bool(double)> &   goesOn);

constexpr const char * DefaultOfMasks = "unet"; ///< GetDefaultNetwork() of samples that have masks

/** "unet", or where all samples have labels and no masks "resnet18" with as many classes; where they have other
 * truths, with what else that wants. */
std::string GetDefaultNetwork(const std::vector<GigapixelTrainingSample> & samples);

/** The labels of all samples, sorted; empty where there are none.
 * \throw std::runtime_error they are not as many as the network tells classes apart */
std::vector<std::string> GetClassNames(const std::vector<GigapixelTrainingSample> & samples,
                                       const gigapixel::NetworkDescription &        network);

/** Completes what is learnt of images that have other truths than labels. \throw std::runtime_error a sample has none
 */
void LearnObjective(const std::vector<GigapixelTrainingSample> & samples, gigapixel::Objective & objective);

/** \throw std::runtime_error the network has another number of outputs than the objective wants */
void CheckOutputs(const gigapixel::NetworkDescription & network, const gigapixel::Objective & objective);

/** Of a preset that has the option "outputs", the preset with as many as the objective wants; else the same.
 * \param network that the text describes */
std::string GiveOutputs(const std::string &                   text,
                        const gigapixel::NetworkDescription & network,
                        const gigapixel::Objective &          objective);

/** Regions of one slide are of one slide, whatever name leads to it; an image is one by itself. */
std::size_t CountTrainingSlides(const std::vector<GigapixelTrainingSample> & samples);

/** \class CommonResolution
 * \brief The resolution that all samples have. */
class CommonResolution
{
public:
  /** \throw std::runtime_error when it is another one. */
  void Add(const gigapixel::PhysicalImage & image);

  /** Micrometers per pixel; 0: unknown. */
  double
  Get() const
  {
    return m_Mpp;
  }

  /** Empty, or what is to be warned of. */
  gigapixel::Diagnostic GetWarning() const;

private:
  double      m_Mpp{ 0 };
  std::string m_Name;
  std::string m_Unknown;
};

/** \class CommonChannels
 * \brief The channels that are read of all slides: a network tells them apart by their places alone. */
class CommonChannels
{
public:
  /** \throw std::runtime_error when they have other names. */
  void Add(const gigapixel::PhysicalImage & image);

  /** Their names; none: slides are read as they are. */
  const std::vector<std::string> &
  Get() const
  {
    return m_Channels;
  }

private:
  std::vector<std::string> m_Channels;
  std::string              m_Name;
};

} // namespace itk

#endif
