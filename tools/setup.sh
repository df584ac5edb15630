#!/bin/sh
# Makes .venv ready: setup.sh PYTHON. Run from the checkout; the Makefile calls it when something changed.
set -eu

python=$1

say() { echo "setup: $*" >&2; }

version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

found=$(version "$python") || { say "there is no Python called $python; name one: make PYTHON=python3.12"; exit 1; }
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "feltd needs Python 3.11 or later, and $python is $found; name another: make PYTHON=python3.12"
    exit 1
fi

# Debian keeps ensurepip, without which a venv has no pip, in a package of its own.
missing=
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="python$found-venv"
command -v strace >/dev/null || missing="$missing strace"
# The page of feltd console is tested in a real browser, in both its languages.
command -v chromium >/dev/null || missing="$missing chromium"
ls /usr/share/fonts/opentype/noto/NotoSansCJK-* >/dev/null 2>&1 || missing="$missing fonts-noto-cjk"
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing" $missing
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # the words are the packages
    if apt-get -qq update >/dev/null && apt-get -qq install -y --no-install-recommends $missing >/dev/null; then
        missing=
    fi
fi
[ -z "$missing" ] || say "not installed, and needed for all tests:" $missing

# A venv of another Python, or one whose Python has gone, is made anew.
if [ "$(version .venv/bin/python)" != "$found" ] || ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    say "making .venv with Python $found"
    "$python" -m venv --clear .venv
fi
say "installing what requirements.lock pins"
export PIP_DISABLE_PIP_VERSION_CHECK=1
.venv/bin/python -m pip install -qq --require-hashes -r requirements.lock
.venv/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
pwd >.venv/ready
say "ready"
