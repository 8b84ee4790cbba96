#include "completions.hpp"

#include <cstring>
#include <mutex>
#include <thread>

#include "domain.hpp"
#include "errors.hpp"
#include "stubs.hpp"

namespace emulated_efa {

namespace {

CompletionQueue& queue_of(fid_cq* cq) { return *static_cast<CompletionQueue*>(cq); }

ssize_t read_from(fid_cq* cq, void* entries, std::size_t count, fi_addr_t* sources) {
  Domain& domain = queue_of(cq).domain();
  const std::lock_guard lock(domain.mutex);
  domain.progress();
  return queue_of(cq).read(entries, count, sources);
}

ssize_t read(fid_cq* cq, void* entries, std::size_t count) {
  return read_from(cq, entries, count, nullptr);
}

ssize_t wait_from(fid_cq* cq, void* entries, std::size_t count, fi_addr_t* sources, const void*,
                  int milliseconds) {
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    const ssize_t rc = read_from(cq, entries, count, sources);
    if (rc != -FI_EAGAIN || (milliseconds >= 0 && Clock::now() >= end)) return rc;
    std::this_thread::yield();
  }
}

ssize_t wait(fid_cq* cq, void* entries, std::size_t count, const void* condition,
             int milliseconds) {
  return wait_from(cq, entries, count, nullptr, condition, milliseconds);
}

ssize_t read_error(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t) {
  const std::lock_guard lock(queue_of(cq).domain().mutex);
  return queue_of(cq).read_error(*entry);
}

const char* error_text(fid_cq*, int status, const void*, char* buffer, std::size_t room) {
  if (buffer != nullptr && room > 0) std::snprintf(buffer, room, "%s", text_of(status));
  return text_of(status);
}

int close(fid* object) {
  auto* queue = static_cast<CompletionQueue*>(reinterpret_cast<fid_cq*>(object));
  Domain& domain = queue->domain();
  {
    const std::lock_guard lock(domain.mutex);
    if (queue->users > 0) return -FI_EBUSY;
    --domain.children;
  }
  delete queue;
  return 0;
}

fi_ops fid_operations = {.size = sizeof(fi_ops),
                         .close = close,
                         .bind = unsupported,
                         .control = unsupported,
                         .ops_open = unsupported,
                         .tostr = unsupported,
                         .ops_set = unsupported};
fi_ops_cq queue_operations = {.size = sizeof(fi_ops_cq),
                              .read = read,
                              .readfrom = read_from,
                              .readerr = read_error,
                              .sread = wait,
                              .sreadfrom = wait_from,
                              .signal = unsupported,
                              .strerror = error_text};

int close_event_queue(fid* object) {
  delete reinterpret_cast<fid_eq*>(object);
  return 0;
}
ssize_t no_event(fid_eq*, std::uint32_t*, void*, std::size_t, std::uint64_t) { return -FI_EAGAIN; }
ssize_t no_event_error(fid_eq*, fi_eq_err_entry*, std::uint64_t) { return -FI_EAGAIN; }
ssize_t no_event_ever(fid_eq*, std::uint32_t*, void*, std::size_t, int milliseconds,
                      std::uint64_t) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::max(milliseconds, 0)));
  return -FI_EAGAIN;
}
const char* event_error_text(fid_eq*, int status, const void*, char*, std::size_t) {
  return text_of(status);
}

fi_ops event_fid_operations = {.size = sizeof(fi_ops),
                               .close = close_event_queue,
                               .bind = unsupported,
                               .control = unsupported,
                               .ops_open = unsupported,
                               .tostr = unsupported,
                               .ops_set = unsupported};
fi_ops_eq event_operations = {.size = sizeof(fi_ops_eq),
                              .read = no_event,
                              .readerr = no_event_error,
                              .write = unsupported,
                              .sread = no_event_ever,
                              .strerror = event_error_text};

std::size_t entry_bytes(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED: return sizeof(fi_cq_tagged_entry);
    default: return sizeof(fi_cq_entry);
  }
}

}  // namespace

CompletionQueue::CompletionQueue(Domain& domain, const fi_cq_attr& attributes, void* context)
    : domain_(domain),
      format_(attributes.format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attributes.format),
      room_(attributes.size == 0 ? 8192 : attributes.size) {
  fid = {FI_CLASS_CQ, context, &fid_operations};
  ops = &queue_operations;
}

int CompletionQueue::open(Domain& domain, const fi_cq_attr* attributes, void* context,
                          fid_cq** opened) {
  const fi_cq_attr defaults{};
  const fi_cq_attr& wanted = attributes == nullptr ? defaults : *attributes;
  if (wanted.wait_obj != FI_WAIT_NONE && wanted.wait_obj != FI_WAIT_UNSPEC) return -FI_ENOSYS;
  *opened = new CompletionQueue(domain, wanted, context);
  const std::lock_guard lock(domain.mutex);
  ++domain.children;
  return 0;
}

void CompletionQueue::push(const Completion& completion) {
  if (ready_.size() < room_) {
    ready_.push_back(completion);
  } else if (!overrun_) {
    overrun_ = true;
    push_error({}, kFine, FI_EOVERRUN);
  }
}

void CompletionQueue::push_error(const Completion& c, int status, int error, std::size_t cut) {
  Failure failure{};
  fi_cq_err_entry& entry = failure.entry;
  entry.op_context = c.context;
  entry.flags = c.flags;
  entry.len = c.bytes;
  entry.buf = c.buffer;
  entry.data = c.data;
  entry.tag = c.tag;
  entry.olen = cut;
  entry.err = error;
  entry.prov_errno = status;
  failure.text = domain_.name() + ": " + (status != kFine ? text_of(status) : fi_strerror(error));
  failures_.push_back(std::move(failure));
}

long CompletionQueue::read(void* entries, std::size_t count, fi_addr_t* sources) {
  if (!failures_.empty()) return -FI_EAVAIL;
  if (ready_.empty()) return -FI_EAGAIN;
  auto* to = static_cast<std::byte*>(entries);
  std::size_t taken = 0;
  // The formats are prefixes of one another.
  for (; taken < count && !ready_.empty(); ++taken, to += entry_bytes(format_)) {
    const Completion& c = ready_.front();
    const fi_cq_tagged_entry entry{c.context, c.flags, c.bytes, c.buffer, c.data, c.tag};
    std::memcpy(to, &entry, entry_bytes(format_));
    if (sources != nullptr) sources[taken] = c.source;
    ready_.pop_front();
  }
  return static_cast<long>(taken);
}

long CompletionQueue::read_error(fi_cq_err_entry& entry) {
  if (failures_.empty()) return -FI_EAGAIN;
  void* const room = entry.err_data;
  const std::size_t bytes = entry.err_data_size;
  entry = failures_.front().entry;
  last_text_ = std::move(failures_.front().text);
  failures_.pop_front();
  if (bytes == 0) {  // the caller borrows ours
    entry.err_data = last_text_.data();
    entry.err_data_size = last_text_.size() + 1;
  } else {
    entry.err_data = room;
    entry.err_data_size = std::min(bytes, last_text_.size() + 1);
    std::memcpy(room, last_text_.c_str(), entry.err_data_size);
  }
  return 1;
}

int open_event_queue(fid_fabric*, fi_eq_attr*, fid_eq** opened, void* context) {
  auto* queue = new fid_eq{};
  queue->fid = {FI_CLASS_EQ, context, &event_fid_operations};
  queue->ops = &event_operations;
  *opened = queue;
  return 0;
}

}  // namespace emulated_efa
