/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef AnnotationFormat_h
#define AnnotationFormat_h

#include "gigapixelAnnotation.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gigapixel
{

/** What a file holds. */
struct AnnotationContent
{
  std::vector<Annotation>            annotations;
  std::map<std::string, std::size_t> remarks; ///< how many shapes are left out or simplified, by what is said of them
};

/** One format of annotation files. A new format is a row in the table of gigapixelAnnotation.cxx. */
struct AnnotationFormat
{
  const char * name;
  bool (*isOf)(const std::string & text);
  /** \throw Refusal without the file's name */
  AnnotationContent (*read)(const std::string & text);
};

/** A file as text. Files that begin as gzip files do are unpacked, whatever their names are.
 * \throw Refusal it cannot be read, or would unpack to more than outlines have */
std::string ReadAnnotationText(const std::string & file);

bool              IsGeoJSON(const std::string & text);
AnnotationContent ReadGeoJSON(const std::string & text);

bool              IsASAP(const std::string & text);
AnnotationContent ReadASAP(const std::string & text);

bool              IsImageScope(const std::string & text);
AnnotationContent ReadImageScope(const std::string & text);

/** The name of an XML text's outermost element; empty: it is no XML. */
std::string FindRootElement(const std::string & text);

/** \throw Refusal the text is not a number of an image's pixels */
double ParseCoordinate(const std::string & text);

/** Adds an annotation, or a remark where it has no area. */
void AddWithArea(Annotation annotation, AnnotationContent & content);

/** \throw Refusal a position that no slide has */
void CheckPosition(const AnnotationPoint & point);

} // namespace gigapixel

#endif
