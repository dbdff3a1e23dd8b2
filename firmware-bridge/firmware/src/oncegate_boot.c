#include "oncegate_boot.h"

#include <string.h>

#include "oncegate_frame.h"

static bool read_number(const oncegate_slots *memory, uint16_t slot, uint32_t *number)
{
    uint8_t bytes[ONCEGATE_SLOT_BYTES];
    if (!memory->read(memory->context, slot, bytes)) {
        return false;
    }
    *number = oncegate_get_u32(bytes);
    return oncegate_crc16(ONCEGATE_CRC_INITIAL, bytes, 4) == ((uint16_t)bytes[4] << 8 | bytes[5]);
}

uint32_t oncegate_count_start(const oncegate_slots *memory)
{
    uint32_t highest = 0, number = 0;
    uint16_t next = 0;
    uint8_t bytes[ONCEGATE_SLOT_BYTES];

    for (uint16_t slot = 0; slot < memory->slots; slot++) {
        if (read_number(memory, slot, &number) && number >= highest) {
            highest = number;
            next = (uint16_t)((slot + 1u) % memory->slots);
        }
    }
    if (memory->slots < 2 || highest == UINT32_MAX) {
        return 0;
    }
    oncegate_put_u32(bytes, highest + 1);
    uint16_t crc = oncegate_crc16(ONCEGATE_CRC_INITIAL, bytes, 4);
    bytes[4] = (uint8_t)(crc >> 8);
    bytes[5] = (uint8_t)crc;
    if (!memory->write(memory->context, next, bytes) || !read_number(memory, next, &number)
        || number != highest + 1) {
        return 0;
    }
    return number;
}
