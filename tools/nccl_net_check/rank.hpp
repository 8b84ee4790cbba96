// One process of a behaviour: the plugin loaded, and NCCL's threads. Behaviours run on the progress
// thread; what NCCL does on its service thread, they hand over to service().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "nccl_net_check/failure.hpp"
#include "nccl_net_check/mail.hpp"
#include "nccl_net_check/net.hpp"
#include "nccl_net_check/service.hpp"

namespace heddle::net_check {

struct Settings {
  std::string plugin;
  int ranks = 2;
  int api = 0;  // 0: the newest that is exported
  int device = 0;
  int comms = 64;
  std::uint64_t seed = 1;
  double patience = 10;      // seconds without anything happening that are a hang
  double peer_timeout = 15;  // seconds until a lost peer must have shown
};

class Rank {
 public:
  Rank(const Settings& all_settings, int own_number, int ranks, Mail& own_mail, Doings& doings)
      : settings(all_settings),
        number(own_number),
        count(ranks),
        mail(own_mail),
        library_(std::make_unique<Library>(settings.plugin)),
        net_(library_->net(settings.api)),
        service_(&doings.service) {}

  const Settings& settings;
  const int number;
  const int count;
  Mail& mail;

  // Of the user's thread: init, then what the device is like; and the opposite.
  void start();
  void stop();
  // The library closed and opened again. Not between start and stop.
  void reload();

  Net& net() { return *net_; }
  const Library& library() const { return *library_; }
  void* context() { return context_; }
  const Properties& properties() const { return properties_; }
  base::Seconds patience() const { return base::Seconds(settings.patience); }
  int next() const { return (number + 1) % count; }
  int previous() const { return (number + count - 1) % count; }

  template <typename Task>
  auto service(Task task) {
    return service_.post(std::move(task)).get();
  }
  template <typename Task>
  auto service_meanwhile(Task task) {
    return service_.post(std::move(task));
  }

 private:
  std::unique_ptr<Library> library_;
  std::unique_ptr<Net> net_;
  void* context_ = nullptr;
  Properties properties_;
  Service service_;
};

// For init; keeps what the plugin warned of last.
void log_line(nccl_abi::LogLevel level, unsigned long flags, const char* file, int line,
              const char* format, ...);
// Empty: it did not warn.
std::string last_warning();
// From now on the plugin's warnings go to standard error, and with NCCL_DEBUG=INFO all its lines.
void show_log();

}  // namespace heddle::net_check
