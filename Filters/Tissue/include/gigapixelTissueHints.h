/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissueHints_h
#define gigapixelTissueHints_h

#include "GigapixelTissueExport.h"

#include "itkAnnotationImageSource.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** Classes of outlines that say what a place is, in the order of TissueClass: "Glass" (or "Background", "Not tissue"),
 * "Tissue", "Pen", "Artifact". Capitals do not matter. */
GigapixelTissue_EXPORT std::vector<std::string> GetTissueHintNames();

/** Adds the outlines of a file (see ReadAnnotations()) as TissueNetwork::AddRow() takes hints: 1 more than the value of
 * their TissueClass.
 * \return a warning for each kind of shape that is left out, or simplified
 * \throw Refusal E-ANNOTATION-CLASS an outline is of no such class; E-ANNOTATION-EMPTY there is none; as
 * ReadAnnotations() */
GigapixelTissue_EXPORT std::vector<Diagnostic> AddTissueHints(const std::string &          file,
                                                              itk::AnnotationImageSource & drawing);

} // namespace gigapixel

#endif
