#include "oncegate_frame.h"

#define CRC_POLYNOMIAL 0x1021u
/* A COBS code that stands before 254 bytes without a zero after them. */
#define CODE_MAX 0xFFu

uint16_t oncegate_crc16(uint16_t crc, const uint8_t *bytes, size_t count)
{
    while (count-- > 0) {
        crc = (uint16_t)(crc ^ (uint16_t)((uint16_t)*bytes++ << 8));
        for (uint8_t bit = 0; bit < 8; bit++) {
            bool carry = (crc & 0x8000u) != 0;
            crc = (uint16_t)(crc << 1);
            if (carry) {
                crc = (uint16_t)(crc ^ CRC_POLYNOMIAL);
            }
        }
    }
    return crc;
}

void oncegate_put_u32(uint8_t *bytes, uint32_t number)
{
    bytes[0] = (uint8_t)(number >> 24);
    bytes[1] = (uint8_t)(number >> 16);
    bytes[2] = (uint8_t)(number >> 8);
    bytes[3] = (uint8_t)number;
}

uint32_t oncegate_get_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

void oncegate_write_frame(oncegate_write write, void *context, const uint8_t *contents, size_t count)
{
    static const uint8_t delimiter = 0;
    size_t at = 0;

    write(context, &delimiter, 1);
    for (;;) {
        size_t run = 0;
        while (at + run < count && contents[at + run] != 0 && run < CODE_MAX - 1) {
            run++;
        }
        uint8_t code = (uint8_t)(run + 1);
        write(context, &code, 1);
        if (run > 0) {
            write(context, contents + at, run);
        }
        at += run;
        if (at == count) {
            break;
        }
        if (code != CODE_MAX) {
            at++; /* the zero that the code stands for */
        }
    }
    write(context, &delimiter, 1);
}

static size_t unstuff(uint8_t *bytes, size_t count)
{
    size_t from = 0, to = 0;

    while (from < count) {
        uint8_t code = bytes[from++];
        if (code == 0 || code - 1u > count - from) {
            return 0;
        }
        for (uint8_t left = code; left > 1; left--) {
            if (bytes[from] == 0) {
                return 0;
            }
            bytes[to++] = bytes[from++];
        }
        if (code != CODE_MAX && from < count) {
            bytes[to++] = 0;
        }
    }
    return to;
}

size_t oncegate_unwrap(uint8_t *stuffed, size_t count)
{
    size_t bytes = unstuff(stuffed, count);

    if (bytes <= ONCEGATE_CRC_BYTES) {
        return 0;
    }
    bytes -= ONCEGATE_CRC_BYTES;
    uint16_t crc = (uint16_t)((uint16_t)stuffed[bytes] << 8 | stuffed[bytes + 1]);
    return oncegate_crc16(ONCEGATE_CRC_INITIAL, stuffed, bytes) == crc ? bytes : 0;
}
