# SPDX-License-Identifier: Apache-2.0
# What ./test and ./demo share: a .venv in the checkout with the extras asked for, built from this tree, and
# commands that show how long they have been running. Sourced by a POSIX sh in the checkout's root.

say() { printf '%s\n' "$*" >&2; }
fail() { say "$0: $*"; exit 1; }

# run_shown TEXT COMMAND...: runs a command with its output in build/log/, shows the seconds while it runs;
# a failure prints the end of the log.
run_shown() {
    shown_text=$1
    shift
    mkdir -p build/log
    shown_log=build/log/$(printf '%s' "$shown_text" | tr -c 'a-z0-9\n' '-').log
    "$@" >"$shown_log" 2>&1 &
    shown_pid=$!
    shown_s=0
    while kill -0 "$shown_pid" 2>/dev/null; do
        sleep 1
        shown_s=$((shown_s + 1))
        if [ -t 2 ]; then
            printf '\r%s ... %d s ' "$shown_text" "$shown_s" >&2
        elif [ $((shown_s % 15)) -eq 2 ]; then
            say "$shown_text ... $shown_s s"
        fi
    done
    if wait "$shown_pid"; then
        if [ -t 2 ]; then
            printf '\r%s: done in %d s\n' "$shown_text" "$shown_s" >&2
        elif [ "$shown_s" -gt 2 ]; then
            say "$shown_text: done in $shown_s s"
        fi
    else
        [ -t 2 ] && printf '\n' >&2
        tail -n 40 "$shown_log" >&2
        fail "$shown_text failed; the whole log is in $shown_log"
    fi
}

# Makes .venv unless it is there. Without the ensurepip module (Debian splits it off), pip puts itself in.
make_venv() {
    [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 && return
    base=${PYTHON:-python3}
    "$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
        fail "Python 3.10 or later is needed; found $("$base" --version 2>&1); set PYTHON=/path/to/python3"
    say "making .venv with $("$base" --version)"
    "$base" -m venv .venv >/dev/null 2>&1 && return
    rm -rf .venv
    "$base" -m venv --without-pip .venv &&
        run_shown "installing pip" "$base" -m pip --python .venv/bin/python install pip
}

# True if a file that goes into the wheel is newer than the stamp $1.
is_stale() {
    [ ! -e "$1" ] || [ -n "$(find CMakeLists.txt pyproject.toml setup.cfg build_support cmake include src ccl isa iss \
        -type f -newer "$1" | head -n 1)" ]
}

# install EXTRAS: this checkout, editable, with its extras; nothing is done when nothing changed.
install() {
    command -v "${CC:-cc}" >/dev/null 2>&1 || fail "a C compiler is needed: install one or set CC"
    make_venv
    PATH=$PWD/.venv/bin:$PATH
    export PATH
    stamp=.venv/installed-$1
    if [ ! -e "$stamp" ] || [ setup.cfg -nt "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
        run_shown "installing build tools" python -m pip install scikit-build-core cffi $(missing_tools)
        run_shown "installing packages (torch is large; the first time takes minutes)" \
            python -m pip install --no-build-isolation -e ".[$1]"
    elif is_stale "$stamp"; then
        run_shown "building" python -m pip install --no-build-isolation --no-deps -e .
    else
        return 0
    fi
    touch "$stamp"
}

# CMake and Ninja come from PyPI where the machine has none.
missing_tools() {
    for tool in cmake ninja; do
        command -v "$tool" >/dev/null 2>&1 || printf '%s ' "$tool"
    done
}
