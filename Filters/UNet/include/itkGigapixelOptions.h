/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelOptions_h
#define itkGigapixelOptions_h

#include "gigapixelOptionTable.h"
#include "itkGigapixelOptionMacros.h"
#include "itkIndent.h"

/** Patches as a whole in place of their options, and none. \param member the PatchOptions */
#define itkGigapixelPatchesMacro(member)                                                                               \
  virtual void SetPatches(const gigapixel::Patches & patches)                                                          \
  {                                                                                                                    \
    if (!(this->GetPatches() == patches))                                                                              \
    {                                                                                                                  \
      (member) = gigapixel::ToOptions(patches);                                                                        \
      this->Modified();                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  virtual void ClearPatches()                                                                                          \
  {                                                                                                                    \
    if ((member).slidingWindow)                                                                                        \
    {                                                                                                                  \
      (member) = gigapixel::PatchOptions();                                                                            \
      this->Modified();                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  virtual std::optional<gigapixel::Patches> GetPatches() const                                                         \
  {                                                                                                                    \
    return gigapixel::ChoosePatches(member);                                                                           \
  }

namespace itk
{

/** Prints the options of a list, a line each; to be called by PrintSelf(). */
template <typename TOptions>
void
GigapixelPrintOptions(std::ostream & os, Indent indent, const TOptions & options)
{
  gigapixel::VisitOptions<TOptions>([&](const gigapixel::Option & option, auto member) {
    os << indent << option.property << ": " << gigapixel::FormatOption(options.*member) << '\n';
  });
}

} // namespace itk

#endif
