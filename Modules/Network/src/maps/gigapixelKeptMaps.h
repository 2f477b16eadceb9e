/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelKeptMaps_h
#define gigapixelKeptMaps_h

#include "graph/gigapixelGraphGeometry.h"

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace gigapixel
{

struct Segment;

/** \class KeptMap
 * \brief A whole map of one image, or its gradient, in memory or in a file: channels beside each other, row by row.
 *
 * Zeros until something is written. Parts that do not overlap may be written, and any may be read, by several threads
 * at once. */
class GigapixelNetwork_EXPORT KeptMap
{
public:
  /** \param valueBytes of a float or a double
   * \param directory where the file lies, which has no name there, so that nothing is left of it whatever happens;
   * empty: in memory
   * \param takesRoom whether the file takes its room at once, so that nobody else does; else when it is written
   * \throw std::runtime_error the file cannot be created, or there is no room for all of it */
  KeptMap(const Extent & size, int channels, int valueBytes, const std::string & directory, bool takesRoom = true);
  ~KeptMap();
  KeptMap(const KeptMap &) = delete;
  KeptMap & operator=(const KeptMap &) = delete;

  std::int64_t
  GetBytes() const
  {
    return GetNumberOfPixels(GetWhole()) * m_PixelBytes;
  }

  Box
  GetWhole() const
  {
    return MakeWhole(m_Size);
  }

  // The values of a part, without gaps. \throw std::runtime_error the file cannot be read or written
  void Read(const Box & part, void * values) const;
  void Write(const Box & part, const void * values);

  /** \param to of the same size */
  void Copy(const Box & from, const Box & to);

  /** Whether all pixels of a part have the same values. \param bytes those of a pixel are appended if they have */
  bool FindConstant(const Box & part, std::vector<char> & bytes) const;

  bool IsZero(const Box & part) const;

  /** Gives back its memory or its file: nobody reads or writes it any more. */
  void Release();

  /** By one thread at a time. */
  template <typename T>
  void
  Add(const Box & part, const T * values)
  {
    std::vector<T> sums(part.Last().GetLength() * m_PixelBytes / static_cast<std::int64_t>(sizeof(T)));
    for (std::int64_t i = 0; i < GetNumberOfRows(part); ++i)
    {
      const Box row = GetRow(part, i);
      Read(row, sums.data());
      for (T & sum : sums)
      {
        sum += *values++;
      }
      Write(row, sums.data());
    }
  }

private:
  struct Free
  {
    void
    operator()(char * bytes) const
    {
      std::free(bytes);
    }
  };

  static std::int64_t GetNumberOfRows(const Box & part);

  /** Its pixels lie beside each other in memory. */
  static Box GetRow(const Box & part, std::int64_t row);

  std::int64_t GetPlace(const Box & row) const;

  const Extent                  m_Size;
  const std::int64_t            m_PixelBytes;
  const std::string             m_Directory;
  std::unique_ptr<char[], Free> m_Memory;
  int                           m_File{ -1 };
};

/** \class KeptMaps
 * \brief The maps of one image that are kept whole, and their gradients, by operation.
 *
 * What operations reduce the image to lies in memory, and its gradient, a sum over all tiles, is of doubles. */
class GigapixelNetwork_EXPORT KeptMaps
{
public:
  /** \param segments between which they are kept: with gradients all of them at the same time, else each until it is
   * dropped, so that a file takes its room only when it is written
   * \param valueBytes, directory as KeptMap has them
   * \param gradients whether theirs are kept, too
   * \throw std::runtime_error there is no room for them in the directory */
  KeptMaps(const GraphGeometry &        geometry,
           const std::vector<Segment> & segments,
           int                          valueBytes,
           const std::string &          directory,
           bool                         gradients = true);

  bool
  Holds(int operation) const
  {
    return m_Maps.count(operation) > 0;
  }

  KeptMap &
  GetMap(int operation)
  {
    return *m_Maps.at(operation);
  }

  KeptMap &
  GetGradient(int operation)
  {
    return *m_Gradients.at(operation);
  }

  /** Of an operation that reduces the image: the sums of the parts until now. By one thread at a time, until they are
   * those of the whole image. */
  std::vector<double> &
  GetSums(int operation)
  {
    return m_Sums.at(operation);
  }

  /** To the gradient of a part. By one thread at a time. */
  template <typename T>
  void
  AddToGradient(int operation, const Box & part, const T * values)
  {
    KeptMap & gradient = GetGradient(operation);
    if (m_Sums.count(operation) == 0)
    {
      return gradient.Add(part, values);
    }
    const std::vector<double> doubles(values, values + GetNumberOfPixels(part) * m_Channels.at(operation));
    gradient.Add(part, doubles.data());
  }

  /** Of an operation that reduces the image: what it reduces it to. */
  std::vector<double> ReadReduced(int operation) const;

  /** The gradient of that. */
  std::vector<double> ReadReducedGradient(int operation) const;
  void                WriteReducedGradient(int operation, const std::vector<double> & values);

  /** The values of an operation that reduces the image, rounded to what maps have. */
  void WriteReduced(int operation, const std::vector<double> & values);

  /** They are not needed any more; others may be read and written meanwhile. */
  void
  Drop(int operation)
  {
    for (auto * maps : { &m_Maps, &m_Gradients })
    {
      const auto found = maps->find(operation);
      if (found != maps->end())
      {
        found->second->Release();
      }
    }
  }

private:
  std::map<int, std::unique_ptr<KeptMap>> m_Maps;
  std::map<int, std::unique_ptr<KeptMap>> m_Gradients;
  std::map<int, std::vector<double>>      m_Sums; ///< of operations that reduce the image
  std::map<int, int>                      m_Channels;
  const int                               m_ValueBytes;
};

} // namespace gigapixel

#endif
