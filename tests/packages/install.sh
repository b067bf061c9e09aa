#!/usr/bin/env bash
# In a bare root that has packages in /packages: installs them as `install.sh wheel` or `install.sh deb` does, looks at what is there, and
# does four jobs. ./dev package and ./dev test --long call it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

way=$1

# Python and nothing else, as in a small container: pip runs from its own wheel.
install_wheel() {
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3 >/dev/null
    PIP_BREAK_SYSTEM_PACKAGES=1 python3 "$(echo /packages/pip-*.whl)/pip" install -q --root-user-action=ignore --no-index \
        --find-links /packages ronde
}

install_deb() {
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends /packages/*.deb >/dev/null
}

"install_$way"
ronde --version
python3 -c 'import ronde; print("module", ronde.__version__)'
# What is not here is named with what it would take.
ronde list | grep MISSING
for job in cluster_engineer researcher ml_engineer teacher; do
    printf -- '-- %s\n' "$job"
    bash "./$job.sh"
done
if [ "$way" = deb ]; then
    test -e /usr/share/man/man1/ronde.1.gz
    test -e /usr/share/bash-completion/completions/ronde
else
    test -e /usr/local/share/man/man1/ronde.1
    test -e /usr/local/share/bash-completion/completions/ronde
fi
printf 'ok: %s\n' "$way"
