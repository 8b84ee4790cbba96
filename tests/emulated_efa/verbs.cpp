// libfabric's tables of an endpoint: every verb becomes a Post or a PostedReceive.
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <mutex>

#include "endpoint.hpp"
#include "stubs.hpp"

namespace emulated_efa {

namespace {

Endpoint& endpoint_of(fid* object) {
  return *static_cast<Endpoint*>(reinterpret_cast<fid_ep*>(object));
}
Endpoint& endpoint_of(fid_ep* object) { return *static_cast<Endpoint*>(object); }

// More pieces than there is room for are refused as such: the count alone tells.
Pieces pieces_of(const iovec* iov, void** desc, std::size_t count) {
  Pieces pieces;
  pieces.count = count;
  for (std::size_t i = 0; i < std::min(count, kMaxPieces); ++i) {
    pieces.iov[i] = iov[i];
    pieces.desc[i] = desc == nullptr ? nullptr : desc[i];
  }
  return pieces;
}

Pieces one_piece(const void* buffer, std::size_t bytes, void* desc) {
  const iovec piece{const_cast<void*>(buffer), bytes};
  return pieces_of(&piece, &desc, 1);
}

long post(fid_ep* object, Post what, std::optional<std::uint64_t> flags = {}) {
  if (what.pieces.count > kMaxPieces) return -FI_EINVAL;
  Endpoint& endpoint = endpoint_of(object);
  const std::lock_guard lock(endpoint.domain().mutex);
  what.flags = flags.value_or(endpoint.op_flags());
  return endpoint.post(std::move(what));
}

long post_receive(fid_ep* object, const PostedReceive& what) {
  if (what.pieces.count > kMaxPieces) return -FI_EINVAL;
  Endpoint& endpoint = endpoint_of(object);
  const std::lock_guard lock(endpoint.domain().mutex);
  return endpoint.post_receive(what);
}

std::optional<std::uint64_t> immediate_of(std::uint64_t data, std::uint64_t flags) {
  return (flags & FI_REMOTE_CQ_DATA) != 0 ? std::optional(data) : std::nullopt;
}

// Messages.
ssize_t recv(fid_ep* ep, void* buffer, size_t bytes, void* desc, fi_addr_t from, void* context) {
  return post_receive(ep, {.tagged = false,
                           .pieces = one_piece(buffer, bytes, desc),
                           .from = from,
                           .context = context});
}
ssize_t recvv(fid_ep* ep, const iovec* iov, void** desc, size_t count, fi_addr_t from,
              void* context) {
  return post_receive(
      ep,
      {.tagged = false, .pieces = pieces_of(iov, desc, count), .from = from, .context = context});
}
ssize_t recvmsg(fid_ep* ep, const fi_msg* msg, std::uint64_t) {
  return recvv(ep, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->context);
}
ssize_t sendv(fid_ep* ep, const iovec* iov, void** desc, size_t count, fi_addr_t to,
              void* context) {
  return post(ep, {.kind = Kind::send,
                   .pieces = pieces_of(iov, desc, count),
                   .to = to,
                   .immediate = {},
                   .context = context});
}
ssize_t send(fid_ep* ep, const void* buffer, size_t bytes, void* desc, fi_addr_t to,
             void* context) {
  const iovec piece{const_cast<void*>(buffer), bytes};
  return sendv(ep, &piece, &desc, 1, to, context);
}
ssize_t sendmsg(fid_ep* ep, const fi_msg* msg, std::uint64_t flags) {
  return post(ep,
              {.kind = Kind::send,
               .pieces = pieces_of(msg->msg_iov, msg->desc, msg->iov_count),
               .to = msg->addr,
               .immediate = immediate_of(msg->data, flags),
               .context = msg->context},
              flags);
}
ssize_t senddata(fid_ep* ep, const void* buffer, size_t bytes, void* desc, std::uint64_t data,
                 fi_addr_t to, void* context) {
  return post(ep, {.kind = Kind::send,
                   .pieces = one_piece(buffer, bytes, desc),
                   .to = to,
                   .immediate = data,
                   .context = context});
}
ssize_t inject(fid_ep* ep, const void* buffer, size_t bytes, fi_addr_t to) {
  return post(ep, {.kind = Kind::send,
                   .pieces = one_piece(buffer, bytes, nullptr),
                   .to = to,
                   .immediate = {},
                   .inject = true});
}
ssize_t injectdata(fid_ep* ep, const void* buffer, size_t bytes, std::uint64_t data, fi_addr_t to) {
  return post(ep, {.kind = Kind::send,
                   .pieces = one_piece(buffer, bytes, nullptr),
                   .to = to,
                   .immediate = data,
                   .inject = true});
}

// Tagged messages.
ssize_t trecvv(fid_ep* ep, const iovec* iov, void** desc, size_t count, fi_addr_t from,
               std::uint64_t tag, std::uint64_t ignore, void* context) {
  return post_receive(ep, {.tagged = true,
                           .pieces = pieces_of(iov, desc, count),
                           .from = from,
                           .tag = tag,
                           .ignore = ignore,
                           .context = context});
}
ssize_t trecv(fid_ep* ep, void* buffer, size_t bytes, void* desc, fi_addr_t from, std::uint64_t tag,
              std::uint64_t ignore, void* context) {
  const iovec piece{buffer, bytes};
  return trecvv(ep, &piece, &desc, 1, from, tag, ignore, context);
}
ssize_t trecvmsg(fid_ep* ep, const fi_msg_tagged* msg, std::uint64_t flags) {
  if ((flags & (FI_PEEK | FI_CLAIM)) != 0) return -FI_EOPNOTSUPP;
  return trecvv(ep, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->tag, msg->ignore,
                msg->context);
}
ssize_t tsendv(fid_ep* ep, const iovec* iov, void** desc, size_t count, fi_addr_t to,
               std::uint64_t tag, void* context) {
  return post(ep, {.kind = Kind::tagged,
                   .pieces = pieces_of(iov, desc, count),
                   .to = to,
                   .tag = tag,
                   .immediate = {},
                   .context = context});
}
ssize_t tsend(fid_ep* ep, const void* buffer, size_t bytes, void* desc, fi_addr_t to,
              std::uint64_t tag, void* context) {
  const iovec piece{const_cast<void*>(buffer), bytes};
  return tsendv(ep, &piece, &desc, 1, to, tag, context);
}
ssize_t tsendmsg(fid_ep* ep, const fi_msg_tagged* msg, std::uint64_t flags) {
  return post(ep,
              {.kind = Kind::tagged,
               .pieces = pieces_of(msg->msg_iov, msg->desc, msg->iov_count),
               .to = msg->addr,
               .tag = msg->tag,
               .immediate = immediate_of(msg->data, flags),
               .context = msg->context},
              flags);
}
ssize_t tsenddata(fid_ep* ep, const void* buffer, size_t bytes, void* desc, std::uint64_t data,
                  fi_addr_t to, std::uint64_t tag, void* context) {
  return post(ep, {.kind = Kind::tagged,
                   .pieces = one_piece(buffer, bytes, desc),
                   .to = to,
                   .tag = tag,
                   .immediate = data,
                   .context = context});
}
ssize_t tinject(fid_ep* ep, const void* buffer, size_t bytes, fi_addr_t to, std::uint64_t tag) {
  return post(ep, {.kind = Kind::tagged,
                   .pieces = one_piece(buffer, bytes, nullptr),
                   .to = to,
                   .tag = tag,
                   .immediate = {},
                   .inject = true});
}
ssize_t tinjectdata(fid_ep* ep, const void* buffer, size_t bytes, std::uint64_t data, fi_addr_t to,
                    std::uint64_t tag) {
  return post(ep, {.kind = Kind::tagged,
                   .pieces = one_piece(buffer, bytes, nullptr),
                   .to = to,
                   .tag = tag,
                   .immediate = data,
                   .inject = true});
}

// RDMA writes.
Post write_of(const Pieces& pieces, fi_addr_t to, std::uint64_t remote, std::uint64_t key,
              std::optional<std::uint64_t> immediate, void* context, bool inject = false) {
  return {.kind = Kind::write,
          .pieces = pieces,
          .to = to,
          .remote = remote,
          .key = key,
          .immediate = immediate,
          .context = context,
          .inject = inject};
}
ssize_t writev(fid_ep* ep, const iovec* iov, void** desc, size_t count, fi_addr_t to,
               std::uint64_t remote, std::uint64_t key, void* context) {
  return post(ep, write_of(pieces_of(iov, desc, count), to, remote, key, {}, context));
}
ssize_t write(fid_ep* ep, const void* buffer, size_t bytes, void* desc, fi_addr_t to,
              std::uint64_t remote, std::uint64_t key, void* context) {
  return post(ep, write_of(one_piece(buffer, bytes, desc), to, remote, key, {}, context));
}
ssize_t writemsg(fid_ep* ep, const fi_msg_rma* msg, std::uint64_t flags) {
  if (msg->rma_iov_count != 1) return -FI_EINVAL;
  return post(
      ep,
      write_of(pieces_of(msg->msg_iov, msg->desc, msg->iov_count), msg->addr, msg->rma_iov->addr,
               msg->rma_iov->key, immediate_of(msg->data, flags), msg->context),
      flags);
}
ssize_t inject_write(fid_ep* ep, const void* buffer, size_t bytes, fi_addr_t to,
                     std::uint64_t remote, std::uint64_t key) {
  return post(ep, write_of(one_piece(buffer, bytes, nullptr), to, remote, key, {}, nullptr, true));
}
ssize_t writedata(fid_ep* ep, const void* buffer, size_t bytes, void* desc, std::uint64_t data,
                  fi_addr_t to, std::uint64_t remote, std::uint64_t key, void* context) {
  return post(ep, write_of(one_piece(buffer, bytes, desc), to, remote, key, data, context));
}
ssize_t inject_writedata(fid_ep* ep, const void* buffer, size_t bytes, std::uint64_t data,
                         fi_addr_t to, std::uint64_t remote, std::uint64_t key) {
  return post(ep,
              write_of(one_piece(buffer, bytes, nullptr), to, remote, key, data, nullptr, true));
}

// Life.
int close(fid* object) {
  delete &endpoint_of(object);
  return 0;
}
int bind(fid* object, fid* other, std::uint64_t flags) {
  const std::lock_guard lock(endpoint_of(object).domain().mutex);
  return endpoint_of(object).bind(other, flags);
}
int control(fid* object, int command, void*) {
  if (command != FI_ENABLE) return -FI_ENOSYS;
  const std::lock_guard lock(endpoint_of(object).domain().mutex);
  return endpoint_of(object).enable();
}
ssize_t cancel(fid* object, void* context) {
  const std::lock_guard lock(endpoint_of(object).domain().mutex);
  return endpoint_of(object).cancel(context);
}
int option(fid* object, int level, int name, const void* value, std::size_t bytes) {
  if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
  const std::lock_guard lock(endpoint_of(object).domain().mutex);
  return endpoint_of(object).set_option(name, value, bytes);
}
int read_option(fid*, int, int, void*, std::size_t*) { return -FI_ENOPROTOOPT; }
int name(fid* object, void* address, std::size_t* bytes) {
  const std::lock_guard lock(endpoint_of(object).domain().mutex);
  if (!endpoint_of(object).enabled()) return -FI_EOPBADSTATE;
  const EfaAddress& ours = endpoint_of(object).address();
  const std::size_t room = *bytes;
  std::memcpy(address, &ours, std::min(room, sizeof ours));
  *bytes = sizeof ours;
  return room < sizeof ours ? -FI_ETOOSMALL : 0;
}

fi_ops fid_operations = {.size = sizeof(fi_ops),
                         .close = close,
                         .bind = bind,
                         .control = control,
                         .ops_open = unsupported,
                         .tostr = unsupported,
                         .ops_set = unsupported};
fi_ops_ep endpoint_operations = {.size = sizeof(fi_ops_ep),
                                 .cancel = cancel,
                                 .getopt = read_option,
                                 .setopt = option,
                                 .tx_ctx = unsupported,
                                 .rx_ctx = unsupported,
                                 .rx_size_left = unsupported,
                                 .tx_size_left = unsupported};
fi_ops_cm name_operations = {.size = sizeof(fi_ops_cm),
                             .setname = unsupported,
                             .getname = name,
                             .getpeer = unsupported,
                             .connect = unsupported,
                             .listen = unsupported,
                             .accept = unsupported,
                             .reject = unsupported,
                             .shutdown = unsupported,
                             .join = unsupported};
fi_ops_msg message_operations = {.size = sizeof(fi_ops_msg),
                                 .recv = recv,
                                 .recvv = recvv,
                                 .recvmsg = recvmsg,
                                 .send = send,
                                 .sendv = sendv,
                                 .sendmsg = sendmsg,
                                 .inject = inject,
                                 .senddata = senddata,
                                 .injectdata = injectdata};
fi_ops_tagged tagged_operations = {.size = sizeof(fi_ops_tagged),
                                   .recv = trecv,
                                   .recvv = trecvv,
                                   .recvmsg = trecvmsg,
                                   .send = tsend,
                                   .sendv = tsendv,
                                   .sendmsg = tsendmsg,
                                   .inject = tinject,
                                   .senddata = tsenddata,
                                   .injectdata = tinjectdata};
fi_ops_rma write_operations = {.size = sizeof(fi_ops_rma),
                               .read = unsupported,
                               .readv = unsupported,
                               .readmsg = unsupported,
                               .write = write,
                               .writev = writev,
                               .writemsg = writemsg,
                               .inject = inject_write,
                               .writedata = writedata,
                               .injectdata = inject_writedata};

}  // namespace

void set_tables(Endpoint& endpoint, void* context) {
  endpoint.fid = {FI_CLASS_EP, context, &fid_operations};
  endpoint.ops = &endpoint_operations;
  endpoint.cm = &name_operations;
  endpoint.msg = &message_operations;
  endpoint.rma = &write_operations;
  endpoint.tagged = &tagged_operations;
  endpoint.atomic = nullptr;
  endpoint.collective = nullptr;
}

}  // namespace emulated_efa
