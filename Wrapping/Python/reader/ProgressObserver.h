/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ProgressObserver_h
#define ProgressObserver_h

#include <Python.h>

#include "itkLightProcessObject.h"

#include <memory>

/** Calls a function of Python at each progress event. Its exception stays where Python finds it, and stops the work. */
inline unsigned long
ObserveProgress(itk::LightProcessObject & process, PyObject * call)
{
  Py_INCREF(call);
  const std::shared_ptr<PyObject> kept(call, [](PyObject * function) { Py_DECREF(function); });
  return process.AddObserver(itk::ProgressEvent(), [&process, kept](const itk::EventObject &) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject * const       result = PyErr_Occurred() == nullptr ? PyObject_CallNoArgs(kept.get()) : nullptr;
    if (result == nullptr)
    {
      process.AbortGenerateDataOn();
    }
    Py_XDECREF(result);
    PyGILState_Release(state);
  });
}

#endif
