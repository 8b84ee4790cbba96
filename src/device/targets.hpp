// The instruction sets that the kernels are compiled for. Include before any header of Highway, the
// same in every kernel file.
#pragma once

// Highway would compile up to nine x86 sets. Three are worth their build time and code size: the
// baseline of the compiler (so that the library starts on any x86-64), AVX2 and AVX3 (AVX-512 of
// Skylake and later; the newer sets add nothing that a reduction uses). Bits 0 to 14 are x86's, by
// position since the names of some are unknown to Highway 1.0: 8 is AVX3, 9 AVX2, 14 SSE2. Other
// architectures keep Highway's choice (NEON and SVE on Arm).
#define HWY_DISABLED_TARGETS (0x7fffLL & ~((1LL << 8) | (1LL << 9) | (1LL << 14)))
