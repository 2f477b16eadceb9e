/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPickle.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Kind = PickleValue::Kind;

[[noreturn]] void
Refuse(const char * reason)
{
  throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", std::string("its pickle is damaged or truncated: ") + reason));
}

/** The machine's instructions, by their names in pickletools. */
enum Instruction : unsigned char
{
  MARK = '(',
  STOP = '.',
  POP = '0',
  POP_MARK = '1',
  DUP = '2',
  FLOAT = 'F',
  BINFLOAT = 'G',
  INT = 'I',
  BININT = 'J',
  BININT1 = 'K',
  LONG = 'L',
  BININT2 = 'M',
  NONE = 'N',
  PERSID = 'P',
  BINPERSID = 'Q',
  REDUCE = 'R',
  STRING = 'S',
  BINSTRING = 'T',
  SHORT_BINSTRING = 'U',
  UNICODE = 'V',
  BINUNICODE = 'X',
  APPEND = 'a',
  BUILD = 'b',
  GLOBAL = 'c',
  DICT = 'd',
  EMPTY_DICT = '}',
  APPENDS = 'e',
  GET = 'g',
  BINGET = 'h',
  INST = 'i',
  LONG_BINGET = 'j',
  LIST = 'l',
  EMPTY_LIST = ']',
  OBJ = 'o',
  PUT = 'p',
  BINPUT = 'q',
  LONG_BINPUT = 'r',
  SETITEM = 's',
  TUPLE = 't',
  EMPTY_TUPLE = ')',
  SETITEMS = 'u',
  BINBYTES = 'B',
  SHORT_BINBYTES = 'C',
  PROTO = 0x80,
  NEWOBJ = 0x81,
  TUPLE1 = 0x85,
  TUPLE2 = 0x86,
  TUPLE3 = 0x87,
  NEWTRUE = 0x88,
  NEWFALSE = 0x89,
  LONG1 = 0x8a,
  LONG4 = 0x8b,
  SHORT_BINUNICODE = 0x8c,
  BINUNICODE8 = 0x8d,
  BINBYTES8 = 0x8e,
  EMPTY_SET = 0x8f,
  ADDITEMS = 0x90,
  FROZENSET = 0x91,
  NEWOBJ_EX = 0x92,
  STACK_GLOBAL = 0x93,
  MEMOIZE = 0x94,
  FRAME = 0x95,
  BYTEARRAY8 = 0x96
};

} // namespace

bool
PickleValue::Is(std::string_view function) const
{
  const PickleValue & called = kind == Kind::Call ? *items.front() : *this;
  return called.kind == Kind::Function && called.text == function;
}

/** Runs one pickle. */
class Pickle::Machine
{
public:
  Machine(std::string_view & bytes, Pickle & pickle)
    : m_Rest(bytes)
    , m_MostPairs(bytes.size())
    , m_Pickle(pickle)
  {}

  void
  Run()
  {
    for (;;)
    {
      const auto instruction = static_cast<unsigned char>(Cut(1).front());
      if (instruction == STOP)
      {
        m_Pickle.m_Root = Pop();
        return;
      }
      if (!PushSimple(instruction) && !PushText(instruction) && !Remember(instruction) && !Collect(instruction))
      {
        Call(instruction);
      }
    }
  }

private:
  // What the instructions read.

  std::string_view
  Cut(std::uint64_t count)
  {
    if (count > m_Rest.size())
    {
      Refuse("it ends too early");
    }
    const std::string_view cut = m_Rest.substr(0, count);
    m_Rest.remove_prefix(count);
    return cut;
  }

  std::uint64_t
  ReadNumber(unsigned bytes)
  {
    const std::string_view digits = Cut(bytes);
    std::uint64_t          value = 0;
    for (unsigned i = bytes; i-- > 0;)
    {
      value = value << 8 | static_cast<unsigned char>(digits[i]);
    }
    return value;
  }

