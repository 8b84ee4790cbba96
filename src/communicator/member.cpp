#include "communicator/member.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "communicator/secret.hpp"
#include "communicator/tcp.hpp"
#include "communicator/verdict.hpp"

namespace heddle::communicator {
namespace {

constexpr double kBeatSeconds = 0.5;
// The root says first who is missing; a rank waits so much longer to hear it.
constexpr base::Seconds kGrace{1.0};

std::string join_all(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

}  // namespace

Member::Member(const JoinRequest& request, const std::string& text, std::vector<std::string>& table)
    : what_(fmt::format("joining at {} as rank {} of {}", join_all(request.root.addresses),
                        request.rank, request.ranks)),
      deadline_(request.timeout + kGrace),
      ranks_(request.ranks),
      stream_(connect_tcp(request.root.addresses, base::Deadline(request.timeout)),
              kLargestText * static_cast<std::size_t>(request.ranks)) {
  const Secret& secret = request.root.secret;
  const std::string nonce(as_text(random_secret()));
  stream_.send_all(whole_message(Hello{.nonce = nonce}), deadline_, what_);
  const Message message = answer();
  // Before all else: the rest of another version's challenge may be anything.
  const std::uint32_t version = message.kind == Kind::challenge ? Reader(message.payload).u32() : 0;
  if (version != kProtocolVersion)
    base::fail(heddleRemoteError,
               "{}: what answers there is no Heddle root of protocol version {} (it says {})",
               what_, kProtocolVersion, version);
  const auto challenge = decode<Challenge>(message.payload);
  const std::string nonces = nonce + challenge.nonce;
  if (!same_proof(challenge.proof, proof(secret, "root", nonces)))
    base::fail(heddleRemoteError, "{}: the root does not know this communicator's secret", what_);
  root_host_ = challenge.host;
  root_pid_ = challenge.pid;
  name_root(-1, fmt::format("the process on host {} (pid {})", root_host_, root_pid_));
  const Join join{.proof = proof(secret, "rank", nonces),
                  .rank = request.rank,
                  .ranks = request.ranks,
                  .host = request.host_name,
                  .pid = static_cast<std::uint32_t>(getpid()),
                  .timeout_ms = static_cast<std::uint32_t>(request.timeout.count() * 1000),
                  .text = text};
  stream_.send_all(whole_message(join), deadline_, what_);
  table = receive_table();
}

Message Member::answer() {
  Message message = stream_.receive(deadline_, what_);
  if (message.kind != Kind::failure) return message;
  const auto failure = decode<Failure>(message.payload);
  throw base::Error(failure.code, failure.text);
}

std::vector<std::string> Member::receive_table() {
  const Message message = answer();
  if (message.kind != Kind::table)
    base::fail(heddleRemoteError, "{}: the root sent something unexpected", what_);
  auto table = decode<Table>(message.payload).texts;
  if (table.size() != static_cast<std::size_t>(ranks_))
    base::fail(heddleRemoteError, "{}: the root counts {} ranks", what_, table.size());
  return table;
}

std::vector<std::string> Member::exchange(const std::string& text) {
  stream_.send_all(whole_message(Exchange{text}), deadline_, what_);
  return receive_table();
}

void Member::give_up_before_watch(heddleResult_t code, const std::string& text) {
  // Best effort: the root notices a closed connection too, it only knows less then.
  stream_.send(GiveUp{code, text});
}

void Member::add_to(std::vector<pollfd>& poll_set) { poll_set.push_back(stream_.to_poll()); }

void Member::serve() {
  if (finished_) return;
  bool alive = stream_.fill();
  try {
    while (const auto message = stream_.next()) handle(*message);
  } catch (const base::Error& error) {
    base::log_error("{}", error.what());
    alive = false;
  }
  std::vector<WholeMessage> outbox;
  bool closing = false;
  {
    const std::lock_guard lock(mutex_);
    outbox.swap(outbox_);
    closing = closing_;
  }
  for (auto& message : outbox) alive = stream_.send(std::move(message)) && alive;
  if (!closing && base::seconds_since(last_beat_) > kBeatSeconds) {
    last_beat_ = base::Clock::now();
    alive = stream_.send(Heartbeat{started_, stands_still_, waits_for_}) && alive;
    if ((stands_still_ || leaving_) && silent_seconds(stream_.fd()) > kVanishedSeconds)
      fail({root_rank_, heddleRemoteError,
            fmt::format("{}, where the root of the communicator runs, {}", root_name_, kVanished)});
  }
  alive = stream_.flush() && alive;
  if (!alive && !closing)
    fail({root_rank_, heddleRemoteError,
          fmt::format("{}, where the root of the communicator runs, died, or the connection to it "
                      "broke",
                      root_name_)});
  if (!alive || (closing && !stream_.wants_to_write())) {
    {
      const std::lock_guard lock(mutex_);
      stream_ = MessageStream(base::UniqueFd());
      finished_ = true;
    }
    changed_.notify_all();
  }
}

void Member::handle(const Message& message) {
  if (message.kind == Kind::failure) {
    fail(decode<Failure>(message.payload));
  } else if (message.kind == Kind::all_left) {
    const std::lock_guard lock(mutex_);
    all_left_ = true;
    changed_.notify_all();
  } else if (message.kind == Kind::agreed) {
    agreed_ = decode<Agreed>(message.payload).operation;
  } else if (message.kind != Kind::heartbeat) {
    base::fail(heddleRemoteError, "unexpected control message from the root");
  }
}

void Member::fail(Failure failure) {
  const std::lock_guard lock(mutex_);
  // Once all have left, the root may close first.
  if (failed_ || all_left_) return;
  failure_ = std::move(failure);
  failed_ = true;
  changed_.notify_all();
}

Failure Member::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Member::queue(WholeMessage message) {
  {
    const std::lock_guard lock(mutex_);
    outbox_.push_back(std::move(message));
  }
  ControlService::instance().wake();
}

void Member::calls(std::uint64_t operation, const std::string& lines) {
  queue(whole_message(Calls{operation, lines}));
}

void Member::report_stuck(std::uint64_t operation, int waits_for, const std::string& text) {
  queue(whole_message(Stuck{operation, waits_for, text}));
}

void Member::give_up(heddleResult_t code, const std::string& text) {
  queue(whole_message(GiveUp{code, text}));
}

bool Member::leave(base::Seconds time) {
  leaving_ = true;
  queue(whole_message(Leave{started_}));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return all_left_ || failed_ || finished_; });
  return all_left_;
}

void Member::name_root(int rank, std::string name) {
  root_rank_ = rank;
  root_name_ = std::move(name);
}

void Member::close(base::Seconds time) {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  ControlService::instance().wake();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return finished_.load(); });
}

}  // namespace heddle::communicator
