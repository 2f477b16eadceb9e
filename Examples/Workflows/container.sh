#!/usr/bin/env bash
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
# The two steps of an image of a container, for Dockerfile and Apptainer.def; each runs as root on Debian 12.
#   container.sh build      in a copy of this repository: builds and installs into /usr/local
#   container.sh packages   installs the Debian packages of what lies in /usr/local, and nothing that builds
set -euo pipefail
list=/usr/local/share/gigapixel-packages
case ${1:-} in
  build)
    cd "$(dirname "$0")/../.."
    # Not in build/, which may have come from the machine outside, with its paths.
    export GIGAPIXEL_BUILD=/tmp/gigapixel-build
    Utilities/build
    cmake --install "$GIGAPIXEL_BUILD" --prefix /usr/local --strip
    # The packages are those of the libraries that the program and its modules load. The C library is in every image, under a name that dpkg does not know.
    find /usr/local -type f '(' -perm /u+x -o -name '*.so*' ')' -exec ldd {} + 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
      xargs realpath | grep -v '^/usr/local' | xargs dpkg -S 2>/dev/null | cut -d: -f1 | sort -u >"$list" || true
    [ -s "$list" ]
    echo libopenslide0 >>"$list" # which the program loads by its name
    ;;
  packages)
    apt-get update -qq
    xargs -a "$list" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends
    rm -rf /var/lib/apt/lists/*
    ldconfig
    gigapixel doctor
    ;;
  *)
    echo "usage: container.sh build|packages" >&2
    exit 2
    ;;
esac
