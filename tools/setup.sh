#!/bin/bash
# Make the project ready to use: system packages, a virtual environment in .venv, the package, the compiled modules.
#
# Each step leaves a stamp in .venv and is repeated only when what it depends on is newer, so that a second run takes
# about a second. Run as root on Debian it installs missing system packages; otherwise it says which are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
VENV=.venv
STAMPS=$VENV/.stamps

say() { printf '%s\n' "$*" >&2; }

# Prints the Debian names of what is not there, one a line. The order is the order of need.
missing_packages() {
    command -v "$PYTHON" >/dev/null || echo python3
    [ -x $VENV/bin/python ] || "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
    command -v javac >/dev/null || echo default-jdk-headless
    command -v mvn >/dev/null || echo maven
    command -v kcat >/dev/null || echo kcat
    command -v faketime >/dev/null || echo faketime
    command -v ip >/dev/null || echo iproute2
    command -v cc >/dev/null || echo gcc
    [ -e $STAMPS/headers ] || "$PYTHON" -c "$HAS_HEADERS" 2>/dev/null || echo python3-dev
}

HAS_HEADERS='import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'

install_system_packages() {
    local missing
    missing=$(missing_packages | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing system packages: $missing"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq >&2
        # shellcheck disable=SC2086  # a list of names
        apt-get install -qq -y --no-install-recommends $missing >&2
    else
        say "These system packages are missing and only root can install them (apt-get install $missing):" \
            "without Java and Maven the tests against Apache Kafka cannot run, without a C compiler the hot modules stay plain Python."
    fi
}

require_python() {
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return 0
    say "Python 3.11 or newer is needed; name one with: make setup PYTHON=/path/to/python3"
    exit 1
}

# is_fresh STAMP FILE... : the stamp is there and newer than every file
is_fresh() {
    local stamp=$STAMPS/$1 file
    shift
    [ -e "$stamp" ] || return 1
    for file in "$@"; do
        [ ! "$file" -nt "$stamp" ] || return 1
    done
}

make_environment() {
    $VENV/bin/python -c '' 2>/dev/null && return 0
    say "creating $VENV"
    rm -rf $VENV
    "$PYTHON" -m venv $VENV
}

install_dependencies() {
    is_fresh dependencies requirements/dev.lock && return 0
    say "installing what requirements/dev.lock lists"
    $VENV/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
    touch $STAMPS/dependencies
}

install_package() {
    is_fresh package pyproject.toml setup.py && [ -x $VENV/bin/odradek ] && return 0
    say "installing odradek, editable"
    $VENV/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
    touch $STAMPS/package
}

# The hot modules as extension modules: installing compiles them, and this whatever was changed since. Without a
# compiler the plain modules do the same, slower, and it says so.
compile_hot() {
    $VENV/bin/python tools/compile_hot.py >&2
}

install_system_packages
require_python
make_environment
mkdir -p $STAMPS
"$PYTHON" -c "$HAS_HEADERS" && touch $STAMPS/headers
install_dependencies
install_package
compile_hot
