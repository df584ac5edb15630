#!/bin/sh
# Debian and its own kernel for a virtual machine. base.sh FOLDER leaves there:
#   root/ (the tree)   system.ext4 (the same as a disk)   vmlinuz   initramfs
# Packages come from where the host's apt gets them. The kernel is unpacked, not installed.
set -eu

out=$1
suite=bookworm
packages=systemd,systemd-sysv,udev,kmod,dbus,python3,python3-venv,libusb-1.0-0
boot_modules="virtio_pci virtio_blk crc32c_generic ext4 9pnet_virtio 9p"
modules="$boot_modules virtio_console virtio_net virtio_rng overlay autofs4 loop dm_mod
    xhci_pci usbserial ftdi_sio cp210x pl2303 ch341 cdc_acm
    dummy_hcd libcomposite usb_f_fs usb_f_acm vhci_hcd usbip_host"
masked="apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service
    fstrim.timer systemd-binfmt.service proc-sys-fs-binfmt_misc.automount
    getty@tty1.service serial-getty@ttyS0.service"

PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- the tree

sources=
if grep -qx "VERSION_CODENAME=$suite" /etc/os-release; then
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
        [ ! -s "$file" ] || sources="$sources $file"
    done
fi
apt-config dump Acquire >"$work/acquire.conf" # a proxy, if the host has one

# shellcheck disable=SC2016,SC2086  # $1 is the hook's own; the sources are words
mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" --aptopt="$work/acquire.conf" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG
        kernel=$(apt-cache depends linux-image-amd64 | sed -n "s/.*Depends: //p")
        cd "$1/root" && apt-get -qq -o APT::Sandbox::User=root download "$kernel"' \
    --customize-hook="chroot \"\$1\" systemctl --quiet mask $(echo $masked)" \
    --customize-hook='rm -rf "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/apt/sources.list*' \
    "$suite" "$out/root" $sources

# --- the kernel, and of its modules those that are named and what they need

dpkg-deb -x "$out"/root/root/linux-image-*.deb "$work/kernel"
rm "$out"/root/root/linux-image-*.deb
mv "$work"/kernel/boot/vmlinuz-* "$out/vmlinuz"
release=$(basename "$work"/kernel/lib/modules/*)
all=$work/kernel/lib/modules/$release
depmod --basedir "$work/kernel" "$release"

paths_of() { # module...: their files in the order of loading, relative to the modules' folder
    for module in "$@"; do
        modprobe --dirname "$work/kernel" --set-version "$release" --show-depends "$module" || return
    done >"$work/loading"
    awk -v root="$all/" '$1 == "insmod" && !seen[$2]++ { sub(".*" root, "", $2); print $2 }' "$work/loading"
}

kept=$out/root/usr/lib/modules/$release
mkdir -p "$kept" "$work/initramfs/bin" "$work/initramfs/modules"
cp "$all"/modules.builtin* "$all/modules.order" "$kept"
# shellcheck disable=SC2086
paths_of $modules >"$work/kept"
(cd "$all" && xargs cp --parents -t "$kept" <"$work/kept")
depmod --basedir "$out/root" "$release"

# --- the first file system: enough to mount the disk

# shellcheck disable=SC2086
paths_of $boot_modules >"$work/order"
number=100
while read -r path; do # numbered, so that the shell's * has the order
    cp "$all/$path" "$work/initramfs/modules/$number-$(basename "$path")"
    number=$((number + 1))
done <"$work/order"
cp "$(command -v busybox)" "$work/initramfs/bin/busybox"
cat >"$work/initramfs/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /root
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
for module in /modules/*; do insmod "$module"; done
until mount -t ext4 -o noatime /dev/vda /root; do sleep 0.1; done
mount --move /dev /root/dev
umount /proc /sys
exec switch_root /root /sbin/init
INIT
chmod +x "$work/initramfs/init"
(cd "$work/initramfs" && find . | cpio --quiet -o -H newc | gzip -1) >"$out/initramfs"

# --- what makes it this guest

mkdir -p "$out/root/host" "$out/root/opt/feltd"
echo guest >"$out/root/etc/hostname"
cat >"$out/root/etc/fstab" <<'FSTAB'
LABEL=project /opt/feltd ext4 ro,noatime 0 0
host /host 9p trans=virtio,version=9p2000.L,msize=262144 0 0
FSTAB
cat >"$out/root/etc/systemd/system/agent.service" <<'UNIT'
[Unit]
Description=Carries out what the host asks for
RequiresMountsFor=/host /opt/feltd

[Service]
ExecStart=/usr/bin/python3 /host/agent.py /dev/virtio-ports/agent
Restart=on-failure
# What a test starts may outlive the command, and is none of the agent's business.
KillMode=process

[Install]
WantedBy=multi-user.target
UNIT
chroot "$out/root" systemctl --quiet enable agent.service
: >"$out/root/etc/machine-id"

mke2fs -q -t ext4 -L system -m 0 -d "$out/root" "$out/system.ext4" 1G
