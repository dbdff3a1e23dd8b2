/* An Arduino Uno (ATmega328P, 16 MHz) without the Arduino core: measures its supply and pin A0 at its
 * start and then each INTERVAL_MS, over its USB port at 115200 baud. Commands set the interval, and light the
 * lamp beside pin 13. */
#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <util/atomic.h>

#include "oncegate_board.h"
#include "oncegate_boot.h"

/* Unique among a gateway's boards: the bridge calls this one board-00000148. */
#ifndef DEVICE
#define DEVICE 328
#endif
#ifndef INTERVAL_MS
#define INTERVAL_MS 1000
#endif

/* RAM is 2,048 bytes. Frames here take about 45 bytes each. */
#define MEMORY_BYTES 1024
/* EEPROM survives 100,000 writes of a byte: 16 places are 1,600,000 starts. */
#define BOOT_SLOTS 16
/* A channel of the converter, and its voltage, 10 % more or less from chip to chip. */
#define BAND_GAP 14
#define BAND_GAP_MV 1100
#define RECEIVED_BYTES 64 /* a power of 2; a command is 23 */
#define LAMP PB5

static uint8_t boot_slots[BOOT_SLOTS][ONCEGATE_SLOT_BYTES] EEMEM;
static uint8_t memory[MEMORY_BYTES];
static oncegate_board board;
static uint32_t interval_ms = INTERVAL_MS;
static uint32_t measured_ms;
static uint32_t lit_ms, lit_for_ms;

static volatile uint32_t milliseconds;
static volatile uint8_t received[RECEIVED_BYTES];
static volatile uint8_t received_end;

ISR(TIMER0_COMPA_vect)
{
    milliseconds++;
}

/* Where the loop is late the oldest bytes are overwritten: the frame is sent again. */
ISR(USART_RX_vect)
{
    received[received_end++ % RECEIVED_BYTES] = UDR0;
}

static uint32_t now_ms(void)
{
    uint32_t now;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        now = milliseconds;
    }
    return now;
}

static void start_timer(void)
{
    TCCR0A = _BV(WGM01);             /* up to OCR0A */
    TCCR0B = _BV(CS01) | _BV(CS00);  /* 16 MHz / 64 */
    OCR0A = 250 - 1;
    TIMSK0 = _BV(OCIE0A);
}

static void start_line(void)
{
    UCSR0A = _BV(U2X0);
    UBRR0 = 16; /* 117,647 baud: 2.1 % above 115,200, as on every Uno */
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

static void write_line(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    while (count-- > 0) {
        loop_until_bit_is_set(UCSR0A, UDRE0);
        UDR0 = *bytes++;
    }
}

static bool read_slot(void *context, uint16_t slot, uint8_t bytes[ONCEGATE_SLOT_BYTES])
{
    (void)context;
    eeprom_read_block(bytes, boot_slots[slot], ONCEGATE_SLOT_BYTES);
    return true;
}

static bool write_slot(void *context, uint16_t slot, const uint8_t bytes[ONCEGATE_SLOT_BYTES])
{
    (void)context;
    eeprom_update_block(bytes, boot_slots[slot], ONCEGATE_SLOT_BYTES);
    eeprom_busy_wait();
    return true;
}

/* 0 to 1023 of the supply voltage. */
static uint16_t convert(uint8_t channel)
{
    ADMUX = (uint8_t)(_BV(REFS0) | channel);
    ADCSRA = _BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);
    uint16_t value = 0;
    for (uint8_t turn = 0; turn < 3; turn++) { /* the first are for the reference to settle */
        ADCSRA |= _BV(ADSC);
        loop_until_bit_is_clear(ADCSRA, ADSC);
        value = ADC;
    }
    return value;
}

/* Where the EEPROM is worn out: no number given before is likely, but any is possible. The lowest
 * bits of a pin that nothing drives are noise. */
static uint32_t random_boot(void)
{
    uint32_t number = 0;
    for (uint8_t bit = 0; bit < 64; bit++) {
        number = (number << 1 | number >> 31) ^ convert(0);
    }
    return number;
}

static void measure(void)
{
    uint16_t band_gap = convert(BAND_GAP);
    uint16_t a0 = convert(0);

    if (band_gap == 0) {
        return; /* not measured: then it is left out */
    }
    int32_t supply_mv = BAND_GAP_MV * 1023L / band_gap;
    oncegate_begin(&board, now_ms());
    oncegate_add_decimal(&board, "supply", "V", supply_mv, -3);
    oncegate_add_decimal(&board, "a0", "V", supply_mv * a0 / 1023, -3);
    oncegate_keep(&board);
}

static void receive(void)
{
    static uint8_t received_begin;
    while (received_begin != received_end) {
        uint8_t byte = received[received_begin++ % RECEIVED_BYTES];
        oncegate_receive(&board, &byte, 1, now_ms());
    }
}

static uint8_t carry_out(void *context, uint8_t command, uint32_t argument)
{
    (void)context;
    if (command == ONCEGATE_SET_INTERVAL) {
        interval_ms = argument;
        measured_ms = now_ms(); /* not all the measurements that the shorter interval has missed */
    } else if (command == ONCEGATE_IDENTIFY) {
        lit_ms = now_ms();
        lit_for_ms = argument;
        PORTB |= _BV(LAMP);
    } else {
        return ONCEGATE_UNKNOWN_COMMAND;
    }
    return ONCEGATE_DONE;
}

int main(void)
{
    static const oncegate_slots slots = {read_slot, write_slot, NULL, BOOT_SLOTS};
    uint32_t boot = oncegate_count_start(&slots);

    DDRB |= _BV(LAMP);
    start_timer();
    start_line();
    sei();
    oncegate_open(&board, DEVICE, boot != 0 ? boot : random_boot(), memory, sizeof memory, write_line,
        NULL, now_ms());
    oncegate_on_command(&board, carry_out);
    measured_ms = now_ms();
    measure();
    for (;;) {
        if (now_ms() - measured_ms >= interval_ms) {
            measured_ms += interval_ms;
            measure();
        }
        if (now_ms() - lit_ms >= lit_for_ms) {
            PORTB &= (uint8_t)~_BV(LAMP);
        }
        receive();
        oncegate_poll(&board, now_ms());
        sleep_mode(); /* idle, until the timer or a byte wakes it */
    }
}
