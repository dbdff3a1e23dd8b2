# Chooses a slot and starts it. Run by U-Boot from the boot partition.
#
# BOOT_ORDER       slots, the preferred one first
# BOOT_A_LEFT      9: marked good, starts are not counted. 8 to 1: tries left. 0: do not start.
#
# The environment is one file on FAT, which a power cut during a write can damage. Therefore it is
# written only while a slot is on trial after an update, and uboot.bak has its contents from before
# the update.

if test -z "${BOOT_ORDER}"; then
    echo "The environment is missing or damaged: using uboot.bak"
    if load mmc 0:1 0x0c000000 uboot.bak; then env import -c 0x0c000000 ${filesize}; fi
fi
test -n "${BOOT_ORDER}" || setenv BOOT_ORDER "A B"
test -n "${BOOT_A_LEFT}" || setenv BOOT_A_LEFT 9
test -n "${BOOT_B_LEFT}" || setenv BOOT_B_LEFT 9

# If gateway.toml gave the UART on the pin header to sensors, the kernel does not use it as a
# console (console.py in image/device).
setenv consoles "console=tty1 console=ttyS1,115200"
if test -e mmc 0:1 uart-is-for-sensors; then setenv consoles "console=tty1"; fi

# Memory addresses: below 256 MiB, and not overlapping the device tree, which QEMU puts at 128 MiB.
setenv kernel_address 0x00200000
setenv kernel_comp_addr_r 0x04000000
setenv kernel_comp_size 0x03000000
setenv initrd_address 0x0c000000

for slot in ${BOOT_ORDER}; do
    if test "${slot}" = A; then
        setenv part 2
        setenv left ${BOOT_A_LEFT}
    else
        setenv part 3
        setenv left ${BOOT_B_LEFT}
    fi
    if test ${left} -gt 0; then
        if test ${left} -lt 9; then
            setexpr left ${left} - 1
            setenv BOOT_${slot}_LEFT ${left}
            saveenv
            echo "Slot ${slot} is on trial: ${left} tries left after this"
        fi
        echo "Starting slot ${slot}"
        setenv bootargs "root=PARTUUID=4f6e6365-0${part} ro rootwait rauc.slot=${slot} ${consoles} quiet loglevel=4 panic=10 ${extra_arguments}"
        if load mmc 0:${part} ${kernel_address} /boot/Image.gz; then
            if load mmc 0:${part} ${initrd_address} /boot/initrd.img; then
                booti ${kernel_address} ${initrd_address}:${filesize} ${fdt_addr}
            fi
        fi
        echo "Slot ${slot} cannot be started"
    fi
done

# No slot has tries left. Trying again a slot that failed is better than a board that does not boot.
echo "No slot can be started: both get new tries"
setenv BOOT_A_LEFT 3
setenv BOOT_B_LEFT 3
saveenv
reset
