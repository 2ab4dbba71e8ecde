#!/bin/bash
# Boots Debian's systemd in namespaces of its own, on a copy of this machine's file system that is gone when it ends.
# $1: an empty folder, whose `shared` is /srv there. As root, in a namespace of mounts. Ends with its input.
set -euo pipefail
folder="$1"
stage="${2:-start}"
group="$folder/groups/$(basename "$folder")"

# Control groups of this machine alone, whoever else boots one.
start() {
  mkdir -p "$folder/groups" "$folder/shared"
  mount -t cgroup2 cgroup2 "$folder/groups"
  mkdir "$group"
  bash "$0" "$folder" enter </dev/null &
  cat >/dev/null
  kill -KILL %1
  wait || true
  find "$group" -depth -type d -exec rmdir {} +
}

enter() {
  echo $$ >"$group/cgroup.procs"
  exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net bash "$0" "$folder" boot
}

boot() {
  local tree="$folder/machine/tree" name
  mkdir -p "$folder/machine"
  mount -t tmpfs -o size=80% tmpfs "$folder/machine"
  mkdir "$folder/machine/"{tree,changes,work}
  mount -t overlay -o "lowerdir=/,upperdir=$folder/machine/changes,workdir=$folder/machine/work" overlay "$tree"
  for name in run tmp dev srv; do mount -t tmpfs tmpfs "$tree/$name"; done
  mount --bind "$folder/shared" "$tree/srv"
  local -A devices=([null]='1 3' [zero]='1 5' [full]='1 7' [random]='1 8' [urandom]='1 9' [tty]='5 0')
  # shellcheck disable=SC2086
  for name in "${!devices[@]}"; do mknod -m 666 "$tree/dev/$name" c ${devices[$name]}; done
  ln -s pts/ptmx "$tree/dev/ptmx"
  mount -t proc proc "$tree/proc"
  # What it sets of the kernel would be set for all.
  mount --bind "$tree/proc/sys" "$tree/proc/sys"
  mount -o remount,bind,ro "$tree/proc/sys"
  mount -t sysfs -o ro sysfs "$tree/sys"
  mount -t tmpfs tmpfs "$tree/sys/fs/cgroup"
  mount -t cgroup2 cgroup2 "$tree/sys/fs/cgroup"
  # Of the network that slirp4netns adds.
  rm -f "$tree/etc/resolv.conf"
  echo 'nameserver 10.0.2.3' >"$tree/etc/resolv.conf"
  rm -f "$tree/etc/machine-id"
  systemd-machine-id-setup --root="$tree" 2>/dev/null
  cd "$tree"
  pivot_root . .
  umount -l .
  exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target
}

"$stage"
