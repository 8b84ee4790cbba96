// Linked into every program of an address-sanitizer build: what the leak checker finds in libraries
// that are not ours.

// libfabric 1.17's net provider never frees its copies of fi_info, one an endpoint and connection.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libfabric.so\n";
}
