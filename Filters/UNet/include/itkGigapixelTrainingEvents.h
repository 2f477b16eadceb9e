/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelTrainingEvents_h
#define itkGigapixelTrainingEvents_h

#include "GigapixelUNetExport.h"
#include "itkEventObject.h"

namespace itk
{

/** \class GigapixelStepEvent
 * \brief GigapixelUNetTrainer has finished a step. (Not an IterationEvent: that is an epoch's.) */
class GigapixelUNet_EXPORT GigapixelStepEvent : public AnyEvent
{
public:
  GigapixelStepEvent() = default;
  GigapixelStepEvent(const GigapixelStepEvent & other);
  ~GigapixelStepEvent() override;
  const char *  GetEventName() const override;
  bool          CheckEvent(const EventObject * event) const override;
  EventObject * MakeObject() const override;
};

/** \class GigapixelPlanEvent
 * \brief GigapixelUNetTrainer knows what it will take, and begins: see GetMemoryPlan(). */
class GigapixelUNet_EXPORT GigapixelPlanEvent : public AnyEvent
{
public:
  GigapixelPlanEvent() = default;
  GigapixelPlanEvent(const GigapixelPlanEvent & other);
  ~GigapixelPlanEvent() override;
  const char *  GetEventName() const override;
  bool          CheckEvent(const EventObject * event) const override;
  EventObject * MakeObject() const override;
};

} // namespace itk

#endif
