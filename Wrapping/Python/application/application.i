// Commands of the program in this process.
%module(package = "itkgigapixel", threads = "1") application
%nothreadallow;

%{
#include "PythonFrontEnd.h"

#include "ITKMessages.h"

#include <optional>

namespace
{
using namespace gigapixel::application;

PyObject * torchFinder = nullptr;

/** The text of the exception that Python has raised here; none is left. */
std::string
TakeError()
{
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  PyObject * const   text = error == nullptr ? nullptr : PyObject_Str(error);
  PyObject * const   bytes = text == nullptr ? nullptr : PyUnicode_AsUTF8String(text);
  const char * const letters = bytes == nullptr ? nullptr : PyBytes_AsString(bytes);
  const std::string  found = letters == nullptr ? "Python has raised an exception" : letters;
  for (PyObject * const each : { type, error, trace, text, bytes })
  {
    Py_XDECREF(each);
  }
  PyErr_Clear();
  return found;
}

void
FindTorchByPython()
{
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject * const       result = PyObject_CallNoArgs(torchFinder);
  const std::string      problem = result == nullptr ? TakeError() : std::string();
  Py_XDECREF(result);
  PyGILState_Release(state);
  if (!problem.empty())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic::OfText(problem, "E-INSTALLATION"));
  }
}

/** Without Python's lock. */
int
RunWords(const Command & command, const std::vector<std::string> & words, FrontEnd & frontEnd, bool heedsSignals)
{
  TakeWarnings(); // of a command that failed
  std::optional<InterruptionScope> scope;
  if (heedsSignals)
  {
    scope.emplace();
  }
  return RunCommand(ArgumentValues::Parse(command, words), frontEnd);
}
} // namespace

static int
RunCommandOfWords(const std::string & name, const std::vector<std::string> & words, PyObject * hear, bool heedsSignals)
{
  const Command * const command = FindCommand(name);
  if (command == nullptr)
  {
    throw std::logic_error("there is no command " + name);
  }
  PythonFrontEnd         frontEnd(hear);
  int                    code = Failure;
  gigapixel::Diagnostic  problem;
  PyThreadState * const  thread = PyEval_SaveThread();
  try
  {
    code = RunWords(*command, words, frontEnd, heedsSignals);
  }
  catch (const std::exception &)
  {
    problem = DiagnoseThrown();
  }
  PyEval_RestoreThread(thread);
  // Handlers of Python's have their turn before an error that a signal has made.
  if (PyErr_CheckSignals() == 0 && frontEnd.TellDiagnostics() && !problem.IsEmpty())
  {
    throw gigapixel::Refusal(problem);
  }
  return code;
}

static void
SetTorchFinderOfPython(PyObject * call)
{
  Py_INCREF(call);
  Py_XDECREF(torchFinder);
  torchFinder = call;
  SetTorchFinder(&FindTorchByPython);
}
%}

%include <std_string.i>
%include Refusals.swg

// A list of bytes: names of files need not be UTF-8.
%typemap(in) const std::vector<std::string> & words (std::vector<std::string> list)
{
  for (Py_ssize_t i = 0; i < PyList_Size($input); ++i)
  {
    char *     letters = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(PyList_GetItem($input, i), &letters, &size) != 0)
    {
      SWIG_fail;
    }
    list.emplace_back(letters, static_cast<std::size_t>(size));
  }
  if (PyErr_Occurred() != nullptr) // it is no list
  {
    SWIG_fail;
  }
  $1 = &list;
}

%rename(run_command) RunCommandOfWords;
%rename(set_torch_finder) SetTorchFinderOfPython;
%rename(request_interruption) gigapixel::application::RequestInterruption;
%rename(forget_interruption) gigapixel::application::ForgetInterruption;

int  RunCommandOfWords(const std::string & name, const std::vector<std::string> & words, PyObject * hear, bool heedsSignals);
void SetTorchFinderOfPython(PyObject * call);
namespace gigapixel::application
{
void RequestInterruption();
void ForgetInterruption();
}
