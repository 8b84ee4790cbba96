#!/bin/sh
# Makes a bare system able to run the heddle that lies at PREFIX: packages, the linker's path and a
# user that is not root. The second stage of docker/Dockerfile; needs nothing but PREFIX.
# usage: PREFIX/share/heddle/run_stage.sh PREFIX
set -eu
prefix=$1

apt-get -q update
# shellcheck disable=SC2046 # names, one a word
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
  $(cat "$prefix/share/heddle/packages.txt")
rm -rf /var/lib/apt/lists/*

# Programs that link libheddle.so from elsewhere find it too.
dirname "$(find "$prefix" -name libheddle.so)" >/etc/ld.so.conf.d/heddle.conf
ldconfig
for program in "$prefix"/bin/*; do ln -sf "$program" /usr/local/bin/; done

useradd --create-home --shell /bin/sh heddle
