#!/usr/bin/env bash
# Runs a program as the ranks of an Open MPI job on two hosts, which this machine plays: two network
# namespaces with a name and an address each, joined by a virtual cable. Messages go over TCP between
# the addresses; memory is shared by nobody.
#
#   two_hosts.sh RANKS PROGRAM [ARGUMENT...]     half of the ranks, rounded up, on the first host
#   two_hosts.sh --check                         can this machine play them? exit code 4 and a line where not
#
# ZOETROPE_HOSTS_RATE=1gbit slows the cable down to that rate, in each direction (tc, token bucket).
#
# Needs root (namespaces), ip, nsenter, unshare and Open MPI's mpirun.
set -euo pipefail

# As Open MPI starts its daemon on another host: two_hosts.sh --on HOST COMMAND...
if [ "${1-}" = --on ]; then
    address=$2
    shift 2
    index=${address##*.}
    # shellcheck disable=SC2016  # expanded by the inner shell
    exec nsenter "--net=/run/netns/$ZOETROPE_HOSTS-$index" unshare --uts \
        sh -c 'hostname "$0" && exec sh -c "$1"' "host-$index" "$*"
fi

cannot() {
    echo "two hosts cannot be played here: $1" >&2
    exit 4
}
[ "$(id -u)" = 0 ] || cannot "not root"
for program in ip nsenter unshare mpirun; do
    command -v "$program" >/dev/null || cannot "$program is not installed"
done
mpirun --version | grep -q "Open MPI" || cannot "mpirun is not Open MPI's"

export ZOETROPE_HOSTS="zoetrope-$$"
clean_up() {
    for index in 1 2; do
        ip netns del "$ZOETROPE_HOSTS-$index" 2>/dev/null || true
    done
}
trap clean_up EXIT
for index in 1 2; do
    ip netns add "$ZOETROPE_HOSTS-$index" 2>/dev/null || cannot "no network namespaces"
done
first=$ZOETROPE_HOSTS-1 second=$ZOETROPE_HOSTS-2
ip -n "$first" link add cable type veth peer name cable netns "$second" 2>/dev/null || cannot "no virtual cables"
for index in 1 2; do
    ip -n "$ZOETROPE_HOSTS-$index" address add "10.77.0.$index/24" dev cable
    ip -n "$ZOETROPE_HOSTS-$index" link set cable up
    ip -n "$ZOETROPE_HOSTS-$index" link set lo up
    if [ -n "${ZOETROPE_HOSTS_RATE-}" ]; then
        command -v tc >/dev/null || cannot "tc is not installed"
        nsenter "--net=/run/netns/$ZOETROPE_HOSTS-$index" \
            tc qdisc add dev cable root tbf rate "$ZOETROPE_HOSTS_RATE" burst 512kb latency 100ms
    fi
done
if [ "${1-}" = --check ]; then
    exit 0
fi

ranks=$1
shift
here=$(((ranks + 1) / 2))
hosts=10.77.0.1:$here
[ "$ranks" = "$here" ] || hosts=$hosts,10.77.0.2:$((ranks - here))
net=10.77.0.0/24
# Not replaced by exec: the namespaces have to be removed afterwards.
nsenter "--net=/run/netns/$first" unshare --uts sh -c 'hostname host-1 && exec "$@"' mpirun \
    mpirun --allow-run-as-root --oversubscribe -n "$ranks" --host "$hosts" \
    --mca plm rsh --mca plm_rsh_agent "$(realpath "$0") --on" \
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include "$net" --mca oob_tcp_if_include "$net" \
    -x ZOETROPE_HOSTS "$@"
