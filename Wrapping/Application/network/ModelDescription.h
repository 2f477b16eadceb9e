/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ModelDescription_h
#define ModelDescription_h

#include "gigapixelNetworkDescription.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace gigapixel::application
{

/** What a network is made of, takes and gives: counts of its operations, parameters, channels, classes, how pixels
 * become its input, the multiple that images are padded to, halo, where and by which operations patches differ from the
 * whole image, and where it comes from. */
nlohmann::ordered_json DescribeComposition(const NetworkDescription & network);

/** " px" or " voxels". \param json of DescribeComposition(), or another one with "axes" */
std::string GetUnit(const nlohmann::ordered_json & json);

/** The composition for people, indented. */
std::string FormatComposition(const nlohmann::ordered_json & json);

} // namespace gigapixel::application

#endif
