#include "transport/fabric/fabric_transport.hpp"

#include <sodium.h>

#include <algorithm>

#include "transport/fabric/fabric_pipe.hpp"
#include "transport/fabric/rail_choice.hpp"

namespace heddle::transport::fabric {

namespace {

void log_opening(const Core& core, const ChosenProvider& provider, const std::string& asked_rails) {
  const std::string fewer = fewer_rails(asked_rails, core.rails().size());
  if (!fewer.empty()) base::log_warn("{}", fewer);
  base::log_info("NET/OFI Selected Provider is {} (found {} nics)", core.shown_provider(),
                 provider.adapters.size());
  std::string rails;
  for (const auto& rail : core.rails()) {
    const Adapter& adapter = rail->adapter();
    rails += fmt::format("{}{}{}{}", rails.empty() ? "" : ", ", adapter.name,
                         adapter.pci.empty() ? "" : " at " + adapter.pci,
                         adapter.gigabits > 0 ? fmt::format(" {:g} Gb/s", adapter.gigabits) : "");
  }
  base::log_info("NET/OFI libfabric {}, protocol {}, {}, rails: {}", libfabric_version(),
                 provider.protocol, provider.rma ? "RDMA write" : "messages", rails);
}

void log_rails(const Core& core) {
  for (const RailMetrics& rail : core.rail_metrics())
    base::log_info(
        "NET/OFI rail {}: {} bytes sent, given up {} times, back {} times, {} new endpoints, {} "
        "registrations",
        rail.rail, rail.sent_bytes, rail.given_up, rail.came_back, rail.new_endpoints,
        rail.registrations);
}

std::string label_of(const PipeKey& key, const ProcessAddress& peer) {
  return fmt::format(
      "fabric pipe from rank {} to rank {}, channel {} (peer: process {} of host {})", key.from,
      key.to, key.channel, peer.pid, peer.host);
}

Shape shape_of(const Core& core, const PipeOptions& options) {
  if (options.slots < 4 || options.slots > static_cast<int>(kMaxWindow) || options.slot_bytes == 0)
    base::fail(heddleInvalidArgument,
               "a fabric pipe of {} slots of {} bytes; 4 to {} slots are "
               "allowed",
               options.slots, options.slot_bytes, kMaxWindow);
  if (options.slot_bytes > core.rail(0).max_message_bytes())
    base::fail(heddleInvalidArgument,
               "HEDDLE_SLOT_BYTES: {} is more than provider {} sends at once, "
               "{} bytes",
               options.slot_bytes, core.address().provider, core.rail(0).max_message_bytes());
  return {static_cast<std::uint32_t>(options.slots), static_cast<std::uint32_t>(core.eager_bytes()),
          options.slot_bytes};
}

Hello hello_for(const PipeKey& key, const Shape& shape, const SendConnection& connection,
                const Core& core, const PipeSecret& secret) {
  Hello hello{};
  hello.communicator = key.communicator;
  hello.from = key.from;
  hello.to = key.to;
  hello.channel = key.channel;
  hello.connection = connection.id();
  hello.token = connection.token();
  hello.rails = static_cast<std::uint32_t>(connection.peer().link_count());
  hello.shape = shape;
  hello.from_instance = core.address().instance;
  hello.to_instance = connection.peer().address.instance;
  randombytes_buf(hello.nonce.data(), hello.nonce.size());
  seal(hello, secret);
  return hello;
}

bool is_for(const Hello& hello, const PipeKey& key, std::uint64_t from_instance) {
  return hello.communicator == key.communicator && hello.from == key.from && hello.to == key.to &&
         hello.channel == key.channel && hello.from_instance == from_instance;
}

}  // namespace

FabricTransport::FabricTransport(const base::Settings& settings,
                                 std::span<const std::string> allowed_interfaces)
    : FabricTransport(settings, choose_provider(settings, allowed_interfaces)) {}

FabricTransport::FabricTransport(const base::Settings& settings, const ChosenProvider& provider)
    : core_(std::make_shared<Core>(settings, provider)) {
  log_opening(*core_, provider, settings.rails);
}

FabricTransport::~FabricTransport() {
  const std::lock_guard lock(core_->mutex);
  if (core_->has_failover()) log_rails(*core_);
  for (auto& [key, connection] : connecting_) give_up(*connection);
}

void FabricTransport::give_up(SendConnection& connection) {
  connection.fail(heddleAborted, "given up before it was connected");
  core_->retire(connection, {});
}

void FabricTransport::add_secret(const CommunicatorId& communicator, const PipeSecret& secret) {
  const std::lock_guard lock(core_->mutex);
  secrets_.add(communicator, secret);
}

void FabricTransport::remove_secret(const CommunicatorId& communicator) {
  const std::lock_guard lock(core_->mutex);
  if (!secrets_.remove(communicator)) return;
  for (auto entry = connecting_.begin(); entry != connecting_.end();) {
    if (entry->first.communicator != communicator) {
      ++entry;
      continue;
    }
    give_up(*entry->second);
    entry = connecting_.erase(entry);
  }
  std::erase_if(core_->hellos, [&](const Hello& h) { return h.communicator == communicator; });
}

const PipeSecret& FabricTransport::secret_of(const PipeKey& key) const {
  const PipeSecret* const secret = secrets_.of(key.communicator);
  if (secret == nullptr)
    base::fail(heddleInvalidUsage,
               "a fabric pipe from rank {} to rank {} is asked for before the secret of its "
               "communicator is known",
               key.from, key.to);
  return *secret;
}

std::string FabricTransport::description() const {
  std::string rails;
  for (const auto& rail : core_->rails())
    rails += (rails.empty() ? "" : ", ") + rail->adapter().name;
  return fmt::format("libfabric provider {}, rails: {}", core_->shown_provider(), rails);
}

std::string FabricTransport::address() const {
  const std::lock_guard lock(core_->mutex);
  return to_text(core_->address());
}

std::shared_ptr<const void> FabricTransport::register_buffer(std::byte* data, std::size_t bytes) {
  if (!core_->rail(0).needs_local_registration()) return nullptr;
  const std::lock_guard lock(core_->mutex);
  return UserBuffers::lease(core_, core_->user_buffers.add(core_->rails(), data, bytes));
}

void FabricTransport::renew_rail(int rail, const std::string& why) {
  const std::lock_guard lock(core_->mutex);
  if (!core_->has_failover() || rail < 0 || rail >= static_cast<int>(core_->rails().size()))
    base::fail(heddleInvalidArgument, "rail {} of {} cannot be given a new endpoint", rail,
               core_->rails().size());
  core_->renew(rail, why);
}

int FabricTransport::rails_to(const std::string& address) const {
  const ProcessAddress theirs = parse_address(address);
  if (!core_->rma() || !theirs.rma) return 1;
  return static_cast<int>(std::min(core_->rails().size(), theirs.rails.size()));
}

std::vector<RailMetrics> FabricTransport::rail_metrics() const {
  const std::lock_guard lock(core_->mutex);
  return core_->rail_metrics();
}

SendConnection& FabricTransport::start(const std::string& peer_text, const PipeKey& key,
                                       const PipeOptions& options) {
  const Shape shape = shape_of(*core_, options);
  const ProcessAddress address = parse_address(peer_text);
  Peer& peer = core_->peer(address);
  auto& connection = static_cast<SendConnection&>(
      core_->add(std::make_unique<SendConnection>(*core_, peer, label_of(key, address), shape)));
  connecting_.emplace(key, &connection);
  if (!peer.dead.empty()) connection.fail(heddleRemoteError, peer.dead);
  connection.send_hello(hello_for(key, shape, connection, *core_, secret_of(key)));
  return connection;
}

std::unique_ptr<SendPipe> FabricTransport::connect(const std::string& peer, const PipeKey& key,
                                                   const PipeOptions& options) {
  const std::lock_guard lock(core_->mutex);
  const PipeSecret& secret = secret_of(key);
  const auto known = connecting_.find(key);
  SendConnection& connection =
      known != connecting_.end() ? *known->second : start(peer, key, options);
  core_->progress();
  try {
    connection.check();
    const std::optional<Welcome> welcome = connection.take_welcome();
    if (!welcome) return nullptr;
    if (!sealed_by(*welcome, secret) || !connection.expects(*welcome)) {
      base::log_warn("NET/OFI {}: drops a welcome with a wrong secret", connection.label());
      return nullptr;
    }
    connection.open(*welcome);  // first: should the pipe fail, the receiver gets a goodbye
    auto pipe = std::make_unique<FabricSendPipe>(core_, connection, options);
    connecting_.erase(key);
    return pipe;
  } catch (const base::Error&) {
    give_up(connection);
    connecting_.erase(key);
    throw;
  }
}

std::unique_ptr<ReceivePipe> FabricTransport::accept(const std::string& peer_text,
                                                     const PipeKey& key,
                                                     const PipeOptions& options) {
  const std::lock_guard lock(core_->mutex);
  const PipeSecret& secret = secret_of(key);
  const Shape shape = shape_of(*core_, options);
  const ProcessAddress address = parse_address(peer_text);
  Peer& peer = core_->peer(address);
  core_->progress();
  if (!peer.dead.empty())
    base::fail(heddleRemoteError, "{}: {}", label_of(key, address), peer.dead);
  const auto place = std::ranges::find_if(
      core_->hellos, [&](const Hello& h) { return is_for(h, key, address.instance); });
  if (place == core_->hellos.end()) return nullptr;
  const Hello hello = *place;
  core_->hellos.erase(place);
  if (!sealed_by(hello, secret)) {
    base::log_warn("NET/OFI {}: drops a hello with a wrong secret", label_of(key, address));
    return nullptr;
  }
  auto& connection = static_cast<ReceiveConnection&>(core_->add(
      std::make_unique<ReceiveConnection>(*core_, peer, label_of(key, address), shape, hello)));
  const auto refuse = [&](const std::string& reason) {
    connection.refuse(reason);
    core_->retire(connection, {});
    base::fail(heddleRemoteError, "{}: {}", connection.label(), reason);
  };
  if (hello.shape.slots != shape.slots || hello.shape.slot_bytes != shape.slot_bytes)
    refuse(fmt::format("the sender has {} slots of {} bytes, the receiver {} of {}",
                       hello.shape.slots, hello.shape.slot_bytes, shape.slots, shape.slot_bytes));
  if (hello.rails != static_cast<std::uint32_t>(peer.link_count()))
    refuse(
        fmt::format("the sender counts {} rails, the receiver {}", hello.rails, peer.link_count()));
  Welcome welcome{connection.id(), connection.token(), shape, hello.nonce, {}};
  seal(welcome, secret);
  connection.send_welcome(welcome);
  try {
    return std::make_unique<FabricReceivePipe>(core_, connection, options);
  } catch (const base::Error&) {  // no memory for the slots
    core_->retire(connection, {});
    throw;
  }
}

void FabricTransport::progress() {
  // Another thread that holds the lock makes the same progress, or will leave it in a moment.
  const std::unique_lock lock(core_->mutex, std::try_to_lock);
  if (lock.owns_lock()) core_->progress();
}

}  // namespace heddle::transport::fabric
