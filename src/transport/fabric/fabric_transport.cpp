#include "transport/fabric/fabric_transport.hpp"

#include <algorithm>

#include "transport/fabric/fabric_pipe.hpp"
#include "transport/fabric/handshake.hpp"

namespace heddle::transport::fabric {

namespace {

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

}  // namespace

FabricTransport::FabricTransport(const base::Settings& settings,
                                 std::span<const std::string> allowed_interfaces)
    : FabricTransport(settings, choose_provider(settings, allowed_interfaces)) {}

FabricTransport::FabricTransport(const base::Settings& settings, const ChosenProvider& provider)
    : core_(std::make_shared<Core>(settings, provider)),
      handshake_(std::make_unique<Handshake>(*core_)) {
  core_->log_opening(provider);
}

FabricTransport::~FabricTransport() {
  const std::lock_guard lock(core_->mutex);
  if (core_->has_failover()) core_->log_rails();
  handshake_.reset();
}

void FabricTransport::add_secret(const CommunicatorId& communicator, const PipeSecret& secret) {
  const std::lock_guard lock(core_->mutex);
  handshake_->add_secret(communicator, secret);
}

void FabricTransport::remove_secret(const CommunicatorId& communicator) {
  const std::lock_guard lock(core_->mutex);
  handshake_->remove_secret(communicator);
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

std::unique_ptr<SendPipe> FabricTransport::connect(const std::string& peer, const PipeKey& key,
                                                   const PipeOptions& options) {
  const std::lock_guard lock(core_->mutex);
  SendConnection* const connection =
      handshake_->connect(parse_address(peer), {key, shape_of(*core_, options)});
  if (connection == nullptr) return nullptr;
  try {
    return std::make_unique<FabricSendPipe>(core_, *connection, options);
  } catch (const base::Error&) {  // no memory for the slots; the receiver gets a goodbye
    core_->retire(*connection, {});
    throw;
  }
}

std::unique_ptr<ReceivePipe> FabricTransport::accept(const std::string& peer, const PipeKey& key,
                                                     const PipeOptions& options) {
  const std::lock_guard lock(core_->mutex);
  ReceiveConnection* const connection =
      handshake_->accept(parse_address(peer), {key, shape_of(*core_, options)});
  if (connection == nullptr) return nullptr;
  try {
    return std::make_unique<FabricReceivePipe>(core_, *connection, options);
  } catch (const base::Error&) {
    core_->retire(*connection, {});
    throw;
  }
}

void FabricTransport::progress() {
  // Another thread that holds the lock makes the same progress, or will leave it in a moment.
  const std::unique_lock lock(core_->mutex, std::try_to_lock);
  if (lock.owns_lock()) core_->progress();
}

}  // namespace heddle::transport::fabric
