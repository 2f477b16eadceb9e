/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPickle_h
#define gigapixelPickle_h

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gigapixel
{

/** A value of a pickle. What a program would make of it by a function is only noted: the function's name and what it
 * would be given. */
struct PickleValue
{
  enum class Kind
  {
    None,
    Integer, ///< and truth values
    Number,
    Text,       ///< and bytes, and whole numbers beyond 64 bits as their bytes
    List,       ///< and tuples and sets
    Dictionary, ///< keys and values by turns
    Function,   ///< "module.name"
    Call,       ///< of a function: itself, the list of what it is given, and what the object is set to if it is
    Stored      ///< outside of the pickle, under what identifies it
  };

  Kind                             kind{ Kind::None };
  std::int64_t                     integer{ 0 };
  std::string                      text{};
  std::vector<const PickleValue *> items{};

  bool
  IsText(std::string_view wanted) const
  {
    return kind == Kind::Text && text == wanted;
  }

  /** Of a call or a function: whether it is this one. */
  bool Is(std::string_view function) const;
};

/** \class Pickle
 * \brief Values of Python's pickles, protocols 0 to 5 (https://docs.python.org/3/library/pickletools.html), without
 * anything being run: a pickle is a program for a small machine with a stack, and of its instructions only those that
 * put values together are done; a call stays a note of what would be called.
 *
 * Memory is bounded by the file: no instruction makes more than it has bytes for. */
class Pickle
{
public:
  /** Takes one pickle off the front of the bytes.
   * \throw std::invalid_argument says what is damaged */
  static Pickle Take(std::string_view & bytes);

  const PickleValue &
  GetValue() const
  {
    return *m_Root;
  }

  /** Also those that are parts of others. */
  const std::deque<PickleValue> &
  GetAllValues() const
  {
    return m_Values;
  }

private:
  class Machine;

  std::deque<PickleValue> m_Values; ///< all that there are; they may refer to each other in circles
  const PickleValue *     m_Root{ nullptr };
};

} // namespace gigapixel

#endif
