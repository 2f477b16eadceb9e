/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef RandomGraph_h
#define RandomGraph_h

#include "GraphFixture.h"

#include <algorithm>
#include <random>

namespace gigapixel
{
namespace test
{

/** Grows a random graph for images, or for volumes where the image has a depth: operations that do not fit their inputs
 * are drawn again. */
class RandomGraph
{
public:
  /** \param wholeImage whether there are operations that see the whole image, too */
  RandomGraph(unsigned seed, Size image, bool wholeImage = false)
    : m_Random(seed)
    , m_Axes(image.depth > 1 ? 3 : 2)
    , m_Image(ToExtent(image, m_Axes))
  {
    for (const OperationSchema & schema : OperationSchema::GetAll())
    {
      if (schema.axes == 0 || schema.axes == m_Axes)
      {
        m_Types.emplace_back(schema.type);
      }
    }
    const std::vector<std::string> wholeImageTypes = GetWholeImageTypes();
    m_Types.erase(m_Types.begin()); // the input
    if (!wholeImage)
    {
      // What needs many channels, or makes maps larger than a test's should be, is mostly drawn in vain.
      m_Types.insert(m_Types.end(), 2, m_Axes == 2 ? "pixel_shuffle" : "conv_transpose3d");
    }
    for (int times = 0; wholeImage && times < 3; ++times)
    {
      m_Types.insert(m_Types.end(), wholeImageTypes.begin(), wholeImageTypes.end());
    }
    m_Maps.push_back(Append(m_Graph, "input", {}, { { "channels", Whole(1, 3) }, { "axes", std::int64_t{ m_Axes } } }));
    m_Graph.Validate();
    m_Unread.push_back(m_Maps.back());
    Add(Name("conv"));
    if (wholeImage)
    {
      Add(Choose(wholeImageTypes));
    }
    const int wanted = static_cast<int>(m_Axes == 2 ? Whole(5, 12) : Whole(4, 8));
    for (int i = 0; i < wanted; ++i)
    {
      Add("");
    }
    Finish();
  }

  const NetworkGraph &
  Get() const
  {
    return m_Graph;
  }

private:
  /** Of a type that volumes have another one of. */
  std::string
  Name(const std::string & type) const
  {
    return type + (m_Axes == 2 ? "2d" : "3d");
  }

  std::vector<std::string>
  GetWholeImageTypes() const
  {
    return { "instance_norm", "group_norm", Name("adaptive_avg_pool"), Name("adaptive_max_pool") };
  }

  std::int64_t
  Whole(std::int64_t least, std::int64_t greatest)
  {
    return std::uniform_int_distribution<std::int64_t>(least, greatest)(m_Random);
  }

  bool
  Chance()
  {
    return Whole(0, 1) == 1;
  }

  double
  Number(double least, double greatest)
  {
    return std::uniform_real_distribution<double>(least, greatest)(m_Random);
  }

  /** For each axis. */
  AttributeValue
  DrawAlong(std::int64_t least, std::int64_t greatest)
  {
    std::vector<std::int64_t> values(m_Axes);
    std::generate(values.begin(), values.end(), [&] { return Whole(least, greatest); });
    return values;
  }

