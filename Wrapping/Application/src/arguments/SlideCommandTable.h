/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideCommandTable_h
#define SlideCommandTable_h

#include "gigapixelArgument.h"

// The part of the table that is of slides, masks and outlines: what needs no network.
namespace gigapixel::application
{
Command Label();
Command Evaluate();
Command Overlay();
Command Report();
Command Status();
Command Rasterize();
Command Outline();
Command Measure();
Command Convert();
Command Synthesize();
} // namespace gigapixel::application

#endif
