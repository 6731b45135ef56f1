# shellcheck shell=bash
# What the other scripts share. Sourced, not run.

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

need_go() {
  command -v go >/dev/null || { [ -x /usr/local/go/bin/go ] && PATH=$PATH:/usr/local/go/bin; }
  command -v go >/dev/null || fail "Go is needed to build: https://go.dev/doc/install (version in go.mod)"
}

# The places that Reprise itself looks in, newest first.
postgres_bin() {
  local d
  for d in "${REPRISE_PG_BIN:-}" \
    "$(command -v postgres >/dev/null && dirname "$(readlink -f "$(command -v postgres)")")" \
    "$(command -v pg_config >/dev/null && pg_config --bindir 2>/dev/null)" \
    $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin | sort -rV); do
    if [ -n "$d" ] && [ -x "$d/postgres" ] && [ -x "$d/initdb" ]; then
      printf '%s\n' "$d"
      return 0
    fi
  done
  return 1
}

# Finds PostgreSQL's server programs; installs the system's package where that is possible without asking.
need_postgres() {
  local bin
  if bin=$(postgres_bin); then
    say "PostgreSQL programs: $bin"
    return 0
  fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing PostgreSQL (apt-get install postgresql)"
    apt-get update -qq
    # The package would start a server of its own; Reprise starts a private one.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null
  elif [ "$(id -u)" = 0 ] && command -v dnf >/dev/null; then
    say "installing PostgreSQL (dnf install postgresql-server)"
    dnf install -y -q postgresql-server
  fi
  postgres_bin >/dev/null || fail "PostgreSQL's server programs (postgres, initdb) are needed and were not found.
  Debian, Ubuntu:  sudo apt-get install postgresql
  Fedora, RHEL:    sudo dnf install postgresql-server
  macOS:           brew install postgresql@17
  elsewhere:       set REPRISE_PG_BIN to the folder that holds them"
  say "PostgreSQL programs: $(postgres_bin)"
}

# Builds bin/reprise, which says the commit that it was built from where git knows it.
build_reprise() {
  local stamp=false
  ! git rev-parse --quiet --verify HEAD >/dev/null 2>&1 || stamp=auto
  go build -buildvcs=$stamp -o bin/reprise ./cmd/reprise
}
