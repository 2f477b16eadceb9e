/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideForModel_h
#define SlideForModel_h

#include "NetworkCommands.h"

#include "gigapixelModel.h"
#include "gigapixelPhysicalImage.h"
#include "itkGigapixelFileSource.h"

#include <string>

namespace gigapixel::application
{

/** --model. Says where it was trained with --tissue and that is not given, or the other way round.
 * \throw std::runtime_error it labels pixels */
Model LoadModelOfImages(const ArgumentValues & values, const Session & session);

/** \class SlideForModel
 * \brief A slide as a network that labels images takes it, and what that will take. */
struct SlideForModel
{
  /** With the level, resolution and tissue of the command line; says nothing.
   * \throw std::exception one sentence that names the file */
  SlideForModel(const std::string &    fileName,
                const Model &          model,
                const ArgumentValues & values,
                const Session &        session);

  /** All that decides on the result, in a line.
   * \param what the command */
  std::string DescribeMaking(const std::string & what, const Model & model, const ArgumentValues & values) const;

  /** Says what it will take, with the tiles of the command line.
   * \param keptBytes,handedOnBytes see ImageRun
   * \throw std::runtime_error it does not fit */
  MemoryPlan Plan(const Model &          model,
                  const ArgumentValues & values,
                  const Session &        session,
                  std::int64_t           keptBytes = 0,
                  std::int64_t           handedOnBytes = 0) const;

  std::string                     name;
  SlideContent                    content;
  itk::WholeSlideImageIO::Pointer file; ///< which counts damaged tiles
  PhysicalImage                   image;
  Tiling                          tiling;
};

} // namespace gigapixel::application

#endif
