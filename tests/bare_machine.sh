#!/bin/bash
# Proves the README on machines that have nothing: makes bare Debian roots with debootstrap and runs
# ./dev bench, ./dev test and the stages of docker/Dockerfile in each, from a clean clone of HEAD.
# Needs root, debootstrap, git and a Debian mirror. Takes about 10 minutes a release; no part of CI.
#
# usage: tests/bare_machine.sh [--keep] [bookworm|trixie ...]
#   --keep           leaves the root of a release that failed, to look into
#   DEBIAN_MIRROR    the mirror; otherwise the one that this machine's apt uses
#   BARE_CACHE       bare roots and packages between runs (default ~/.cache/heddle-bare)
#
# Each root is entered in mount and process namespaces of its own: when that ends, however it ends,
# its mounts and processes are gone.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
cache=${BARE_CACHE:-$HOME/.cache/heddle-bare}

say() { echo "bare_machine: $*"; }
die() {
  say "$*" >&2
  exit 1
}

mirror_of_this_machine() {
  local found
  found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
    grep -v '^ *#' | grep -o -E 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ' || true)
  echo "${found:-http://deb.debian.org/debian}"
}

# What this machine's apt and resolver need to reach the mirror, the root's need too.
adapt_to_network() { # ROOT
  local file
  for file in /etc/apt/apt.conf.d/*; do
    if grep -q -i -E 'proxy|Check-Valid-Until|Verify-Peer' "$file"; then
      cp "$file" "$1/etc/apt/apt.conf.d/"
    fi
  done
  cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    mkdir -p "$1/usr/local/share/ca-certificates"
    cp /usr/local/share/ca-certificates/*.crt "$1/usr/local/share/ca-certificates/"
    # There only with a mirror by https.
    [ ! -x "$1/usr/sbin/update-ca-certificates" ] || chroot "$1" update-ca-certificates >/dev/null
  fi
  # No fsync per file: the root does not outlive the test.
  echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/heddle-test"
}

make_base() { # RELEASE: the bare root as a tar file, made once
  local tar=$cache/$1.tar root=$scratch/base include=()
  [ ! -f "$tar" ] || return 0
  [[ $mirror != https:* ]] || include=(--include=ca-certificates)
  say "$1: debootstrap from $mirror"
  debootstrap --variant=minbase "${include[@]}" "$1" "$root" "$mirror" \
    >"$scratch/debootstrap.log" 2>&1 ||
    { tail -n 20 "$scratch/debootstrap.log" >&2; die "$1: debootstrap failed"; }
  tar -C "$root" --exclude=./dev/\* --exclude=./var/cache/apt/archives/\*.deb -cf "$tar.part" .
  mv "$tar.part" "$tar"
  rm -rf --one-file-system "$root"
}

new_root() { # RELEASE ROOT
  mkdir -p "$2"
  tar -C "$2" -xf "$cache/$1.tar"
  adapt_to_network "$2"
}

# Runs a command in a root, with /proc, /sys, /dev and the cache of packages there.
in_root() { # RELEASE ROOT COMMAND...
  local packages=$cache/packages-$1 root=$2
  shift 2
  mkdir -p "$packages"
  # shellcheck disable=SC2016 # the inner shell's variables
  unshare --mount --propagation private --pid --fork --kill-child bash -c '
    set -e
    root=$1 packages=$2
    shift 2
    # "ip netns exec" wants "/" to be a mount.
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount --bind "$packages" "$root/var/cache/apt/archives"
    chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' - \
    "$root" "$packages" "$@" </dev/null
}

step() { # NAME COMMAND...: runs it with the output in a log; says how it went
  local name=$1 log started=$SECONDS
  log=$scratch/$(echo "$name" | tr -c 'a-z0-9\n' -).log
  shift
  if "$@" >"$log" 2>&1; then
    say "passed: $name ($((SECONDS - started)) s)"
  else
    tail -n 60 "$log"
    say "FAILED: $name ($((SECONDS - started)) s)"
    return 1
  fi
}

bench_is_right() { # RELEASE ROOT
  in_root "$1" "$2" /heddle/dev bench | tee "$scratch/table" &&
    grep -q '^# Out of bounds values : 0 OK' "$scratch/table"
}

tests_pass() { # RELEASE ROOT
  in_root "$1" "$2" /heddle/dev test | tee "$scratch/tests" &&
    tail -n 1 "$scratch/tests" | grep -q -E '^[1-9][0-9]* passed, 0 failed'
}

is_quick() { # RELEASE ROOT: with all done, nothing is installed and nothing takes long
  in_root "$1" "$2" /heddle/dev build >"$scratch/again" 2>&1 && cat "$scratch/again" &&
    ! grep -q -E 'installing|took' "$scratch/again"
}

try_release() ( # RELEASE
  set -e
  root=$scratch/$1
  new_root "$1" "$root"
  git clone -q --no-hardlinks "$here" "$root/heddle"
  step "$1 bench" bench_is_right "$1" "$root"
  sed 's/^/    /' "$scratch/table"
  step "$1 test" tests_pass "$1" "$root"
  say "$1: $(tail -n 1 "$scratch/tests")"
  step "$1 again" is_quick "$1" "$root"
  step "$1 docker build stage" in_root "$1" "$root" /heddle/docker/build_stage.sh /opt/heddle

  image=$scratch/$1-image
  new_root "$1" "$image"
  mkdir -p "$image/opt"
  cp -a "$root/opt/heddle" "$image/opt/"
  cp "$here/docker/check_image.sh" "$image/opt/"
  step "$1 docker run stage" in_root "$1" "$image" /opt/heddle/share/heddle/run_stage.sh /opt/heddle
  step "$1 docker image" in_root "$1" "$image" setpriv --reuid heddle --regid heddle --init-groups \
    env HOME=/home/heddle /opt/check_image.sh
  grep '^# Out of bounds' "$scratch/$1-docker-image.log" | sed 's/^/    /'
)

keep=
if [ "${1:-}" = --keep ]; then
  keep=1
  shift
fi
[ "$(id -u)" = 0 ] || die "needs root, for chroot and mounts"
for program in debootstrap git unshare; do
  command -v "$program" >/dev/null || die "needs $program: apt-get install $program"
done
mirror=${DEBIAN_MIRROR:-$(mirror_of_this_machine)}
mkdir -p "$cache"
scratch=$(mktemp -d)
# Mounts are not seen out here, but a folder that holds one would still be another file system.
trap 'rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 130' INT TERM

[ $# -gt 0 ] || set -- bookworm trixie
failed=0
for release in "$@"; do
  make_base "$release"
  # Not as a condition: in one, bash would go on after a step that failed.
  set +e
  try_release "$release"
  status=$?
  set -e
  if [ "$status" = 0 ]; then
    say "$release: PASSED"
  else
    say "$release: FAILED"
    failed=$((failed + 1))
    if [ -n "$keep" ]; then
      mv "$scratch/$release" "$cache/failed-$release"
      say "its root is in $cache/failed-$release"
    fi
  fi
  rm -rf --one-file-system "${scratch:?}/$release" "$scratch/$release-image"
done
say "$(($# - failed)) releases passed, $failed failed"
[ "$failed" = 0 ]
