/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PythonFrontEnd_h
#define PythonFrontEnd_h

#include <Python.h>

#include "DiagnosticJSON.h"
#include "gigapixelRunCommand.h"

#include <nlohmann/json.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

/** Tells a function of Python what a command shows: hear(kind, text, fraction), of the kinds "progress", "message",
 * "diagnostic" (fields as JSON) and "result" (JSON). Its first exception ends the command, and then is Python's. */
class PythonFrontEnd : public gigapixel::application::FrontEnd
{
public:
  /** It lives and dies with Python's lock. \param hear is kept by the caller */
  explicit PythonFrontEnd(PyObject * hear)
    : m_Hear(hear)
  {}

  ~PythonFrontEnd() override
  {
    for (PyObject * const each : { m_Type, m_Error, m_Trace })
    {
      Py_XDECREF(each);
    }
  }

  PythonFrontEnd(const PythonFrontEnd &) = delete;
  PythonFrontEnd & operator=(const PythonFrontEnd &) = delete;

  void
  ShowProgress(double fraction, const std::string & line) override
  {
    Tell("progress", line, fraction);
  }

  void
  ShowMessage(const std::string & sentence) override
  {
    Tell("message", sentence);
  }

  void
  ShowDiagnostic(const gigapixel::Diagnostic & diagnostic) override
  {
    // Without Python's lock: ITK's window holds one of its own now, for which a thread may wait that has Python's.
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Diagnostics.push_back(diagnostic);
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

  /** To be called when the command has ended, with Python's lock. \return false: Python has an exception now */
  bool
  TellDiagnostics()
  {
    for (const gigapixel::Diagnostic & diagnostic : std::exchange(m_Diagnostics, {}))
    {
      const auto fields = gigapixel::application::ToJSON(diagnostic);
      Tell("diagnostic", fields.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    }
    if (m_Type != nullptr)
    {
      PyErr_Restore(std::exchange(m_Type, nullptr), std::exchange(m_Error, nullptr), std::exchange(m_Trace, nullptr));
      return false;
    }
    return true;
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
      KeepError();
    }
    Py_XDECREF(result);
    Py_XDECREF(string);
    PyGILState_Release(state);
  }

  /** A handler of signals may have raised it, such as one that ends what takes too long. */
  void
  KeepError()
  {
    PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &error, &trace);
    if (m_Type == nullptr)
    {
      m_Type = type;
      m_Error = error;
      m_Trace = trace;
      gigapixel::application::RequestInterruption();
      return;
    }
    for (PyObject * const each : { type, error, trace })
    {
      Py_XDECREF(each);
    }
  }

  PyObject *                         m_Hear;
  PyObject *                         m_Type{ nullptr };
  PyObject *                         m_Error{ nullptr };
  PyObject *                         m_Trace{ nullptr };
  std::mutex                         m_Mutex;
  std::vector<gigapixel::Diagnostic> m_Diagnostics;
};

#endif
