/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TestDevice.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/api/include/torch/version.h>
#include <torch/library.h>

#include <cstdlib>
#include <stdexcept>

namespace
{

/** No address of a process: whoever reads there ends. */
constexpr std::uintptr_t Elsewhere = std::uintptr_t{ 1 } << 62;

class Memory : public c10::Allocator
{
public:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr
  allocate(std::size_t bytes) override
  {
    return Allocate(bytes);
  }

  void
  copy_data(void *, const void *, std::size_t) const override
  {
    throw std::logic_error("memory of the test's device is copied by its copy_ alone");
  }
#else
  c10::DataPtr
  allocate(std::size_t bytes) const override
  {
    return Allocate(bytes);
  }
#endif

private:
  static c10::DataPtr
  Allocate(std::size_t bytes)
  {
    void * const real = bytes == 0 ? nullptr : std::malloc(bytes);
    void * const shown = real ? reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(real) + Elsewhere) : nullptr;
    return { shown, real, &std::free, c10::Device(c10::DeviceType::PrivateUse1, 0) };
  }
};

Memory memory;

constexpr c10::DispatchKeySet Keys(c10::DispatchKey::PrivateUse1);

/** The same values as a tensor of the CPU. */
at::Tensor
ToReal(const at::Tensor & tensor)
{
  if (tensor.is_cpu())
  {
    return tensor;
  }
  const auto shown = reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  void *     real = shown == 0 ? nullptr : reinterpret_cast<void *>(shown - Elsewhere);
  return at::from_blob(real, tensor.sizes(), tensor.strides(), at::TensorOptions().dtype(tensor.scalar_type()));
}

at::Tensor
ToDevice(const at::Tensor & tensor)
{
  return tensor.defined() ? tensor.to(at::Device(at::DeviceType::PrivateUse1, 0)) : tensor;
}

at::Tensor
Empty(at::IntArrayRef                 size,
      c10::optional<at::ScalarType>   type,
      c10::optional<at::Layout>       layout,
      c10::optional<at::Device>       device,
      c10::optional<bool>             pinned,
      c10::optional<at::MemoryFormat> format)
{
  (void)layout, (void)device, (void)pinned;
  return at::detail::empty_generic(size, &memory, Keys, type.value_or(at::kFloat), format);
}

at::Tensor
EmptyStrided(at::IntArrayRef               size,
             at::IntArrayRef               stride,
             c10::optional<at::ScalarType> type,
             c10::optional<at::Layout>     layout,
             c10::optional<at::Device>     device,
             c10::optional<bool>           pinned)
{
  (void)layout, (void)device, (void)pinned;
  return at::detail::empty_strided_generic(size, stride, &memory, Keys, type.value_or(at::kFloat));
}

at::Tensor &
Copy(at::Tensor & to, const at::Tensor & from, bool)
{
  ToReal(to).copy_(ToReal(from));
  return to;
}

/** What the fallback leaves in a tensor of the device. */
at::Tensor
CopyAndResize(const at::Tensor & from, const at::Tensor & to)
{
  if (from.sizes() == to.sizes())
  {
    ToReal(to).copy_(ToReal(from));
    return to;
  }
  const at::Tensor made = ToDevice(from.contiguous());
  to.unsafeGetTensorImpl()->set_storage_keep_dtype(made.storage());
  to.unsafeGetTensorImpl()->set_sizes_contiguous(made.sizes());
  return to;
}

at::Tensor
Convolve(const at::Tensor &                input,
         const at::Tensor &                weight,
         const c10::optional<at::Tensor> & bias,
         at::IntArrayRef                   stride,
         at::IntArrayRef                   padding,
         at::IntArrayRef                   dilation,
         bool                              transposed,
         at::IntArrayRef                   outputPadding,
         std::int64_t                      groups)
{
  if (bias && bias->defined())
  {
    throw std::logic_error("a convolution adds its bias itself");
  }
  return ToDevice(
    at::convolution(ToReal(input), ToReal(weight), {}, stride, padding, dilation, transposed, outputPadding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
ConvolveBackward(const at::Tensor &  gradient,
                 const at::Tensor &  input,
                 const at::Tensor &  weight,
                 at::IntArrayRef     stride,
                 at::IntArrayRef     padding,
                 at::IntArrayRef     dilation,
                 bool                transposed,
                 at::IntArrayRef     outputPadding,
                 std::int64_t        groups,
                 std::array<bool, 3> wanted)
{
  auto [ofInput, ofWeight, ofBias] = at::convolution_backward(ToReal(gradient),
                                                              ToReal(input),
                                                              ToReal(weight),
                                                              at::OptionalIntArrayRef(),
                                                              stride,
                                                              padding,
                                                              dilation,
                                                              transposed,
                                                              outputPadding,
                                                              groups,
                                                              wanted);
  return { ToDevice(ofInput), ToDevice(ofWeight), ToDevice(ofBias) };
}

void
CheckPlace(const at::Tensor & tensor, const std::string & name)
{
  // As on a GPU: one value of the CPU is taken as a number.
  if (tensor.defined() && tensor.is_cpu() && tensor.dim() > 0)
  {
    throw std::logic_error(name + " is given a tensor of the CPU beside those of the device");
  }
}

void
ComputeOnCopies(const c10::OperatorHandle & operation, torch::jit::Stack * stack)
{
  const std::string & name = operation.schema().name();
  if (name.find("mkldnn") != std::string::npos)
  {
    throw std::logic_error(name + " is an operator of the CPU");
  }
  for (const c10::IValue & value : torch::jit::last(*stack, operation.schema().arguments().size()))
  {
    if (value.isTensor())
    {
      CheckPlace(value.toTensor(), name);
    }
    else if (value.isTensorList())
    {
      for (const at::Tensor & tensor : value.toTensorVector())
      {
        CheckPlace(tensor, name);
      }
    }
  }
  at::native::cpu_fallback(operation, stack);
}

struct Guard : c10::impl::DeviceGuardImplInterface
{
  static constexpr c10::DeviceType static_type = c10::DeviceType::PrivateUse1;

  Guard() = default;
  explicit Guard(c10::DeviceType) {}

  c10::DeviceType
  type() const override
  {
    return static_type;
  }

  c10::Device
  exchangeDevice(c10::Device) const override
  {
    return getDevice();
  }

  c10::Device
  getDevice() const override
  {
    return { static_type, 0 };
  }

  void
  setDevice(c10::Device) const override
  {}

  void
  uncheckedSetDevice(c10::Device) const noexcept override
  {}

  c10::Stream
  getStream(c10::Device device) const noexcept override
  {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }

  c10::Stream
  exchangeStream(c10::Stream stream) const noexcept override
  {
    return stream;
  }

  c10::DeviceIndex
  deviceCount() const noexcept override
  {
    return 1;
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
  library.impl("empty.memory_format", &Empty);
  library.impl("empty_strided", &EmptyStrided);
  library.impl("copy_", &Copy);
  library.impl("_copy_from_and_resize", &CopyAndResize);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("unfold", &at::native::unfold);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("convolution_overrideable", &Convolve);
  library.impl("convolution_backward_overrideable", &ConvolveBackward);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library)
{
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&ComputeOnCopies>());
}

} // namespace
