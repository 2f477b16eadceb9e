/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelOptionMacros_h
#define itkGigapixelOptionMacros_h

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

#endif
