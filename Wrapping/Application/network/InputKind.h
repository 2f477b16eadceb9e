/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef InputKind_h
#define InputKind_h

#include "NetworkCommands.h"
#include "SlideBatch.h"

#include "gigapixelCohort.h"
#include "gigapixelModel.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>

namespace gigapixel::application
{

struct PlannedImage;
struct Workload;

/** \class InputKind
 * \brief What networks take: slides, or volumes.
 *
 * Only Of() asks which. What differs between both is a function here, which stands with its command. */
class InputKind
{
public:
  virtual ~InputKind() = default;

  static const InputKind & Of(const NetworkDescription & network);

  /** \param what "the model mine.safetensors", for the message
   * \throw std::runtime_error the file is of the other kind */
  virtual void RequireFile(const std::string & file, const std::string & what) const = 0;

  /** \param what likewise \throw UsageError an option is given that has no meaning for it */
  virtual void
  CheckOptions(const ArgumentValues & /*values*/, const std::string & /*what*/) const
  {}

  /** The patches of --sliding-window. \throw UsageError they do not suit each other, or the network */
  virtual void TakePatches(const ArgumentValues &     values,
                           const NetworkDescription & network,
                           Tiling &                   tiling) const = 0;

  /** What info says of the network's input beside what all have. */
  virtual void
  Describe(const NetworkDescription & /*network*/, nlohmann::ordered_json & /*input*/) const
  {}

  virtual SlideList FindFiles(const std::vector<std::string> & names, const Session & session) const = 0; ///< segment

  /** segment \param tiling with patches */
  virtual int Segment(const ArgumentValues &               values,
                      const Session &                      session,
                      const std::shared_ptr<const Model> & model,
                      const SlideList &                    list,
                      const Tiling &                       tiling) const = 0;

  /** train: adds what an image of the cohort asks of the machine. \return its size */
  virtual Size Measure(const CohortEntry &        entry,
                       const NetworkDescription & network,
                       const ArgumentValues &     values,
                       const Session &            session,
                       Workload &                 workload) const = 0;

  /** plan: the image of --size. \throw UsageError it is one of the other kind */
  virtual PlannedImage FindSize(const ArgumentValues & values, const NetworkDescription & network) const = 0;

  /** plan: the image of a file. \throw std::runtime_error the network cannot take it */
  virtual PlannedImage FindImage(const ArgumentValues &     values,
                                 const NetworkDescription & network,
                                 const Session &            session) const = 0;
};

class SlideInput : public InputKind
{
public:
  void RequireFile(const std::string & file, const std::string & what) const override;
  void TakePatches(const ArgumentValues & values, const NetworkDescription & network, Tiling & tiling) const override;
  SlideList    FindFiles(const std::vector<std::string> & names, const Session & session) const override;
  int          Segment(const ArgumentValues &               values,
                       const Session &                      session,
                       const std::shared_ptr<const Model> & model,
                       const SlideList &                    list,
                       const Tiling &                       tiling) const override;
  Size         Measure(const CohortEntry &        entry,
                       const NetworkDescription & network,
                       const ArgumentValues &     values,
                       const Session &            session,
                       Workload &                 workload) const override;
  PlannedImage FindSize(const ArgumentValues & values, const NetworkDescription & network) const override;
  PlannedImage FindImage(const ArgumentValues &     values,
                         const NetworkDescription & network,
                         const Session &            session) const override;
};

class VolumeInput : public InputKind
{
public:
  void RequireFile(const std::string & file, const std::string & what) const override;
  void CheckOptions(const ArgumentValues & values, const std::string & what) const override;
  void TakePatches(const ArgumentValues & values, const NetworkDescription & network, Tiling & tiling) const override;
  void Describe(const NetworkDescription & network, nlohmann::ordered_json & input) const override;
  SlideList    FindFiles(const std::vector<std::string> & names, const Session & session) const override;
  int          Segment(const ArgumentValues &               values,
                       const Session &                      session,
                       const std::shared_ptr<const Model> & model,
                       const SlideList &                    list,
                       const Tiling &                       tiling) const override;
  Size         Measure(const CohortEntry &        entry,
                       const NetworkDescription & network,
                       const ArgumentValues &     values,
                       const Session &            session,
                       Workload &                 workload) const override;
  PlannedImage FindSize(const ArgumentValues & values, const NetworkDescription & network) const override;
  PlannedImage FindImage(const ArgumentValues &     values,
                         const NetworkDescription & network,
                         const Session &            session) const override;
};

} // namespace gigapixel::application

#endif
