#!/bin/sh
# Make configure and its helpers from configure.ac; needs autoconf-archive.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --install --warnings=all
