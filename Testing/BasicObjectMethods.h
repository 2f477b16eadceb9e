/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BasicObjectMethods_h
#define BasicObjectMethods_h

#include <gtest/gtest.h>

#include <sstream>

/** What all of ITK's objects have: New(), CreateAnother(), Print(), and the names of the class and its superclass. As
 * ITK_EXERCISE_BASIC_OBJECT_METHODS, whose header builds of ITK without its tests do not have. */
template <typename TObject>
void
ExpectBasicObjectMethods(const char * className, const char * superclassName)
{
  const auto object = TObject::New();
  EXPECT_STREQ(object->GetNameOfClass(), className);
  EXPECT_STREQ(object->TObject::Superclass::GetNameOfClass(), superclassName);
  EXPECT_STREQ(object->CreateAnother()->GetNameOfClass(), className);
  std::ostringstream printed;
  object->Print(printed);
  EXPECT_NE(printed.str().find(className), std::string::npos);
}

/** \param ... the type */
#define EXPECT_BASIC_OBJECT_METHODS(ClassName, SuperclassName, ...)                                                    \
  ExpectBasicObjectMethods<__VA_ARGS__>(#ClassName, #SuperclassName)

#endif
