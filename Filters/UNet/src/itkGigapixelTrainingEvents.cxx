/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelTrainingEvents.h"

namespace itk
{

GigapixelStepEvent::GigapixelStepEvent(const GigapixelStepEvent & other)
  : AnyEvent(other)
{}

GigapixelStepEvent::~GigapixelStepEvent() = default;

const char *
GigapixelStepEvent::GetEventName() const
{
  return "GigapixelStepEvent";
}

bool
GigapixelStepEvent::CheckEvent(const EventObject * event) const
{
  return dynamic_cast<const GigapixelStepEvent *>(event) != nullptr;
}

EventObject *
GigapixelStepEvent::MakeObject() const
{
  return new GigapixelStepEvent;
}

GigapixelPlanEvent::GigapixelPlanEvent(const GigapixelPlanEvent & other)
  : AnyEvent(other)
{}

GigapixelPlanEvent::~GigapixelPlanEvent() = default;

const char *
GigapixelPlanEvent::GetEventName() const
{
  return "GigapixelPlanEvent";
}

bool
GigapixelPlanEvent::CheckEvent(const EventObject * event) const
{
  return dynamic_cast<const GigapixelPlanEvent *>(event) != nullptr;
}

EventObject *
GigapixelPlanEvent::MakeObject() const
{
  return new GigapixelPlanEvent;
}

} // namespace itk
