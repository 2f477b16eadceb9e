/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelNetworkSource_h
#define itkGigapixelNetworkSource_h

#include "GigapixelUNetExport.h"
#include "gigapixelKeptNormalization.h"
#include "gigapixelModel.h"
#include "gigapixelPhysicalImage.h"
#include "gigapixelTissueSource.h"
#include "itkGigapixelFileSource.h"

#include <functional>
#include <memory>
#include <string>

// What a network sees of an image or a slide.
namespace itk
{

/** What is read of a slide with a model: what is chosen, and else what the model was trained on. Channels are found by
 * their names alone, wherever they stand in the file. A slide without focal planes is read as it is.
 * \throw std::runtime_error the slide does not have exactly one channel of such a name (E-SLIDE-CHANNEL) */
GigapixelUNet_EXPORT gigapixel::SlideContent GigapixelContentForModel(const std::string &      fileName,
                                                                      gigapixel::SlideContent  chosen,
                                                                      const gigapixel::Model & model);

/** \throw std::runtime_error samples are floats, and the network states no normalization (E-MODEL-INPUT) */
GigapixelUNet_EXPORT void GigapixelRequireSampleType(gigapixel::SampleType                 type,
                                                     const gigapixel::NetworkDescription & network,
                                                     const std::string &                   name);

/** The normalization that a network states, with its statistics of the image.
 * \param goesOn called with 0..1; returning false stops \return null where it was stopped
 * \throw std::runtime_error the image has other channels than the network takes, or cannot be read */
GigapixelUNet_EXPORT std::shared_ptr<gigapixel::KeptNormalization> GigapixelFindNormalization(
  const gigapixel::PhysicalImage &      image,
  const gigapixel::NetworkDescription & network,
  const std::function<bool(double)> &   goesOn = {});

/** The pixels of an image as a network takes them: channels adapted, glass in one color, and normalized where the
 * network states a normalization. \param tissue null: everything is \param goesOn called with 0..1 while statistics
 * are found; returning false stops \throw std::runtime_error the image has other channels, or floats, and the network
 * takes bytes (E-MODEL-INPUT) \throw ProcessAborted it was stopped */
GigapixelUNet_EXPORT std::shared_ptr<gigapixel::PixelSource> GigapixelSourceForNetwork(
  const gigapixel::PhysicalImage &                     image,
  const gigapixel::NetworkDescription &                network,
  const std::shared_ptr<const gigapixel::TissueMask> & tissue = nullptr,
  const std::function<bool(double)> &                  goesOn = {});

/** \throw std::runtime_error there is a window, and the network states a normalization (E-OPTION-CONFLICT) */
GigapixelUNet_EXPORT void GigapixelRefuseWindow(const std::string &                   window,
                                                const gigapixel::NetworkDescription & network);

/** \throw std::runtime_error shared memory is asked for, and the network takes floats (E-OPTION-APPLIES) */
GigapixelUNet_EXPORT void GigapixelRefuseSharedMemory(bool isAskedFor, const gigapixel::NetworkDescription & network);

} // namespace itk

#endif
