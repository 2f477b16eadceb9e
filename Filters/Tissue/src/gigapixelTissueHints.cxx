/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueHints.h"

#include "gigapixelOption.h"
#include "gigapixelTissueNetwork.h"

#include <algorithm>
#include <map>

namespace gigapixel
{
namespace
{
std::string
ToLower(std::string text)
{
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  return text;
}

const std::map<std::string, TissueClass> &
GetClasses()
{
  static const std::map<std::string, TissueClass> classes{
    { "glass", TissueClass::Glass },   { "background", TissueClass::Glass }, { "not tissue", TissueClass::Glass },
    { "tissue", TissueClass::Tissue }, { "pen", TissueClass::Pen },          { "artifact", TissueClass::Artifact },
  };
  return classes;
}
} // namespace

std::vector<std::string>
GetTissueHintNames()
{
  return { "Glass", "Tissue", "Pen", "Artifact" };
}

std::vector<Diagnostic>
AddTissueHints(const std::string & file, itk::AnnotationImageSource & drawing)
{
  std::vector<Diagnostic> warnings;
  const auto              outlines = ReadAnnotations(file, &warnings);
  if (outlines.empty())
  {
    throw Refusal(
      Diagnostic("E-ANNOTATION-EMPTY",
                 "it has no outlines, which say what is tissue and what is not",
                 "draw areas with a brush, and give each a class (" + JoinWithOr(GetTissueHintNames()) + ")")
        .OfFile(file));
  }
  for (const Annotation & outline : outlines)
  {
    const auto found = GetClasses().find(ToLower(outline.className));
    if (found == GetClasses().end())
    {
      throw Refusal(Diagnostic("E-ANNOTATION-CLASS",
                               outline.className.empty() ? "an outline in it has no class"
                                                         : "an outline in it is of the class " + outline.className +
                                                             ", which does not say what the place is",
                               "give each outline a class: " + JoinWithOr(GetTissueHintNames()))
                      .OfFile(file)
                      .OfValue(outline.className));
    }
    drawing.AddAnnotation(outline, 1u + static_cast<unsigned>(found->second));
  }
  return warnings;
}

} // namespace gigapixel