  template <typename T>
  T
  Choose(const std::vector<T> & values)
  {
    return values[Whole(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

  std::string
  ChooseMap()
  {
    // Rather one that nobody reads yet.
    return Whole(0, 3) > 0 && !m_Unread.empty() ? Choose(m_Unread) : Choose(m_Maps);
  }

  AttributeValue
  ChooseWord(const std::vector<std::string> & words)
  {
    return Choose(words);
  }

  Attributes
  DrawAttributes(const std::string & type)
  {
    if (type == Name("conv") || type == Name("conv_transpose"))
    {
      Attributes attributes{ { "out_channels", Choose<std::int64_t>({ 2, 4, 4, 4, 6 }) },
                             { "kernel_size", DrawAlong(1, 4) },
                             { "stride", DrawAlong(1, type == Name("conv") ? 2 : 3) },
                             { "padding", DrawAlong(0, 2) },
                             { "dilation", DrawAlong(1, 2) },
                             { "groups", Whole(1, 2) },
                             { "bias", Chance() } };
      if (type == Name("conv"))
      {
        attributes["padding_mode"] = ChooseWord({ "zeros", "zeros", "reflect", "replicate" });
        if (Whole(0, 4) == 0)
        {
          attributes["padding"] = std::string("same");
          attributes["stride"] = std::int64_t{ 1 };
        }
      }
      else
      {
        attributes["output_padding"] = DrawAlong(0, 1);
        if (Chance()) // windows that touch each other
        {
          const AttributeValue kernel = attributes["kernel_size"];
          attributes = { { "out_channels", Whole(1, 4) }, { "kernel_size", kernel }, { "stride", kernel } };
        }
      }
      return attributes;
    }
    if (type == Name("max_pool") || type == Name("avg_pool"))
    {
      Attributes attributes{ { "kernel_size", DrawAlong(2, 3) },
                             { "stride", DrawAlong(1, 3) },
                             { "padding", DrawAlong(0, 1) },
                             { "ceil_mode", Chance() } };
      if (type == Name("avg_pool"))
      {
        attributes["count_include_pad"] = Chance();
      }
      return attributes;
    }
    if (type == "interpolate")
    {
      Attributes attributes{ { "mode", ChooseWord({ "nearest", GetLinearMode(m_Graph) }) } };
      const auto how = Whole(0, 3);
      if (how == 0)
      {
        attributes["scale_factor"] = 2.0;
      }
      else if (how == 1)
      {
        std::vector<double> factors(m_Axes);
        std::generate(factors.begin(), factors.end(), [&] { return Number(0.4, 2.5); });
        attributes["scale_factor"] = factors;
      }
      else if (how == 2)
      {
        attributes["size"] = DrawAlong(5, m_Axes == 2 ? 60 : 14);
      }
      attributes["align_corners"] = std::get<std::string>(attributes["mode"]) != "nearest" && Chance();
      return attributes;
    }
    if (type == "pad")
    {
      if (Whole(0, 2) == 0)
      {
        return { { "multiple", Whole(2, 8) }, { "mode", ChooseWord({ "constant", "replicate" }) } };
      }
      return { { "before", DrawAlong(0, 4) },
               { "after", DrawAlong(0, 4) },
               { "mode", ChooseWord({ "constant", "reflect", "replicate" }) },
               { "value", Number(-1, 1) } };
    }
    if (type == "crop")
    {
      return { { "before", DrawAlong(0, 3) }, { "after", DrawAlong(0, 3) } };
    }
    if (type == "slice")
    {
      return { { "start", DrawAlong(0, 2) }, { "step", DrawAlong(1, 3) } };
    }
    if (type == "pad_channels")
    {
      return { { "before", Whole(0, 2) }, { "after", Whole(0, 2) } };
    }
    if (type == "slice_channels")
    {
      return { { "start", Whole(0, 1) }, { "channels", Whole(1, 3) } };
    }
    if (type == "elu")
    {
      return { { "alpha", Number(0.2, 2) } };
    }
    if (type == "gelu")
    {
      return { { "approximate", ChooseWord({ "none", "tanh" }) } };
    }
    if (type == "hardtanh")
    {
      return { { "min_val", Number(-1, 0) }, { "max_val", Number(0.1, 2) } };
    }
    if (type == "log" || type == "logit")
    {
      return { { "eps", Number(0.05, 0.4) } };
    }
    if (type == "pixel_shuffle")
    {
      return { { "upscale_factor", std::int64_t(2) } };
    }
    if (type == "leaky_relu")
    {
      return { { "negative_slope", Number(0.01, 0.5) } };
    }
    if (type == "group_norm")
    {
      return { { "num_groups", Whole(1, 2) }, { "eps", Number(1e-5, 1e-2) }, { "affine", Chance() } };
    }
    if (type == Name("adaptive_avg_pool") || type == Name("adaptive_max_pool"))
    {
      return { { "output_size", Chance() ? AttributeValue(std::int64_t{ 1 }) : DrawAlong(1, 4) } };
    }
    if (type == "affine")
    {
      return { { "bias", Chance() }, { "num_parameters", Whole(0, 1) } };
    }
    if (type == "batch_norm" || type == "layer_norm" || type == "instance_norm")
    {
      return { { "eps", Number(1e-5, 1e-2) }, { "affine", Chance() } };
    }
    return {};
  }

  static bool
  IsNorm(const std::string & type)
  {
    return type == "instance_norm" || type == "group_norm";
  }

  /** The map's size and channels. */
  std::pair<Extent, int>
  GetShape(const std::string & map) const
  {
    const int index = m_Graph.GetIndex(map);
    return { GraphGeometry(m_Graph, m_Image).GetSize(index), m_Graph.GetChannels()[index] };
  }

  /** A second input for operations that take one. \return false: there is none that fits */
  bool
  DrawSecond(const std::string & type, std::vector<std::string> & inputs, Attributes & attributes)
  {
    const bool pointwise = type == "add" || type == "sub" || type == "mul" || type == "maximum" || type == "minimum";
    if (pointwise && Whole(0, 3) == 0)
    {
      attributes["other"] = Number(-1, 1);
      return true;
    }
    if (pointwise || type == "cat")
    {
      std::vector<std::string> fitting;
      const auto               shape = GetShape(inputs.front());
      for (const std::string & map : m_Maps)
      {
        const auto other = GetShape(map);
        if (other.first == shape.first && (!pointwise || other.second == shape.second))
        {
          fitting.push_back(map);
        }
      }
      inputs.push_back(Choose(fitting));
      return true;
    }
    const bool sized = attributes.count("scale_factor") + attributes.count("size") > 0;
    if (type == "interpolate" && !sized)
    {
      inputs.push_back(Choose(m_Maps));
    }
    if ((type == "pad" || type == "crop") && Whole(0, 2) == 0)
    {
      inputs.push_back(Choose(m_Maps));
      attributes = type == "pad" ? Attributes{ { "mode", ChooseWord({ "constant", "replicate" }) } }
                                 : Attributes{ { "center", Chance() } };
    }
    return true;
  }

  /** \param type empty: a random one */
  void
  Add(const std::string & type)
  {
    for (;;)
    {
      const std::string        drawn = type.empty() ? Choose(m_Types) : type;
      std::vector<std::string> inputs{ ChooseMap() };
      Attributes               attributes = DrawAttributes(drawn);
      DrawSecond(drawn, inputs, attributes);
      NetworkGraph longer = m_Graph;
      const auto   name = Append(longer, drawn, inputs, attributes);
      try
      {
        longer.Validate();
        const Extent size = GraphGeometry(longer, m_Image).GetSize(longer.GetIndex(name));
        // The norm of one channel, or of few pixels, is 0, and its gradient nothing but rounding.
        const Extent from = GetShape(inputs.front()).first;
        const bool   none = (drawn == "layer_norm" && longer.GetChannels().back() == 1) ||
                          (IsNorm(drawn) && GetNumberOfPixels(MakeWhole(from)) < 16);
        // LibTorch refuses windows of volumes that are greater than the map without its padding.
        const bool isLarge = m_Axes == 3 && (drawn == "max_pool3d" || drawn == "avg_pool3d") &&
                             *std::min_element(from.begin(), from.end()) < 3;
        if (*std::max_element(size.begin(), size.end()) > (m_Axes == 2 ? 120 : 16) ||
            longer.GetChannels().back() > (m_Axes == 2 ? 24 : 12) || none || isLarge)
        {
          continue;
        }
      }
      catch (const std::invalid_argument &)
      {
        continue;
      }
      m_Graph = longer;
      for (const std::string & input : inputs)
      {
        m_Unread.erase(std::remove(m_Unread.begin(), m_Unread.end(), input), m_Unread.end());
      }
      m_Maps.push_back(name);
      m_Unread.push_back(name);
      return;
    }
  }

  /** All maps that nobody reads go into the logits. */
  void
  Finish()
  {
    const std::string        input = m_Maps.front();
    std::vector<std::string> sized;
    for (const std::string & map : m_Unread)
    {
      sized.push_back(Append(
        m_Graph, "interpolate", { map, input }, { { "mode", ChooseWord({ "nearest", GetLinearMode(m_Graph) }) } }));
    }
    const std::string all = Append(m_Graph, "cat", sized);
    const auto        outputs = Whole(1, 3);
    const std::string last = AppendConvolution(m_Graph, all, outputs, 1 + 2 * Whole(0, 1), 0);
    const std::string logits = Append(m_Graph, "interpolate", { last, input });
    if (Chance())
    {
      Append(m_Graph, "affine", { logits });
    }
    m_Graph.Validate();
  }

  std::mt19937             m_Random;
  const int                m_Axes;
  Extent                   m_Image;
  std::vector<std::string> m_Types; ///< that are drawn
  NetworkGraph             m_Graph;
  std::vector<std::string> m_Maps;
  std::vector<std::string> m_Unread;
};

} // namespace test
} // namespace gigapixel

#endif
