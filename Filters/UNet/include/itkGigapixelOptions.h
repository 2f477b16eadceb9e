/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelOptions_h
#define itkGigapixelOptions_h

#include "gigapixelSlideOptions.h"
#include "itkGigapixelFileSource.h"
#include "itkIndent.h"

/** Set of an entry, by which the filter knows that it has changed. */
#define itkGigapixelSetValueMacro(type, Name, member)                                                                  \
  virtual void Set##Name(const type & given)                                                                           \
  {                                                                                                                    \
    if ((member) != given)                                                                                             \
    {                                                                                                                  \
      (member) = given;                                                                                                \
      this->Modified();                                                                                                \
    }                                                                                                                  \
  }

/** Set and Get of an entry of a list of options, such as gigapixelComputingOptionList.h. \param member what keeps the
 * value */
#define itkGigapixelOptionMacro(type, Name, member)                                                                    \
  itkGigapixelSetValueMacro(type, Name, member) virtual type Get##Name() const                                         \
  {                                                                                                                    \
    return member;                                                                                                     \
  }

/** Set, Clear and Get of an entry of which it matters whether it is given. \param otherwise what Get gives without */
#define itkGigapixelOptionalMacro(type, Name, member, otherwise)                                                       \
  itkGigapixelSetValueMacro(type, Name, member) virtual void Clear##Name()                                             \
  {                                                                                                                    \
    if (member)                                                                                                        \
    {                                                                                                                  \
      (member).reset();                                                                                                \
      this->Modified();                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  virtual type Get##Name() const                                                                                       \
  {                                                                                                                    \
    return (member).value_or(otherwise);                                                                               \
  }

/** Set of all options of a list at once. \param Options such as ComputingOptions */
#define itkGigapixelSetOptionsMacro(Options, member)                                                                   \
  virtual void Set##Options(const gigapixel::Options & given)                                                          \
  {                                                                                                                    \
    (member) = given;                                                                                                  \
    this->Modified();                                                                                                  \
  }

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

/** What is read of a slide's file, as the options say. */
inline GigapixelSlideContent
GigapixelContentOf(const gigapixel::SlideOptions & options)
{
  return { options.image, options.plane, options.channels, options.window };
}

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
