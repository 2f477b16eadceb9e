/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BasicObjectMethods_h
#define BasicObjectMethods_h

#include "itkTestingMacros.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

/** ITK's own test of what all of its objects have: New(), Print(), and the names of the class and its superclass.
 * \param ... the type */
#define EXPECT_BASIC_OBJECT_METHODS(ClassName, SuperclassName, ...)                                                    \
  EXPECT_EQ(([] {                                                                                                      \
              using Object = __VA_ARGS__;                                                                              \
              const auto object = Object::New();                                                                       \
              ITK_EXERCISE_BASIC_OBJECT_METHODS(object, ClassName, SuperclassName);                                    \
              return EXIT_SUCCESS;                                                                                     \
            }()),                                                                                                      \
            EXIT_SUCCESS)

#endif
