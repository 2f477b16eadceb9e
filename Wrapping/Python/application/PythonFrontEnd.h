/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PythonFrontEnd_h
#define PythonFrontEnd_h

#include <Python.h>

#include "DiagnosticJSON.h"
#include "gigapixelRunCommand.h"

#include <string>

/** Tells a function of Python what a command shows: hear(kind, text, fraction), of the kinds "progress", "message",
 * "diagnostic" (fields as JSON) and "result" (JSON). An exception of it is printed, and the command goes on. */
class PythonFrontEnd : public gigapixel::application::FrontEnd
{
public:
  /** \param hear is kept by the caller */
  explicit PythonFrontEnd(PyObject * hear)
    : m_Hear(hear)
  {}

  void
  ShowProgress(double fraction, const std::string & line) override
  {
    Tell("progress", line, fraction);
  }

  void
  EndProgress(const std::string & line) override
  {
    if (!line.empty())
    {
      Tell("progress", line, 1);
      Tell("message", line);
    }
  }

  void
  ShowMessage(const std::string & sentence) override
  {
    Tell("message", sentence);
  }

  void
  ShowDiagnostic(const gigapixel::Diagnostic & diagnostic) override
  {
    const auto fields = gigapixel::application::ToJSON(diagnostic);
    Tell("diagnostic", fields.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }

  void
  ShowFailures(const std::string & sentence) override
  {
    Tell("message", sentence);
  }

  void
  ShowResult(const std::string &, const std::string & json) override
  {
    Tell("result", json);
  }

private:
  void
  Tell(const char * kind, const std::string & text, double fraction = 0)
  {
    const PyGILState_STATE state = PyGILState_Ensure();
    // Names of files may have bytes that are no UTF-8.
    PyObject * const string =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    PyObject * const result =
      string == nullptr ? nullptr : PyObject_CallFunction(m_Hear, "sOd", kind, string, fraction);
    if (result == nullptr)
    {
      PyErr_WriteUnraisable(m_Hear);
    }
    Py_XDECREF(result);
    Py_XDECREF(string);
    PyGILState_Release(state);
  }

  PyObject * m_Hear;
};

#endif
