#!/usr/bin/env bash
# Checks the files of deploy/kubernetes against the schemas of Kubernetes, which come with a Python package.
#
# usage: scripts/dist/kubernetes.sh make|try
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh

# The oldest and the newest version that are looked at.
versions=(1.28.0 1.37.0)

case $1 in
make)
    product=lydite-$(version)-deploy.tar.xz
    copy_sources deploy "$DIST_WORK/kubernetes/deploy"
    pack "$DIST_WORK/kubernetes/deploy" "$DIST_OUT/$product"
    mark_made kubernetes none "$product"
    ;;
try)
    tools=$(tools)
    # Kustomize's own file is none of Kubernetes' kinds.
    mapfile -t files < <(find deploy/kubernetes -name '*.yaml' ! -name kustomization.yaml | sort)
    for version in "${versions[@]}"; do
        "$tools/kubernetes-validate" --strict --kubernetes-version "$version" "${files[@]}"
        echo "    ${#files[@]} files hold the schemas of Kubernetes $version"
    done
    ;;
*) fail "no action $1: use make or try" ;;
esac
