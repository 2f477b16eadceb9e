/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelAnnotation_h
#define gigapixelAnnotation_h

#include "GigapixelAnnotationExport.h"
#include "gigapixelDiagnostic.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gigapixel
{

/** In pixels of the slide's level 0; (0, 0) is the outer corner of the first pixel, (0.5, 0.5) its center. */
struct AnnotationPoint
{
  double x{ 0.0 }; ///< pixels of level 0, from the outer corner of the first pixel
  double y{ 0.0 }; ///< likewise, downward
};

/** A closed line; the last point is joined to the first, which is not repeated. */
using AnnotationRing = std::vector<AnnotationPoint>;

/** What somebody outlined, of one class. A place belongs to one of its parts that an odd number of the part's rings go
 * around, so that holes are rings inside a ring; what belongs to any of its parts belongs to it, also where they
 * overlap.
 */
struct Annotation
{
  std::string                 className{};  ///< empty: none was given
  std::vector<AnnotationRing> rings{};      ///< outer rings and holes
  std::vector<std::size_t>    laterParts{}; ///< first ring of each part but the first, which begins with ring 0
  std::string                 name{};       ///< of this one alone; empty: none was given
};

/** Reads outlines in level-0 pixels. The format is found by the content, which may be packed by gzip:
 * - GeoJSON (RFC 7946) as QuPath writes it: a FeatureCollection, a list of features, a feature or a geometry. The class
 *   is properties.classification: its name, its names joined by ": ", or plain text. The name is properties.name.
 * - XML of ASAP: the class is PartOfGroup. XML of ImageScope: the class is the name of the layer, and negative regions
 *   are holes.
 *
 * Shapes without an area (points, lines) are left out.
 * \param warnings gets one for each kind of shape that is left out or simplified, with their number; null: not wanted
 * \throw Refusal E-ANNOTATION-FORMAT, or E-FILE-... where the file cannot be read */
GigapixelAnnotation_EXPORT std::vector<Annotation> ReadAnnotations(const std::string &       file,
                                                                   std::vector<Diagnostic> * warnings = nullptr);

/** Writes them as a FeatureCollection of QuPath annotations, each a Polygon, or a MultiPolygon of its parts: the first
 * ring of a part is the outer one. The file appears when it is complete. \throw std::runtime_error */
GigapixelAnnotation_EXPORT void WriteAnnotations(const std::vector<Annotation> & annotations,
                                                 const std::string &             file,
                                                 bool                            mayReplace = true);

} // namespace gigapixel

#endif
