/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelJoinGuard.h"
#include "gigapixelPackedDiagnostic.h"
#include "gigapixelRankWatch.h"

#include "gigapixelRanks.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <ATen/ATen.h>

#include <cstring>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr std::chrono::seconds JoinLimit{ 60 };
/** The watch ends what takes too long, not c10d. */
constexpr std::chrono::hours NoLimit{ 24 * 365 };

std::string
GetHostName()
{
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

/** The address by which this host reaches rank 0's: the one that the other ranks can reach, too. */
std::string
FindOwnAddress(const Launch & launch)
{
  addrinfo   wanted{};
  addrinfo * found = nullptr;
  wanted.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(launch.host.c_str(), std::to_string(launch.port).c_str(), &wanted, &found) != 0)
  {
    throw Refusal(Diagnostic("E-OPTION-VALUE",
                             "the host of rank 0, \"" + launch.host + "\", is not known here",
                             "check MASTER_ADDR")
                    .OfOption("MASTER_ADDR", launch.host));
  }
  // Connecting a datagram socket sends nothing: it only chooses the route.
  const int        connection = socket(found->ai_family, found->ai_socktype, 0);
  sockaddr_storage own{};
  socklen_t        length = sizeof(own);
  char             address[NI_MAXHOST] = "";
  const bool       known =
    connect(connection, found->ai_addr, found->ai_addrlen) == 0 &&
    getsockname(connection, reinterpret_cast<sockaddr *>(&own), &length) == 0 &&
    getnameinfo(reinterpret_cast<sockaddr *>(&own), length, address, sizeof(address), nullptr, 0, NI_NUMERICHOST) == 0;
  close(connection);
  freeaddrinfo(found);
  if (!known)
  {
    throw Refusal(Diagnostic("E-RANK-LOST", "there is no way from here to the host of rank 0, \"" + launch.host + "\"")
                    .OfValue(launch.host));
  }
  return address;
}

/** c10d's messages go on with a trace of calls. */
std::string
GetFirstLine(const std::exception & error)
{
  return { error.what(), std::strcspn(error.what(), "\n") };
}

c10::intrusive_ptr<c10d::TCPStore>
OpenStore(const Launch & launch)
{
  const JoinGuard       guard(launch, JoinLimit);
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(launch.port);
  options.isServer = launch.rank == 0;
  options.waitWorkers = false;
  options.timeout = JoinLimit;
  try
  {
    return c10::make_intrusive<c10d::TCPStore>(launch.host, options);
  }
  catch (const std::exception & error)
  {
    const std::string place = launch.host + ", port " + std::to_string(launch.port);
    const std::string what = GetFirstLine(error);
    throw Refusal(launch.rank == 0 ? Diagnostic("E-OPTION-VALUE",
                                                "rank 0 cannot listen at " + place + " (" + what + ")",
                                                "choose another MASTER_PORT, and let only one process have RANK 0")
                                       .OfOption("MASTER_PORT", std::to_string(launch.port))
                                   : Diagnostic("E-RANK-LOST",
                                                "rank 0 does not answer at " + place + " (" + what + ")",
                                                "check MASTER_ADDR and MASTER_PORT"));
  }
}

class TorchRanks : public Ranks
{
public:
  explicit TorchRanks(const Launch & launch)
    : m_Launch(launch)
    , m_Address(FindOwnAddress(launch))
    , m_Store(OpenStore(launch))
    , m_Watch(m_Store, launch, GetHostName(), JoinLimit)
  {
    const auto options = c10d::ProcessGroupGloo::Options::create(JoinLimit);
    options->threads = 1;
    try
    {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(m_Address));
      m_Group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", m_Store), launch.rank, launch.ranks, options);
    }
    catch (const std::exception & error)
    {
      throw Refusal(Diagnostic("E-RANK-LOST",
                               "the ranks have met, but " + m_Address + " and the others cannot be connected (" +
                                 GetFirstLine(error) + "): one of them ended, or a firewall lies between them"));
    }
    m_Watch.Start();
  }

  int
  GetRank() const override
  {
    return m_Launch.rank;
  }

  int
  GetNumberOfRanks() const override
  {
    return m_Launch.ranks;
  }

  void
  Send(int to, const void * bytes, std::size_t size) override
  {
    std::vector<at::Tensor> tensors{ Wrap(const_cast<void *>(bytes), size) };
    Wait(to, [&] { return m_Group->send(tensors, to, 0); });
  }

  void
  Receive(int from, void * bytes, std::size_t size) override
  {
    std::vector<at::Tensor> tensors{ Wrap(bytes, size) };
    Wait(from, [&] { return m_Group->recv(tensors, from, 0); });
  }

  void
  ReportProgress() override
  {
    m_Watch.ReportProgress();
  }

  void
  Stop() override
  {
    m_Watch.End("stopped", {});
  }

  void
  Fail(const std::string & reason) override
  {
    Diagnostic problem = UnpackDiagnostic(reason, "E-RANK-LOST");
    problem.why = "rank " + std::to_string(m_Launch.rank) + " on " + GetHostName() + " failed: " + problem.why;
    m_Watch.End("failed", PackDiagnostic(problem));
  }

private:
  static at::Tensor
  Wrap(void * bytes, std::size_t size)
  {
    return at::from_blob(bytes, { static_cast<std::int64_t>(size) }, at::TensorOptions(at::kByte));
  }

  template <typename TBegin>
  void
  Wait(int peer, const TBegin & begin)
  {
    std::string trouble;
    try
    {
      const auto work = begin();
      m_Watch.BeginWaiting([work] { work->abort(); });
      if (!work->wait(NoLimit))
      {
        trouble = "the transfer was aborted";
      }
    }
    catch (const std::exception & error)
    {
      trouble = GetFirstLine(error);
    }
    m_Watch.EndWaiting(peer, trouble);
  }

  Launch                                     m_Launch;
  std::string                                m_Address; ///< of this host; found before the store, which waits long
  c10::intrusive_ptr<c10d::TCPStore>         m_Store;
  RankWatch                                  m_Watch;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> m_Group;
};

} // namespace
} // namespace gigapixel

extern "C" __attribute__((visibility("default"))) gigapixel::Ranks *
GigapixelJoinRanks(const gigapixel::Launch * launch)
{
  return new gigapixel::TorchRanks(*launch);
}
