#include "transport/fabric/fabric_pipe.hpp"

namespace heddle::transport::fabric {

namespace {

// Before each slot of a send ring: room for the header of an eager message, so that header and
// payload leave as one piece; before one of the receiver's: for the message's length. The payload
// starts on a cache line.
constexpr std::size_t kHeadRoom = 64;
static_assert(kHeadRoom >= sizeof(Header) && kHeadRoom >= kLengthBytes);

}  // namespace

FabricSendPipe::FabricSendPipe(std::shared_ptr<Core> core, SendConnection& connection,
                               const PipeOptions& options)
    : core_(std::move(core)),
      connection_(connection),
      options_(options),
      ring_(core_->rails(),
            static_cast<std::size_t>(options.slots) * (kHeadRoom + options.slot_bytes),
            Access::send) {}

FabricSendPipe::~FabricSendPipe() {
  const std::lock_guard lock(core_->mutex);
  core_->retire(connection_, std::move(ring_));
}

std::byte* FabricSendPipe::slot(std::uint64_t sequence) const {
  const std::size_t index = sequence % static_cast<std::size_t>(options_.slots);
  return ring_.data() + index * (kHeadRoom + options_.slot_bytes) + kHeadRoom;
}

void FabricSendPipe::check_size(std::size_t bytes) const {
  if (bytes == 0 || bytes > options_.slot_bytes)
    base::fail(heddleInvalidUsage, "{}: a message of {} bytes; 1 to {} are allowed",
               connection_.label(), bytes, options_.slot_bytes);
}

std::byte* FabricSendPipe::acquire(std::size_t bytes) {
  check_size(bytes);
  const std::lock_guard lock(core_->mutex);
  if (!connection_.ready(bytes)) return nullptr;
  acquired_ = bytes;
  return slot(connection_.next());
}

void FabricSendPipe::commit(std::size_t bytes) {
  HEDDLE_ASSERT(bytes == acquired_ && bytes != 0, "{}: commit of {} bytes, acquired {}",
                connection_.label(), bytes, acquired_);
  const std::lock_guard lock(core_->mutex);
  acquired_ = 0;
  connection_.send(slot(connection_.next()), bytes, ring_);
}

std::optional<std::uint64_t> FabricSendPipe::send_from(const std::byte* data, std::size_t bytes) {
  check_size(bytes);
  if (!sends_in_place(bytes)) return std::nullopt;
  const std::lock_guard lock(core_->mutex);
  if (!connection_.ready(bytes)) return std::nullopt;
  acquired_ = 0;
  return connection_.send_unregistered(data, bytes);
}

bool FabricSendPipe::sent(std::uint64_t ticket) {
  const std::lock_guard lock(core_->mutex);
  return connection_.sent(ticket);
}

bool FabricSendPipe::flushed() {
  const std::lock_guard lock(core_->mutex);
  return connection_.flushed();
}

void FabricSendPipe::give_up() {
  const std::lock_guard lock(core_->mutex);
  connection_.fail(heddleAborted, "given up");
  core_->keep_driving();
}

bool FabricSendPipe::at_rest() {
  const std::lock_guard lock(core_->mutex);
  return connection_.at_rest();
}

FabricReceivePipe::FabricReceivePipe(std::shared_ptr<Core> core, ReceiveConnection& connection,
                                     const PipeOptions& options)
    : core_(std::move(core)),
      connection_(connection),
      options_(options),
      slots_(core_->rails(),
             static_cast<std::size_t>(options.slots) * (kHeadRoom + options.slot_bytes),
             core_->rma() ? Access::remote_write : Access::receive) {
  for (int i = 0; i < options.slots; ++i) post();
  connection_.flush();
}

FabricReceivePipe::~FabricReceivePipe() {
  const std::lock_guard lock(core_->mutex);
  core_->retire(connection_, std::move(slots_));
}

void FabricReceivePipe::post() {
  std::byte* const slot =
      slots_.data() + next_slot_ * (kHeadRoom + options_.slot_bytes) + kHeadRoom;
  connection_.post(slot, options_.slot_bytes, slots_);
  next_slot_ = (next_slot_ + 1) % static_cast<std::size_t>(options_.slots);
}

const std::byte* FabricReceivePipe::peek(std::size_t bytes) {
  const std::lock_guard lock(core_->mutex);
  return connection_.peek(bytes);
}

void FabricReceivePipe::release() {
  const std::lock_guard lock(core_->mutex);
  connection_.pop();
  post();
}

void FabricReceivePipe::give_up() {
  const std::lock_guard lock(core_->mutex);
  core_->keep_driving();
}

}  // namespace heddle::transport::fabric
