/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SharedITK_h
#define SharedITK_h

#include "gigapixelDiagnostic.h"

#include "itkObjectFactoryBase.h"
#include "itkSingleton.h"

#include <dlfcn.h>

#include <string>

/** Takes the counter of modifications, the factories and all else that is one for the process from the itk package, as
 * its wrapped libraries do: a pipeline of objects with several counters would miss changes. Only its library is loaded,
 * not the modules of Python in there.
 *
 * \param library the file of _ITKCommonPython; it is never unloaded */
inline void
ShareITK(const std::string & library)
{
  void * const common = dlopen(library.c_str(), RTLD_NOW);
  void * const found = common == nullptr ? nullptr : dlsym(common, "_ZN3itk14SingletonIndex11GetInstanceEv");
  if (found == nullptr)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic(
      "E-INSTALLATION", "no library of ITK 5.4 is installed beside it", "install it (pip install 'itk>=5.4.7,<5.5')"));
  }
  itk::SingletonIndex::SetInstance(reinterpret_cast<itk::SingletonIndex * (*)()>(found)());
  itk::ObjectFactoryBase::Initialize();
}

#endif
