#!/usr/bin/env bash
# Installs the browser of the page's tests, and the software GL it draws with, where they are missing
# and apt can bring them. Elsewhere it only says so: the tests then skip (CI=true: they fail).
set -euo pipefail

gl=$(ldconfig -p 2>/dev/null | grep -c 'libEGL\.so' || true)
for browser in "${BERM_BROWSER:-}" chromium chromium-browser google-chrome; do
  if [ "$gl" != 0 ] && [ -n "$browser" ] && command -v "$browser" >/dev/null; then
    echo "browser: $(command -v "$browser")"
    exit 0
  fi
done
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "no browser, and no apt-get that may install one: install Chromium, libegl1, libgl1-mesa-dri" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium libegl1 libgl1-mesa-dri fonts-dejavu-core
