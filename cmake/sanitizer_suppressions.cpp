// Linked into every program of a sanitizer build: what the sanitizers find in libraries that are
// not ours, or cannot know.

// libfabric 1.17's net provider never frees its copies of fi_info, one an endpoint and connection.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libfabric.so\n";
}

// When a rail fails, a stripe that had landed may be written a second time over another rail, with
// the same bytes, while its receiver reads the slot (docs/rails.md). The provider that copies them
// stands for an adapter, which knows no locks. The slot gets other bytes only when both writes are
// over. That what is read is right, the tests of failover check byte by byte.
//
// Threads of the process are joined when it exits; a test's child that leaves by _exit joins none.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:libfabric.so\nthread:heddle::communicator::ProcessThread::start\n";
}
