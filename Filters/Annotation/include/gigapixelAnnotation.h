/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelAnnotation_h
#define gigapixelAnnotation_h

#include "GigapixelAnnotationExport.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gigapixel
{

/** In pixels of the slide's level 0; (0, 0) is the outer corner of the first pixel, (0.5, 0.5) its center. */
struct AnnotationPoint
{
  double x{ 0.0 };
  double y{ 0.0 };
};

/** A closed line; the last point is joined to the first, which is not repeated. */
using AnnotationRing = std::vector<AnnotationPoint>;

/** What somebody outlined, of one class. A place belongs to one of its parts that an odd number of the part's rings go
 * around, so that holes are rings inside a ring; what belongs to any of its parts belongs to it, also where they
 * overlap.
 */
struct Annotation
{
  std::string                 className; ///< empty: none was given
  std::vector<AnnotationRing> rings;
  std::vector<std::size_t>    laterParts; ///< first ring of each part but the first, which begins with ring 0
};

/** Reads GeoJSON (RFC 7946) as QuPath writes it: a FeatureCollection, a list of features or one feature, whose
 * geometries are Polygon, MultiPolygon or GeometryCollection of these. Features without a geometry (null), and points
 * and lines, which have no area, are passed over. The class is properties.classification.name (names joined by ": "
 * where it has several).
 * \param warnings gets a sentence for each kind of feature that was passed over, with their number; null: not wanted
 * \throw std::runtime_error with one sentence that names the file and what is wrong with it */
GigapixelAnnotation_EXPORT std::vector<Annotation> ReadAnnotations(const std::string &        file,
                                                                   std::vector<std::string> * warnings = nullptr);

/** Writes them as a FeatureCollection of QuPath annotations, one Polygon each: the first ring is the outer one. The
 * file appears when it is complete. \throw std::runtime_error */
GigapixelAnnotation_EXPORT void WriteAnnotations(const std::vector<Annotation> & annotations,
                                                 const std::string &             file,
                                                 bool                            mayReplace = true);

} // namespace gigapixel

#endif
