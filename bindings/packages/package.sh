#!/usr/bin/env bash
# What ./dev package does, and part of ./dev: sources, wheel and Debian packages of HEAD, built and then tried in bare roots.

packages=$PWD/build/packages

# Whatever pip needs here to reach its packages; the root's own certificates come and go with a package of Debian's.
copy_pip_choices() {
    local etc=$1/etc certificates=/etc/ssl/certs/ca-certificates.crt
    { grep -v '^cert' /etc/pip.conf 2>/dev/null || printf '[global]\n'; } >"$etc/pip.conf"
    if [ -e "$certificates" ]; then
        cp -L "$certificates" "$etc/pip-certificates.crt"
        printf 'cert = /etc/pip-certificates.crt\n' >>"$etc/pip.conf"
    fi
}

# Builds in a root of a release, which has all packages when it comes to that; they are then in build/packages.
build_packages() {
    local release=$1
    shift
    make_root "$release"
    copy_pip_choices "$roots/$release"
    # The root goes when it has done its work: nothing in it need outlive a loss of power.
    printf 'force-unsafe-io\n' >"$roots/$release/etc/dpkg/dpkg.cfg.d/unsafe-io"
    mkdir -p "$roots/$release/ronde/build" "$packages"
    cp -r "$packages" "$roots/$release/ronde/build/"
    in_root "$release" bindings/packages/build.sh "$@"
    cp -r "$roots/$release/ronde/build/packages" "$PWD/build/"
}

# Wheels that a bare root cannot download for itself: pip, which installs from its own wheel, and what ronde depends on.
fetch_wheels() {
    local python
    python3 -m venv build/package-venv
    build/package-venv/bin/pip download -q --no-deps -d "$packages/wheels" pip pycparser
    for python in 3.11 3.13; do
        build/package-venv/bin/pip download -q --no-deps --only-binary :all: --python-version "$python" --implementation cp \
            --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$packages/wheels" cffi
    done
}

# What a bare root of a release says of the packages; each way of installing has a root of its own.
try_packages() {
    local release=$1 way
    for way in wheel deb; do
        make_root "$release"
        mkdir -p "$roots/$release/packages"
        cp "$packages"/ronde-*.whl "$packages"/wheels/*.whl "$packages/$release"/*.deb "$roots/$release/packages/"
        in_root "$release" tests/packages/install.sh "$way"
    done
}

run_package() {
    # shellcheck source=tests/roots.sh
    . tests/roots.sh
    install_missing debootstrap
    check_for_roots
    rm -rf "$packages"
    build_packages bookworm sdist wheel deb
    build_packages trixie deb
    fetch_wheels
    try_packages bookworm
    try_packages trixie
    (cd "$packages" && find . -name wheels -prune -o -type f -printf '%s %P\n') | sort -k 2 |
        awk '{ printf "%8.1f MB  %s\n", $1 / 1e6, $2 }'
}

# The same as a row of ./dev test --long.
test_packages() {
    local started=$SECONDS status=ok log=$roots/packages.log
    # A process of its own ends with the first failure, which a function in a condition does not.
    ./dev package 2>&1 | tee "$log" >&2 || status=FAILED
    add_row packages "$status" $((SECONDS - started)) 0 0 0 0 "$(grep -c '^ok: ' "$log" || true)"
}
