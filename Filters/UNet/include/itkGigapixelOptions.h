/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelOptions_h
#define itkGigapixelOptions_h

/** Set and Get of an entry of a list of options, such as gigapixelComputingOptionList.h. \param member what keeps the
 * value */
#define itkGigapixelOptionMacro(type, Name, member)                                                                    \
  virtual void Set##Name(const type & given)                                                                           \
  {                                                                                                                    \
    if ((member) != given)                                                                                             \
    {                                                                                                                  \
      (member) = given;                                                                                                \
      this->Modified();                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  virtual type Get##Name() const                                                                                       \
  {                                                                                                                    \
    return member;                                                                                                     \
  }

/** Set of all options of a list at once. \param Options such as ComputingOptions */
#define itkGigapixelSetOptionsMacro(Options, member)                                                                   \
  virtual void Set##Options(const gigapixel::Options & given)                                                          \
  {                                                                                                                    \
    (member) = given;                                                                                                  \
    this->Modified();                                                                                                  \
  }

#endif
