#!/usr/bin/env bash
# What ./dev test --long does, and part of ./dev: the two commands of the README on bare Debian systems. debootstrap makes
# them once; what it made, and the packages that were installed then, are kept in build/roots for the next time.

root_releases=(bookworm trixie)
roots=$PWD/build/roots

# Says in one line why no root can be made or entered here.
refuse_roots() {
    say "skip roots: $1"
    exit 3
}

check_for_roots() {
    [ "$(id -u)" -eq 0 ] || refuse_roots "only root may make and enter them; run ./dev test --long as root"
    command -v debootstrap >/dev/null 2>&1 || refuse_roots "no debootstrap here (apt: debootstrap)"
    unshare --mount --pid --fork true 2>/dev/null || refuse_roots "name spaces of mounts and processes are not permitted here"
}

# A bare system and a clone of HEAD in it.
make_root() {
    local release=$1 root=$roots/$1
    rm -rf --one-file-system "$root" "$root.new"
    mkdir -p "$root" "$root.packages/partial"
    if [ ! -e "$root.tar" ]; then
        debootstrap --variant=minbase "$release" "$root.new" || return 1
        tar -C "$root.new" -cf "$root.tar.new" . && mv "$root.tar.new" "$root.tar" || return 1
        rm -rf --one-file-system "$root.new"
    fi
    tar -C "$root" -xf "$root.tar" || return 1
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    # Whatever apt needs here to reach its packages.
    apt-config dump 2>/dev/null | grep -E '^Acquire::(https?|Check)' >"$root/etc/apt/apt.conf.d/00as-outside" || true
    git clone -q . "$root/ronde"
}

# Runs a command in the clone, in name spaces that end with it: nothing stays mounted, and no process stays.
in_root() {
    local root=$roots/$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands these
    unshare --mount --propagation private --pid --fork --kill-child bash -euc '
        # Programs that make name spaces in the root need / to be a mount point.
        mount --rbind "$1" "$1"
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs tmpfs "$1/dev/shm"
        mount --bind "$1.packages" "$1/var/cache/apt/archives"
        root=$1
        shift
        # The PATH of Debian, where pip installs too. Not the last command, which the shell would make process 1.
        env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin CI="${CI:-}" http_proxy="${http_proxy:-}" \
            https_proxy="${https_proxy:-}" chroot "$root" sh -c "cd /ronde && $*" || exit
        exit 0' in_root "$root" "$@"
}

test_root() {
    local release=$1 log=$roots/$1.log status=ok started=$SECONDS counts=(0 0 0 0 0)
    say "== $release: ./dev demo, ./dev test release =="
    mkdir -p "$roots"
    : >"$log"
    if ! make_root "$release" >&2; then
        status="NOT MADE"
    elif ! in_root "$release" ./dev demo 2>&1 | tee -a "$log" >&2; then
        status="DEMO FAILED"
    elif ! in_root "$release" ./dev test release 2>&1 | tee -a "$log" >&2; then
        status=FAILED
    fi
    # As the table and the last line in the root say it.
    read -r -a counts < <(awk '$1 == "release" { row = $2 " " $3 " " $4 " " $5 }
        $2 == "passed," { passed = $1 }
        END { print row ? row : "0 0 0 0", passed + 0 }' "$log") || true
    add_row "$release" "$status" $((SECONDS - started)) "${counts[@]}"
}

test_roots() {
    local release
    for release in "${root_releases[@]}"; do
        test_root "$release"
    done
}
