#!/bin/sh
# Builds heddle and installs it into PREFIX, with the list of packages that its files need to run.
# The first stage of docker/Dockerfile; works the same on any Debian or Ubuntu, as root.
# usage: docker/build_stage.sh PREFIX
set -eu
prefix=$1
cd "$(dirname "$0")/.."

./dev install "$prefix"
install -D -m 755 docker/run_stage.sh "$prefix/share/heddle/run_stage.sh"

# The package that owns a file. With merged /usr the linker may say /lib where dpkg says /usr/lib.
owner_of() {
  real=$(readlink -f "$1")
  for path in "$1" "$real" "${real#/usr}" "/usr$1"; do
    found=$(dpkg-query -S "$path" 2>/dev/null | head -n 1 | cut -d : -f 1)
    if [ -n "$found" ]; then
      echo "$found"
      return
    fi
  done
  echo "docker: no package owns $1, which an installed file links" >&2
  exit 1
}

# Asking the linker gives the right names on every release (libfmt9 on Debian 12, libfmt10 on 13).
{
  sed -n 's/^run //p' cmake/packages.txt
  for file in "$prefix"/bin/* "$prefix"/lib*/libheddle.so "$prefix"/lib*/*/libheddle.so; do
    [ ! -f "$file" ] || ldd "$file"
  done | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | grep -v "^$prefix" |
    while read -r library; do owner_of "$library"; done
} | sort -u >"$prefix/share/heddle/packages.txt"
echo "docker: $prefix needs: $(tr '\n' ' ' <"$prefix/share/heddle/packages.txt")"
