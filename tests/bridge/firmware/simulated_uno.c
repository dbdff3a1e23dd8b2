/* An ATmega328P in simavr, with its UART on a terminal and its EEPROM in a file:
 *
 *     simulated_uno uno.elf TERMINAL-FD EEPROM-FILE SENT-FILE RECEIVED-FILE LAMP-FILE
 *
 * SIGKILL is its power cut: the EEPROM keeps what was written, byte by byte. The next two files get each
 * byte that the board has sent and received, as a witness beside the bridge; the last a 1 or a 0 when the lamp beside
 * pin 13 is lit or goes out. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <simavr/avr_eeprom.h>
#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>

#define EEPROM_BYTES 1024
#define CYCLES_PER_LOOK 16000 /* a millisecond */

static avr_t *avr;
static int terminal, sent, received, lamp;
static uint8_t *eeprom, *eeprom_file;
static avr_irq_t *input;
static int can_take;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_file(const char *path, int flags)
{
    int file = open(path, flags | O_CREAT | O_CLOEXEC, 0640);
    if (file < 0) {
        fail(path);
    }
    return file;
}

/* A shared mapping survives the end of this process. */
static void save_eeprom(void)
{
    if (memcmp(eeprom_file, eeprom, EEPROM_BYTES) != 0) {
        memcpy(eeprom_file, eeprom, EEPROM_BYTES);
    }
}

static void open_eeprom(const char *path)
{
    int file = open_file(path, O_RDWR);
    off_t size = lseek(file, 0, SEEK_END);
    if (size < EEPROM_BYTES && ftruncate(file, EEPROM_BYTES) != 0) {
        fail(path);
    }
    eeprom_file = mmap(NULL, EEPROM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (eeprom_file == MAP_FAILED) {
        fail(path);
    }
    if (size < EEPROM_BYTES) {
        memset(eeprom_file, 0xFF, EEPROM_BYTES);
    }
    avr_eeprom_desc_t access = {.ee = eeprom_file, .offset = 0, .size = EEPROM_BYTES};
    avr_ioctl(avr, AVR_IOCTL_EEPROM_SET, &access);
    access.ee = NULL; /* simavr answers with its own memory */
    avr_ioctl(avr, AVR_IOCTL_EEPROM_GET, &access);
    eeprom = access.ee;
}

static void note(int file, uint8_t byte)
{
    if (write(file, &byte, 1) != 1) {
        fail("a file of the line's bytes");
    }
}

/* Before the terminal, so that no byte arrives that the witness has not. */
static void on_output(avr_irq_t *irq, uint32_t value, void *context)
{
    uint8_t byte = (uint8_t)value;
    (void)irq;
    (void)context;
    save_eeprom();
    note(sent, byte);
    if (write(terminal, &byte, 1) != 1 && errno != EAGAIN) {
        fail("the terminal"); /* EAGAIN: nothing reads, and the byte is lost as on a real line */
    }
}

static void on_lamp(avr_irq_t *irq, uint32_t value, void *context)
{
    (void)context;
    if (value != irq->value) { /* before the change */
        note(lamp, value ? '1' : '0');
    }
}

static void on_room(avr_irq_t *irq, uint32_t value, void *context)
{
    (void)irq;
    (void)value;
    can_take = *(const int *)context;
}

static void connect_line(void)
{
    static const int room = 1, full = 0;
    uint32_t flags = 0;

    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    input = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), on_output, NULL);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XON), on_room, (void *)&room);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XOFF), on_room, (void *)&full);
}

static void connect_lamp(void)
{
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('B'), IOPORT_IRQ_PIN5), on_lamp, NULL);
}

static void feed_line(void)
{
    uint8_t byte;
    while (can_take && read(terminal, &byte, 1) == 1) {
        note(received, byte);
        avr_raise_irq(input, byte);
    }
}

int main(int count, char **words)
{
    static elf_firmware_t firmware;

    if (count != 7 || elf_read_firmware(words[1], &firmware) != 0) {
        fprintf(stderr, "simulated_uno uno.elf TERMINAL-FD EEPROM-FILE SENT-FILE RECEIVED-FILE LAMP-FILE\n");
        return 2;
    }
    avr = avr_make_mcu_by_name("atmega328p");
    if (avr == NULL || avr_init(avr) != 0) {
        fprintf(stderr, "this simavr has no atmega328p\n");
        return 2;
    }
    avr->log = LOG_ERROR;
    firmware.frequency = 16000000;
    firmware.vcc = firmware.avcc = firmware.aref = 5000;
    avr_load_firmware(avr, &firmware);
    terminal = atoi(words[2]);
    sent = open_file(words[4], O_WRONLY | O_APPEND);
    received = open_file(words[5], O_WRONLY | O_APPEND);
    lamp = open_file(words[6], O_WRONLY | O_APPEND);
    open_eeprom(words[3]);
    connect_line();
    connect_lamp();

    avr_cycle_count_t looked = 0;
    int state = cpu_Running;
    while (state != cpu_Done && state != cpu_Crashed) {
        state = avr_run(avr);
        if (avr->cycle - looked >= CYCLES_PER_LOOK) {
            looked = avr->cycle;
            save_eeprom();
            feed_line();
        }
    }
    fprintf(stderr, "the simulated processor has stopped\n");
    return 1;
}
