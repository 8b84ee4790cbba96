#include "transport/fabric/messages.hpp"

namespace heddle::transport::fabric {

namespace {

// Credits of receives so short that a sender can do without them, up to kMostAhead, are sent in
// company; also when nothing has come for so many looks, for nothing else may be sent for long.
constexpr std::uint32_t kCompany = 4;
constexpr std::uint32_t kLooksBeforeCredits = 4096;
static_assert(kCompany <= kMostAhead);

// Longest message that is copied: it shares its buffer with an Ahead.
std::size_t longest_copy(const Shape& shape) {
  return shape.eager_bytes > sizeof(Ahead) ? shape.eager_bytes - sizeof(Ahead) : 0;
}

// Tells the other end too.
[[noreturn]] void refuse_length(Connection& connection, std::size_t bytes, std::uint64_t receive,
                                std::size_t room) {
  const std::string what =
      fmt::format("a message of {} bytes is longer than its receive {}, which has room for {}",
                  bytes, receive, room);
  connection.fail_both(heddleInvalidUsage, what);
  connection.check();
  base::fail(heddleInternalError, "{}: {}", connection.label(), what);  // check throws
}

}  // namespace

MessageMemory::MessageMemory(std::shared_ptr<Core> core, std::byte* data, std::size_t bytes,
                             Access access, const MemoryOwner& owner)
    : core_(std::move(core)), data_(data), bytes_(bytes), owner_(owner) {
  const std::lock_guard lock(core_->mutex);
  const bool written = access == Access::remote_write;
  if (!written && owner.is_host() && !core_->rail(0).needs_local_registration()) return;
  for (const auto& rail : core_->rails())
    regions_.push_back(rail->register_memory(data, bytes, access, owner));
}

MessageMemory::~MessageMemory() {
  const std::lock_guard lock(core_->mutex);
  regions_.clear();
}

std::uint64_t MessageMemory::remote_address(const std::byte* at) const {
  return core_->rail(0).uses_virtual_addresses() ? reinterpret_cast<std::uint64_t>(at)
                                                 : static_cast<std::uint64_t>(at - data_);
}

MessageSender::MessageSender(std::shared_ptr<Core> core, SendConnection& connection)
    : core_(std::move(core)), connection_(connection) {
  connection_.write_once();
}

MessageSender::~MessageSender() {
  const std::lock_guard lock(core_->mutex);
  core_->retire(connection_, {});
}

void MessageSender::on_placed(std::uint64_t receive, const SendMatcher::Ahead& ahead) {
  if (const std::size_t room = connection_.grants().at(receive)->bytes; ahead.bytes > room)
    refuse_length(connection_, ahead.bytes, receive, room);
  connection_.use(receive);
}

void MessageSender::learn_credits() {
  while (learnt_ < connection_.grants().known()) {
    const Credit credit = *connection_.grants().at(learnt_);
    ++learnt_;
    matcher_.add(credit.tag, credit.after,
                 [&](std::uint64_t receive, const auto& ahead) { on_placed(receive, ahead); });
  }
}

std::optional<MessageSender::Sent> MessageSender::send(const std::byte* data, std::size_t bytes,
                                                       int tag, const MessageMemory* memory) {
  const std::lock_guard lock(core_->mutex);
  connection_.check();
  learn_credits();
  std::uint64_t receive = 0;
  SendMatcher::Answer answer = matcher_.ask(tag, receive);
  if (answer != SendMatcher::Answer::into) {
    core_->progress();
    connection_.check();
    learn_credits();
    answer = matcher_.ask(tag, receive);
  }
  const bool small = bytes == 0 || (memory->is_host() && core_->rma() &&
                                    bytes <= longest_copy(connection_.shape()));
  if (answer == SendMatcher::Answer::into) {
    if (const std::size_t room = connection_.grants().at(receive)->bytes; bytes > room)
      refuse_length(connection_, bytes, receive, room);
    if (!connection_.is_free(receive)) return std::nullopt;
    connection_.went_on();
    Sent sent{small && core_->rma(), receive};
    if (sent.copied)
      sent.number = connection_.send_copy_into(receive, data, bytes);
    else
      connection_.send_into(receive, data, bytes, memory == nullptr ? nullptr : memory->regions());
    matcher_.sent_into(receive, [&](std::uint64_t to, const auto& ahead) { on_placed(to, ahead); });
    return sent;
  }
  if (answer == SendMatcher::Answer::ahead && small && core_->rma() &&
      matcher_.ahead() < kMostAhead) {
    const std::uint64_t first = matcher_.sent_ahead(tag, bytes);
    const Ahead ahead{ahead_++, static_cast<std::uint32_t>(first)};
    return Sent{true, connection_.send_ahead(ahead, tag, data, bytes)};
  }
  connection_.waited();
  return std::nullopt;
}

bool MessageSender::has_left(const Sent& sent) {
  const std::lock_guard lock(core_->mutex);
  const auto left = [&] {
    return sent.copied ? connection_.copy_left(sent.number) : connection_.left(sent.number);
  };
  if (left()) return true;
  core_->progress();
  if (left()) return true;
  connection_.check();
  connection_.waited();
  return false;
}

bool MessageSender::has_failed() const {
  const std::lock_guard lock(core_->mutex);
  return connection_.failed();
}

void MessageSender::give_up() {
  const std::lock_guard lock(core_->mutex);
  connection_.fail_both(heddleAborted, "the sender gave up");
  core_->keep_driving();
}

bool MessageSender::at_rest() {
  const std::lock_guard lock(core_->mutex);
  core_->progress();
  return connection_.at_rest();
}

MessageReceiver::MessageReceiver(std::shared_ptr<Core> core, ReceiveConnection& connection)
    : core_(std::move(core)), connection_(connection), posted_(connection.shape().slots) {
  connection_.choose_by_tag();
}

MessageReceiver::~MessageReceiver() {
  const std::lock_guard lock(core_->mutex);
  core_->retire(connection_, {});
}

std::optional<std::uint64_t> MessageReceiver::receive(std::span<const Buffer> buffers) {
  const std::lock_guard lock(core_->mutex);
  connection_.check();
  take_arrivals();
  if (connection_.posted() + buffers.size() > connection_.popped() + posted_.size())
    return std::nullopt;
  const std::size_t copied = longest_copy(connection_.shape());
  bool wanted = false;
  auto after = static_cast<std::uint32_t>(buffers.size());
  for (const Buffer& buffer : buffers) {
    posted_[connection_.posted() % posted_.size()] = {buffer.data, buffer.bytes, buffer.received};
    const MessageMemory* const memory = buffer.memory;
    connection_.post({buffer.data, buffer.bytes,
                      memory == nullptr ? 0 : memory->remote_address(buffer.data),
                      memory == nullptr ? nullptr : memory->regions(), buffer.tag, --after});
    wanted = wanted || buffer.bytes > copied || !core_->rma();
  }
  if (wanted || connection_.pending_credits() >= kCompany) connection_.flush();
  return connection_.posted() - 1;
}

void MessageReceiver::take(const Arrivals::Arrival& arrival) {
  const std::uint64_t receive = connection_.popped();
  const Posted& posted = posted_[receive % posted_.size()];
  const bool told = arrival.data != nullptr || arrival.bytes != 0 || !core_->rma();
  const std::size_t bytes = told ? arrival.bytes : posted.bytes;
  if (bytes > posted.bytes) refuse_length(connection_, bytes, receive, posted.bytes);
  if (arrival.data != nullptr && bytes != 0) std::memcpy(posted.data, arrival.data, bytes);
  *posted.received = bytes;
  connection_.pop();
}

void MessageReceiver::take_arrivals() {
  while (const Arrivals::Arrival* arrival = given_up_ ? nullptr : connection_.front())
    take(*arrival);
}

bool MessageReceiver::has_come(std::uint64_t ticket) {
  const std::lock_guard lock(core_->mutex);
  if (connection_.popped() > ticket) return true;
  core_->progress();
  take_arrivals();
  if (connection_.popped() > ticket) {
    connection_.went_on();
    idle_ = 0;
    return true;
  }
  connection_.check_comes();
  if (++idle_ % kLooksBeforeCredits == 0) connection_.flush();
  connection_.waited();
  return false;
}

bool MessageReceiver::has_failed() const {
  const std::lock_guard lock(core_->mutex);
  return connection_.failed();
}

void MessageReceiver::give_up() {
  const std::lock_guard lock(core_->mutex);
  given_up_ = true;
  connection_.fail_both(heddleAborted, "the receiver gave up");
  core_->keep_driving();
}

bool MessageReceiver::at_rest() {
  const std::lock_guard lock(core_->mutex);
  core_->progress();
  return connection_.at_rest();
}

}  // namespace heddle::transport::fabric