  std::string_view
  ReadLine()
  {
    const std::size_t end = m_Rest.find('\n');
    if (end == std::string_view::npos)
    {
      Refuse("a line does not end");
    }
    const std::string_view line = m_Rest.substr(0, end);
    m_Rest.remove_prefix(end + 1);
    return line;
  }

  /** Each is an instruction of one byte, and much more here; checkpoints with all that is around them have fewer. */
  static constexpr std::size_t MostObjects = std::size_t{ 1 } << 23;

  [[noreturn]] static void
  RefuseObjects()
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-FORMAT",
                                     "its pickle makes more than " + std::to_string(MostObjects) + " objects",
                                     "save a module's state_dict() alone"));
  }

  // The stack. A null is a mark.

  PickleValue *
  Make(Kind kind)
  {
    if (m_Pickle.m_Values.size() >= MostObjects)
    {
      RefuseObjects();
    }
    m_Pickle.m_Values.emplace_back();
    m_Pickle.m_Values.back().kind = kind;
    return &m_Pickle.m_Values.back();
  }

  PickleValue *
  Push(Kind kind)
  {
    m_Stack.push_back(Make(kind));
    return m_Stack.back();
  }

  void
  PushInteger(std::int64_t value)
  {
    Push(Kind::Integer)->integer = value;
  }

  void
  PushDecimal(std::string_view digits)
  {
    std::int64_t value = 0;
    const auto   end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    end.ec == std::errc() ? PushInteger(value) : static_cast<void>(Push(Kind::Text)->text = std::string(digits));
  }

  /** Of two's complement, the lowest byte first. */
  void
  PushLong(std::string_view digits)
  {
    if (digits.size() > 8)
    {
      Push(Kind::Text)->text = std::string(digits);
      return;
    }
    std::uint64_t value = !digits.empty() && static_cast<signed char>(digits.back()) < 0 ? ~std::uint64_t{ 0 } : 0;
    for (std::size_t i = digits.size(); i-- > 0;)
    {
      value = value << 8 | static_cast<unsigned char>(digits[i]);
    }
    PushInteger(static_cast<std::int64_t>(value));
  }

  PickleValue *
  Pop()
  {
    if (m_Stack.empty() || !m_Stack.back())
    {
      Refuse("it takes what is not there");
    }
    PickleValue * const value = m_Stack.back();
    m_Stack.pop_back();
    return value;
  }

  PickleValue &
  Top()
  {
    PickleValue * const top = Pop();
    m_Stack.push_back(top);
    return *top;
  }

  /** Everything above the last mark, which is taken off with it. */
  std::vector<const PickleValue *>
  PopToMark()
  {
    const auto mark = std::find(m_Stack.rbegin(), m_Stack.rend(), nullptr);
    if (mark == m_Stack.rend())
    {
      Refuse("it takes what is not there");
    }
    std::vector<const PickleValue *> items(mark.base(), m_Stack.end());
    m_Stack.erase(mark.base() - 1, m_Stack.end());
    return items;
  }

  void
  PushItems(Kind kind, std::vector<const PickleValue *> items)
  {
    Push(kind)->items = std::move(items);
  }

  void
  PushLast(std::size_t count)
  {
    std::vector<const PickleValue *> items(count);
    for (std::size_t i = count; i-- > 0;)
    {
      items[i] = Pop();
    }
    PushItems(Kind::List, std::move(items));
  }

  /** To the list or dictionary that then is on top; of what a call would have made, nothing is known. */
  void
  AddToTop(const std::vector<const PickleValue *> & items)
  {
    PickleValue & top = Top();
    if (top.kind == Kind::List || top.kind == Kind::Dictionary)
    {
      top.items.insert(top.items.end(), items.begin(), items.end());
    }
  }

  // Families of instructions. \return whether it is of the family

  bool
  PushSimple(unsigned char instruction)
  {
    switch (instruction)
    {
      case PROTO:
        Cut(1);
        return true;
      case FRAME:
        Cut(8);
        return true;
      case NONE:
        Push(Kind::None);
        return true;
      case NEWTRUE:
      case NEWFALSE:
        PushInteger(instruction == NEWTRUE ? 1 : 0);
        return true;
      case BININT:
        PushInteger(static_cast<std::int32_t>(ReadNumber(4)));
        return true;
      case BININT1:
        PushInteger(static_cast<std::int64_t>(ReadNumber(1)));
        return true;
      case BININT2:
        PushInteger(static_cast<std::int64_t>(ReadNumber(2)));
        return true;
      case INT:
      case LONG:
        PushDecimal(ReadLine());
        return true;
      case LONG1:
        PushLong(Cut(ReadNumber(1)));
        return true;
      case LONG4:
        PushLong(Cut(ReadNumber(4)));
        return true;
      case FLOAT:
        ReadLine();
        Push(Kind::Number);
        return true;
      case BINFLOAT:
        Cut(8);
        Push(Kind::Number);
        return true;
      default:
        return false;
    }
  }

  bool
  PushText(unsigned char instruction)
  {
    switch (instruction)
    {
      case STRING:
      case UNICODE:
        Push(Kind::Text)->text = std::string(ReadLine());
        return true;
      case SHORT_BINSTRING:
      case SHORT_BINBYTES:
      case SHORT_BINUNICODE:
        Push(Kind::Text)->text = std::string(Cut(ReadNumber(1)));
        return true;
      case BINSTRING:
      case BINUNICODE:
      case BINBYTES:
        Push(Kind::Text)->text = std::string(Cut(ReadNumber(4)));
        return true;
      case BINUNICODE8:
      case BINBYTES8:
      case BYTEARRAY8:
        Push(Kind::Text)->text = std::string(Cut(ReadNumber(8)));
        return true;
      default:
        return false;
    }
  }

  void
  Put(std::uint64_t place)
  {
    if (m_Memory.size() >= MostObjects)
    {
      RefuseObjects();
    }
    m_Memory[place] = &Top();
  }

  void
  Get(std::uint64_t place)
  {
    const auto found = m_Memory.find(place);
    if (found == m_Memory.end())
    {
      Refuse("it takes what is not there");
    }
    m_Stack.push_back(found->second);
  }

  std::uint64_t
  ReadPlace()
  {
    const std::string_view line = ReadLine();
    std::uint64_t          place = 0;
    std::from_chars(line.data(), line.data() + line.size(), place);
    return place;
  }

  bool
  Remember(unsigned char instruction)
  {
    switch (instruction)
    {
      case PUT:
        Put(ReadPlace());
        return true;
      case BINPUT:
        Put(ReadNumber(1));
        return true;
      case LONG_BINPUT:
        Put(ReadNumber(4));
        return true;
      case MEMOIZE:
        Put(m_Memory.size());
        return true;
      case GET:
        Get(ReadPlace());
        return true;
      case BINGET:
        Get(ReadNumber(1));
        return true;
      case LONG_BINGET:
        Get(ReadNumber(4));
        return true;
      default:
        return false;
    }
  }

  bool
  Collect(unsigned char instruction)
  {
    switch (instruction)
    {
      case MARK:
        m_Stack.push_back(nullptr);
        return true;
      case POP:
        if (m_Stack.empty())
        {
          Refuse("it takes what is not there");
        }
        m_Stack.pop_back();
        return true;
      case POP_MARK:
        PopToMark();
        return true;
      case DUP:
        m_Stack.push_back(&Top());
        return true;
      case EMPTY_LIST:
      case EMPTY_TUPLE:
      case EMPTY_SET:
        Push(Kind::List);
        return true;
      case EMPTY_DICT:
        Push(Kind::Dictionary);
        return true;
      case LIST:
      case TUPLE:
      case FROZENSET:
        PushItems(Kind::List, PopToMark());
        return true;
      case DICT:
        PushItems(Kind::Dictionary, PopToMark());
        return true;
      case TUPLE1:
      case TUPLE2:
      case TUPLE3:
        PushLast(instruction - TUPLE1 + 1u);
        return true;
      case APPEND: {
        const PickleValue * const item = Pop();
        AddToTop({ item });
        return true;
      }
      case SETITEM: {
        const PickleValue * const value = Pop();
        const PickleValue * const key = Pop();
        AddToTop({ key, value });
        return true;
      }
      case APPENDS:
      case ADDITEMS:
      case SETITEMS:
        AddToTop(PopToMark());
        return true;
      default:
        return false;
    }
  }

  /** A call of what is a dictionary with an order is one: torch saves them so. */
  void
  PushCall(const PickleValue * function, const PickleValue * given)
  {
    if (function->Is("collections.OrderedDict"))
    {
      PickleValue * const dictionary = Push(Kind::Dictionary);
      // Of Python 2: a list of pairs.
      const bool isOfPairs =
        given->kind == Kind::List && given->items.size() == 1 && given->items[0]->kind == Kind::List;
      for (std::size_t i = 0; isOfPairs && i < given->items[0]->items.size(); ++i)
      {
        const PickleValue & pair = *given->items[0]->items[i];
        if (m_Pairs++ > m_MostPairs)
        {
          Refuse("it copies without end");
        }
        if (pair.items.size() == 2)
        {
          dictionary->items.insert(dictionary->items.end(), pair.items.begin(), pair.items.end());
        }
      }
      return;
    }
    PushItems(Kind::Call, { function, given });
  }

  void
  PushFunction(std::string_view module, std::string_view name)
  {
    Push(Kind::Function)->text = std::string(module) + '.' + std::string(name);
  }

  void
  Call(unsigned char instruction)
  {
    switch (instruction)
    {
      case GLOBAL: {
        const std::string_view module = ReadLine();
        return PushFunction(module, ReadLine());
      }
      case STACK_GLOBAL: {
        const PickleValue * const name = Pop();
        return PushFunction(Pop()->text, name->text);
      }
      case REDUCE:
      case NEWOBJ: {
        const PickleValue * const given = Pop();
        return PushCall(Pop(), given);
      }
      case NEWOBJ_EX: {
        Pop();
        const PickleValue * const given = Pop();
        return PushCall(Pop(), given);
      }
      case INST: {
        const std::string_view module = ReadLine();
        PushFunction(module, ReadLine());
        const PickleValue * const function = Pop();
        PushItems(Kind::List, PopToMark());
        const PickleValue * const given = Pop();
        return PushCall(function, given);
      }
      case OBJ:
        PushItems(Kind::List, PopToMark());
        return PushItems(Kind::Call, { MakeUnknown(), Pop() });
      case BUILD: {
        const PickleValue * const state = Pop();
        PickleValue &             object = Top();
        if (object.kind == Kind::Call && object.items.size() == 2)
        {
          object.items.push_back(state);
        }
        return;
      }
      case PERSID:
        Push(Kind::Stored)->text = std::string(ReadLine());
        return;
      case BINPERSID: {
        const PickleValue * const identity = Pop();
        return PushItems(Kind::Stored, { identity });
      }
      default:
        Refuse("it has an instruction that there is not");
    }
  }

  const PickleValue *
  MakeUnknown()
  {
    return Make(Kind::Function);
  }

  std::string_view &                               m_Rest;
  const std::size_t                                m_MostPairs; ///< the same list may be given to many calls
  std::size_t                                      m_Pairs{ 0 };
  Pickle &                                         m_Pickle;
  std::vector<PickleValue *>                       m_Stack;
  std::unordered_map<std::uint64_t, PickleValue *> m_Memory;
};

Pickle
Pickle::Take(std::string_view & bytes)
{
  Pickle pickle;
  Machine(bytes, pickle).Run();
  return pickle;
}

} // namespace gigapixel
